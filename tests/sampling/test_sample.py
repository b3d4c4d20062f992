"""`ls.sample`: what a run is a function of, and what it returns."""

from functools import cache
from typing import NamedTuple

import arviz_stats
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import lockstep as ls
from lockstep.chains import drive as chains_module
from lockstep.core.precision import canonical
from lockstep.engine import block as limits, compiled
from lockstep.engine.compiled import COMPILED
from lockstep.engine.interface import Moving
from lockstep.engine.thinning import Thinning

DRAWS, CHAINS, SEED = 300, 2, 4


def log_density(theta):
    return -0.5 * jnp.sum(theta**2)


def normals(key, count):
    return jr.normal(key, (count,))


def one_sample(noise, position, candidate):
    return log_density(candidate) - log_density(position) + noise


STANDARD = ls.standard(log_density, ls.RandomWalk(1.2))
CORRECTED = ls.corrected(ls.estimators.mean(one_sample, 8, draw=normals), ls.RandomWalk(1.2))
KERNELS = {"standard": STANDARD, "corrected": CORRECTED}


def sample(kernel=STANDARD, draws=DRAWS, **options):
    return ls.sample(kernel, np.zeros(2), **{"draws": draws, "chains": CHAINS, "seed": SEED, **options})


def assert_same(first, second):
    """Bit for bit, positions and infos."""
    first, second = ((run.positions, run.info) if isinstance(run, ls.Run) else run for run in (first, second))
    assert jax.tree.structure(first) == jax.tree.structure(second)
    for a, b in zip(jax.tree.leaves(first), jax.tree.leaves(second), strict=True):
        assert a.dtype == b.dtype and np.array_equal(a, b)


@pytest.fixture(scope="module")
def runs():
    return {name: sample(kernel) for name, kernel in KERNELS.items()}


@pytest.fixture(scope="module")
def run(runs):
    return runs["standard"]


def part_of(run, index):
    return jax.tree.map(lambda leaf: leaf[:, index], (run.positions, run.info))


class Recorder:
    """The compiled engine, noting its blocks."""

    def __init__(self):
        self.advance, self.blocks = COMPILED.advance, []

    def __call__(self, moving, state, block, thinning):
        self.blocks.append((block.start, block.steps))
        return self.advance(moving, state, block, thinning)


class Clock:
    """A clock by which blocks take uneven times, so that their sizes vary."""

    def __init__(self):
        self.now, self.calls = 0.0, 0

    def perf_counter(self):
        self.calls += 1
        self.now += (0.31, 1.7, 0.83, 1.13, 0.57)[self.calls % 5]
        return self.now


@pytest.fixture
def recorder(monkeypatch):
    recorder = Recorder()
    monkeypatch.setattr(COMPILED, "advance", recorder)
    return recorder


@pytest.fixture
def uneven(monkeypatch):
    monkeypatch.setattr(chains_module, "time", Clock())


# --- what the noise and the draws depend on


def test_noise_is_a_function_of_seed_chain_and_step():
    with jax.enable_x64(True):
        kernel = canonical(CORRECTED, "kernel")
        keys = jax.vmap(lambda c: jr.fold_in(jr.key(0), c))(jnp.arange(4))
        state = jax.vmap(kernel.init)(jnp.zeros((4, 2)))

        draw = jax.jit(limits.block_noise, static_argnums=4)

        def noise(keys, state, first, cells):
            return jax.tree.map(np.asarray, draw(kernel, keys, state, first, cells))

        whole = noise(keys, state, 0, 4)
        two = jax.tree.map(lambda leaf: leaf[1:3], state)
        for first, cells in ((0, 1), (1, 2), (3, 1)):
            rows = slice(64 * first, 64 * (first + cells))
            part = noise(keys[1:3], two, first, cells)
            for a, b in zip(jax.tree.leaves(part), jax.tree.leaves(whole), strict=True):
                assert np.array_equal(a, b[rows, 1:3])
        # Neither steps nor chains repeat.
        assert len(np.unique(whole.accept)) == 4 * 64 * 4
        # The position does not matter.
        moved = state._replace(position=state.position + 7.0)
        assert_same(noise(keys, moved, 0, 1), noise(keys, state, 0, 1))


