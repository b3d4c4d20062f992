"""The Potts model on a lattice."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from lockstep.core import random
from lockstep.core.arguments import whole
from lockstep.core.parts import part, set_field, static
from lockstep.core.simulator import Simulator
from lockstep.core.trees import is_concrete
from lockstep.core.types import Array, Key, Position, Tree
from lockstep.host.callback import on_host
from lockstep.models import lattice
from lockstep.models.arguments import data_like, one_parameter
from lockstep.perfect.draw import PerfectDraw, PerfectSimulationError


@part
class Potts(Simulator):
    """Colours 0, …, q-1 on a lattice: ``L(θ, x) = exp(θ S(x))``, S the number of bonds between equal colours, θ >= 0.

    Draws are perfect, by coupling from the past on the random-cluster representation. With more than four colours
    the model has two phases at once near its critical θ = log(1 + √q), where no simulation is fast: there the limit
    makes an error, and ``sweeps`` an approximation.

    Parameters
    ----------
    shape
        Rows and columns.
    colours
        Their number q, at least 2.
    periodic
        Whether the lattice is a torus.
    sweeps
        None: draws are perfect. Else a draw is this number of updates of Swendsen and Wang from colours at random,
        which is approximate.
    limit
        How many sweeps into the past a perfect draw may begin.

    Examples
    --------
    >>> import jax, lockstep as ls
    >>> model = ls.models.Potts((8, 8), colours=3)
    >>> x = model.simulate(jax.random.key(0), 0.8)
    >>> int(model.statistic(x)) <= 2 * 8 * 7
    True
    """

    shape: tuple[int, int] = static()
    colours: int = static()
    periodic: bool = static(default=False)
    sweeps: int | None = static(default=None)
    limit: int = static(default=2**12)

    @property
    def is_perfect(self) -> bool:
        return self.sweeps is None

    @property
    def simulation_error(self) -> str:
        return f"of draws by {self.sweeps} updates from colours at random; it falls geometrically with their number"

    def __post_init__(self) -> None:
        set_field(self, "shape", lattice.shape_of(self.shape, self.periodic, "Potts"))
        set_field(self, "colours", whole(self.colours, "colours of Potts", 2, 127))
        set_field(self, "limit", whole(self.limit, "limit of Potts", 1))
        if self.sweeps is not None:
            set_field(self, "sweeps", whole(self.sweeps, "sweeps of Potts", 1))

    def statistic(self, x: Array) -> Array:
        """S(x), the number of bonds between equal colours."""
        return lattice.bond_sum(lambda a, b: (a == b).astype(np.int32), self._checked(x), self.periodic)

    def log_likelihood(self, theta: Position, x: Array) -> Array:
        """``θ S(x)``, without the normalising constant."""
        x = self._checked(x)
        value = one_parameter(theta, "Potts") * self.statistic(x)
        return jnp.where(jnp.all((x >= 0) & (x < self.colours)), value, jnp.nan)

    def simulate(self, key: Key, theta: Position, start: Tree = None, sweeps: int = 1) -> Array:
        """A draw; from a ``start``, that many updates of Swendsen and Wang, which are reversible."""
        if start is None and self.sweeps is None:
            return self.perfect(key, theta).value
        if start is None:
            key_start, key = random.split(key)
            start, sweeps = jr.randint(key_start, self.shape, 0, self.colours), self.sweeps or 1
        sweeps = whole(sweeps, "sweeps", 1)

        def update(words: np.ndarray, theta: np.ndarray, x: np.ndarray) -> np.ndarray:
            from lockstep.models import random_cluster

            x = x.reshape(len(x), -1).astype(np.int64)
            bonds = lattice.bonds_of(self.shape, self.periodic)
            random_cluster.swendsen_wang(words, self._open(theta), self.colours, sweeps, x, bonds)
            return x

        like = jax.ShapeDtypeStruct(self.shape, np.int8)
        theta = one_parameter(theta, "Potts")
        return on_host(update, like, jr.key_data(key), theta, self._checked(start), is_threaded=True)

    def perfect(self, key: Key, theta: Position) -> PerfectDraw:
        """A perfect draw, and how many sweeps into the past it began."""
        like = (jax.ShapeDtypeStruct(self.shape, np.int8), jax.ShapeDtypeStruct((), np.int32))
        theta = one_parameter(theta, "Potts")
        return PerfectDraw(*on_host(self._perfect_draws, like, jr.key_data(key), theta, is_threaded=True))

    def _checked(self, x: Array) -> Array:
        x = data_like(x, self.shape, "Potts")
        if is_concrete(x) and not np.all((np.asarray(x) >= 0) & (np.asarray(x) < self.colours)):
            raise ValueError(f"x of Potts has entries that are no colours; they must be 0 to {self.colours - 1}")
        return x.astype(np.int8)

    def _open(self, theta: np.ndarray) -> np.ndarray:
        """The probability that a bond between equal colours is open."""
        bad = ~((theta >= 0) & (theta < np.inf))
        if np.any(bad):
            raise ValueError(
                f"theta of Potts is {theta[bad][0]:.6g}; it must be finite and at least 0, where equal colours attract "
                f"each other: let the prior forbid the rest"
            )
        bonds = len(lattice.bonds_of(self.shape, self.periodic))
        return np.repeat(-np.expm1(-theta.astype(float))[:, None], bonds, axis=1)

    def _perfect_draws(self, words: np.ndarray, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        from lockstep.models import random_cluster
        from lockstep.models.compiled import owned

        bonds = lattice.bonds_of(self.shape, self.periodic)
        beside = lattice.neighbours_of(self.shape, self.periodic)
        draws, back = random_cluster.perfect_draws(
            owned(words, np.uint32), self._open(theta), self.colours, self.limit, bonds, *beside
        )
        if np.any(back < 0):
            raise PerfectSimulationError(
                f"coupling from the past had not met after {self.limit:,} sweeps at theta = {theta[back < 0][0]:.6g}; "
                f"a draw now would be biased. Raise limit of Potts, keep theta away from there by the prior, or take "
                f"Potts(..., sweeps=k), which is approximate"
            )
        return draws, back
