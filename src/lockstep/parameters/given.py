"""What a user gives for a parameter: a support, or a prior from SciPy or NumPyro."""

from __future__ import annotations

import sys

from lockstep.core.types import Shape
from lockstep.parameters.numpyro_priors import of_numpyro
from lockstep.parameters.priors import Flat, Prior
from lockstep.parameters.scipy_priors import of_scipy
from lockstep.parameters.supports import Support, set_shape


def prior_of(given: object, name: str, shape: Shape | None) -> Prior:
    """What a user gave for a parameter; ``shape`` is that of its named axes, if it has such."""
    if isinstance(given, Support):
        return Flat(given if shape is None else set_shape(given, _fitting(given, name, shape)))
    if (found := of_scipy(given, name, shape)) is not None:
        return found
    if "numpyro" in sys.modules and (found := of_numpyro(given, name, shape)) is not None:
        return found
    raise TypeError(
        f"{name} is {given!r}; it must be a prior, such as scipy.stats.gamma(2.0) or numpyro.distributions.Gamma(2.0), "
        f"or a support, such as ls.positive or ls.interval(0, 1)"
    )


def is_prior(given: object) -> bool:
    """Whether this looks like what is given for a parameter: a support, or a law of SciPy or NumPyro."""
    return isinstance(given, Support) or hasattr(given, "rvs") or hasattr(given, "log_prob")


def _fitting(support: Support, name: str, shape: Shape) -> Shape:
    """The shape of the named axes, which ends as the vectors of the support do."""
    event = support.shape[len(support.shape) - support.dimensions :]
    if support.dimensions and shape[-1:] != event:
        raise ValueError(f"dims of {name}: its axes have lengths {shape}, but its vectors have {event[0]} components")
    return shape
