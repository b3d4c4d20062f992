"""A readable summary of a run; ESS and R-hat are ArviZ's."""

from __future__ import annotations

import dataclasses
import warnings
from typing import Any

from lockstep.sampling.problems import infos
from lockstep.sampling.totals import failed_sentence
from lockstep.warning import LockstepWarning


@dataclasses.dataclass(frozen=True, eq=False)
class Summary:
    """A table with a row for each component, findings in plain words, and the predicted separation.

    ``prediction`` is None for exact kernels, and where there is none.
    """

    table: Any
    findings: tuple[str, ...]
    prediction: Any = None

    def __repr__(self) -> str:
        return "\n".join([self.table.to_string(), *self.findings])


def about(kernel: Any) -> dict[str, Any]:
    """What a reader without the kernel would like to know of it: its text, when it is exact, or its error."""
    error = getattr(getattr(getattr(kernel, "ratio", None), "rule", None), "error", None)
    return {"kernel": repr(kernel), "exact_when": getattr(kernel, "exact_when", None), "error": error}


def summarize(run: Any) -> Summary:
    """The summary of a run."""
    import arviz_stats

    updates = run.chains * run.draws * run.thin
    findings = [f"acceptance {run.acceptance:.3f} over {updates:,} updates of {run.chains} chains"]
    exact_when = run.about.get("exact_when")
    if exact_when is not None:
        prediction, sentence = None, "exact kernel" + ("" if exact_when == "always" else f", when {exact_when}")
    else:
        prediction, sentence = _predicted(run)
    findings.append(sentence)
    for leg in infos(run.info):
        bad = 1 - leg.is_finite.mean() / run.thin
        if bad > 0:
            findings.append(f"{bad:.2%} of the log ratios were NaN or infinite")
    if run.failed:
        findings.append(
            f"{failed_sentence(run.failed, run.failure)}: the target is restricted to where the functions work"
        )
    return Summary(arviz_stats.summary(run.to_datatree()), tuple(findings), prediction)


def _predicted(run: Any) -> tuple[Any, str]:
    """The predicted separation of an approximate kernel, or why there is none."""
    from lockstep.separation import predict

    error = run.about.get("error")
    kind = "approximate kernel" + (f": error {error}" if error else "")
    with warnings.catch_warnings():
        # What the warnings say is in the sentence.
        warnings.simplefilter("ignore", LockstepWarning)
        try:
            prediction = predict(run)
        except (TypeError, ValueError) as reason:
            return None, f"{kind}; separation is not predicted: {reason}"
    return prediction, f"{kind}; {prediction.sentence()}"
