"""Proposals: candidates and their log proposal ratios, against explicit densities."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from scipy import stats

import lockstep as ls
from lockstep.proposals.mixtures import StudentMixture

KEY = jr.key(7)
COVARIANCE = np.array([[2.0, 0.6, -0.3], [0.6, 1.0, 0.2], [-0.3, 0.2, 0.5]])
CHOLESKY = np.linalg.cholesky(COVARIANCE)
SCALES = {
    "number": (0.7, 0.49 * np.eye(3)),
    "vector": ([0.5, 1.0, 2.0], np.diag([0.25, 1.0, 4.0])),
    "cholesky": (CHOLESKY, COVARIANCE),
}


class Pair(NamedTuple):
    first: jax.Array
    second: jax.Array


@pytest.fixture(autouse=True, scope="module")
def double_precision():
    with jax.enable_x64(True):
        yield


def positions():
    vector = jnp.array([0.3, -1.2, 0.8])
    return {
        "array": vector,
        "dict": {"a": vector[0], "b": vector[1:]},
        "tuple": (vector[:2], vector[2:]),
        "named": Pair(vector[0], vector[1:]),
        "matrix": vector.reshape(1, 3),
    }


def flat(position):
    return np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(position)])


STRUCTURES = ["array", "dict", "tuple", "named", "matrix"]


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("scale", SCALES)
def test_random_walk_adds_a_stretched_normal_vector(scale, structure):
    value, covariance = SCALES[scale]
    position = positions()[structure]
    walk = ls.RandomWalk(value, order="leaves")
    candidate, log_proposal_ratio = walk(walk.noise(KEY, position), position)
    assert jax.tree.structure(candidate) == jax.tree.structure(position)
    increment = flat(candidate) - flat(position)
    z = np.asarray(ls.random.normal(KEY, (3,)))
    np.testing.assert_allclose(increment, np.linalg.cholesky(covariance) @ z, rtol=0, atol=1e-14)
    assert log_proposal_ratio == 0.0


@pytest.mark.parametrize("scale", SCALES)
def test_increments_have_the_stated_covariance(scale):
    value, covariance = SCALES[scale]
    n = 100_000
    noise = np.asarray(ls.RandomWalk(value).noise(KEY, jnp.zeros(3), (n,)))
    measured = noise.T @ noise / n
    error = np.sqrt((covariance**2 + np.outer(np.diag(covariance), np.diag(covariance))) / n)
    assert np.all(np.abs(measured - covariance) < 5 * error)


def test_uniform_walk_stays_in_its_box_and_fills_it():
    n, half_width = 100_000, np.array([0.5, 1.0, 2.0])
    walk = ls.UniformWalk(half_width, order="leaves")
    noise = np.asarray(walk.noise(KEY, jnp.zeros(3), (n,)))
    for column, width in zip(noise.T, half_width, strict=True):
        assert stats.kstest(column, stats.uniform(-width, 2 * width).cdf).pvalue > 1e-6
        assert np.abs(column).max() <= width
    position = positions()["dict"]
    candidate, log_proposal_ratio = walk(walk.noise(KEY, position), position)
    np.testing.assert_allclose(flat(candidate), flat(position) + np.asarray(walk.noise(KEY, jnp.zeros(3))), atol=1e-15)
    assert log_proposal_ratio == 0.0


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("scale", SCALES)
def test_independent_normal_ratio(scale, structure):
    value, covariance = SCALES[scale]
    position, mean = positions()[structure], np.array([0.1, 0.2, -0.4])
    proposal = ls.IndependentNormal(mean, value, order="leaves")
    candidate, log_proposal_ratio = proposal(proposal.noise(KEY, position), position)
    density = stats.multivariate_normal(mean, covariance).logpdf
    assert float(log_proposal_ratio) == pytest.approx(density(flat(position)) - density(flat(candidate)), abs=1e-12)
    z = np.asarray(ls.random.normal(KEY, (3,)))
    np.testing.assert_allclose(flat(candidate), mean + np.linalg.cholesky(covariance) @ z, atol=1e-14)


def test_independent_candidates_do_not_look_at_the_position():
    proposals = [
        ls.IndependentNormal(0.0, 1.0),
        ls.IndependentUniform(-1.0, 1.0),
        ls.Independent(lambda key: jr.normal(key, (3,)), lambda x: -0.5 * jnp.sum(x**2)),
    ]
    for proposal in proposals:
        assert proposal.is_independent
        noise = proposal.noise(KEY, jnp.zeros(3))
        first, second = (proposal(noise, position)[0] for position in (jnp.zeros(3), 0.5 * jnp.ones(3)))
        assert np.array_equal(first, second)


def test_mean_with_the_structure_of_the_position():
    position = positions()["dict"]
    mean = {"a": 0.1, "b": np.array([0.2, -0.4])}
    as_structure, as_vector = (ls.IndependentNormal(m, CHOLESKY, order="leaves") for m in (mean, [0.1, 0.2, -0.4]))
    noise = as_structure.noise(KEY, position)
    assert jax.tree.all(jax.tree.map(jnp.array_equal, noise, as_vector.noise(KEY, position)))
    assert as_structure(noise, position)[1] == as_vector(noise, position)[1]


def test_independent_uniform_ratio():
    low, high = np.array([-1.0, 0.0]), np.array([1.0, 3.0])
    proposal = ls.IndependentUniform(low, high, order="leaves")
    inside, outside = jnp.array([0.9, 2.9]), jnp.array([0.9, 3.1])
    noise = proposal.noise(KEY, inside)
    candidate, log_proposal_ratio = proposal(noise, inside)
    assert np.all((low <= candidate) & (candidate <= high))
    assert log_proposal_ratio == 0.0
    # A position that can never be proposed again: the way back has density 0.
    assert proposal(noise, outside)[1] == -np.inf
    many = np.asarray(proposal.noise(KEY, inside, (50_000,)))
    for column, a, b in zip(many.T, low, high, strict=True):
        assert stats.kstest(column, stats.uniform(a, b - a).cdf).pvalue > 1e-6


def test_independent_ratio_with_a_sampler_of_the_user():
    law = stats.gamma(3.0)
    proposal = ls.Independent(
        lambda key: {"x": jr.gamma(key, 3.0)}, lambda position: 2.0 * jnp.log(position["x"]) - position["x"]
    )
    position = {"x": jnp.array(0.4)}
    noise = proposal.noise(KEY, position, (5, 3))
    assert noise.position["x"].shape == noise.log_density.shape == (5, 3)
    one = jax.tree.map(lambda leaf: leaf[2, 1], noise)
    candidate, log_proposal_ratio = proposal(one, position)
    wanted = law.logpdf(0.4) - law.logpdf(float(candidate["x"]))
    assert float(log_proposal_ratio) == pytest.approx(wanted, abs=1e-12)


def test_independent_candidates_take_the_dtype_of_the_position():
    proposal = ls.Independent(lambda key: jr.normal(key, (2,), jnp.float32), lambda x: -0.5 * jnp.sum(x**2))
    candidate, _ = proposal(proposal.noise(KEY, jnp.zeros(2)), jnp.zeros(2))
    assert candidate.dtype == jnp.float64


MATRIX = np.array(
    [
        [0.0, 0.3, 0.7, 0.0],
        [0.1, 0.2, 0.3, 0.4],
        [0.5, 0.5, 0.0, 0.0],
        [0.0, 1.0, 0.0, 0.0],
    ]
)


def test_finite_law_and_ratio():
    proposal = ls.Finite(MATRIX)
    for state in range(4):
        noises, probabilities = proposal.law(state)
        candidates = []
        for noise in noises:
            candidate, log_proposal_ratio = proposal(np.float64(noise), np.int64(state))
            candidates.append(int(candidate))
            wanted = np.log(MATRIX[candidate, state] / MATRIX[state, candidate])
            assert log_proposal_ratio == pytest.approx(wanted, abs=1e-15)
        assert candidates == list(np.flatnonzero(MATRIX[state]))
        np.testing.assert_allclose(probabilities, MATRIX[state][candidates], atol=1e-15)


def test_finite_candidates_fill_the_unit_interval_in_proportion():
    proposal, grid = ls.Finite(MATRIX), (np.arange(20_000) + 0.5) / 20_000
    for state in range(4):
        candidates = jax.vmap(lambda u, state=state: proposal(u, jnp.array(state))[0])(jnp.asarray(grid))
        share = np.bincount(np.asarray(candidates), minlength=4) / grid.size
        np.testing.assert_allclose(share, MATRIX[state], atol=1.01 / grid.size)


def test_finite_never_proposes_a_state_of_probability_zero():
    # Ten times 0.1 do not sum to 1 in floating point; states 10 and 11 are impossible from 0..9.
    matrix = np.zeros((12, 12))
    matrix[:10, :10] = 0.1
    matrix[10:, 10:] = 0.5
    short = matrix.copy()
    short[:10, :10] *= 1 - 4e-9  # a row within the tolerance of its sum
    edges = [0.0, 0.1, 0.3, 0.9, np.nextafter(1.0, 0.0), 1 - 1e-9]
    for proposal in (ls.Finite(matrix), ls.Finite(short)):
        for state in range(12):
            for u in edges:
                as_numpy, log_proposal_ratio = proposal(np.float64(u), np.int64(state))
                compiled, _ = proposal(jnp.array(u), jnp.array(state))
                assert matrix[state, as_numpy] > 0 and matrix[state, int(compiled)] > 0
                assert log_proposal_ratio == pytest.approx(0.0, abs=1e-15)


def test_component_moves_one_component_only():
    walk = ls.RandomWalk(0.5)
    cases = [
        ("b", {"a": jnp.zeros(2), "b": jnp.ones(3)}, lambda p: p["b"]),
        ("second", Pair(jnp.zeros(2), jnp.ones(3)), lambda p: p.second),
        (1, (jnp.zeros(2), jnp.ones(3)), lambda p: p[1]),
        (1, [jnp.zeros(2), jnp.ones(3)], lambda p: p[1]),
        (-1, (jnp.zeros(2), jnp.ones(3)), lambda p: p[1]),
        (1, jnp.zeros(3), lambda p: p[1]),
        (-1, jnp.zeros((2, 3)), lambda p: p[1]),
        (1, np.zeros(3), lambda p: p[1]),
    ]
    for where, position, get in cases:
        component = ls.Component(where, walk)
        noise = component.noise(KEY, position)
        candidate, log_proposal_ratio = component(noise, position)
        assert jax.tree.structure(candidate) == jax.tree.structure(position)
        wanted = get(position) + walk.noise(KEY, get(position))
        assert np.array_equal(get(candidate), wanted)
        assert log_proposal_ratio == 0.0
        changed = sum(
            np.sum(np.asarray(a) != b) for a, b in zip(*map(jax.tree.leaves, (candidate, position)), strict=True)
        )
        assert changed == np.size(wanted)
        assert not component.is_independent


def test_component_passes_the_ratio_on():
    normal = ls.IndependentNormal(0.5, 2.0)
    position = {"a": jnp.array(0.3), "b": jnp.array(1.1)}
    component = ls.Component("b", normal)
    noise = component.noise(KEY, position)
    assert component(noise, position)[1] == normal(noise, position["b"])[1] != 0.0
    assert not component.is_independent  # the other components stay


@pytest.mark.parametrize(("where", "position"), [("c", {"a": 0.0}), (2, (0.0, 1.0)), (3, np.zeros(3))])
def test_component_that_is_not_there(where, position):
    component = ls.Component(where, ls.RandomWalk(1.0))
    with pytest.raises(ValueError, match="no component"):
        component.noise(KEY, jax.tree.map(jnp.asarray, position))


@pytest.mark.parametrize(
    "proposal",
    [
        ls.RandomWalk(CHOLESKY, order="leaves"),
        ls.UniformWalk(0.5),
        ls.IndependentNormal(0.1, CHOLESKY, order="leaves"),
        ls.IndependentNormal(0.1, [1.0, 2.0, 3.0], order="leaves"),
        ls.IndependentUniform(-2.0, 2.0),
    ],
    ids=lambda proposal: type(proposal).__name__,
)
def test_interpreted_candidates_equal_compiled_ones(proposal):
    position = positions()["dict"]
    noise = proposal.noise(KEY, position)
    compiled = jax.jit(lambda n, p: proposal(n, p))(noise, position)
    interpreted = proposal(*jax.tree.map(np.asarray, (noise, position)))
    for a, b in zip(jax.tree.leaves(compiled), jax.tree.leaves(interpreted), strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-13)


def test_noise_in_bulk_has_the_shape_asked_for():
    position = positions()["dict"]
    for proposal in (ls.RandomWalk(1.0), ls.UniformWalk(1.0), ls.IndependentUniform(0.0, 1.0)):
        noise = proposal.noise(KEY, position, (4, 5))
        assert noise["a"].shape == (4, 5) and noise["b"].shape == (4, 5, 2)
    assert ls.Finite(MATRIX).noise(KEY, jnp.array(0), (4, 5)).shape == (4, 5)


@pytest.mark.parametrize("position", [0.0, np.zeros(2), 0], ids=str)
def test_single_precision_programs_get_no_warning(position):
    proposal = ls.Finite(np.full((2, 2), 0.5)) if isinstance(position, int) else ls.RandomWalk(1.0)
    with jax.enable_x64(False):
        proposal(proposal.noise(jr.key(0), position), position)


DEGREES, MEAN = 3.0, np.array([0.5, -0.5, 1.0])


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("scale", SCALES)
def test_independent_student_ratio(scale, structure):
    given, covariance = SCALES[scale]
    proposal = ls.IndependentStudent(MEAN, given, DEGREES, order="leaves")
    position = positions()[structure]
    candidate, log_ratio = proposal(proposal.noise(KEY, position), position)
    law = stats.multivariate_t(MEAN, covariance, DEGREES)
    assert float(log_ratio) == pytest.approx(law.logpdf(flat(position)) - law.logpdf(flat(candidate)), abs=1e-12)


def test_student_mixture_ratio():
    """Laws of unequal width: the densities must be normalised to be mixed."""
    factors = np.stack([CHOLESKY, 0.2 * np.eye(3)])
    means, weights = np.stack([MEAN, np.array([0.0, -1.0, 1.0])]), np.array([0.3, 0.7])
    proposal = StudentMixture(*(jnp.asarray(array) for array in (means, factors, np.log(weights))), DEGREES)
    laws = [stats.multivariate_t(m, f @ f.T, DEGREES) for m, f in zip(means, factors, strict=True)]

    def log_density(x):
        return np.log(sum(weight * law.pdf(x) for weight, law in zip(weights, laws, strict=True)))

    position = positions()["array"]
    for key in jr.split(KEY, 5):
        candidate, log_ratio = proposal(proposal.noise(key, position), position)
        assert float(log_ratio) == pytest.approx(log_density(position) - log_density(candidate), abs=1e-12)
