"""The table of results: on the terminal, as Markdown and as JSON."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from benchmarks.harness import Result, Row

CAPTION = "ratio = peer's time / our time, median (10 %–90 % quantiles) of interleaved repetitions: bigger is better"
PACKAGES = ("lockstep-mcmc", "jax", "jaxlib", "numpy", "blackjax", "numba")
SHARED = ("platform", "processors", "python", *PACKAGES)
HEAD = ("row", "what is measured", "ours", "peer's", "peer", "ratio", "target", "")
STYLES = {"ok": "green", "below target": "bold red", "information": "dim"}


def table(results: Sequence[Result]) -> Table:
    shown = Table(*HEAD, caption=CAPTION)
    for result in results:
        *cells, verdict = line(result)
        shown.add_row(*cells, f"[{STYLES[verdict]}]{verdict}")
    return shown


def listing(rows: Sequence[Row]) -> Table:
    shown = Table("row", "what is measured", "target")
    for row in rows:
        shown.add_row(row.name, row.measures, target(row))
    return shown


def line(result: Result) -> tuple[str, ...]:
    low, high = result.spread
    more = "" if result.row.at_most_more is None else f", {duration(result.more)} more"
    return (
        result.row.name,
        f"{result.row.measures}, one {result.row.unit}",
        duration(float(np.median(result.ours))),
        duration(float(np.median(result.peer))),
        result.peer_name,
        f"{result.median:.2f} ({low:.2f}–{high:.2f})" + more,
        target(result.row),
        result.verdict,
    )


def short(result: Result) -> str:
    """A line while others are measured."""
    *_, ratio, target, verdict = line(result)
    return f"{ratio}, {target}: {verdict}" if target else ratio


def target(row: Row) -> str:
    if row.at_most_more is not None:
        return f"≤ {duration(row.at_most_more)} more"
    return "" if row.at_least is None else f"≥ {row.at_least:.3g}"


def duration(seconds: float) -> str:
    if seconds < 0:
        return f"-{duration(-seconds)}"
    for scale, symbol in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {symbol}"
    return f"{seconds / 1e-9:.3g} ns"


def machine() -> dict[str, Any]:
    """Where and on what the measurements are taken, asked before the first row: the load is that of other jobs."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "platform": platform.platform(),
        "processors": os.cpu_count(),
        "load before": os.getloadavg()[0],
        "python": platform.python_version(),
        **{package: version(package) for package in PACKAGES},
    }


def write(results: Sequence[Result], where: dict[str, Any], folder: Path, name: str, order: Sequence[str]) -> None:
    """Keep the results; rows that were not measured now stay as they were, with their own dates."""
    folder.mkdir(parents=True, exist_ok=True)
    where = {**where, "load after": os.getloadavg()[0]}
    kept = folder / f"{name}.json"
    rows = {row["name"]: row for row in json.loads(kept.read_text())["rows"]} if kept.exists() else {}
    rows |= {result.row.name: as_dict(result, where) for result in results}
    data = {"rows": [rows[one] for one in order if one in rows]}
    kept.write_text(json.dumps(data, indent=2) + "\n")
    (folder / f"{name}.md").write_text(markdown(data["rows"]))


def as_dict(result: Result, where: dict[str, Any]) -> dict[str, Any]:
    row, (low, high) = result.row, result.spread
    return {
        "line": line(result),
        "machine": {**where, "repeats": len(result.ours)},
        "name": row.name,
        "measures": row.measures,
        "peer": result.peer_name,
        "median": result.median,
        "quantile_10": low,
        "quantile_90": high,
        "at_least": row.at_least,
        "verdict": result.verdict,
        "unit": row.unit,
        "ours_seconds": result.ours,
        "peer_seconds": result.peer,
    }


def markdown(rows: Sequence[dict[str, Any]]) -> str:
    table = [HEAD, ("---",) * len(HEAD), *(row["line"] for row in rows)]
    lines = ["| " + " | ".join(cells) + " |" for cells in table]
    facts = {f"{name} {value}" for row in rows for name, value in row["machine"].items() if name in SHARED}
    said = [f"{CAPTION[0].upper()}{CAPTION[1:]}.", f"{', '.join(sorted(facts))}."]
    return "\n\n".join(["# Benchmarks", "\n".join(lines), *said]) + "\n"
