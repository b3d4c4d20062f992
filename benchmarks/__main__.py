"""Run the rows, print their table, and write it to ``benchmarks/results``."""

import argparse
import sys
import time
import traceback
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path

import numpy as np
from rich.console import Console

from benchmarks import report
from benchmarks.harness import measure
from benchmarks.rows import all_rows

REPEATS = 15
QUICK_REPEATS = 3
SECONDS = 10.0  # after which a row has no more repetitions than `FEWEST`: most take less than half a minute
QUICK_SHARE = 2  # shorter runs would measure the start of `ls.sample`, not its updates
WIDTH = 180  # where there is no terminal
RESULTS = Path(__file__).parent / "results"


def main() -> None:
    options = parse()
    console = Console() if sys.stdout.isatty() else Console(width=WIDTH)
    rows = [row for row in all_rows() if fnmatch(row.name, f"*{options.rows}*")]
    if not rows:
        raise SystemExit(f"no row matches {options.rows!r}; --list shows them")
    if options.list:
        console.print(report.listing(rows))
        return
    if options.quick:
        rows = [replace(row, updates=max(1, row.updates // QUICK_SHARE)) for row in rows]
    repeats = options.repeats or (QUICK_REPEATS if options.quick else REPEATS)

    machine = report.machine()
    # A quick look does not replace a result.
    name = "quick" if options.quick else "bench"
    order = [row.name for row in all_rows()]
    results, failed = [], []
    began = time.perf_counter()
    for row in rows:
        with console.status(f"{row.name}: {row.measures}"):
            try:
                results.append(measure(row, repeats, np.inf if options.repeats else SECONDS))
            except Exception:  # the other rows are measured all the same
                failed.append(row.name)
                console.print(f"[bold red]{row.name} failed[/]")
                traceback.print_exc()
                continue
        minutes = (time.perf_counter() - began) / 60
        console.print(f"{minutes:5.1f} min  {row.name}: {report.short(results[-1])}", highlight=False)
        report.write(results, machine, RESULTS, name, order)
    console.print(report.table(results))
    missed = [result.row.name for result in results if result.verdict == "below target"]
    console.print(f"{len(results)} rows, {len(missed)} below their targets: {', '.join(missed) or 'none'}.")
    console.print(f"Written to {RESULTS / name}.json and .md.")
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--rows", default="*", metavar="PATTERN", help="only rows whose name holds this glob pattern")
    parser.add_argument(
        "--repeats",
        type=positive,
        metavar="N",
        help=f"measurements of each row (default {REPEATS}, fewer for a row that takes long)",
    )
    parser.add_argument("--quick", action="store_true", help="short runs, few repeats: a look, not a result")
    parser.add_argument("--list", action="store_true", help="show the rows and stop")
    return parser.parse_args()


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError
    return number


main()