def test_chain_by_hand(run):
    """Row t % 64 of cell t // 64, whose key is folded from the key of the chain, makes step t."""
    with jax.enable_x64(True):
        _, key_run = jr.split(jr.key(SEED))
        chain = 1
        cells = [STANDARD.noise(jr.fold_in(jr.fold_in(key_run, chain), c), jnp.zeros(2), (64,)) for c in range(2)]
        noise = jax.tree.map(lambda *leaves: jnp.concatenate(leaves), *cells)

        def move(state, one):
            state, info = STANDARD.move(state, one)
            return state, (state.position, info)

        positions, info = jax.lax.scan(move, STANDARD.init(jnp.zeros(2)), noise)[1]
    np.testing.assert_allclose(run.positions[chain, :128], positions, rtol=0, atol=1e-12)
    assert np.array_equal(run.info.is_accepted[chain, :128], info.is_accepted)


@pytest.mark.parametrize("name", KERNELS)
def test_a_longer_run_begins_with_the_draws_of_a_shorter_one(name, runs):
    longer = sample(KERNELS[name], 1000)
    assert_same(part_of(longer, slice(0, DRAWS)), part_of(runs[name], slice(None)))


def test_repeated_runs_are_equal_and_other_seeds_differ(run):
    assert_same(sample(), run)
    other = sample(seed=SEED + 1)
    assert not np.any(other.positions[:, 10:] == run.positions[:, 10:])
    assert not np.any(run.positions[0, 10:] == run.positions[1, 10:])


@pytest.mark.parametrize("name", KERNELS)
def test_chains_do_not_depend_on_how_many_there_are(name, runs):
    more = sample(KERNELS[name], chains=4)
    np.testing.assert_allclose(more.positions[:CHAINS], runs[name].positions, rtol=0, atol=1e-10)
    assert np.array_equal(more.info.is_accepted[:CHAINS], runs[name].info.is_accepted)


# --- block sizes and interruptions


@pytest.mark.parametrize(("most", "value"), [("MOST_CELLS", 1), ("MOST_UPDATES", 64 * 2 * 4 + 5)])
@pytest.mark.parametrize("name", KERNELS)
def test_block_sizes_do_not_matter(name, most, value, runs, recorder, uneven, monkeypatch):
    monkeypatch.setattr(limits, most, value)
    assert_same(sample(KERNELS[name]), runs[name])
    assert len(recorder.blocks) > 2
    # With an uneven clock the sizes vary as well, and blocks begin anywhere.
    sizes = {steps for _, steps in recorder.blocks}
    assert value == 1 or len(sizes) > 1


def test_blocks_at_odd_steps(run):
    with jax.enable_x64(True):
        kernel = canonical(STANDARD, "kernel")
        _, key_run = jr.split(jr.key(SEED))
        keys = jax.vmap(lambda c: jr.fold_in(key_run, c))(jnp.arange(CHAINS))
        state = jax.vmap(kernel.init)(jnp.zeros((CHAINS, 2)))
        start, positions = 0, []
        for steps in (1, 36, 2, 90, 64, 63, 1, 43):
            block = limits.Block(start, steps)
            state, output = COMPILED.advance(Moving(kernel, keys, 8), state, block, Thinning(1))
            positions.append(np.swapaxes(np.asarray(output.positions)[:steps], 0, 1))
            start += steps
    assert start == DRAWS
    assert np.array_equal(np.concatenate(positions, axis=1), run.positions)


def test_warm_up_forgets_the_first_updates(run):
    assert_same(part_of(run, slice(37, None)), part_of(sample(draws=DRAWS - 37, warmup=37), slice(None)))


def thinned(run, warmup, thin):
    """A run without thinning, thinned: the last of each interval, flags counted over it."""
    draws = (DRAWS - warmup) // thin

    def intervals(leaf):
        return leaf[:, warmup : warmup + draws * thin].reshape(CHAINS, draws, thin, *leaf.shape[2:])

    counted = jax.tree.map(lambda leaf: intervals(leaf).sum(axis=2, dtype=np.int32), run.info)
    last = jax.tree.map(lambda leaf: intervals(leaf)[:, :, -1], (run.positions, run.info))
    return last[0], counted._replace(log_ratio=last[1].log_ratio)


