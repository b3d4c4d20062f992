"""A kernel that cannot be made before the first position is known."""

from __future__ import annotations

from typing import Any, NoReturn

from lockstep.core.kernel import Kernel
from lockstep.core.parts import part
from lockstep.core.types import Position
from lockstep.kernels.metropolis_hastings import MetropolisHastings, no_coupling
from lockstep.subsampling.scatter import Scattered


@part
class Delayed(Kernel):
    """A recipe for a kernel: `lockstep.sample` makes the kernel from its initial position."""

    recipe: Any

    def fit(self, position: Position, progress: bool | None = None) -> tuple[MetropolisHastings, Scattered]:
        """The kernel, and the surroundings of the mode, where its chains are to begin."""
        return self.recipe(position, progress)

    @property
    def shown(self) -> Any:
        return self.recipe.estimator.shown

    @property
    def reparametrized(self) -> Any:
        if self.recipe.reparametrized is None:
            return None
        return lambda likelihood, prior: Delayed(self.recipe.reparametrized(likelihood, prior))

    def _refuse(self, *arguments: Any, **options: Any) -> NoReturn:
        raise ValueError(
            "the mode of the posterior is not known yet; ls.sample finds it from its initial position, elsewhere make "
            "the kernel with initial=position"
        )

    noise = init = move = step = _refuse

    @property
    def cannot_meet(self) -> str | None:
        """What is known before the fit, which chooses proposals whose chains can meet if none is given."""
        return None if self.recipe.proposal is None else no_coupling(self.recipe.proposal)
