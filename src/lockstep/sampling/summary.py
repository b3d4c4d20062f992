"""A readable summary of a run; ESS and R-hat are ArviZ's."""

from __future__ import annotations

import dataclasses
from typing import Any

from lockstep.sampling.problems import infos


@dataclasses.dataclass(frozen=True, eq=False)
class Summary:
    """A table with a row for each component, and findings in plain words."""

    table: Any
    findings: tuple[str, ...]

    def __repr__(self) -> str:
        return "\n".join([self.table.to_string(), *self.findings])


def about(kernel: Any) -> dict[str, Any]:
    """What a reader without the kernel would like to know of it: its text, when it is exact, or its error."""
    error = getattr(getattr(getattr(kernel, "ratio", None), "rule", None), "error", None)
    return {"kernel": repr(kernel), "exact_when": getattr(kernel, "exact_when", None), "error": error}


def summarize(run: Any) -> Summary:
    """The summary of a run."""
    import arviz_stats

    return Summary(arviz_stats.summary(run.to_datatree()), tuple(_findings(run)))


def _findings(run: Any) -> list[str]:
    updates = run.chains * run.draws * run.thin
    findings = [f"acceptance {run.acceptance:.3f} over {updates:,} updates of {run.chains} chains"]
    exact_when, error = run.about.get("exact_when"), run.about.get("error")
    if exact_when is None:
        findings.append("approximate kernel" + (f": error {error}" if error else ""))
    else:
        findings.append("exact kernel" + ("" if exact_when == "always" else f", when {exact_when}"))
    for leg in infos(run.info):
        bad = 1 - leg.is_finite.mean() / run.thin
        if bad > 0:
            findings.append(f"{bad:.2%} of the log ratios were NaN or infinite")
    return findings
