"""A readable summary of a run; ESS and R-hat are ArviZ's."""

from __future__ import annotations

import dataclasses
import warnings
from typing import Any

from lockstep.sampling.problems import LockstepWarning, infos


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


def summarize(run: Any) -> Summary:
    """The summary of a run."""
    import arviz_stats

    updates = run.chains * run.draws * run.thin
    findings = [f"acceptance {run.acceptance:.3f} over {updates:,} updates of {run.chains} chains"]
    exact_when = getattr(run.kernel, "exact_when", None)
    prediction, sentence = None, "the kernel is not known: the run was loaded without it"
    if exact_when is not None:
        sentence = "exact kernel" + ("" if exact_when == "always" else f", when {exact_when}")
    elif run.kernel is not None:
        prediction, sentence = _predicted(run)
    findings.append(sentence)
    for leg in infos(run.info):
        bad = 1 - leg.is_finite.mean() / run.thin
        if bad > 0:
            findings.append(f"{bad:.2%} of the log ratios were NaN or infinite")
    return Summary(arviz_stats.summary(run.to_datatree()), tuple(findings), prediction)


def _predicted(run: Any) -> tuple[Any, str]:
    """The predicted separation of an approximate kernel, or why there is none."""
    from lockstep.separation import predict

    error = getattr(getattr(getattr(run.kernel, "ratio", None), "rule", None), "error", None)
    kind = "approximate kernel" + (f" (error {error})" if error else "")
    with warnings.catch_warnings():
        # What the warnings say is in the sentence.
        warnings.simplefilter("ignore", LockstepWarning)
        try:
            prediction = predict(run)
        except (TypeError, ValueError) as reason:
            return None, f"{kind}; separation is not predicted: {reason}"
    return prediction, f"{kind}: {prediction.sentence()}"
