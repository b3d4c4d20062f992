"""A quadratic fitted to the log ratios of a pilot run."""

from __future__ import annotations

import jax
import numpy as np

from lockstep.core import flat
from lockstep.core.arguments import positive, require_run
from lockstep.core.declared import Part
from lockstep.core.parts import part
from lockstep.core.sampled import Sampled
from lockstep.core.trees import namespace
from lockstep.core.types import Array, Position
from lockstep.host.functions import Wrapped
from lockstep.kernels.metropolis_hastings import MetropolisHastings
from lockstep.ratios.screened import Screened
from lockstep.surrogates.replay import Proposed, replayed

TRUSTED = 5.0  # differences beyond that count by their relative error
LEAST_CURVATURE = 0.05  # in units of the pilot's standard deviations, in which that of a normal law is 1


@part
class Quadratic(Part, Wrapped):
    """``max(b·z + zᵀ H z/2, floor)`` with z the position in units of the pilot run: its mean is 0, its spread 1.

    ``spread`` is the standard deviation of what the fit leaves of the differences of the log density.
    """

    mean: Array
    scale: Array
    linear: Array
    curvature: Array
    floor: Array
    spread: Array

    name = "surrogate"
    computes_on_numpy = True

    def __call__(self, position: Position) -> Array:
        array_module = namespace(jax.tree.leaves(position)[0])
        z = (flat.flatten(position, array_module) - self.mean) / self.scale
        return array_module.maximum(self.linear @ z + z @ (self.curvature @ z) / 2, self.floor)


def quadratic(run: Sampled, ridge: float = 1.0) -> Quadratic:
    """A quadratic surrogate of the log density, by ridge regression on a pilot run; then it is fixed.

    The noise of a run is known, so that all its candidates can be made again, also those that it rejected. The
    differences ``D = log π(θ')/π(θ)`` that the run has computed (or estimated, with noise) are regressed on the
    differences of z and of z zᵀ, and, for the bias of noisy ones, on what is the same in both directions; nothing is
    evaluated anew. Where the log density is not concave the surrogate is flat, and below the lowest value that it has
    on the pilot run it is constant: the screen says nothing of places where the run never was.

    Parameters
    ----------
    run
        A run of a kernel of one accept/reject, without ``thin``: some hundred updates in all, more in many dimensions.
    ridge
        The weight of the squared coefficients, in units of one difference.

    Examples
    --------
    >>> import jax.numpy as jnp, numpy as np, lockstep as ls
    >>> def log_density(theta):
    ...     return -0.5 * jnp.sum(theta**2) - 0.05 * jnp.sum(theta**4)
    >>> kernel = ls.standard(log_density, ls.RandomWalk(1.5))
    >>> pilot = ls.sample(kernel, np.zeros(2), draws=500, chains=4, warmup=50)
    >>> run = ls.sample(ls.screened(kernel, ls.surrogates.quadratic(pilot)), np.zeros(2), draws=500, chains=4)

    See Also
    --------
    lockstep.screened : what it is for.
    """
    _require_pilot(run)
    weight = float(positive(ridge, "ridge of quadratic"))
    first = jax.tree.map(lambda leaf: leaf[0, 0], run.walked)
    flat.require_floating(first, "quadratic")
    seen = replayed(run)
    drawn = np.concatenate([np.reshape(leaf, (run.chains * run.draws, -1)) for leaf in jax.tree.leaves(run.walked)], 1)
    mean, scale = drawn.mean(axis=0), drawn.std(axis=0)
    if not np.all(scale > 0):
        raise ValueError("run: a component never moved, so that nothing is known of it; give a longer pilot run")
    linear, curvature, spread = _fit(seen, mean, scale, weight)
    linear, curvature = _concave(linear, curvature)
    z = (drawn - mean) / scale
    floor = (z @ linear + np.einsum("ij,jk,ik->i", z, curvature, z) / 2).min()
    return Quadratic(mean, scale, linear, curvature, floor, spread)


def _require_pilot(run: Sampled) -> None:
    require_run(run)
    if run.kernel is None:
        raise ValueError("run was loaded from disk, without its kernel; give the run as ls.sample returned it")
    if not isinstance(run.kernel, MetropolisHastings) or isinstance(run.kernel.ratio, Screened):
        raise TypeError(
            f"run: its kernel is {run.kernel!r}; fit to a run of a kernel of one accept/reject that is not screened yet"
        )
    if run.thin > 1:
        raise ValueError(f"run is thinned by {run.thin}: what was proposed between its draws is lost; take thin=1")


def _fit(seen: Proposed, mean: np.ndarray, scale: np.ndarray, ridge: float) -> tuple[np.ndarray, np.ndarray, float]:
    """The coefficients b and H of the ridge regression, and what it leaves."""
    is_used = np.isfinite(seen.differences) & np.any(seen.candidates != seen.positions, axis=1)
    here, there = ((values[is_used] - mean) / scale for values in (seen.positions, seen.candidates))
    differences = seen.differences[is_used]
    size = len(mean)
    row, column = np.triu_indices(size)
    step = there - here
    # The bias of a noisy difference is the same there and back, as a log density's difference never is.
    bias = np.hstack([np.ones((len(step), 1)), step[:, row] * step[:, column]])
    features = np.hstack([step, there[:, row] * there[:, column] - here[:, row] * here[:, column], bias])
    if len(differences) < 2 * features.shape[1]:
        raise ValueError(
            f"run has {len(differences)} updates with a finite log ratio, too few for the {features.shape[1]} "
            f"coefficients of a fit in {size} dimensions; take at least {4 * features.shape[1]} draws"
        )
    weights = 1 / np.maximum(1.0, np.abs(differences) / TRUSTED)
    weighed = features * weights[:, None]
    normal = weighed.T @ weighed + ridge * np.eye(features.shape[1])
    found = np.linalg.solve(normal, weighed.T @ (weights * differences))
    left = (differences - features @ found) * weights
    curvature = np.zeros((size, size))
    curvature[row, column] = found[size : size + len(row)]
    return found[:size], curvature + curvature.T, float(np.sqrt(np.mean(left**2)))


def _concave(linear: np.ndarray, curvature: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same, flat in the directions in which it is not curved downwards."""
    values, vectors = np.linalg.eigh(curvature)
    is_curved = values < -LEAST_CURVATURE
    kept = vectors[:, is_curved]
    return kept @ (kept.T @ linear), (kept * values[is_curved]) @ kept.T
