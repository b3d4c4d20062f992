"""The numbers of ``lockstep watch`` as a table in a terminal."""

from __future__ import annotations

import time
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from lockstep.core.progress import duration
from lockstep.results.convergence import is_suspicious
from lockstep.watch.numbers import Watch

COLUMNS = ("run", "state", "draws", "updates/s", "left", "accepted", "R-hat", "ESS")
SEPARATIONS = "separations (expected)"
WIDE = 120  # columns, where there is no terminal


def table_of(watch: Watch) -> Group:
    """All runs, a line each, and below what cannot be read or why a run has ended."""
    table = Table(box=None, pad_edge=False)
    rows = watch.rows()
    is_coupled = any(row.get("expected") is not None for row in rows)
    for name in (*COLUMNS, SEPARATIONS) if is_coupled else COLUMNS:
        is_text = name in ("run", "state")
        table.add_column(name, justify="left" if is_text else "right", overflow="fold", no_wrap=name != "run")
    for row in rows:
        table.add_row(*cells(row), *([_separations(row)] if is_coupled else []))
    told = [row["reason"] or row.get("until") for row in rows]
    lines = [Text(f"{row['name']}: {text}") for row, text in zip(rows, told, strict=True) if text]
    return Group(table if rows else Text(f"{watch.directory} holds no run yet"), *lines)


def cells(row: dict[str, Any]) -> list[Text]:
    """The line of a run; names are text, whatever they look like."""
    if "draws" not in row:
        return [Text(row["name"]), Text(row["state"], "bold red"), *[Text("-")] * (len(COLUMNS) - 2)]
    return [
        Text(row["name"]),
        Text(row["state"], "green" if row["state"] == "running" else ""),
        Text(f"{row['draws']:,}/{row['target']:,}"),
        _number(row["rate"], ",.0f"),
        Text("-" if row["left"] is None else duration(row["left"])),
        _number(row["acceptance"], ".2f"),
        _number(row["rhat"], ".3f", "r_hat"),
        _number(row["ess"], ",.0f", "ess"),
    ]


def _separations(row: dict[str, Any]) -> Text:
    is_known = row.get("expected") is not None
    return Text(f"{row['separations']:,} ({row['expected']:,.1f})" if is_known else "-")


def _number(value: float | None, form: str, column: str = "") -> Text:
    if value is None:
        return Text("-")
    return Text(format(value, form), "bold yellow" if column and is_suspicious(column, value) else "")


def show(watch: Watch, console: Console) -> None:
    """Show the table until Ctrl-C; once, where there is no terminal."""
    watch.look()
    if not console.is_terminal:
        console.print(table_of(watch), width=WIDE)
        return
    with Live(table_of(watch), console=console, auto_refresh=False) as live:
        while True:
            time.sleep(watch.pause)
            watch.look()
            live.update(table_of(watch), refresh=True)
