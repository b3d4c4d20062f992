"""A prior put around the ratios of a kernel."""

from __future__ import annotations

from typing import Any

import jax

from lockstep.core.declared import Part
from lockstep.core.estimator import Estimator
from lockstep.core.kernel import Kernel
from lockstep.core.parts import part
from lockstep.core.shown import Placement
from lockstep.core.types import Array, Position
from lockstep.estimators.within import Within
from lockstep.kernels.metropolis_hastings import MetropolisHastings
from lockstep.ratios.estimated import Estimated
from lockstep.ratios.posterior import Posterior


@part
class AtValues(Part):
    """A function of values as one of positions."""

    placement: Placement
    function: Any

    def __call__(self, position: Position, *others: Any) -> Array:
        return self.function(self.placement.values(position), *others)

    shown = property(lambda self: self.placement)


@part
class PriorOfPosition(Part):
    """The log prior of positions, and that which a model has of its own."""

    placement: Placement
    own: Any

    def __call__(self, position: Position) -> Array:
        values, log_prior = self.placement.evaluate(position)
        return log_prior + self.own(values)

    shown = property(lambda self: self.placement)


def kernel_of_posterior(placement: Placement, kernel: Any) -> Any:
    """The kernel with the prior around each of its ratios; what finds a mode first is put into the coordinates."""

    def is_whole(node: object) -> bool:
        return (isinstance(node, Kernel) and not node.kernels) or _is_unfitted(node)

    def convert(node: Any) -> Any:
        if not is_whole(node):
            return node
        if isinstance(node, Kernel) and node.with_prior is not None:
            return node.with_prior(placement)
        if not isinstance(node, MetropolisHastings):
            return _moved(placement, node)
        rule: Any = node.ratio.rule
        if rule is not None and _is_unfitted(node.ratio.estimator):
            return MetropolisHastings(node.proposal, Estimated(within(placement, node.ratio.estimator), rule))
        unfitted = [one for one in jax.tree.leaves(node, is_leaf=_is_unfitted) if _is_unfitted(one)]
        if unfitted:
            return _moved(placement, unfitted[0])
        return MetropolisHastings(node.proposal, Posterior(placement, node.ratio))

    return jax.tree.map(convert, kernel, is_leaf=is_whole)


def within(placement: Placement, estimator: Any) -> Estimator:
    """The estimator of the posterior's D, from one of the likelihood's."""
    return _moved(placement, estimator) if _is_unfitted(estimator) else Within(placement, estimator)


def _is_unfitted(node: object) -> bool:
    return isinstance(node, Part) and not node.is_fitted


def _moved(placement: Placement, node: Any) -> Any:
    """A part that searches a mode, so that it searches that of the posterior, where chains walk."""
    if node.is_fitted:
        raise TypeError(
            f"kernel has a part, {node.name}, that has no ratio around which a prior could be put; let it have the "
            f"posterior as its target"
        )
    if node.reparametrized is None:
        raise TypeError(
            f"kernel has a part, {node.name}, that finds a mode before it runs, and what it knows of the likelihood "
            f"(a bound) does not hold in other coordinates; give it log_prior itself, or a proposal and control=None"
        )
    return node.reparametrized(
        lambda function: AtValues(placement, function), lambda own: PriorOfPosition(placement, own)
    )
