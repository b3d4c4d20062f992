"""The one accumulator of thinned draws: counts and sums, wherever blocks end, compiled and interpreted alike."""

from typing import Any, NamedTuple

import jax
import numpy as np
import pytest

import lockstep as ls
from lockstep.core.kernel import Info
from lockstep.coupling.infos import ShadowedInfo
from lockstep.engine.block import Output
from lockstep.engine.thinning import Thinning

CHAINS, STEPS = 2, 12


class Own(NamedTuple):
    """An info of a user's own: a flag, and a whole number that is no count."""

    is_high: Any
    level: Any


def leg(rng):
    shape = (STEPS, CHAINS)
    return Info(rng.random(shape) < 0.4, rng.normal(size=shape), rng.random(shape) < 0.9, rng.random(shape) < 0.1)


def updates():
    """Infos of updates with leading axes (steps, chains); sums of these gaps depend on the order of adding."""
    rng = np.random.default_rng(0)
    gaps = rng.random((STEPS, CHAINS)) * 10.0 ** rng.integers(-8, 8, (STEPS, CHAINS))
    return ShadowedInfo(leg(rng), leg(rng), rng.random((STEPS, CHAINS)) < 0.2, gaps)


def compiled(thinning, info, steps):
    """What compiled code does, without a kernel: one update after the other, in slots."""
    if thinning.info is None:
        one = jax.tree.map(lambda leaf: leaf[0], info)
        thinning = thinning._replace(info=[np.zeros_like(leaf) for leaf in jax.tree.leaves(one)])
    slots = thinning.buffers(jax.tree.map(lambda leaf: leaf[0], info), thinning.slots(steps))
    for i in range(steps):
        at, now = thinning.slot(i), jax.tree.map(lambda leaf: leaf[i], info)  # noqa: B023
        gathered = thinning.gather(jax.tree.map(lambda leaf: leaf[at], slots), now, i)  # noqa: B023
        slots = jax.tree.map(lambda buffer, leaf: buffer.at[at].set(leaf), slots, gathered)  # noqa: B023
    return jax.tree.map(np.asarray, slots)


def interpreted(thinning, info, steps):
    chains = [
        thinning.of_chain(chain).gather_all(jax.tree.map(lambda leaf: leaf[:, chain], info))  # noqa: B023
        for chain in range(CHAINS)
    ]
    return jax.tree.map(lambda *leaves: np.stack(leaves, axis=1), *chains)


def draws_of(gather, thin, cuts):
    """All draws that the updates complete, in blocks that end at the cuts."""
    thinning, found, start = Thinning(thin), [], 0
    with jax.enable_x64(True):
        for end in cuts:
            piece = jax.tree.map(lambda leaf: leaf[start:end], updates())  # noqa: B023
            info = jax.tree.map(lambda leaf: np.swapaxes(leaf, 0, 1), gather(thinning, piece, end - start))
            whole, thinning = thinning.after(Output((), info), end - start)
            found.append(whole.info)
            start = end
            assert thinning.phase == end % thin and (thinning.begun is None) == (end % thin == 0)
    return jax.tree.map(lambda *leaves: np.concatenate(leaves, axis=1), *found)


@pytest.mark.parametrize("thin", [3, 5])
def test_sums_and_counts_do_not_depend_on_blocks_or_engine(thin):
    info, draws = updates(), STEPS // thin
    expected = np.zeros((CHAINS, draws))
    for step in range(draws * thin):
        expected[:, step // thin] += info.gaps[step]
    for gather in (compiled, interpreted):
        whole = draws_of(gather, thin, [STEPS])
        assert np.array_equal(whole.gaps, expected)
        counts = info.marks[: draws * thin].reshape(draws, thin, CHAINS).sum(axis=1).T
        assert whole.marks.dtype == np.int32 and np.array_equal(whole.marks, counts)
        assert np.array_equal(whole.exact.log_ratio, info.exact.log_ratio[thin - 1 :: thin].T)
        for cuts in ([1, 2, 3, 8, 12], [7, 11, 12]):
            for a, b in zip(*map(jax.tree.leaves, (whole, draws_of(gather, thin, cuts))), strict=True):
                assert a.dtype == b.dtype and a.tobytes() == b.tobytes()


def test_only_flags_of_a_users_own_info_are_counted():
    """A whole number that is no flag is the last of its draw, in both engines."""
    info = Own(np.array([[True], [False], [True]]), np.array([[5], [7], [9]], np.int32))
    for gather in (compiled, interpreted):
        chains = gather(Thinning(3), jax.tree.map(lambda leaf: np.repeat(leaf, CHAINS, axis=1), info), 3)
        assert np.array_equal(chains.is_high, [[2, 2]]) and np.array_equal(chains.level, [[9, 9]])


def test_where_a_draw_is_after_a_number_of_updates():
    assert Thinning.at(3, 10, 4, []).phase == Thinning.at(10, 10, 4, []).phase == Thinning.at(18, 10, 4, []).phase == 0
    later = Thinning.at(17, 10, 4, ["gathered"])
    assert later.phase == 3 and later.begun == ["gathered"] and later.slots(1) == 1 and later.slots(2) == 2
    assert later.anew().begun is None
    assert later.last(6).tolist() == [0, 4, 5] and Thinning(4).last(4).tolist() == [3]
    assert [int(later.slot(i)) for i in range(6)] == [0, 1, 1, 1, 1, 2]


def level(theta):
    return -0.5 * float(np.sum(theta**2))


def test_thinning_needs_no_known_info():
    """A kernel whose infos are of a user's own kind is thinned as others are."""

    @ls.part
    class Levels:
        kernel: Any

        def noise(self, key, position, shape=()):
            return self.kernel.noise(key, position, shape)

        def init(self, position, key=None):
            return self.kernel.init(position, key)

        def move(self, state, noise):
            moved, info = self.kernel.move(state, noise)
            return moved, Own(info.is_accepted, np.floor(10 * moved.position).astype(np.int32))

        def step(self, rng_key, state):
            return self.move(state, self.noise(rng_key, state.position))

    kernel = Levels(ls.standard(ls.blackbox(level), ls.RandomWalk(1.0)))
    whole, coarse = (ls.sample(kernel, 0.3, draws=12 // thin, chains=2, seed=1, thin=thin) for thin in (1, 4))
    assert np.array_equal(coarse.positions, whole.positions[:, 3::4])
    assert np.array_equal(coarse.info.level, whole.info.level[:, 3::4])
    assert np.array_equal(coarse.info.is_high, whole.info.is_high.reshape(2, 3, 4).sum(axis=2))
