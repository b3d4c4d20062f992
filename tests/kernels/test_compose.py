"""Cycle and Mixture: kernels on one state, against the same kernels moved by hand."""

from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import lockstep as ls

KEY = jr.key(11)


@pytest.fixture(autouse=True, scope="module")
def double_precision():
    with jax.enable_x64(True):
        yield


def log_density(position):
    return -0.5 * position["x"] ** 2 - 0.5 * (position["y"] - position["x"]) ** 2


def another_log_density(position):
    return log_density(position)


def numpy_position():
    return {"x": np.float64(0.3), "y": np.float64(-0.2)}


def position():
    return {"x": jnp.array(0.3), "y": jnp.array(-0.2)}


MOVES = [ls.Component("x", ls.RandomWalk(1.3)), ls.Component("y", ls.RandomWalk(0.7))]


def draw(key, count):
    return jr.normal(key, (count,))


def one_sample(noise, position, candidate):
    return log_density(candidate) - log_density(position) + 0.5 * noise


NOISY = ls.estimators.mean(one_sample, 4, draw=draw)


def noisy_log_density(noise, position):
    return log_density(position) + 0.3 * noise - 0.045


def normal(key):
    return jr.normal(key)


def equal(first, second):
    return jax.tree.structure(first) == jax.tree.structure(second) and all(
        np.array_equal(a, b, equal_nan=True)
        for a, b in zip(jax.tree.leaves(first), jax.tree.leaves(second), strict=True)
    )


