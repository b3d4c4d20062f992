"""Ising and Potts models: perfect draws against enumeration, constants, sweeps, and posteriors with a known answer."""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from covering import chosen
from lattices import configurations, drawn, frequency_test, index_of, log_weights, probabilities
from scipy import stats

import lockstep as ls
from lockstep.models import lattice, past, random_cluster
from lockstep.models.heat_bath import Site, random_words

SIGNIFICANCE = 1e-5
MIXED = np.array([[0.4, -0.3, 0.0], [0.1, 0.5, -0.2], [0.0, 0.2, -0.4]])
CASES = {
    "free, near the critical point": (ls.models.Ising((3, 3)), 0.44),
    "torus, strong": (ls.models.Ising((3, 3), periodic=True), 0.7),
    "one field": (ls.models.Ising((3, 3), field=-0.2), 0.3),
    "fields of one sign": (ls.models.Ising((3, 3), field=np.abs(MIXED)), 0.4),
    "fields of both signs": (ls.models.Ising((3, 3), field=MIXED), 0.3),
    "repulsion, two colours": (ls.models.Ising((3, 3)), -0.5),
    "repulsion on an odd torus": (ls.models.Ising((3, 3), periodic=True), -0.2),
}


@pytest.mark.parametrize("name", CASES)
def test_perfect_draws_have_the_frequencies_of_all_512_states(name):
    model, theta = CASES[name]
    draws = drawn(lambda key: model.perfect(key, theta), 10_000)
    expected = probabilities(log_weights(model, theta, configurations((3, 3))))
    assert frequency_test(index_of(draws.value), expected) > SIGNIFICANCE
    assert set(np.unique(draws.steps)) <= {2**k for k in range(12)}
    assert draws.steps.max() > 1


def test_stopping_early_is_found_out():
    """One sweep from no open bonds, met or not: what interrupting the search would give."""
    bonds = lattice.bonds_of((3, 3), False)
    beside = lattice.adjacency(bonds, 9)
    p, words = np.full(len(bonds), -np.expm1(-2 * 0.8)), np.random.default_rng(0).integers(2**32, size=(10_000, 2))
    draws = np.empty((len(words), 9), int)
    for i, word in enumerate(words):
        low, high, work = np.zeros(12, bool), np.ones(12, bool), np.zeros((4, 10), int)
        random_cluster.sweep(low, high, np.uint64(random_cluster.stream(word, 1)), p, 2, bonds, *beside, work)
        assert np.all(low <= high)
        draws[i] = random_cluster.coloured(low, 2, np.uint64(random_cluster.stream(word, -1)), bonds, 9)
    expected = probabilities(log_weights(ls.models.Ising((3, 3)), 0.8, configurations((3, 3))))
    assert frequency_test(index_of(2 * draws - 1), expected) < SIGNIFICANCE


@pytest.mark.parametrize("field", [0.6, -1.2])
def test_spins_without_coupling_follow_their_field(field):
    """At θ = 0 each spin is up with probability 1/(1 + e^{-2h}), by itself: a test of the bonds to the ghost spin."""
    model = ls.models.Ising((3, 3), field=field)
    spins = drawn(lambda key: model.simulate(key, 0.0), 10_000)
    up = stats.binomtest(int((spins == 1).sum()), spins.size, 1 / (1 + np.exp(-2 * field)))
    assert up.pvalue > SIGNIFICANCE


def test_random_clusters_replay_their_noise_from_any_earlier_start():
    """A draw that met must come out again from twice and four times as far back, through the very same sweeps."""
    bonds = lattice.bonds_of((4, 4), False)
    beside, p = lattice.adjacency(bonds, 16), np.full(len(bonds), -np.expm1(-2 * 0.5))
    backs = []
    for words in np.random.default_rng(1).integers(2**32, size=(40, 2)):
        drawn_bonds, back = random_cluster.open_bonds(words, p, 2.0, 2**10, bonds, *beside)
        for length in (back, 2 * back, 4 * back):
            low, high, work = np.zeros(len(bonds), bool), np.ones(len(bonds), bool), np.zeros((4, 17), int)
            for t in range(length, 0, -1):
                start = np.uint64(random_cluster.stream(words, t))
                random_cluster.sweep(low, high, start, p, 2.0, bonds, *beside, work)
            assert np.array_equal(low, drawn_bonds) and np.array_equal(high, drawn_bonds)
        backs.append(back)
    assert max(backs) >= 4  # the past was gone into more than once


@pytest.mark.parametrize("theta", [-0.3, 0.3])
def test_heat_bath_replays_its_noise_from_any_earlier_start(theta):
    field, beside = MIXED.ravel(), lattice.neighbours_of((3, 3), True)
    words = np.random.default_rng(2).integers(2**32, size=(40, 2))
    draws, backs = past.perfect_draws(words, np.full(40, theta), field, 2**10, beside.first, beside.sites)
    for key, draw, back in zip(words, draws, backs, strict=True):
        low, high = np.full(9, -1), np.ones(9, int)
        for t in range(4 * back, 0, -1):
            past.sweep(low, high, np.uint64(past.stream(key, t)), theta, field, beside.first, beside.sites)
        assert np.array_equal(low, draw) and np.array_equal(high, draw)
    assert max(backs) >= 4


