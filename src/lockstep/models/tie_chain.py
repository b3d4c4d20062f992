"""The chain on graphs that an `ERGM` simulates by: what is compiled, and the arrays that it takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lockstep.models.families import IN_DEGREE, MATRIX, OUT_DEGREE, Term, weights_of

UNBOUNDED = 2**31 - 1


class TieChain:
    """Toggles of ties for graphs of one size; ``pairs`` are those that are free to change, None for all.

    Numba is loaded when a graph is simulated or counted first.
    """

    def __init__(
        self,
        terms: Sequence[Term],
        nodes: int,
        is_directed: bool,
        most: tuple[int, int] = (UNBOUNDED, UNBOUNDED),
        pairs: np.ndarray | None = None,
    ) -> None:
        self.nodes, self.is_directed, self.most = nodes, is_directed, most
        self.pairs = np.zeros((0, 2), np.int64) if pairs is None else np.ascontiguousarray(pairs, np.int64)
        count = len(terms)
        counts = np.arange(nodes + 1)
        self.codes = np.array([term.code for term in terms])
        self.tables = np.zeros((count, nodes + 1))
        self.vectors = np.zeros((count, 2, nodes))
        self.places = np.zeros(count, np.int64)
        matrices: list[Any] = []
        for t, term in enumerate(terms):
            if term.table is not None:
                self.tables[t] = term.table(counts)
            if term.code == MATRIX:
                self.places[t] = len(matrices)
                matrices.append(weights_of(term))
            elif term.values is not None:
                self.vectors[t] = term.values
        self.matrices = np.array(matrices) if matrices else np.zeros((0, 1, 1))
        # The statistics of a graph without ties: f(0) of every node.
        self.of_empty = np.where(np.isin(self.codes, (OUT_DEGREE, IN_DEGREE)), nodes * self.tables[:, 0], 0.0)

    @property
    def free(self) -> int:
        """How many pairs are free to change."""
        return len(self.pairs) or self.nodes * (self.nodes - 1) // (1 if self.is_directed else 2)

    def _compiled(self) -> tuple[Any, Any]:
        from lockstep.models.changes import Compiled
        from lockstep.models.toggles import Rules

        terms = Compiled(self.codes, self.tables, self.vectors, self.matrices, self.places)
        return Rules(self.is_directed, self.pairs, *self.most), terms

    def toggled(
        self, words: np.ndarray, theta: np.ndarray, x: np.ndarray, toggles: int, records: int = 1
    ) -> tuple[np.ndarray, np.ndarray]:
        """The graphs after ``records`` times that many proposals, and the changes of their statistics each time."""
        from lockstep.models.compiled import owned
        from lockstep.models.toggles import toggle

        theta = owned(theta, float)
        is_bad = ~np.isfinite(theta).all(axis=1)
        if np.any(is_bad):
            raise ValueError(f"theta of ERGM is {theta[is_bad][0].tolist()}; it must be finite")
        x = owned(x, np.int8)
        totals = np.zeros((len(x), records, len(self.codes)))
        toggle(owned(words, np.uint32), theta, toggles, x, *self._compiled(), totals)
        return x, totals

    def counted(self, x: np.ndarray) -> np.ndarray:
        """The statistics of graphs, tie by tie."""
        from lockstep.models.compiled import owned
        from lockstep.models.toggles import count_terms

        totals = np.zeros((len(x), len(self.codes)))
        count_terms(owned(x, np.int8), *self._compiled(), totals)
        return self.of_empty + totals

    def changes(self, x: np.ndarray, pairs: np.ndarray) -> np.ndarray:
        """What a tie between each of some pairs adds to the statistics of one graph."""
        from lockstep.models.compiled import owned
        from lockstep.models.toggles import change_table

        found = np.zeros((len(pairs), len(self.codes)))
        change_table(owned(x, np.int8), owned(pairs, np.int64), *self._compiled(), found)
        return found
