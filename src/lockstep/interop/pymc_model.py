"""PyMC models."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jax
import numpy as np

from lockstep.core.declared import Part
from lockstep.core.parts import part, static
from lockstep.core.precision import double_precision
from lockstep.core.types import Array, Position
from lockstep.interop.model import Constrained, DensityModel


@part
class LogDensity(Part):
    """The log density of a model, which says how its positions are shown."""

    shown: Any
    function: Any = static()

    def __call__(self, position: Position) -> Array:
        return self.function(position)


def pymc(model: object) -> DensityModel:
    """Take the log density of a PyMC model.

    Parameters
    ----------
    model
        A ``pymc.Model`` with continuous parameters.

    Returns
    -------
    DensityModel
        With ``log_density`` and ``initial`` for unconstrained positions, dictionaries by the names of PyMC's value
        variables (such as ``sigma_log__``). Runs show the model's parameters and deterministics by their names;
        ``run.walked`` has the positions.

    Examples
    --------
    ::

        with pymc.Model() as model:
            sigma = pymc.HalfNormal("sigma", 2.0)
            pymc.Normal("y", 0.0, sigma, observed=y)
        target = ls.interop.pymc(model)
        kernel = ls.standard(target.log_density, ls.RandomWalk(1.0))
        run = ls.sample(kernel, target.initial, adapt=True)
    """
    from pymc import Model

    if not isinstance(model, Model):
        raise TypeError(f"model is {model!r}; it must be a pymc.Model")
    discrete = [variable.name for variable in model.discrete_value_vars]
    if discrete:
        raise ValueError(f"pymc: the parameters {discrete} are discrete; a log density needs continuous ones")
    names = [variable.name for variable in model.value_vars]
    outputs = [variable for variable in model.unobserved_value_vars if variable.name not in names]
    is_plain = {variable.name for variable in model.free_RVs} & set(names)
    with _same_precision_after(), double_precision():
        from pymc.sampling.jax import get_jaxified_graph

        density = get_jaxified_graph(inputs=model.value_vars, outputs=[model.logp()])
        transformed = get_jaxified_graph(inputs=model.value_vars, outputs=outputs) if outputs else None

    def log_density(position: Position) -> Array:
        return density(*(position[name] for name in names))[0]

    def constrain(position: Position) -> Position:
        values = transformed(*(position[name] for name in names)) if transformed is not None else ()
        found = dict(zip((variable.name for variable in outputs), values, strict=True))
        return {**{name: position[name] for name in names if name in is_plain}, **found}

    start, shown = model.initial_point(), Constrained(constrain)
    return DensityModel(
        initial={name: np.asarray(start[name], float) for name in names},
        shown=shown,
        name=model.name or "model",
        log_density=LogDensity(shown, log_density),
    )


@contextmanager
def _same_precision_after() -> Iterator[None]:
    """PyTensor sets JAX's precision for the whole program when it is first used; put it back."""
    before = jax.config.read("jax_enable_x64")
    try:
        yield
    finally:
        jax.config.update("jax_enable_x64", before)
