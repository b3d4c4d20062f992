"""The proposals of a kernel that learn: those with a method ``adapted(positions, step)``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import numpy as np

from lockstep.core.kernel import Kernel
from lockstep.core.proposal import Proposal
from lockstep.core.types import Position
from lockstep.core.walk import parts, with_parts
from lockstep.coupling.pair import legs
from lockstep.kernels.compose import Cycle
from lockstep.storage.learnt import filled


def require_adaptable(kernel: Kernel) -> None:
    """Refuse a kernel none of whose proposals learns."""
    if not _proposals(kernel):
        raise ValueError(
            f"adapt is True, but no proposal of {kernel!r} can be adapted; use ls.RandomWalk, ls.UniformWalk or "
            f"ls.CrankNicolson, or leave adapt out"
        )


def _is_adaptable(proposal: Proposal) -> bool:
    """Whether a proposal learns."""
    return proposal.adapted is not None


def _proposals(kernel: Kernel) -> list[Proposal]:
    """All proposals that learn."""
    return parts(kernel, Proposal, _is_adaptable)


def replaced(kernel: Kernel, positions: Position, step: np.ndarray) -> Any:
    """The kernel with each adaptable proposal replaced; in a `Cycle` each by the step of its own kernel."""
    if kernel.in_turn and np.ndim(step) == 1:
        return Cycle([replaced(one, positions, own) for one, own in zip(kernel.in_turn, step, strict=True)])
    walked, *_ = legs(positions)

    def replace(proposal: Any) -> Any:
        return proposal.adapted(walked, float(np.mean(step)))

    return with_parts(kernel, Proposal, _is_adaptable, replace)


def shaped(kernel: Kernel, positions: Position) -> Any:
    """The kernel with scales of their final shape, so that all windows share one compiled program."""
    return replaced(kernel, jax.tree.map(lambda leaf: np.asarray(leaf)[:1, None], positions), np.ones(()))


def numbers(kernel: Kernel) -> list[Any]:
    """The leaves of all proposals that learn."""
    return jax.tree.leaves(_proposals(kernel))


def with_numbers(kernel: Kernel, numbers: list[np.ndarray], directory: Path) -> Any:
    """The kernel with these leaves in its proposals that learn."""
    proposals = iter(filled(_proposals(kernel), numbers, directory))
    return with_parts(kernel, Proposal, _is_adaptable, lambda _: next(proposals))
