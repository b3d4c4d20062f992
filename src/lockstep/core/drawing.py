"""Figures that notebooks show; imported where one is drawn, since matplotlib is optional."""

from __future__ import annotations

import io

from matplotlib.figure import Figure

DOTS_PER_INCH = 100


class Drawing(Figure):
    """A figure that belongs to no window: a notebook shows it where it is returned, whatever else it has loaded."""

    def _repr_png_(self) -> bytes:
        file = io.BytesIO()
        self.savefig(file, format="png", dpi=DOTS_PER_INCH)
        return file.getvalue()
