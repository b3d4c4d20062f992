"""The delta method for black boxes: differences along the standard errors of an average.

Let S Sᵀ be the covariance of the average (that of the samples over m), and h(z) = g(average + S z). What the delta
method needs are derivatives of h at 0: bias = tr ∇²h / 2, variance = abs(∇h)², and for the third cumulant the curvature
along ∇h. So k directions take 4k + 5 values of g, at two widths each and whatever the place and units of the samples,
where a whole Hessian would take 2k² + 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from lockstep.core.estimator import Estimate
from lockstep.core.trees import is_concrete, namespace
from lockstep.core.types import Array, Tree
from lockstep.core.warnings import warn
from lockstep.estimators.samples import moments, moments_of
from lockstep.host.black_box import ONE_NUMBER
from lockstep.host.callback import on_host

# Of a standard error. Differences of this width and of half of it, extrapolated to none, are off by about
# (width⁴/1440) h⁽⁶⁾ and by 2,000 times the rounding of g, both far below what an acceptance could show.
WIDTH = 0.1
DOUBT = 0.01  # of a log ratio, by which halving the width may change its correction
NEGLIGIBLE = 1e-12  # of the standard deviations of the samples: a direction that is none


class Slopes(NamedTuple):
    """First and second differences along directions, at two widths."""

    first: Array  # (2, k)
    second: Array


def by_differences(
    g: Callable[[Array], Array], samples: Tree, count: int, name: str
) -> tuple[Estimate, Callable[[Array], Array], Array]:
    """The delta method for a function of which several values at once are all that is known."""
    mean, directions, coordinates, cubes = _standard_errors(samples, count)
    xp = namespace(mean)
    if directions is None:
        nothing = xp.full((), np.nan)[()]
        return Estimate(g(mean[None])[0], *(nothing,) * 3, count), lambda apart: apart * np.nan, nothing
    number = len(directions)
    values = g(mean + _displaced(xp, directions))
    here = values[0]
    slopes = _slopes(here, values[1:])
    gradient, curvatures = map(_extrapolated, slopes)
    size = xp.sqrt((gradient**2).sum())
    if number == 1:
        bend = curvatures.sum()
    else:
        # CURVATURE along the gradient: with this the Hessian is known as far as it is needed.
        steepest = (gradient / xp.where(size > 0, size, 1.0)) @ directions
        bend = _extrapolated(_slopes(here, g(mean + _displaced(xp, steepest[None])[1:])).second)[0]
    bias, variance = curvatures.sum() / 2, size**2
    correction = (slopes.second.sum(axis=1) + (slopes.first**2).sum(axis=1)) / 2
    here = _told(abs(correction[1] - correction[0]) > DOUBT * (1 + abs(bias) + variance / 2), here, name)
    straight = cubes(gradient)
    estimate = Estimate(here, bias, variance, straight + 3 * bend * variance, count)
    return estimate, lambda apart: coordinates(apart) @ gradient, straight


def _standard_errors(samples: Tree, count: int) -> tuple[Array, Array | None, Any, Any]:
    """The average, the columns of a root of its covariance, coordinates along them, and the third cumulant of a slope.

    The root is triangular, from the samples themselves and not from their covariance, whose smallest directions
    rounding would lose: the square of a large number varies almost as the number does.
    """
    if (of := moments_of(samples)) is not None:
        xp = namespace(of.mean)
        mean, error = xp.asarray(of.mean), xp.sqrt(of.variance / count)
        unit = xp.where(error > 0, error, 1.0)
        straight = of.third / (unit**3 * count**2)
        directions = None if count < 2 else xp.asarray(error)[None]
        return mean, directions, lambda apart: (apart / unit)[..., None], lambda slope: straight * slope[0] ** 3
    xp, mean = namespace(samples), samples.mean(axis=0)
    if count < 2:
        return mean, None, None, None
    centred = samples - mean
    scale = xp.sqrt((centred**2).mean(axis=0))
    scale = xp.where(scale > 0, scale, 1.0)
    rows, root = xp.linalg.qr(centred / scale)
    if xp is np:
        is_kept = ~((root**2).sum(axis=1) <= NEGLIGIBLE**2 * count)  # a NaN is kept,
        is_kept[0] = True  # and one of samples that are all equal
        rows, root = rows[:, is_kept], root[is_kept]
    unit = (count * (count - 1)) ** 0.5

    def coordinates(apart: Array) -> Array:
        # From the left inverse of the root: averages of samples lie in what the root spans.
        return unit * ((apart / scale) @ xp.linalg.pinv(root))

    return mean, root * (scale / unit), coordinates, lambda slope: moments(unit * (rows @ slope)).third / count**2


def _displaced(xp: Any, directions: Array) -> Array:
    """Nothing, then steps of two widths along each direction, there and back."""
    steps = xp.stack([width * sign * directions for width in (WIDTH, WIDTH / 2) for sign in (1, -1)])
    return xp.concatenate([0 * directions[:1], steps.reshape(-1, *directions.shape[1:])])


def _slopes(here: Array, values: Array) -> Slopes:
    ahead, back = values.reshape(2, 2, -1).swapaxes(0, 1)
    width = np.array([[WIDTH], [WIDTH / 2]])
    return Slopes((ahead - back) / (2 * width), (ahead - 2 * here + back) / width**2)


def _extrapolated(differences: Array) -> Array:
    """From two widths to none: their errors go with the square of the width."""
    return (4 * differences[1] - differences[0]) / 3


def _told(is_doubtful: Array, here: Array, name: str) -> Array:
    """The value of g, and a word, also from compiled code, where differences depend on their width."""

    def tell(is_doubtful: Array, here: Array) -> Array:
        if np.any(is_doubtful):
            warn(
                f"{name} is a black box whose differences change when their steps are halved, from {WIDTH} to "
                f"{WIDTH / 2} standard errors of the average; bias and variance are then doubtful. It has a jump or a "
                f"kink, or it loses digits (float32, printed numbers, random numbers of its own). Write it with "
                f"jax.numpy: such a function is differentiated, also next to a black-box sample"
            )
        return here

    arguments = is_doubtful, here
    return tell(*arguments) if is_concrete(arguments) else on_host(tell, ONE_NUMBER, *arguments)
