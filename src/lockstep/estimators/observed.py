"""What was observed, next to what is simulated: summaries that are given as data are refused, not summarised again."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lockstep.core.arguments import real_numbers
from lockstep.core.parts import show
from lockstep.core.precision import double_precision
from lockstep.core.trees import is_key
from lockstep.core.types import Shape, Tree
from lockstep.host.boxes import is_box
from lockstep.host.functions import call_checked

REMEDY = (
    "observed are data, as simulate makes them, of which summaries are taken: give those data; or let simulate return "
    "summaries, and give summaries=None with the summaries of what was observed"
)


class Seen(NamedTuple):
    """The shapes of the observed data, None if they are no array, and of their summaries."""

    data: Shape | None
    summaries: Shape

    def require(self, data: Tree, summaries: Any) -> None:
        """Refuse summaries in place of observed data, and summaries of another shape than those of observed data."""
        simulated, found = shape_of(data), np.shape(summaries)
        is_summarised_twice = self.data == found and simulated not in (None, self.data)
        if is_summarised_twice:
            raise ValueError(
                f"observed of synthetic_likelihood has shape {self.data}, which is that of summaries; simulated data "
                f"have shape {simulated}. {REMEDY}"
            )
        if found != self.summaries:
            raise ValueError(
                f"summaries of synthetic_likelihood have shape {found} for simulated data and {self.summaries} for "
                f"observed (of shape {self.data}; simulated data have shape {simulated}): they must be alike. {REMEDY}"
            )


def shape_of(data: Tree) -> Shape | None:
    """The shape of an array or a list of numbers; None for other data."""
    if hasattr(data, "shape"):
        return tuple(data.shape)
    if isinstance(data, (int, float)):
        return ()
    # Not by NumPy, which cannot look at numbers that are being compiled.
    within = {shape_of(one) for one in data} if isinstance(data, (list, tuple)) else {None}
    inner = within.pop() if len(within) == 1 else None
    return None if inner is None else (len(data), *inner)


def observed_summaries(summaries: Any, observed: Any, is_compiled: bool) -> tuple[np.ndarray, Seen | None]:
    """The summaries of the observed data, a vector of numbers, and what simulated data are held against."""
    given = summaries.callee.function if is_box(summaries) else summaries
    if is_key(observed):
        raise TypeError(f"observed is {show(observed)}; give what was observed, as simulate makes it")
    if is_compiled and shape_of(observed) is not None:
        observed = np.asarray(observed)  # as functions of JAX take it
    with double_precision():
        found = real_numbers(
            observed if given is None else _summarised(given, observed),
            "observed" if given is None else "summaries of observed",
        )
    if found.ndim != 1:
        what = "observed has" if given is None else "summaries of observed have"
        alone = " (a single one in a list)" if found.ndim == 0 else ""
        raise ValueError(
            f"{what} shape {found.shape}; they must be a vector{alone}{'' if given is None else '. ' + REMEDY}"
        )
    return np.asarray(found), None if given is None else Seen(shape_of(observed), found.shape)


def _summarised(summaries: Any, observed: Any) -> Any:
    try:
        return call_checked(summaries, "summaries", (observed,))
    except Exception as error:
        error.add_note(f"This was summaries(observed). If they fail on simulated data, too, mend them; else {REMEDY}.")
        raise
