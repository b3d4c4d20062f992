"""One look for all figures: colours that colour-blind readers can tell apart, exact solid, approximate dashed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

# Okabe and Ito's palette.
BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, VERMILION, PURPLE = (
    "#000000",
    "#E69F00",
    "#56B4E9",
    "#009E73",
    "#F0E442",
    "#0072B2",
    "#D55E00",
    "#CC79A7",
)
GREY = "0.6"
OF_PROPOSAL = {"random walk": BLUE, "independence": VERMILION}
SETTINGS = {
    "font.family": "DejaVu Sans",
    "font.size": 11,
    "axes.labelsize": 11,
    "axes.titlesize": 11.5,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "legend.fontsize": 10,
    "legend.handlelength": 2.8,
    "lines.linewidth": 1.6,
    "figure.dpi": 100,
    "savefig.dpi": 200,
    "svg.fonttype": "path",
    "svg.hashsalt": "lockstep",
}


def new_figure(rows: int, columns: int, width: float, height: float, **options: Any) -> tuple[Any, Any]:
    """A figure and its axes, drawn without a window."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, **options)


def log_counts(axes: Any, counts: Any) -> None:
    """A logarithmic axis of m with a tick at each m that was used."""
    from matplotlib.ticker import FixedLocator, NullLocator

    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_locator(FixedLocator(list(counts)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticklabels([str(m) for m in counts])
    axes.set_xlabel("samples in an estimate, m")


def guide(axes: Any, start: float, end: float, height: float, order: float, words: str) -> None:
    """A grey line that falls as a power of m, from a height at its start, with its slope written beside its end."""
    axes.plot([start, end], [height, height * (end / start) ** order], color=GREY, linewidth=1, zorder=0)
    at = (end, height * (end / start) ** order)
    axes.annotate(words, at, (4, 0), textcoords="offset points", color="0.4", va="center", fontsize=9.5)


def write(draw: Callable[[Any], Any], results: Any, directory: Path, name: str) -> Path:
    """Draw a figure and write it as PNG and SVG; the path of the latter."""
    import matplotlib

    with matplotlib.rc_context(SETTINGS):
        figure = draw(results)
        figure.savefig(directory / f"{name}.png")
        figure.savefig(directory / f"{name}.svg", metadata={"Date": None})
    return directory / f"{name}.svg"