class Counted:
    """A log density that counts how often it is evaluated."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, position: Any) -> Any:
        self.calls += 1
        return log_density(position)


def numpy_noise(kernel, steps):
    noise = jax.tree.map(np.asarray, kernel.noise(KEY, position(), (steps,)))
    return [jax.tree.map(lambda leaf, i=i: leaf[i], noise) for i in range(steps)]


FAMILIES = {
    "shared": [ls.standard(log_density, move) for move in MOVES],
    "unshared": [ls.standard(log_density, MOVES[0]), ls.standard(another_log_density, MOVES[1])],
    "exact and estimated": [ls.standard(log_density, MOVES[0]), ls.corrected(NOISY, MOVES[1])],
    "estimated": [ls.naive(NOISY, MOVES[0]), ls.penalty(NOISY, MOVES[1])],
    "pseudo-marginal": [ls.pseudo_marginal(noisy_log_density, move, draw=normal) for move in MOVES],
}
SHARED = {"shared", "estimated", "pseudo-marginal"}


@pytest.mark.parametrize("family", FAMILIES)
def test_cycle_is_its_kernels_one_after_the_other(family):
    kernels = FAMILIES[family]
    cycle = ls.Cycle(kernels)
    assert cycle.is_memory_shared == (family in SHARED)
    state = cycle.init(position(), KEY)
    by_hand = state
    move = jax.jit(cycle.move)
    moves = [jax.jit(kernel.move) for kernel in kernels]
    changes = 0
    for key in jr.split(KEY, 20):
        noise = cycle.noise(key, position())
        before = state
        state, info = move(state, noise)
        accepted, log_ratios = [], []
        for kernel, moved, kernel_noise in zip(kernels, moves, noise, strict=True):
            start = by_hand if family in SHARED else kernel.init(by_hand.position)
            by_hand, one = moved(start, kernel_noise)
            accepted.append(bool(one.is_accepted))
            log_ratios.append(float(one.log_ratio))
        by_hand = by_hand if family in SHARED else ls.State(by_hand.position, ())
        assert equal(state.position, by_hand.position)
        np.testing.assert_allclose(jax.tree.leaves(state.memory), jax.tree.leaves(by_hand.memory), rtol=1e-14)
        assert info.is_accepted.tolist() == accepted
        np.testing.assert_allclose(info.log_ratio, log_ratios, rtol=1e-12, atol=1e-13)
        assert (state.position["x"] != before.position["x"]) == accepted[0]
        assert (state.position["y"] != before.position["y"]) == accepted[1]
        changes += sum(accepted)
    assert 5 < changes < 40


@pytest.mark.parametrize("family", FAMILIES)
def test_mixture_is_the_chosen_kernel(family):
    kernels = FAMILIES[family]
    mixture = ls.Mixture(kernels, [0.3, 0.7])
    state = mixture.init(position(), KEY)
    move = jax.jit(mixture.move)
    moves = [jax.jit(kernel.move) for kernel in kernels]
    chosen = []
    for key in jr.split(KEY, 20):
        choice, noises = noise = mixture.noise(key, position())
        start = state if family in SHARED else kernels[int(choice)].init(state.position)
        wanted, wanted_info = moves[int(choice)](start, noises[int(choice)])
        state, info = move(state, noise)
        assert equal(state.position, wanted.position)
        if family in SHARED:
            np.testing.assert_allclose(jax.tree.leaves(state.memory), jax.tree.leaves(wanted.memory), rtol=1e-14)
        assert info.is_accepted == wanted_info.is_accepted
        np.testing.assert_allclose(info.log_ratio, wanted_info.log_ratio, rtol=1e-12, atol=1e-13)
        chosen.append(int(choice))
    assert set(chosen) == {0, 1}


def test_shared_density_is_evaluated_once_for_each_kernel():
    counted = Counted()
    cycle = ls.Cycle([ls.standard(counted, move) for move in MOVES])
    state = cycle.init(numpy_position())
    assert counted.calls == 1
    for steps, noise in enumerate(numpy_noise(cycle, 10), start=1):
        state, _ = cycle.move(state, noise)
        assert counted.calls == 1 + 2 * steps
        assert state.memory == pytest.approx(log_density(state.position), abs=1e-14)


def test_interpreted_mixture_evaluates_the_chosen_kernel_only():
    counted = Counted()
    mixture = ls.Mixture([ls.standard(counted, move) for move in MOVES])
    state = mixture.init(numpy_position())
    for steps, noise in enumerate(numpy_noise(mixture, 10), start=1):
        state, info = mixture.move(state, noise)
        assert counted.calls == 1 + steps
        assert isinstance(info.is_accepted, np.bool_)
        assert state.memory == pytest.approx(log_density(state.position), abs=1e-14)


def test_unshared_densities_are_evaluated_anew():
    first, second = Counted(), Counted()
    cycle = ls.Cycle([ls.standard(first, MOVES[0]), ls.standard(second, MOVES[1])])
    assert not cycle.is_memory_shared
    state = cycle.init(numpy_position())
    assert state.memory == () and first.calls == second.calls == 0
    for noise in numpy_noise(cycle, 10):
        state, _ = cycle.move(state, noise)
    assert first.calls == second.calls == 20  # position and candidate, in each of ten cycles


def test_data_in_the_density_must_be_the_same_to_share_memory():
    def with_data(data, position):
        return log_density(position) + jnp.sum(data) * 0.0

    data, other = jnp.ones(3), jnp.ones(3)

    def cycle(first, second):
        pair = zip((first, second), MOVES, strict=True)
        return ls.Cycle([ls.standard(jax.tree_util.Partial(with_data, d), move) for d, move in pair])

    assert cycle(data, data).is_memory_shared
    assert not cycle(data, other).is_memory_shared


@ls.part
class Remembering:
    """A ratio of a user, which remembers a density of its own, scaled."""

    scale: Any
    is_memory_random = False

    def noise(self, key, position, shape=()):
        return ()

    def init(self, noise, position):
        return self.scale * log_density(position)

    def __call__(self, noise, position, memory, candidate, log_proposal_ratio):
        value = self.init(noise, candidate)
        return log_proposal_ratio + value / self.scale - memory / self.scale, value


@pytest.mark.parametrize("compose", [ls.Cycle, ls.Mixture])
def test_ratios_of_a_user_share_memory_only_with_themselves(compose):
    one, two = Remembering(jnp.array(1.0)), Remembering(jnp.array(2.0))

    def kernels(*ratios):
        return [ls.MetropolisHastings(move, ratio) for move, ratio in zip(MOVES, ratios, strict=True)]

    assert compose(kernels(one, one)).is_memory_shared
    mixed = compose(kernels(one, two))
    assert not mixed.is_memory_shared
    assert not compose([ls.naive(NOISY, MOVES[0]), kernels(one, one)[1]]).is_memory_shared
    # Both ratios have the target `log_density`: decisions are those of the standard kernels.
    standard = compose([ls.standard(log_density, move) for move in MOVES])
    state, wanted = mixed.init(position()), standard.init(position())
    for key in jr.split(KEY, 10):
        state, _ = mixed.step(key, state)
        noise = mixed.noise(key, position())
        wanted, _ = standard.move(wanted, noise)
        assert equal(state.position, wanted.position)


def test_a_random_memory_is_not_refreshed():
    estimated = ls.pseudo_marginal(noisy_log_density, MOVES[0], draw=normal)
    for other in (ls.standard(log_density, MOVES[1]), ls.naive(NOISY, MOVES[1])):
        for compose in (ls.Cycle, ls.Mixture):
            with pytest.raises(ValueError, match="the very same estimate"):
                compose([estimated, other])
    cycle = ls.Cycle(FAMILIES["pseudo-marginal"])
    assert cycle.is_memory_random
    with pytest.raises(ValueError, match="needs a key"):
        cycle.init(position())
    # A rejection leaves the estimate as it was, an acceptance takes the candidate's.
    state = cycle.init(position(), KEY)
    for key in jr.split(KEY, 10):
        before = state
        state, info = cycle.step(key, state)
        assert (state.memory == before.memory) == (not info.is_accepted.any())


def test_correlated_noise_is_shared_too():
    kernels = [ls.pseudo_marginal(noisy_log_density, move, correlation=0.9, draw=normal) for move in MOVES]
    cycle = ls.Cycle(kernels)
    state = cycle.init(position(), KEY)
    state, _ = cycle.step(KEY, state)
    assert float(state.memory.value) == pytest.approx(
        float(noisy_log_density(state.memory.noise, state.position)), abs=1e-14
    )
    different = [
        ls.pseudo_marginal(noisy_log_density, MOVES[i], correlation=c, draw=normal) for i, c in enumerate((0.9, 0.5))
    ]
    with pytest.raises(ValueError, match="the very same estimate"):
        ls.Cycle(different)


def test_nested_compositions_share_memory():
    kernels = FAMILIES["shared"]
    nested = ls.Mixture([ls.Cycle(kernels), ls.Cycle(kernels[::-1])])
    assert nested.is_memory_shared and nested.exact_when == "always"
    state = nested.init(position())
    for key in jr.split(KEY, 10):
        state, info = nested.step(key, state)
        assert float(state.memory) == pytest.approx(float(log_density(state.position)), abs=1e-13)
    assert info.is_accepted.shape == (2,)


def test_exactness_of_the_whole_is_that_of_its_parts():
    exact, approximate = ls.standard(log_density, MOVES[0]), ls.naive(NOISY, MOVES[1])
    known = ls.penalty(ls.estimators.known_variance(NOISY, 1 / 16), MOVES[1])
    assert ls.Cycle([exact, exact]).exact_when == "always"
    assert ls.Cycle([exact, approximate]).exact_when is None
    assert ls.Mixture([exact, known]).exact_when == known.exact_when


def test_choices_have_the_stated_weights():
    n, weights = 100_000, np.array([0.2, 0.5, 0.3])
    mixture = ls.Mixture([ls.standard(log_density, MOVES[0])] * 3, weights)
    choice, noises = mixture.noise(KEY, position(), (n,))
    share = np.bincount(np.asarray(choice), minlength=3) / n
    assert np.all(np.abs(share - weights) < 5 * np.sqrt(weights * (1 - weights) / n))
    assert not np.array_equal(noises[0].accept, noises[1].accept)


def test_cycle_and_mixture_sample_the_right_target():
    # x ~ N(0, 1), y | x ~ N(x, 1): var y = 2, cov = 1. Many short chains from exact draws stay exact draws.
    chains = 4_000
    key_x, key_y = jr.split(KEY)
    x = jr.normal(key_x, (chains,))
    starts = ls.Starts({"x": x, "y": x + jr.normal(key_y, (chains,))})
    kernels = FAMILIES["shared"]
    nested = ls.Mixture([ls.Cycle(kernels), ls.Cycle(kernels[::-1])], [0.4, 0.6])
    run = ls.sample(nested, starts, draws=1, thin=5, chains=chains, seed=3)
    x, e = run.positions["x"].ravel(), (run.positions["y"] - run.positions["x"]).ravel()
    for values, mean in ((x, 0.0), (e, 0.0), (x**2, 1.0), (e**2, 1.0), (x * e, 0.0)):
        assert abs(values.mean() - mean) < 4.9 * values.std() / np.sqrt(chains)
    assert run.info.is_accepted.shape == (chains, 1, 2)
    assert 0 < run.acceptance < 1


# --- unlike kernels ---------------------------------------------------------------------------------------------------
def bounded():
    def sample(noise, old, new):
        return log_density(new) - log_density(old) + noise

    estimator = ls.estimators.mean(
        sample, 1, draw=lambda key, count: jr.uniform(key, (count,), minval=-0.4, maxval=0.4)
    )
    return ls.universal(estimator, 0.3, MOVES[0])


def test_kernels_that_report_broken_bounds_compose_with_others():
    plain = ls.standard(log_density, MOVES[1])
    with pytest.warns(ls.LockstepWarning, match="above the bound") as caught:
        run = ls.sample(ls.Cycle([bounded(), plain]), position(), draws=400, chains=2, seed=1)
    assert len(caught) == 1
    assert run.info.is_violated.shape == (2, 400, 2)
    assert run.info.is_violated[..., 0].any() and not run.info.is_violated[..., 1].any()
    with pytest.warns(ls.LockstepWarning, match="bound"):
        run = ls.sample(ls.Mixture([plain, bounded()]), position(), draws=400, chains=2, seed=1)
    assert run.info.is_violated.shape == (2, 400)


def test_a_cycle_within_a_cycle_is_one_cycle():
    first, second = (ls.standard(log_density, move) for move in MOVES[:2])
    nested = ls.Cycle([ls.Cycle([first, second]), first])
    assert nested.kernels == (first, second, first)
    _, info = nested.step(KEY, nested.init(position()))
    assert info.is_accepted.shape == (3,)


def test_what_does_not_compose_is_refused():
    first, second = (ls.standard(log_density, move) for move in MOVES[:2])
    with pytest.raises(ValueError, match="lengths"):
        ls.Mixture([ls.Cycle([first, second]), first])
    with pytest.raises(TypeError, match="Coupled"):
        ls.Cycle([ls.Coupled(first, first), second])
