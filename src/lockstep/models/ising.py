"""The Ising model on a lattice."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from lockstep.core.arguments import real_numbers, whole
from lockstep.core.parts import part, set_field, static
from lockstep.core.simulator import Simulator
from lockstep.core.trees import is_concrete
from lockstep.core.types import Array, Key, Position, Tree
from lockstep.host.callback import on_host
from lockstep.models import kac_ward, lattice, transfer_matrix
from lockstep.models.arguments import data_like, one_parameter
from lockstep.models.heat_bath import HeatBath, Site, sweeps as heat_bath_sweeps
from lockstep.perfect.draw import PerfectDraw, PerfectSimulationError, precision_of


@part
class Ising(Simulator):
    """Spins ±1 on a lattice: ``L(θ, x) = exp(θ S(x) + Σ_i h_i x_i)``, S the sum of x_i x_j over bonds.

    Draws are perfect: by coupling from the past on the random-cluster representation, which takes few sweeps at every
    θ >= 0; for θ < 0 where two colours are enough for the lattice (every second spin is flipped). With a field of
    both signs, or θ < 0 otherwise, by single-site heat bath, which is fast for small θ only: at its limit there is an
    error, not a biased draw.

    Parameters
    ----------
    shape
        Rows and columns.
    periodic
        Whether the lattice is a torus.
    field
        The field h: a number, or one for each site.
    limit
        How many sweeps into the past a perfect draw may begin.

    Examples
    --------
    >>> import jax, jax.numpy as jnp, lockstep as ls
    >>> model = ls.models.Ising((8, 8), periodic=True)
    >>> x = model.simulate(jax.random.key(0), 0.3)
    >>> kernel = ls.exchange(
    ...     log_prior=lambda theta: jnp.where((theta >= 0) & (theta <= 1), 0.0, -jnp.inf),
    ...     log_likelihood=model.log_likelihood, simulate=model.simulate, data=x, proposal=ls.RandomWalk(0.2),
    ... )
    >>> run = ls.sample(kernel, 0.3, draws=50, chains=2)
    """

    shape: tuple[int, int] = static()
    periodic: bool = static(default=False)
    field: Any = 0.0
    limit: int = static(default=2**14)

    is_perfect = True

    def __post_init__(self) -> None:
        set_field(self, "shape", lattice.shape_of(self.shape, self.periodic, "Ising"))
        set_field(self, "limit", whole(self.limit, "limit of Ising", 1))
        if not is_concrete(self.field):
            return
        field = real_numbers(self.field, "field of Ising")
        if field.shape not in ((), self.shape):
            raise ValueError(
                f"field of Ising has shape {field.shape}; it must be one number, or one for each site of {self.shape}"
            )
        set_field(self, "field", field)

    def statistic(self, x: Array) -> Array:
        """S(x), the sum of x_i x_j over bonds."""
        x = self._spins(x)
        return lattice.bond_sum(lambda a, b: (a * b).astype(np.int32), x, self.periodic)

    def log_likelihood(self, theta: Position, x: Array) -> Array:
        """``θ S(x) + Σ_i h_i x_i``, without the normalising constant."""
        theta = one_parameter(theta, "Ising")
        x = self._spins(x)
        in_field = jnp.sum(jnp.asarray(self.field, float) * x)
        value = theta * self.statistic(x) + in_field
        return jnp.where(jnp.all(jnp.abs(x) == 1), value, jnp.nan)

    def simulate(self, key: Key, theta: Position, start: Tree = None, sweeps: int = 1) -> Array:
        """A perfect draw; from a ``start``, that many reversible heat-bath sweeps instead."""
        if start is None:
            return self.perfect(key, theta).value
        return heat_bath_sweeps(self._site(theta), key, self._spins(start), self.periodic, whole(sweeps, "sweeps", 1))

    def perfect(self, key: Key, theta: Position) -> PerfectDraw:
        """A perfect draw, and how many sweeps into the past it began."""
        like = (jax.ShapeDtypeStruct(self.shape, np.int8), jax.ShapeDtypeStruct((), np.int32))
        theta = one_parameter(theta, "Ising")
        return PerfectDraw(*on_host(self._perfect_draws, like, jr.key_data(key), theta, is_threaded=True))

    def heat_bath(self, theta: Position) -> HeatBath:
        """Palindromic heat-bath sweeps as a kernel on configurations."""
        return HeatBath(self._site(theta), self.periodic)

    def log_normalizer(self, theta: Position) -> Array:
        """The exact logarithm of ``Σ_x L(θ, x)``.

        Without a field and with free boundaries by a determinant (Kac and Ward), for lattices of any size; otherwise by
        transfer matrices, for lattices whose shorter side is small.
        """
        with precision_of(theta) as is_own:
            parameter = one_parameter(theta, "Ising")
            if not self.periodic and is_concrete(self.field) and not np.any(self.field):
                value = kac_ward.log_normalizer(parameter, self.shape)
            else:
                field = jnp.broadcast_to(jnp.asarray(self.field, float), self.shape)
                value = transfer_matrix.log_normalizer(parameter, field, self.periodic)
        return np.float64(value) if is_own else value

    def _site(self, theta: Position) -> Site:
        return Site(one_parameter(theta, "Ising"), jnp.asarray(self.field, float))

    def _spins(self, x: Array) -> Array:
        x = data_like(x, self.shape, "Ising")
        if is_concrete(x) and not np.all(np.abs(x) == 1):
            raise ValueError("x of Ising has entries other than -1 and 1; if they are 0 and 1, give 2 * x - 1")
        return x.astype(np.int8)

    def _perfect_draws(self, words: np.ndarray, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """All draws of a batch. Where θ < 0, flipping every second spin turns θ and the field into -θ and its flip."""
        if not np.all(np.isfinite(theta)):
            raise ValueError(f"theta of Ising is {theta[~np.isfinite(theta)][0]}; it must be finite")
        theta = np.asarray(theta, float)
        draws = np.zeros((len(theta), self.shape[0] * self.shape[1]), np.int64)
        back = np.zeros(len(theta), np.int64)
        field = np.broadcast_to(np.asarray(self.field, float), self.shape)
        checkered = np.where(lattice.colours_of(self.shape, self.periodic) == 0, 1, -1)
        can_flip = lattice.is_bipartite(self.shape, self.periodic)
        for sign in (1, -1):
            rows = np.flatnonzero(np.where(theta < 0, -1, 1) == sign)
            if not rows.size:
                continue
            flip = checkered if sign < 0 else np.ones_like(checkered)
            turned = (field * flip).ravel()
            if (sign > 0 or can_flip) and (np.all(turned >= 0) or np.all(turned <= 0)):
                x, back[rows] = self._by_clusters(words[rows], np.abs(theta[rows]), turned)
                draws[rows] = x * flip.ravel()
            else:
                draws[rows], back[rows] = self._by_sites(words[rows], theta[rows], field.ravel())
        if np.any(back < 0):
            raise PerfectSimulationError(
                f"coupling from the past had not met after {self.limit:,} sweeps at theta = {theta[back < 0][0]:.6g}; "
                f"a draw now would be biased. Raise limit of Ising, keep theta away from there by the prior, or "
                f"simulate from the data with ls.exchange(..., inner=k), which is approximate"
            )
        return draws, back

    def _by_clusters(self, words: np.ndarray, theta: np.ndarray, field: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """By the random-cluster representation; a field of one sign is a bond of each site to a ghost spin."""
        from lockstep.models import random_cluster

        bonds = lattice.bonds_of(self.shape, self.periodic)
        p = np.repeat(-np.expm1(-2 * theta)[:, None], len(bonds), axis=1)
        held, ghost = np.flatnonzero(field), field.size
        if held.size:
            bonds = np.concatenate([bonds, np.stack([held, np.full(held.size, ghost)], axis=1)])
            to_ghost = -np.expm1(-2 * np.abs(field[held]))
            p = np.concatenate([p, np.broadcast_to(to_ghost, (len(theta), held.size))], axis=1)
            beside = lattice.adjacency(bonds, ghost + 1)
        else:
            beside = lattice.neighbours_of(self.shape, self.periodic)
        colours, back = random_cluster.perfect_draws(words, p, 2, self.limit, bonds, *beside)
        spins = 2 * colours - 1
        if held.size:  # the ghost points along the field
            spins = spins[:, :ghost] * spins[:, ghost:] * np.sign(field.sum()).astype(np.int64)
        return spins, back

    def _by_sites(self, words: np.ndarray, theta: np.ndarray, field: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        from lockstep.models import past
        from lockstep.models.compiled import owned

        beside = lattice.neighbours_of(self.shape, self.periodic)
        return past.perfect_draws(words, theta, owned(field, float), self.limit, beside.first, beside.sites)
