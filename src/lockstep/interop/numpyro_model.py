"""NumPyro models with a plate over the data."""

from __future__ import annotations

import functools
import inspect
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from lockstep.core.arguments import is_array
from lockstep.core.declared import Part
from lockstep.core.parts import part, static
from lockstep.core.precision import double_precision
from lockstep.core.types import Array, Position, Tree
from lockstep.interop.model import Constrained, RowModel
from lockstep.subsampling.rows import as_rows


class Call:
    """How to call a model on some rows: which of its arguments are data, and the others as they are."""

    def __init__(self, model: object, args: tuple[Any, ...], kwargs: dict[str, Any], shared: tuple[str, ...]) -> None:
        self.model = model
        named: dict[Any, Any] = {**dict(enumerate(args)), **{k: v for k, v in kwargs.items() if k not in shared}}
        self.data = {str(k): v for k, v in named.items() if is_array(v) and np.ndim(v) > 0}
        self.args = tuple(None if str(k) in self.data else v for k, v in enumerate(args))
        self.kwargs = {k: None if k in self.data else v for k, v in kwargs.items()}

    def arguments(self, rows: Tree) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Positional and named arguments, with these rows in place of all."""
        args = tuple(rows.get(str(k), v) for k, v in enumerate(self.args))
        return args, {k: rows.get(k, v) for k, v in self.kwargs.items()}

    def log_probabilities(self, position: Position, rows: Tree) -> dict[str, Array]:
        """Of every site, at an unconstrained position; the Jacobians are sites of their own."""
        from numpyro.handlers import seed, substitute
        from numpyro.infer.util import _unconstrain_reparam, compute_log_probs

        args, kwargs = self.arguments(rows)
        placed = substitute(
            seed(self.model, jax.random.key(0)), substitute_fn=functools.partial(_unconstrain_reparam, position)
        )
        return compute_log_probs(placed, args, kwargs, {})[0]


@part
class RowLikelihood(Part):
    """The log likelihood of one row: the observed sites in the plate over the data."""

    shown: Any
    call: Call = static()
    observed: tuple[str, ...] = static()

    def __call__(self, position: Position, row: Tree) -> Array:
        found = self.call.log_probabilities(position, jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], row))
        return sum((found[name] for name in self.observed), start=jnp.zeros((), float))


@part
class Prior:
    """The log density of all other sites, with the Jacobians of the constraints."""

    row: Any  # any row: what is not in the plate does not depend on it
    call: Call = static()
    observed: tuple[str, ...] = static()

    def __call__(self, position: Position) -> Array:
        found = self.call.log_probabilities(position, self.row)
        rest = (value for name, value in found.items() if name not in self.observed)
        return sum(rest, start=jnp.zeros((), float))


def numpyro(model: object, *args: Any, shared: tuple[str, ...] = (), **kwargs: Any) -> RowModel:
    """Take a NumPyro model with a plate over its data as a target to subsample.

    Parameters
    ----------
    model
        A NumPyro model. Its observed sites are in one plate, whose size comes from the data (``x.shape[0]``).
    args, kwargs
        The arguments of the model. Arrays are data, with a first axis over the rows; other values are passed on.
    shared
        Names of keyword arguments that are arrays, but not data.

    Returns
    -------
    RowModel
        With ``initial``, ``log_prior``, ``log_likelihood`` and ``data`` for unconstrained positions, dictionaries by
        the names of the sites. Runs show the constrained parameters; ``run.walked`` has the positions.

    Examples
    --------
    >>> import jax.numpy as jnp, numpy as np, lockstep as ls, numpyro, numpyro.distributions as dist
    >>> def regression(x, y=None):
    ...     slope = numpyro.sample("slope", dist.Normal(0.0, 10.0))
    ...     sigma = numpyro.sample("sigma", dist.HalfNormal(2.0))
    ...     with numpyro.plate("rows", x.shape[0]):
    ...         numpyro.sample("y", dist.Normal(slope * x, sigma), obs=y)
    >>> generator = np.random.default_rng(0)
    >>> x = generator.normal(size=5_000)
    >>> target = ls.interop.numpyro(regression, x, y=2 * x + 0.5 * generator.normal(size=5_000))
    >>> run = ls.sample(ls.subsampled(target), target.initial, draws=200, chains=2)
    >>> {name: float(values.mean().round(1)) for name, values in run.positions.items()}
    {'sigma': 0.5, 'slope': 2.0}
    """
    _require_model(model, args, kwargs)
    if not isinstance(shared, (tuple, list)) or not {*map(str, shared)} <= kwargs.keys():
        raise TypeError(
            f"shared is {shared!r}; it must be a tuple of names among the keyword arguments, {list(kwargs)}"
        )
    with double_precision():
        call = Call(model, args, kwargs, tuple(shared))
        if not call.data:
            raise ValueError("numpyro: no argument of the model is an array; give the data, with a row a observation")
        data = as_rows(call.data)
        sites = {count: _trace(call, data.block(0, count)) for count in (1, min(2, data.size))}
        observed = _observed(sites)
        initial = _initial(sites[1])
        one_row = data.block(0, 1)

        def constrain(position: Position) -> Position:
            from numpyro.infer.util import constrain_fn

            args, kwargs = call.arguments(one_row)
            seeded = _seeded(call.model)
            return constrain_fn(seeded, args, kwargs, position)

        shown = Constrained(constrain)
        return RowModel(
            initial=initial,
            shown=shown,
            name=getattr(model, "__name__", "model"),
            log_prior=Prior(one_row, call, observed),
            log_likelihood=RowLikelihood(shown, call, observed),
            data=data,
        )


def _require_model(model: object, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Refuse what is no model, or none with these arguments."""
    if isinstance(model, (type, Part)) or not callable(model):
        raise TypeError(f"model is {model!r}; it must be a NumPyro model, a function of the data")
    try:
        inspect.signature(model).bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError(f"model is {model!r}, which does not take these arguments ({error})") from None