@pytest.mark.parametrize("cells", [1024, 1])
@pytest.mark.parametrize(("warmup", "thin"), [(0, 3), (37, 3), (0, 100), (37, 77), (1, 299)])
def test_thinned_draws_and_counts(warmup, thin, cells, run, monkeypatch, recorder, uneven):
    monkeypatch.setattr(limits, "MOST_CELLS", cells)
    result = sample(draws=(DRAWS - warmup) // thin, warmup=warmup, thin=thin)
    assert_same(result, thinned(run, warmup, thin))
    assert result.acceptance == pytest.approx(run.info.is_accepted[:, warmup : warmup + result.draws * thin].mean())
    if cells == 1:
        ends = {start + steps - warmup for start, steps in recorder.blocks if start >= warmup}
        assert any(end % thin for end in ends)  # a draw whose interval spans two blocks


@pytest.mark.study
def test_thinned_counts_of_a_cycle_and_of_broken_bounds():
    walks = (ls.RandomWalk(1.0), ls.UniformWalk(0.5))
    cycle = ls.Cycle([ls.standard(log_density, walk) for walk in walks])
    whole, coarse = sample(cycle, 120), sample(cycle, 12, thin=10)
    assert whole.info.is_accepted.shape == (CHAINS, 120, 2)
    assert np.array_equal(coarse.info.is_accepted, whole.info.is_accepted.reshape(CHAINS, 12, 10, 2).sum(axis=2))
    assert coarse.acceptance == pytest.approx(whole.acceptance, abs=1e-12)
    universal = ls.universal(ls.estimators.mean(one_sample, 8, draw=normals), 0.3, ls.RandomWalk(1.0))
    with pytest.warns(UserWarning, match="above the bound"):
        whole = sample(universal, 120)
    with pytest.warns(UserWarning, match="above the bound"):
        coarse = sample(universal, 12, thin=10)
    assert np.array_equal(coarse.info.is_violated, whole.info.is_violated.reshape(CHAINS, 12, 10).sum(axis=2))
    assert 0 < whole.info.is_violated.sum() < CHAINS * 120


# --- positions of any structure


class Theta(NamedTuple):
    mean: jax.Array
    log_scale: jax.Array


def log_density_of_any(position):
    return -0.5 * sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(position))


POSITIONS = {
    "scalar": 0.5,
    "dict": {"a": 0.5, "b": np.zeros((2, 2))},
    "tuple": (0.5, np.zeros(3)),
    "named": Theta(np.zeros(2), 0.1),
    "nested": {"theta": Theta(np.zeros(2), 0.1), "rest": [0.5, (np.ones(1),)]},
}


@pytest.mark.parametrize("name", POSITIONS)
def test_structured_positions(name):
    position = POSITIONS[name]
    run = sample_of(position)
    assert jax.tree.structure(run.positions) == jax.tree.structure(position)
    for leaf, start in zip(jax.tree.leaves(run.positions), jax.tree.leaves(position), strict=True):
        assert type(leaf) is np.ndarray and leaf.dtype == np.float64
        assert leaf.shape == (CHAINS, 60, *np.shape(start))
        assert np.all(leaf[:, -1] != start)
    assert (
        set(run.to_datatree().posterior.data_vars)
        == {
            "scalar": {"position"},
            "dict": {"a", "b"},
            "tuple": {"position_0", "position_1"},
            "named": {"mean", "log_scale"},
            "nested": {"theta_mean", "theta_log_scale", "rest_0", "rest_1_0"},
        }[name]
    )


def sample_of(position):
    kernel = ls.standard(log_density_of_any, ls.RandomWalk(0.7))
    return ls.sample(kernel, position, draws=60, chains=CHAINS, seed=SEED)


def test_a_structure_is_its_flat_vector():
    position = POSITIONS["nested"]
    flat = np.concatenate([np.reshape(leaf, -1) for leaf in jax.tree.leaves(position)])
    leaves = [leaf.reshape(CHAINS, 60, -1) for leaf in jax.tree.leaves(sample_of(position).positions)]
    np.testing.assert_allclose(np.concatenate(leaves, axis=2), sample_of(flat).positions, rtol=0, atol=1e-12)


@ls.part
class Flip:
    """Flips one coin of a vector of coins, and leaves the rest of the position."""

    def noise(self, key, position, shape=()):
        return jr.randint(key, shape, 0, position["coins"].shape[-1])

    def __call__(self, noise, position):
        coins = position["coins"]
        return {**position, "coins": coins.at[noise].set(1 - coins[noise])}, 0.0


def log_density_with_coins(position):
    return jnp.sum(position["coins"]) * 0.5 - 0.5 * (position["x"] - position["k"]) ** 2 - 0.1 * position["k"]


