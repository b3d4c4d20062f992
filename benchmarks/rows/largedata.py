"""Posteriors of large data: effective draws a second against samplers that see all rows, and against HMCECS."""

from benchmarks.harness import Row
from benchmarks.largedata import hmcecs, newton, nuts, ours, ours_whole, random_walk, set_up, tuna, update_time

ROWS_, DIMENSION, COUNT = 10**6, 10, 8
WHAT = "logistic regression, N = 10⁶, d = 10"
WHOLE = f"{WHAT}, to 10,000 draws with set-up, compilation and warm-up"


def row(name: str, what: str, mine, peer, at_least: float | None = None, repeats: int = 3) -> Row:
    return Row(f"largedata-{name}", what, mine, (peer,), at_least, unit="effective draw", repeats=repeats)


def of_dimension(d: int) -> Row:
    rows = 10**5
    what = f"logistic regression, N = 10⁵, d = {d}"
    return row(f"dimension-{d}", what, ours(rows, d), nuts(rows, d, 200, 200), repeats=1)


def of_size(rows: int, exponent: str) -> Row:
    names = (f"lockstep, N = {exponent}", "lockstep, N = 10⁴")
    big, small = (update_time(n, DIMENSION, COUNT, name) for n, name in zip((rows, 10**4), names, strict=True))
    what = f"logistic regression, {COUNT} rows of N = {exponent}, d = 10"
    return Row(f"largedata-size-{exponent}", what, big, (small,), 1 / 1.5, updates=2**17, repeats=5)


def of_set_up(name: str, what: str, is_compiled: bool, at_least: float) -> Row:
    rows = 2 * 10**6
    ours, peer = set_up(rows, DIMENSION, is_compiled), newton(rows, DIMENSION)
    what = f"logistic regression, N = 2·10⁶, d = 10: {what}, against the mode alone"
    return Row(f"largedata-{name}", what, ours, (peer,), at_least, updates=1, unit="set-up", repeats=5)


ROWS = [
    of_set_up("set-up", "set-up", True, 1.0),
    of_set_up("set-up-whole", "set-up with compilation", False, 1 / 3),
    row("nuts", WHAT, ours(ROWS_, DIMENSION), nuts(ROWS_, DIMENSION), 1000.0),
    row("hmcecs", WHAT, ours(ROWS_, DIMENSION), hmcecs(ROWS_, DIMENSION), 100.0),
    row("walk", WHAT, ours(ROWS_, DIMENSION), random_walk(ROWS_, DIMENSION), 1000.0),
    row("nuts-whole", WHOLE, ours_whole(ROWS_, DIMENSION), nuts(ROWS_, DIMENSION, is_whole=True), None, 1),
    row("hmcecs-whole", WHOLE, ours_whole(ROWS_, DIMENSION), hmcecs(ROWS_, DIMENSION, is_whole=True), None, 1),
    row("walk-whole", WHOLE, ours_whole(ROWS_, DIMENSION), random_walk(ROWS_, DIMENSION, is_whole=True), None, 1),
    row("tuna", f"{WHAT}, exact", tuna(ROWS_, DIMENSION), nuts(ROWS_, DIMENSION), None, 1),
    *(of_size(rows, exponent) for rows, exponent in ((10**5, "10⁵"), (10**6, "10⁶"), (10**7, "10⁷"))),
    *(of_dimension(d) for d in (2, 10, 50, 100)),
]
