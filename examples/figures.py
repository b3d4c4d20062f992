"""What the figures of the examples share: size, colours that everybody can tell apart, and where they are kept."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

BLACK, ORANGE, BLUE, GREEN, PURPLE = "#222222", "#D55E00", "#0072B2", "#009E73", "#CC79A7"


def panels(rows: int = 1, columns: int = 1, size: tuple[float, float] = (7.0, 4.2), **options: Any) -> tuple[Any, Any]:
    """A figure and its axes."""
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(rows, columns, **options)
    for one in [axes] if rows * columns == 1 else axes.flat:
        one.spines[["top", "right"]].set_visible(False)
    return figure, axes


def save(figure: Any, name: str) -> None:
    """Write a figure into the folder that the command line names."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 and not sys.argv[1].startswith("-") else "results/examples")
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / f"{name}.png", dpi=130)
    print(f"written: {folder / name}.png")
