"""The one accept/reject of Lockstep."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from lockstep.core.arguments import require_protocol
from lockstep.core.parts import choose, is_alike, part
from lockstep.core.types import Info, Key, Noise, Position, Proposal, Ratio, Shape, State


@part
class MetropolisHastings:
    """Propose a candidate, accept it iff ``noise.accept <= log_ratio < inf``.

    Every algorithm of the package is this step with another `Ratio`. ``noise`` draws everything random, ``move`` is a
    deterministic function of state and noise, and ``step`` is the two together, as BlackJAX's loops call it.
    """

    proposal: Proposal
    ratio: Ratio

    def __post_init__(self) -> None:
        require_protocol(self.proposal, Proposal, "proposal", "a proposal such as ls.RandomWalk(scale)")
        require_protocol(self.ratio, Ratio, "ratio", "a ratio such as the `.ratio` of a kernel")

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Noise:
        """The noise of an array of updates; uses only the shape of ``position``."""
        key_proposal, key_ratio, key_accept = jr.split(key, 3)
        return Noise(
            self.proposal.noise(key_proposal, position, shape),
            self.ratio.noise(key_ratio, position, shape),
            -jr.exponential(key_accept, shape, float),
        )

    def init(self, position: Position, key: Key | None = None) -> State:
        """The state at ``position``; ratios that remember an estimate need a ``key`` to make the first one.

        Begin inside the support: from a position of density zero every ratio is infinite, and refused.
        """
        if key is None and self.is_memory_random:
            raise ValueError(
                f"init needs a key: {type(self.ratio).__name__} remembers a random estimate; call init(position, key)"
            )
        noise = self.ratio.noise(key, position) if key is not None else None
        return State(position, self.ratio.init(noise, position))

    def move(self, state: State, noise: Noise) -> tuple[State, Info]:
        """One update, with all randomness given."""
        position, memory = state
        proposal_noise, ratio_noise, accept = noise
        # PROPOSE a candidate.
        candidate, log_proposal_ratio = self.proposal(proposal_noise, position)
        if not isinstance(accept, np.generic):
            _require_alike(candidate, position)
        # RATIO of the candidate to the position.
        log_ratio, candidate_memory, *broken = self.ratio(ratio_noise, position, memory, candidate, log_proposal_ratio)
        if type(log_ratio) is not np.float64 and np.ndim(log_ratio):
            raise ValueError(f"ratio returned a log ratio of shape {np.shape(log_ratio)}; it must be one number")
        # ACCEPT: neither a NaN nor plus infinity decides anything; both are refused, and counted. A chain that took a
        # candidate of infinite density would never leave it.
        is_finite = log_ratio < np.inf
        is_accepted = (accept <= log_ratio) & is_finite
        next_state = choose(is_accepted, State(candidate, candidate_memory), state)
        return next_state, Info(is_accepted, log_ratio, is_finite, *broken)

    def step(self, rng_key: Key, state: State) -> tuple[State, Info]:
        """One update with the noise of ``rng_key``."""
        return self.move(state, self.noise(rng_key, state.position))

    @property
    def is_memory_random(self) -> bool:
        """Whether what the ratio remembers is a random estimate."""
        return getattr(self.ratio, "is_memory_random", True)

    @property
    def exact_when(self) -> str | None:
        """The conditions under which the kernel is exact; None for an approximate one."""
        return getattr(self.ratio, "exact_when", None)


def _require_alike(candidate: Position, position: Position) -> None:
    """Refuse, while tracing, a candidate of another structure, shape or dtype than the position."""
    if not any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves((candidate, position))):
        return
    if not is_alike(candidate, position):
        raise ValueError(
            f"proposal returned a candidate of structure {jax.tree.structure(candidate)}; the position has "
            f"{jax.tree.structure(position)}"
        )
    for new, old in zip(jax.tree.leaves(candidate), jax.tree.leaves(position), strict=True):
        if jnp.shape(new) != jnp.shape(old) or jnp.result_type(new) != jnp.result_type(old):
            raise ValueError(
                f"proposal returned a candidate of shape {jnp.shape(new)} and dtype {jnp.result_type(new)}; the "
                f"position has shape {jnp.shape(old)} and dtype {jnp.result_type(old)}"
            )