def _seeded(model: object) -> Any:
    from numpyro.handlers import seed

    return seed(model, jax.random.key(0))


def _trace(call: Call, rows: Tree) -> dict[str, Any]:
    from numpyro.handlers import trace

    args, kwargs = call.arguments(rows)
    found = trace(_seeded(call.model)).get_trace(*args, **kwargs)
    return {name: site for name, site in found.items() if site["type"] == "sample"}


def _observed(sites: dict[int, dict[str, Any]]) -> tuple[str, ...]:
    """The observed sites in the plate over the data; what cannot be split into rows is refused."""
    few, more = min(sites), max(sites)

    def plates(count: int, name: str) -> dict[str, int]:
        return {frame.name: frame.size for frame in sites[count][name]["cond_indep_stack"]}

    def is_over_rows(name: str) -> bool:
        return any(size == few and plates(more, name)[plate] == more for plate, size in plates(few, name).items())

    observed = tuple(name for name, site in sites[few].items() if site["is_observed"])
    for name in observed:
        if not is_over_rows(name):
            raise ValueError(
                f"numpyro: the observed site {name!r} is in no plate whose size is the number of rows; put it into "
                f"`with numpyro.plate(..., x.shape[0])`, the size taken from the data"
            )
    for name, site in sites[few].items():
        if site["is_observed"]:
            continue
        if is_over_rows(name):
            raise ValueError(
                f"numpyro: the parameter {name!r} is in the plate over the data, a parameter a row; such models cannot "
                f"be subsampled: integrate it out"
            )
        if getattr(site["fn"], "is_discrete", False):
            raise ValueError(f"numpyro: the parameter {name!r} is discrete; sum it out of the model")
    if not observed:
        raise ValueError("numpyro: the model observes nothing; pass the observations as obs=...")
    return observed


def _initial(sites: dict[str, Any]) -> dict[str, np.ndarray]:
    """Zero for every unconstrained parameter."""
    from numpyro.distributions import biject_to

    free = {name: site for name, site in sites.items() if not site["is_observed"]}
    shapes = {name: jnp.shape(biject_to(site["fn"].support).inv(site["value"])) for name, site in free.items()}
    return {name: np.zeros(shape) for name, shape in shapes.items()}