@pytest.mark.parametrize("theta", [-0.6, 0.6])
def test_bounds_of_the_heat_bath_hold_every_configuration_between_them(theta):
    """Through the same sweeps each start stays between the bounds; for θ < 0 they take each other's neighbours."""
    field, beside = MIXED.ravel(), lattice.neighbours_of((3, 3), True)
    starts = np.random.default_rng(3).choice([-1, 1], size=(20, 9))
    for words in np.random.default_rng(4).integers(2**32, size=(10, 2)):
        low, high, between = np.full(9, -1), np.ones(9, int), starts.copy()
        for t in range(6, 0, -1):
            start = np.uint64(past.stream(words, t))
            past.sweep(low, high, start, theta, field, beside.first, beside.sites)
            for x in between:
                past.sweep(x, x, start, theta, field, beside.first, beside.sites)
            assert np.all(low <= between) and np.all(between <= high)


def density_of_states(rows, columns) -> np.ndarray:
    """How many configurations of a free lattice have S = -bonds, ..., bonds, built up site by site."""
    bonds = rows * (columns - 1) + columns * (rows - 1)
    counts = np.zeros((2**columns, 2 * bonds + 1))
    counts[:, bonds] = 1.0
    state = np.arange(2**columns)
    for r, c in itertools.product(range(rows), range(columns)):
        new = np.zeros_like(counts) if r else counts.copy()
        if r == 0 and c == 0:
            continue  # the first site is free: all configurations of the row are there already
        old_spin = (state >> c) & 1
        for spin in (0, 1):
            target = (state & ~(1 << c)) | (spin << c)
            energy = np.zeros(len(state), int)
            if r:
                energy += np.where(old_spin == spin, 1, -1)
            if c:
                energy += np.where(((state >> (c - 1)) & 1) == spin, 1, -1)
            for shift in np.unique(energy):
                rows_here = np.flatnonzero((energy == shift) & ((old_spin == spin) if not r else True))
                moved = np.roll(counts[rows_here], shift, axis=1)
                if r:
                    np.add.at(new, target[rows_here], moved)
                else:
                    new[rows_here] = moved
        counts = new
    return counts.sum(axis=0)


@pytest.mark.study
def test_energies_of_a_10_by_10_lattice_follow_the_exact_density_of_states():
    model, theta = ls.models.Ising((10, 10)), 0.42
    states = density_of_states(10, 10)
    assert states.sum() == 2.0**100
    energy = np.arange(len(states)) - 180
    with np.errstate(divide="ignore"):
        expected = probabilities(np.log(states) + theta * energy)
    x = drawn(lambda key: model.simulate(key, theta), 4000)
    found = drawn_statistic(model, x)
    assert frequency_test(found + 180, expected) > SIGNIFICANCE
    exact = model.log_normalizer(theta)
    assert exact == pytest.approx(
        np.logaddexp.reduce(np.log(states[states > 0]) + theta * energy[states > 0]), rel=1e-13
    )


def drawn_statistic(model, x) -> np.ndarray:
    return np.asarray(jax.vmap(model.statistic)(jnp.asarray(x)))


@pytest.mark.parametrize("periodic", [False, True])
@pytest.mark.parametrize("shape", [(3, 4), pytest.param((5, 3), marks=pytest.mark.study)])
def test_normalizing_constants_are_those_of_enumeration(shape, periodic):
    field = np.random.default_rng(0).normal(size=shape)
    model = ls.models.Ising(shape, periodic=periodic, field=field)
    exact = model.log_normalizer(0.37)
    assert exact == pytest.approx(np.logaddexp.reduce(log_weights(model, 0.37, configurations(shape))), rel=1e-13)


@pytest.mark.parametrize("periodic", [False, pytest.param(True, marks=pytest.mark.study)])
def test_sweeps_leave_the_model_alone(periodic):
    """From perfect draws, through sweeps of random words, to the same law; the torus of 3 by 3 needs more colours."""
    model, theta = ls.models.Ising((3, 3), periodic=periodic, field=MIXED), 0.25

    def draw(key):
        key_start, key_sweeps = jr.split(key)
        start = model.simulate(key_start, theta)
        return start, model.simulate(key_sweeps, theta, start, sweeps=3)

    start, x = drawn(draw, 10_000, seed=1)
    assert np.mean(np.any(x != start, axis=(1, 2))) > 0.9
    expected = probabilities(log_weights(model, theta, configurations((3, 3))))
    assert frequency_test(index_of(x), expected) > SIGNIFICANCE