def test_discrete_components():
    moves = [
        Flip(),
        ls.Component("k", ls.Finite([[0.0, 1.0, 0.0], [0.5, 0.0, 0.5], [0.0, 1.0, 0.0]])),
        ls.Component("x", ls.RandomWalk(1.0)),
    ]
    kernel = ls.Cycle([ls.standard(log_density_with_coins, move) for move in moves])
    assert kernel.is_memory_shared
    start = {"coins": np.array([0, 1, 1]), "k": 0, "x": 0.0}
    run = ls.sample(kernel, start, draws=200, chains=3, seed=1)
    coins, k, x = (run.positions[name] for name in ("coins", "k", "x"))
    assert coins.dtype == k.dtype == np.int64 and x.dtype == np.float64
    assert coins.shape == (3, 200, 3) and k.shape == x.shape == (3, 200)
    assert set(np.unique(coins)) == {0, 1} and set(np.unique(k)) == {0, 1, 2}
    flips = np.abs(np.diff(coins, axis=1)).sum(axis=2)
    assert np.array_equal(flips, run.info.is_accepted[:, 1:, 0])
    assert np.array_equal(np.abs(np.diff(k, axis=1)), run.info.is_accepted[:, 1:, 1])
    assert np.array_equal(np.diff(x, axis=1) != 0, run.info.is_accepted[:, 1:, 2])


def test_finite_chain_has_the_right_frequencies():
    log_weights = np.log([0.1, 0.2, 0.4, 0.3])
    kernel = ls.standard(lambda state: jnp.asarray(log_weights)[state], ls.Finite(np.full((4, 4), 0.25)))
    chains = 2000
    starts = np.random.default_rng(0).choice(4, size=chains, p=np.exp(log_weights))
    run = ls.sample(kernel, ls.Starts(starts), draws=1, thin=5, chains=chains, seed=3)
    share = np.bincount(run.positions[:, 0], minlength=4) / chains
    p = np.exp(log_weights)
    assert np.all(np.abs(share - p) < 5 * np.sqrt(p * (1 - p) / chains))


# --- where chains begin


def test_initial_as_position_function_or_starts(run):
    starts = np.zeros((CHAINS, 2))
    assert_same(ls.sample(STANDARD, ls.Starts(starts), DRAWS, CHAINS, SEED), run)
    assert_same(ls.sample(STANDARD, lambda key: jnp.zeros(2), DRAWS, CHAINS, SEED), run)
    never = ls.standard(lambda theta: jnp.where(jnp.all(theta == theta.round(3)), 0.0, -jnp.inf), ls.RandomWalk(1.0))
    starts = np.array([[0.1, 0.2], [0.3, 0.4]])
    with pytest.warns(UserWarning, match="no candidate was accepted"):
        stuck = ls.sample(never, ls.Starts(starts), draws=50, chains=2)
    assert np.array_equal(stuck.positions, np.broadcast_to(starts[:, None], (2, 50, 2)))
    with pytest.warns(UserWarning, match="no candidate was accepted"):
        drawn = ls.sample(never, lambda key: jr.normal(key, (2,)).round(2), draws=50, chains=2).positions
    assert np.all(drawn[0] != drawn[1]) and np.array_equal(drawn[:, 0], drawn[:, -1])


# --- precision, and what comes back


def test_double_precision_whatever_the_rest_of_the_program_uses(run):
    before = jax.config.jax_enable_x64
    assert not before
    assert_same(sample(), run)
    assert jax.config.jax_enable_x64 == before
    assert jnp.zeros(1).dtype == jnp.float32
    jax.config.update("jax_enable_x64", True)
    try:
        assert_same(sample(), run)
        assert jax.config.jax_enable_x64
    finally:
        jax.config.update("jax_enable_x64", before)


def test_single_precision_inputs_do_not_lower_the_precision(run):
    in_single = ls.standard(lambda theta: log_density(theta).astype(jnp.float32), ls.RandomWalk(jnp.float32(1.2)))
    result = ls.sample(in_single, jnp.zeros(2, jnp.float32), DRAWS, CHAINS, SEED)
    assert result.positions.dtype == result.info.log_ratio.dtype == np.float64
    assert not np.array_equal(result.positions, result.positions.astype(np.float32))
    scale = np.float64(np.float32(1.2)) / 1.2
    np.testing.assert_allclose(result.positions[:, 0], run.positions[:, 0] * scale, rtol=1e-12)


