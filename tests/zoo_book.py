"""The page of the zoo: what was predicted of every estimator beside the truth, kept as JSON and as a table."""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lockstep.storage.archive import write_json

DOCS = Path(__file__).parents[1] / "docs"
COLUMNS = ("estimator", "half", "rule", "ρ predicted", "ρ true", "farthest of all rules", "outcome")
HEAD = """# A zoo of estimators

Estimators whose truth is known, each through `ls.separation.predict` from an ordinary run of 4 × 20,000 updates
with the default budget. ρ is that of the rule of the run against the exact penalty chain;
*farthest* is the largest ratio of predicted to true ρ, of all rules and against both exact chains. A case is
*right* if every number of it is within 25 % of the truth (allowing two standard errors of the truth), *withheld* if
some are withheld for a reason that was written down with the case, or have a bound that holds. The last section of
[](prediction.md) tells what was changed in view of which case. Made by `pytest -m study
tests/separation/test_zoo.py`.
"""
RIGHT, WITHHELD, NEEDLESS, WRONG = "right", "withheld", "withheld without need", "wrong"


class ZooBook:
    """One row for each case; a case that is judged again replaces its row."""

    def __init__(self, path: Path = DOCS / "zoo.json") -> None:
        self.path = path
        self.rows: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}

    def enter(self, name: str, half: str, rule: str, outcomes: list[Any], reason: str) -> str:
        """Enter what was found of a case, and return its verdict: the worst of its numbers."""
        used = next(of for of in outcomes if (of.rule, of.against) == (rule, "penalty"))
        verdicts = [of.verdict for of in outcomes]
        worst = max(
            (of for of in outcomes if of.is_number), key=lambda of: abs(math.log(of.predicted / of.truth)), default=None
        )
        verdict = next((one for one in (WRONG, NEEDLESS, WITHHELD) if one in verdicts), RIGHT)
        self.rows[name] = {
            "half": half,
            "rule": rule,
            "predicted": used.said,
            "truth": _number(used.truth),
            "worst": "" if worst is None else f"{worst.predicted / worst.truth:.2f} ({worst.rule}, {worst.against})",
            "verdict": verdict,
            "reason": reason,
            "date": datetime.date.today().isoformat(),
        }
        return verdict

    def write(self, names: Sequence[str]) -> None:
        """Write the rows and their table, in the order of these names."""
        self.rows = {name: self.rows[name] for name in names if name in self.rows}
        write_json(self.path, self.rows)
        self.path.with_suffix(".md").write_text(self.page(names), encoding="utf-8")

    def count(self, verdict: str) -> int:
        return sum(row["verdict"] == verdict for row in self.rows.values())

    def page(self, names: Sequence[str]) -> str:
        """A summary and the table; and what has no row."""
        counts = ", ".join(f"{self.count(verdict)} {verdict}" for verdict in (RIGHT, WITHHELD, NEEDLESS, WRONG))
        lines = [HEAD, f"**{len(self.rows)} of {len(names)} estimators are judged: {counts}.**", ""]
        lines += [f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|"]
        for name, row in self.rows.items():
            outcome = row["verdict"] + (f": {row['reason']}" if row["reason"] else "")
            shown = (name.replace("|", "\\|"), row["half"], row["rule"], row["predicted"], row["truth"], row["worst"])
            lines.append(f"| {' | '.join(shown)} | {outcome} |")
        if missing := [name for name in names if name not in self.rows]:
            lines += ["", f"Not judged yet: {'; '.join(missing)}."]
        return "\n".join(lines) + "\n"


def _number(value: float) -> str:
    if math.isnan(value):
        return "–"
    return "∞" if math.isinf(value) else f"{value:,.3g}" if value < 1000 else f"{value:,.0f}"
