"""A readable summary of a run; ESS and R-hat are ArviZ's."""

from __future__ import annotations

import dataclasses
import warnings
from typing import Any

from lockstep.core.sampled import Sampled
from lockstep.core.warnings import LockstepWarning
from lockstep.coupling.infos import Marked
from lockstep.engine.bad_ratios import infos, told_of_bad, told_of_broken
from lockstep.engine.totals import failed_sentence
from lockstep.results.convergence import good_news, problems
from lockstep.results.table import require_rounding, table_of, written
from lockstep.separation.predict import predict
from lockstep.separation.sentences import sentences


@dataclasses.dataclass(frozen=True, eq=False)
class Summary:
    """A table with a row for each component, findings in plain words, and the predicted separation.

    The table holds full precision; what is printed has the digits that the Monte Carlo error gives a meaning to. The
    findings begin with the worst: ratios that decided nothing, chains that stick, disagree or are too short.
    ``prediction`` is None for exact kernels, and where there is none.
    """

    table: Any
    findings: tuple[str, ...]
    prediction: Any = None
    round_to: int | str = "auto"

    def __repr__(self) -> str:
        return "\n".join([written(self.table, self.round_to).to_string(), *self.findings])


def summarize(run: Sampled, round_to: int | str = "auto") -> Summary:
    """The summary of a run."""
    require_rounding(round_to)
    table = table_of(run)
    legs = list(infos(run.info))
    findings = [told for leg in legs for tell in (told_of_broken, told_of_bad) if (told := tell(leg, run.thin))]
    findings += [*_failed(run), *problems(run, table), *(sentences(run) if isinstance(run.info, Marked) else ())]
    exact_when = run.about.get("exact_when")
    if exact_when is not None:
        prediction, sentence = None, "exact kernel" + ("" if exact_when == "always" else f", when {exact_when}")
    else:
        prediction, sentence = _predicted(run)
    findings += [sentence, *run.changes, *good_news(table), *(told for told in (run.until, run.began) if told)]
    updates = run.chains * run.draws * run.thin
    findings.append(f"acceptance {run.acceptance:.3f} over {updates:,} updates of {run.chains} chains")
    return Summary(table, tuple(findings), prediction, round_to)


def _failed(run: Sampled) -> list[str]:
    """What evaluations that raised mean for the draws."""
    if not run.failed:
        return []
    return [f"{failed_sentence(run.failed, run.failure)}: the target is restricted to where the functions work"]


def _predicted(run: Sampled) -> tuple[Any, str]:
    """The predicted separation of an approximate kernel, or why there is none."""
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
