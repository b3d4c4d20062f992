"""The page of the zoo: what was predicted of every estimator beside the truth, kept as JSON and as a table."""

from __future__ import annotations

import datetime
import json
import math
from pathlib import Path
from typing import Any

from lockstep.storage.archive import write_json

DOCS = Path(__file__).parents[1] / "docs"
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

    def write(self) -> None:
        """Write the rows and their table."""
        write_json(self.path, self.rows)
        self.path.with_suffix(".md").write_text(self.page(), encoding="utf-8")

    def count(self, verdict: str) -> int:
        return sum(row["verdict"] == verdict for row in self.rows.values())

    def page(self) -> str:
        """A summary and the table."""
        counts = ", ".join(f"{self.count(verdict)} {verdict}" for verdict in (RIGHT, WITHHELD, NEEDLESS, WRONG))
        head = "| estimator | half | rule | ρ predicted | ρ true | farthest of all rules | outcome |"
        lines = [f"{len(self.rows)} estimators: {counts}.", "", head, "|---|---|---|---|---|---|---|"]
        for name, row in self.rows.items():
            outcome = row["verdict"] + (f": {row['reason']}" if row["reason"] else "")
            shown = (name.replace("|", "\\|"), row["half"], row["rule"], row["predicted"], row["truth"], row["worst"])
            lines.append(f"| {' | '.join(shown)} | {outcome} |")
        return "\n".join(lines) + "\n"


def _number(value: float) -> str:
    if math.isnan(value):
        return "–"
    return "∞" if math.isinf(value) else f"{value:,.3g}" if value < 1000 else f"{value:,.0f}"