def test_random_words_are_uniform_and_independent():
    """Each bit, fours of neighbouring words, fours that one hash makes, and words of different keys."""
    words = drawn(lambda key: random_words(key, (2**16,)), 16)
    ones = ((words[..., None] >> np.arange(32, dtype=np.uint32)) & 1).mean(axis=(0, 1))
    assert np.abs(ones - 0.5).max() * 2 * np.sqrt(words.size) < 5
    high = (words >> 28).astype(int)
    for fours in (high.reshape(-1, 4), high.reshape(16, 4, -1).swapaxes(1, 2).reshape(-1, 4), high[:4].T):
        counts = np.bincount(fours @ 16 ** np.arange(4), minlength=2**16)
        assert stats.chisquare(counts).pvalue > SIGNIFICANCE
    assert len(np.unique(words)) > 0.999 * words.size


@pytest.mark.parametrize("is_double", [False, True])
def test_thresholds_do_not_overflow_where_a_spin_is_certain(is_double):
    with jax.enable_x64(is_double):
        rule = Site(jnp.asarray(9.0), jnp.asarray(0.0)).rule(np.uint32)
        words = jnp.array([0, 2**31, 2**32 - 2**10], np.uint32)
        assert rule(words, jnp.full(3, 4)).tolist() == [True] * 3
        assert rule(words, jnp.full(3, -4)).tolist() == [False] * 3
        assert rule(words, jnp.full(3, 0)).tolist() == [True, False, False]


@pytest.mark.parametrize("shape", [(3, 3), (3, 4), (5, 7), (4, 4)])
def test_neighbours_never_have_one_colour(shape):
    for periodic in (False, True):
        colours = lattice.colours_of(shape, periodic).ravel()
        bonds = lattice.bonds_of(shape, periodic)
        assert np.all(colours[bonds[:, 0]] != colours[bonds[:, 1]])
        assert (colours.max() == 1) == lattice.is_bipartite(shape, periodic)


def test_draws_are_functions_of_their_key():
    model = ls.models.Ising((5, 5))
    keys = jr.split(jr.key(3), 12)  # enough for threads
    together = jax.jit(jax.vmap(lambda key: model.simulate(key, 0.4)))(keys)
    alone = [model.simulate(key, 0.4) for key in keys]
    assert np.array_equal(together, alone)


# --- Potts -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("sweeps", [None, pytest.param(25, marks=pytest.mark.study)])
def test_potts_draws_have_the_frequencies_of_enumeration(sweeps):
    model = ls.models.Potts((2, 3), colours=3, sweeps=sweeps)
    states = np.array(list(itertools.product(range(3), repeat=6))).reshape(-1, 2, 3)
    x = drawn(lambda key: model.simulate(key, 0.9), 10_000).reshape(-1, 6)
    expected = probabilities(log_weights(model, 0.9, states))
    assert frequency_test(x.astype(int) @ 3 ** np.arange(6)[::-1], expected) > SIGNIFICANCE


def test_potts_of_two_colours_is_ising():
    ising, potts = ls.models.Ising((4, 4)), ls.models.Potts((4, 4), colours=2)
    a = drawn(lambda key: ising.simulate(key, 0.3), 500)
    b = drawn(lambda key: potts.simulate(key, 0.6), 500)
    assert np.array_equal(a, 2 * b - 1)
    x = a[0]
    assert int(ising.statistic(x)) == 2 * int(potts.statistic((x + 1) // 2)) - 24


# --- posteriors whose answer is known --------------------------------------------------------------------------------
# Means and standard deviations under θ ~ U(0, 1), by transfer matrices: they depend on the data only through S.
POSTERIORS = {
    "10x10 free, S=40": (False, 40, 0.20477998, 0.06683529),
    "10x10 free, S=106": (False, 106, 0.4342999, 0.05232152),
    "10x10 torus, S=48": (True, 48, 0.21617576, 0.06168352),
}


TEN_BY_TEN = {periodic: ls.models.Ising((10, 10), periodic=periodic) for periodic in (False, True)}


def log_prior(theta):
    return jnp.where((theta >= 0) & (theta <= 1), 0.0, -jnp.inf)


@pytest.mark.parametrize("name", chosen(POSTERIORS, {"10x10 torus, S=48"}))
def test_exchange_with_perfect_draws_finds_the_exact_posterior(name):
    periodic, statistic, mean, sd = POSTERIORS[name]
    model = TEN_BY_TEN[periodic]
    candidates = drawn(lambda key: model.simulate(key, mean), 400)
    data = candidates[np.flatnonzero(drawn_statistic(model, candidates) == statistic)[0]]
    kernel = ls.exchange(log_prior, model.log_likelihood, model.simulate, data, ls.RandomWalk(3 * sd))
    assert kernel.exact_when is not None
    run = ls.sample(kernel, mean, draws=200, chains=24, warmup=20, seed=0)
    for value, exact in (
        (run.positions.mean(axis=1), mean),
        (((run.positions - mean) ** 2).mean(axis=1), sd**2),
    ):
        error = value.std(ddof=1) / np.sqrt(len(value))
        assert abs(value.mean() - exact) < 3 * error
        assert error < 0.1 * exact