def test_an_error_leaves_the_precision_as_it_was():
    with pytest.raises(ValueError, match="shape"):
        sample(ls.standard(lambda theta: -(theta**2), ls.RandomWalk(1.0)))
    assert not jax.config.jax_enable_x64


def test_results_are_numpy_arrays(run):
    for leaf in jax.tree.leaves((run.positions, run.info)):
        assert type(leaf) is np.ndarray and leaf.shape[:2] == (CHAINS, DRAWS)
    assert run.info.is_accepted.dtype == run.info.is_valid.dtype == bool
    assert run.info.is_violated.dtype == bool and not run.info.is_violated.any()
    assert (run.chains, run.draws, run.seed, run.warmup, run.thin) == (CHAINS, DRAWS, SEED, 0, 1)
    assert run.kernel is STANDARD and run.seconds > 0
    moved = np.any(np.diff(run.positions, axis=1) != 0, axis=2)
    assert np.array_equal(moved, run.info.is_accepted[:, 1:])


def test_datatree(run):
    tree = run.to_datatree()
    posterior, stats = tree["posterior"], tree["sample_stats"]
    assert posterior["position"].dims[:2] == ("chain", "draw") and posterior["position"].shape == run.positions.shape
    assert np.array_equal(posterior["position"].values, run.positions)
    assert set(stats.data_vars) == {"is_accepted", "log_ratio", "is_valid", "is_violated"}
    for name in stats.data_vars:
        assert stats[name].dims == ("chain", "draw")
        assert np.array_equal(stats[name].values, getattr(run.info, name))
    assert tree.attrs["inference_library"] == "lockstep" and tree.attrs["seed"] == SEED
    ess = arviz_stats.ess(tree)["position"].values
    assert ess.shape == (2,) and np.all((ess > 10) & (ess < CHAINS * DRAWS))


def test_summary_and_repr_say_what_matters(runs):
    text = str(runs["standard"].summary())
    for word in ("mean", "sd", "ess_bulk", "r_hat", "position[0]", "position[1]", "acceptance", "exact kernel"):
        assert word in text
    assert "..." not in text
    assert f"acceptance {runs['standard'].acceptance:.3f} over 600 updates of 2 chains" in text
    assert "approximate kernel: error O(m^-2)" in str(runs["corrected"].summary())
    shown = repr(runs["corrected"])
    for word in (
        "2 chains",
        "300 draws",
        f"seed {SEED}",
        "acceptance",
        "RandomWalk(scale=1.2)",
        "position (2, 300, 2)",
    ):
        assert word in shown
    assert "warm-up" not in shown and "thinned" not in shown
    assert "thinned by 3 after 37 updates of warm-up" in repr(sample(draws=87, warmup=37, thin=3))


def test_progress_in_plain_lines(capsys):
    sample(progress=True)
    shown = capsys.readouterr().err
    assert "sampling: 600/600" in shown and "acceptance" in shown and "left" in shown
    sample(progress=False)
    sample()
    assert capsys.readouterr().err == ""


# --- memory and compilation


def test_noise_of_a_block_is_bounded(monkeypatch):
    @cache
    def begun(kernel, chains):
        return jr.split(jr.key(0), chains), jax.jit(jax.vmap(kernel.init))(jnp.zeros((chains, 2)))

    def cells(kernel, chains, steps):
        return COMPILED.cells_per_block(kernel, *begun(kernel, chains), steps)

    @cache
    def size(kernel, chains, cells):
        """Bytes of the noise of a block."""
        shapes = jax.eval_shape(lambda: kernel.noise(jr.key(0), jnp.zeros(2), (chains, cells * limits.CELL)))
        return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(shapes))

    wide = ls.corrected(ls.estimators.mean(one_sample, 1000, draw=normals), ls.RandomWalk(1.0))
    with jax.enable_x64(True):
        for kernel in (STANDARD, CORRECTED, wide):
            for chains in (1, 7, 64):
                for steps in (1, 64, 65, 1000, 10**5, 10**9):
                    n = cells(kernel, chains, steps)
                    assert n == 1 or size(kernel, chains, n) <= limits.MOST_NOISE
                    assert n == 1 or n * limits.CELL * chains <= limits.MOST_UPDATES
                    assert n <= limits.MOST_CELLS and n & (n - 1) == 0
                    assert (n - 1) * limits.CELL < 2 * steps  # no more than the run needs, up to a power of two
                assert cells(kernel, chains, 10**6) == cells(kernel, chains, 10**9)
        assert cells(wide, 64, 10**6) == 1
        monkeypatch.setattr(limits, "MOST_NOISE", size(wide, 64, 1) * 8)
        assert cells(wide, 64, 10**6) == 8


