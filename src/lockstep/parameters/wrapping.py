"""A prior put around the ratios of a kernel, an estimator or an evaluation."""

from __future__ import annotations

import functools
from typing import Any

from lockstep.core.declared import Part
from lockstep.core.estimator import Estimator
from lockstep.core.evaluation import Evaluation
from lockstep.core.kernel import Kernel
from lockstep.core.parts import part
from lockstep.core.shown import Placement
from lockstep.core.types import Array, Position
from lockstep.core.walk import parts, with_parts
from lockstep.estimators.samples import as_estimator
from lockstep.estimators.within import Within, WithinEvaluation
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


@functools.singledispatch
def around(given: Any, placement: Placement) -> Any:
    """A kernel, an estimator or an evaluation for a likelihood with the prior around it, as one for the posterior."""
    if not callable(given) or isinstance(given, type):
        raise TypeError(f"kernel is {given!r}; it must be a kernel such as ls.standard(log_likelihood, proposal)")
    return _around_estimator(as_estimator(given, "kernel"), placement)


@around.register
def _around_kernel(kernel: Kernel, placement: Placement) -> Any:
    """The prior is put around each ratio; what finds a mode first is put into the coordinates."""

    def convert(node: Kernel) -> Any:
        if node.with_prior is not None:
            return node.with_prior(placement)
        if (simple := node.simple) is None:
            return _moved(placement, node)
        rule, estimator = simple.ratio.rule, simple.ratio.estimator
        if rule is not None and estimator is not None and _is_unfitted(estimator):
            return MetropolisHastings(simple.proposal, Estimated(_moved(placement, estimator), rule))
        if unfitted := parts(node, Part, _is_unfitted):
            return _moved(placement, unfitted[0])
        return MetropolisHastings(simple.proposal, Posterior(placement, simple.ratio))

    return with_parts(kernel, Kernel, lambda node: not node.kernels or _is_unfitted(node), convert)


@around.register
def _around_estimator(estimator: Estimator, placement: Placement) -> Estimator:
    return _moved(placement, estimator) if _is_unfitted(estimator) else Within(placement, estimator)


@around.register
def _around_evaluation(evaluation: Evaluation, placement: Placement) -> Evaluation:
    if evaluation.has_path:
        raise TypeError(f"kernel is {evaluation!r}, which finds paths; give the kernel that keeps them")
    return WithinEvaluation(placement, evaluation)


def _is_unfitted(node: Part) -> bool:
    return not node.is_fitted


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
