"""Two random walks whose proposals are coupled maximally, so that chains that have separated meet again."""

from __future__ import annotations

from typing import Any

import jax.random as jr

from lockstep.core import flat
from lockstep.core.kernel import Kernel, Noise
from lockstep.core.parts import part
from lockstep.core.trees import choose, namespace
from lockstep.core.types import Array, Key, Position, Shape
from lockstep.coupling.common_noise import (
    CoupledInfo,
    CoupledState,
    Pair,
    both_exact_when,
    coupled_info,
    coupled_state,
    placed_legs,
    require_coupling,
)
from lockstep.kernels.metropolis_hastings import MetropolisHastings
from lockstep.proposals.layout import laid_out
from lockstep.proposals.scales import stretch, unstretch
from lockstep.proposals.walks import RandomWalk


@part
class MaximallyCoupled(Kernel):
    """Two chains with normal random walks: they propose the same candidate as often as their laws allow.

    With θ' = θ + L z for the first chain and Δ = L⁻¹(θ - φ), the second, at φ, takes the candidate θ' itself with
    probability min(1, e^{-abs(z + Δ)²/2 + abs(z)²/2}), and else φ + L z̃ with z̃ the reflection of z across the plane
    orthogonal to Δ. Marginally each chain is its kernel alone. Accept variables and the noise of the ratios are shared
    as in `ls.Coupled`.

    Parameters
    ----------
    first, second
        Kernels with the same `ls.RandomWalk`.

    References
    ----------
    The reflection coupling of Jacob, O'Leary and Atchadé, "Unbiased Markov chain Monte Carlo methods with couplings"
    (2020), section 4.
    """

    first: MetropolisHastings
    second: MetropolisHastings

    def __post_init__(self) -> None:
        require_coupling(self.first, self.second, "MaximallyCoupled", ("first", "second"))
        if not isinstance(self.first.proposal, RandomWalk):
            raise TypeError(
                f"MaximallyCoupled: the proposal is {self.first.proposal!r}; it must be ls.RandomWalk. For "
                f"independence proposals ls.Coupled is maximal already"
            )

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> tuple[Any, Any, Array]:
        here = position.first if isinstance(position, Pair) else position
        key_both, key_meet = jr.split(key)
        meet = -jr.exponential(key_meet, shape, float)
        return self.first.noise(key_both, here, shape), self.second.noise(key_both, here, shape), meet

    def init(self, position: Position, key: Key | None = None) -> CoupledState:
        """The state at one position of both chains, or at a `Pair` of positions."""
        return coupled_state(self.kernels, position, key)

    def move(self, state: CoupledState, noise: tuple[Any, Any, Array]) -> tuple[CoupledState, CoupledInfo]:
        # Interpreted kernels get their noise as plain tuples.
        noise_first, noise_second, meet = Noise(*noise[0]), Noise(*noise[1]), noise[2]
        increment, is_met = self._reflected(noise_first.proposal, state, meet)
        first, info = self.first.move(state.first, noise_first)
        second, other = self.second.move(state.second, noise_second._replace(proposal=increment))
        is_equal = is_met & info.is_accepted & other.is_accepted
        is_equal = is_equal | (state.is_equal & (info.is_accepted == other.is_accepted))
        # Equal chains are equal bit for bit.
        second = second._replace(position=choose(is_equal, first.position, second.position))
        return CoupledState(first, second, is_equal), coupled_info(info, other, state.is_equal, is_equal)

    def placed(self, position: Position) -> list[tuple[MetropolisHastings, Position]]:
        return placed_legs(self.kernels, position)

    def _reflected(self, increment: Position, state: CoupledState, meet: Array) -> tuple[Position, Array]:
        """The increment of the second chain, and whether both propose the same candidate."""
        scale = laid_out(self.first.proposal.scale, increment)  # type: ignore[attr-defined]
        xp = namespace(meet)
        here, there, step = (flat.flatten(value, xp) for value in (*state.position, increment))
        z, apart = unstretch(scale, step), unstretch(scale, here - there)
        length = xp.sqrt((apart**2).sum())
        is_met = state.is_equal | (meet <= ((z**2).sum() - ((z + apart) ** 2).sum()) / 2)
        unit = apart / xp.where(length > 0, length, 1.0)
        reflected = stretch(scale, z - 2 * (unit * z).sum() * unit)
        other = xp.where(state.is_equal, step, xp.where(is_met, step + here - there, reflected))
        return flat.unflatten(other, increment), is_met

    is_coupling = True
    kernels = property(lambda self: (self.first, self.second))
    exact_when = property(lambda self: both_exact_when(self.kernels))
