"""Hyperparameters of proposals find their components by name; what could be taken for another is refused."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import lockstep as ls
from lockstep.proposals.scales import best_walk, normal_fit, stretch, unstretch

START = {"mu": np.array(4e-4), "N": np.array(1e4), "beta": np.zeros(2)}
SCALES = {"mu": 1e-4, "N": 1e3, "beta": [0.5, 2.0]}
FLAT = np.array([1e3, 0.5, 2.0, 1e-4])  # in the order of leaves: N, beta, mu
MEANS = {"mu": 4e-4, "N": 1e4, "beta": 0.0}
FLAT_MEANS = np.array([1e4, 0.0, 0.0, 4e-4])
MAKE = {
    "RandomWalk": lambda mean, scale, **o: ls.RandomWalk(scale, **o),
    "UniformWalk": lambda mean, scale, **o: ls.UniformWalk(scale, **o),
    "IndependentNormal": ls.IndependentNormal,
    "IndependentStudent": ls.IndependentStudent,
    "CrankNicolson": ls.CrankNicolson,
    "IndependentUniform": lambda mean, scale, **o: ls.IndependentUniform(
        jax.tree.map(lambda a, b: a - 3 * np.asarray(b), mean, scale, is_leaf=lambda x: isinstance(x, list)),
        jax.tree.map(lambda a, b: a + 3 * np.asarray(b), mean, scale, is_leaf=lambda x: isinstance(x, list)),
        **o,
    ),
}


@pytest.mark.parametrize("name", MAKE)
def test_dicts_are_matched_by_name(name):
    by_name = MAKE[name](MEANS, SCALES)
    by_place = MAKE[name](FLAT_MEANS, FLAT, order="leaves")
    with jax.enable_x64(True):
        start = jax.tree.map(jnp.asarray, START)
        for key in jr.split(jr.key(1), 3):
            candidates = [one(one.noise(key, start), start) for one in (by_name, by_place)]
            assert jax.tree.all(jax.tree.map(np.array_equal, *candidates))
        shifts = {key: np.abs(np.asarray(candidates[0][0][key] - start[key])).max() for key in START}
    assert 1 < shifts["N"] < 1e5 and 0 < shifts["mu"] < 1e-2


@pytest.mark.parametrize("name", MAKE)
@pytest.mark.parametrize(
    ("scales", "words"),
    [
        (
            {"mu": 1e-4, "n": 1e3, "beta": 1.0},
            ["names 'n'", "says nothing of 'N'", "{'N': ..., 'beta': ..., 'mu': ...}"],
        ),
        ({"mu": 1e-4, "N": 1e3, "betta": 1.0}, ["names 'betta'", "did you mean 'beta'?"]),
        ({"mu": 1e-4, "N": 1e3}, ["says nothing of 'beta'"]),
        ({"mu": 1e-4, "N": 1e3, "beta": [1.0, 1.0, 1.0]}, ["['beta'] has shape (3,)", "shape (2,)"]),
        (FLAT, ["shape (4,)", "have names, not places", "{'N': ..., 'beta': ..., 'mu': ...}"]),
    ],
)
def test_what_could_be_taken_for_another_is_refused(name, scales, words):
    means = dict.fromkeys(scales, 0.0) if isinstance(scales, dict) else 0.0
    kernel = ls.standard(lambda theta: -0.5 * theta["mu"] ** 2, MAKE[name](means, scales))
    with pytest.raises(ValueError) as caught:
        ls.sample(kernel, START, draws=2, chains=1)
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_a_cholesky_factor_for_a_dict_says_its_order():
    factor = np.linalg.cholesky(np.array([[2.0, 0.5], [0.5, 1.0]]))
    start = {"b": np.array(0.0), "a": np.array(0.0)}
    with pytest.raises(ValueError, match=r"adapt=True.*order='leaves'"):
        ls.sample(ls.standard(lambda p: -0.5 * p["a"] ** 2, ls.RandomWalk(factor)), start, draws=2, chains=1)
    kernel = ls.standard(lambda p: -0.5 * (p["a"] ** 2 + p["b"] ** 2), ls.RandomWalk(factor, order="leaves"))
    assert ls.sample(kernel, start, draws=20, chains=2).acceptance > 0
    with pytest.raises(ValueError, match="order of RandomWalk is 'sorted'"):
        ls.RandomWalk(factor, order="sorted")


def test_numbers_serve_all_components_and_places_serve_positions_without_names():
    def log_density(position):
        return -0.5 * sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(position))

    class Point(NamedTuple):
        z: float
        a: float

    assert ls.sample(ls.standard(log_density, ls.RandomWalk(0.5)), START | {"N": np.array(1.0)}, draws=5, chains=1)
    for start in (Point(0.0, 0.0), (0.0, 0.0), [0.0, 0.0]):
        run = ls.sample(ls.standard(log_density, ls.RandomWalk([1e-6, 1.0])), start, draws=50, chains=1)
        first, second = jax.tree.leaves(run.positions)
        assert np.std(first) < 1e-4 < np.std(second)
    by_field = ls.sample(ls.standard(log_density, ls.RandomWalk({"a": 1.0, "z": 1e-6})), Point(0.0, 0.0), draws=50)
    assert np.std(by_field.positions.z) < 1e-4 < np.std(by_field.positions.a)
    nested = {"a": {"x": 0.0, "y": np.zeros(3)}, "b": ({"c": 0.0}, 0.0)}
    scales = {"b": ({"c": 1e-6}, 1.0), "a": {"y": 1.0, "x": 1e-6}}
    run = ls.sample(ls.standard(log_density, ls.RandomWalk(scales)), nested, draws=50, chains=1)
    assert np.std(run.positions["a"]["x"]) < 1e-4 < np.std(run.positions["a"]["y"])
    assert np.std(run.positions["b"][0]["c"]) < 1e-4 < np.std(run.positions["b"][1])
    with pytest.raises(ValueError, match="scale of RandomWalk is a dict, but the position is an array"):
        ls.sample(ls.standard(log_density, ls.RandomWalk({"a": 1.0})), np.zeros(2), draws=2, chains=1)
    with pytest.raises(ValueError, match=r"scale of RandomWalk\['a'\] is -1.0; it must be positive"):
        ls.RandomWalk({"a": -1.0})
    with pytest.raises(ValueError, match=r"low of IndependentUniform is \[1.0\], not below high"):
        box = ls.IndependentUniform({"a": 1.0}, {"a": 0.0})
        ls.sample(ls.standard(log_density, box), {"a": 0.5}, draws=2, chains=1)


@pytest.mark.parametrize("walk", [ls.RandomWalk, pytest.param(ls.UniformWalk, marks=pytest.mark.study)])
def test_adapted_scales_of_dicts_and_black_boxes(walk):
    def log_density(p):
        return -0.5 * (p["rate"] / 1e-4) ** 2 - 0.5 * (p["size"] / 1e3) ** 2

    start = {"size": np.array(10.0), "rate": np.array(1e-5)}
    scales = {"rate": 1e-4, "size": 1e3}
    adapted = ls.sample(ls.standard(log_density, walk(scales)), start, draws=200, chains=2, warmup=1000, adapt=True)
    assert 0.2 < adapted.acceptance < 0.7 and adapted.kernel.proposal.order == "leaves"
    boxed = ls.sample(ls.standard(ls.blackbox(log_density), walk(scales)), start, draws=100, chains=2)
    compiled = ls.sample(ls.standard(log_density, walk(scales)), start, draws=100, chains=2)
    assert np.allclose(boxed.positions["size"], compiled.positions["size"])


def test_maximally_coupled_walks_of_dicts():
    walk = ls.RandomWalk({"b": 2.0, "a": 0.5})
    kernel = ls.standard(lambda p: -0.5 * (p["a"] ** 2 + p["b"] ** 2), walk)
    start = ls.Pair({"a": 0.0, "b": 0.0}, {"a": 1.0, "b": -1.0})
    run = ls.sample(ls.MaximallyCoupled(kernel, kernel), start, draws=200, chains=2, seed=1)
    assert run.info.is_equal[:, -1].all()


def test_a_normal_fit_is_the_covariance_with_a_little_of_its_diagonal():
    factor = np.array([[1.0, 0.0, 0.0], [0.8, 0.5, 0.0], [-0.3, 0.2, 2.0]])
    positions = np.random.default_rng(0).normal(size=(2, 20, 3)) @ factor.T
    mean, found = normal_fit(positions)
    covariance = np.cov(positions.reshape(40, 3).T)
    expected = covariance * (40 / 43 + 3 / 43 * np.eye(3))
    np.testing.assert_allclose(found @ found.T, expected, rtol=1e-12)
    np.testing.assert_allclose(mean, positions.mean(axis=(0, 1)))
    z = np.array([1.0, -2.0, 0.5])
    np.testing.assert_allclose(stretch(factor, z), factor @ z)
    np.testing.assert_allclose(unstretch(factor, factor @ z), z)
    assert best_walk(4) == pytest.approx(1.19)