def test_blocks_are_bounded_by_their_draws_and_by_what_noise_is_made_of():
    """Thousands of spins moved one at a time have little noise; moments of many samples are made of all of them."""

    @ls.part
    class Flip:
        def noise(self, key, position, shape=()):
            return jr.randint(key, shape, 0, position.size)

        def __call__(self, noise, position):
            return position.at[noise].multiply(-1), 0.0

    spins = ls.standard(lambda x: 0.1 * jnp.sum(x[1:] * x[:-1]), Flip())
    moments = ls.naive(
        ls.estimators.smooth(None, lambda w, old, new: jnp.log(w), 1000, draw=lambda key, n: jr.exponential(key, (n,))),
        ls.RandomWalk(1.0),
    )
    with jax.enable_x64(True):
        for kernel, start, bytes_per_step, most in (
            (spins, jnp.ones(10_000), 8 * 10_000, limits.MOST_OUTPUT),
            (moments, jnp.zeros(2), 8 * 1000, limits.MOST_NOISE),
        ):
            keys = jr.split(jr.key(0), 4)
            state = jax.vmap(kernel.init)(jnp.broadcast_to(start, (4, *start.shape)))
            n = COMPILED.cells_per_block(kernel, keys, state, 10**9)
            assert n * limits.CELL * 4 * bytes_per_step <= most or n == 1
            assert n <= 8


def test_kernels_with_the_same_noise_share_its_program():
    """Another density, and another rule, compile their moves alone; another number of samples has other noise."""

    def sample(noise, position, candidate):
        return noise - 0.5 * jnp.sum(candidate**2 - position**2)

    def made(kernel):
        before = compiled._noise._cache_size(), compiled._advance._cache_size()
        ls.sample(kernel, jnp.zeros(7), draws=70, chains=3, progress=False)
        return compiled._noise._cache_size() - before[0], compiled._advance._cache_size() - before[1]

    walk, noisy = ls.RandomWalk(0.5), ls.estimators.mean(sample, 5, lambda key, count: jr.normal(key, (count,)))
    assert made(ls.standard(lambda theta: -0.5 * jnp.sum(theta**2), walk)) == (1, 1)
    assert made(ls.standard(lambda theta: -0.1 * jnp.sum(theta**4), walk)) == (0, 1)
    assert made(ls.naive(noisy, walk)) == (1, 1)
    assert made(ls.penalty(noisy, walk)) == (0, 1)
    assert made(ls.penalty(noisy.with_count(6), walk)) == (1, 1)


def test_nothing_compiles_twice():
    traces = []

    def counted(theta):
        traces.append(1)
        return log_density(theta)

    def run(scale=2, initial=0.0, **options):
        kernel = ls.standard(counted, ls.RandomWalk(scale))
        return ls.sample(kernel, np.full(2, initial), **{"draws": 300, "chains": 2, "seed": 0, **options})

    run()
    once = len(traces)
    assert 0 < once < 10
    compiled = COMPILED.compilations()
    run(scale=3.0)
    run(scale=2.0)
    run(scale=np.float32(2.5))
    run(seed=7)
    run(draws=260)
    run(draws=400)
    run(draws=300, warmup=100)
    run(initial=1.0)
    assert len(traces) == once and COMPILED.compilations() == compiled
    run(draws=20, thin=15)
    thinned_once = len(traces)
    run(draws=100, thin=3)
    run(draws=40, thin=7, warmup=5)
    assert len(traces) == thinned_once


def test_data_change_without_compiling():
    traces = []

    def with_data(data, theta):
        traces.append(1)
        return -0.5 * jnp.sum((theta - data) ** 2)

    def mean(data):
        kernel = ls.standard(jax.tree_util.Partial(with_data, data), ls.RandomWalk(1.0))
        return ls.sample(kernel, data, draws=60, chains=2, seed=0).positions.mean()

    first = mean(np.zeros(2))
    count = len(traces)
    assert mean(np.full(2, 5.0)) - first == pytest.approx(5.0, abs=1e-9)
    assert len(traces) == count
