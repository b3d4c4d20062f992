"""Particle marginal Metropolis–Hastings: in runs, on disk, with functions on NumPy arrays, with whole numbers."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from linear_normal import THETA, kalman, log_prior, model
from test_bad_filters import WALK, Numpy
from test_unbiased_filters import DATA as SYMBOLS, FIRST, LOG_DENSITY, NEXT, draw, initial, log_observation, transition

import lockstep as ls
from lockstep.core.precision import double_precision
from lockstep.state_space.filter import require_filter
from lockstep.state_space.hilbert import hilbert_index, order_of
from lockstep.state_space.resampling import ancestors, positions_of
from lockstep.state_space.rows import MOST, draw_rows
from lockstep.state_space.series import series

DATA = model().simulate(jr.key(1), THETA, times=8).data


def test_a_run_is_durable_and_has_paths(tmp_path):
    kernel = ls.particle_marginal(log_prior, model(), DATA, WALK, 8, correlation=0.9, paths=True)
    whole = ls.sample(kernel, THETA, draws=60, chains=2, seed=1)
    ls.sample(kernel, THETA, draws=40, chains=2, seed=1, directory=tmp_path / "run")
    resumed = ls.sample(kernel, THETA, draws=60, chains=2, seed=1, directory=tmp_path / "run")
    assert np.array_equal(resumed.paths, whole.paths)
    assert whole.paths.shape == (2, 60, 8)
    assert np.array_equal(ls.load(tmp_path / "run").paths, whole.paths)
    found = whole.forecast(3)
    assert found.states.shape == found.data.shape == (2, 60, 3)
    assert np.array_equal(found.states, whole.forecast(3).states)
    assert not np.array_equal(found.states, whole.forecast(3, seed=1).states)
    tree = whole.to_datatree()
    assert tree["posterior"]["path"].dims == ("chain", "draw", "time")
    assert "kept" not in tree["sample_stats"]
    # A draw that was rejected has the path of the one before.
    is_new = np.any(np.diff(whole.paths, axis=1) != 0, axis=2)
    assert np.array_equal(is_new, whole.info.is_accepted[:, 1:])


def test_functions_on_numpy_arrays_are_the_same_model():
    box = Numpy().model
    found = box.filter(jr.key(1), THETA, DATA, particles=4000, paths=3)
    assert abs(found.log_likelihood - kalman(DATA, *THETA.values())[0]) < 0.15
    assert found.paths.shape == (3, 8)
    assert box.simulate(jr.key(1), THETA, 5).data.shape == (5,)
    kernel = ls.particle_marginal(log_prior, box, DATA, WALK, 20, paths=True)
    run = ls.sample(kernel, THETA, draws=40, chains=2, seed=3)
    assert run.paths.shape == (2, 40, 8)
    assert run.forecast(2).data.shape == (2, 40, 2)
    again = ls.sample(kernel, THETA, draws=40, chains=2, seed=3)
    assert np.array_equal(run.paths, again.paths)


def test_marginal_frequencies_of_paths():
    """With few particles paths are still draws from the posterior: of a finite model, by their frequencies."""
    finite = ls.models.StateSpace(initial, transition, log_observation, draw=draw)
    kernel = ls.particle_marginal(lambda theta: 0.0, finite, SYMBOLS, ls.Finite(np.full((2, 2), 0.5)), 2, paths=True)
    run = ls.sample(kernel, 0, draws=3_000, chains=20, seed=4)
    paths = np.array(list(np.ndindex(3, 3, 3)))
    step = np.stack([np.mean(NEXT[i][:, None] == np.arange(3), axis=0) for i in range(3)])
    start = np.mean(FIRST[:, None] == np.arange(3), axis=0)
    law = start[paths[:, 0]] * step[paths[:, 0], paths[:, 1]] * step[paths[:, 1], paths[:, 2]]
    law = law * np.exp(LOG_DENSITY[paths, SYMBOLS].sum(axis=1))
    law /= law.sum()
    shares = np.stack([np.bincount(one @ [9, 3, 1], minlength=27) / len(one) for one in run.paths])
    errors = shares.std(axis=0, ddof=1) / np.sqrt(len(shares))
    seen = law > 0.01
    assert np.all(np.abs(shares.mean(axis=0) - law)[seen] < 5 * errors[seen])


def test_inputs_reach_every_function():
    def push(z, x, theta, t, u):
        return x + u["push"]

    pushed = ls.models.StateSpace(
        lambda z, theta: jnp.zeros(()),
        push,
        lambda theta, x, y, t, u: -0.5 * (y - x - u["shift"]) ** 2,
        draw=lambda key, count: jr.normal(key, (count,)),
        observe=lambda key, x, theta, t, u: x + u["shift"],
    )
    inputs = {"push": np.array([9.0, 1.0, 2.0, 4.0]), "shift": np.array([0.0, 10.0, 20.0, 30.0])}
    states, data = pushed.simulate(jr.key(0), 0.0, times=4, inputs=inputs)
    assert np.allclose(states, [0.0, 1.0, 3.0, 7.0])
    assert np.allclose(data, [0.0, 11.0, 23.0, 37.0])
    found = pushed.filter(jr.key(0), 0.0, data, particles=3, inputs=inputs)
    assert abs(found.log_likelihood) < 1e-12
    assert np.allclose(found.means, states)
    kernel = ls.particle_marginal(lambda t: -0.5 * t**2, pushed, data, ls.RandomWalk(1.0), 3, inputs=inputs, paths=True)
    run = ls.sample(kernel, 0.0, draws=4, chains=1)
    more = {"push": np.array([1.0, 1.0]), "shift": np.array([0.5, 0.0])}
    assert np.allclose(run.forecast(2, inputs=more).data[0, 0], [8.5, 9.0])
    with pytest.raises(TypeError, match="inputs is missing: the model has inputs at all times"):
        run.forecast(2)


def test_states_may_be_structures_and_keys_may_be_noise():
    def step(key, state, theta, t):
        births = jr.randint(key, (), 0, 5)
        return {"count": state["count"] + births, "last": births > 2}

    counted = ls.models.StateSpace(
        lambda key, theta: {"count": 0, "last": False},
        step,
        lambda theta, state, y, t: -0.5 * (y - state["count"]) ** 2 / theta,
    )
    kernel = ls.particle_marginal(lambda t: -t, counted, [0.0, 2.0, 5.0], ls.RandomWalk(0.5), 10, paths=True)
    run = ls.sample(kernel, 1.0, draws=6, chains=2)
    assert run.paths["count"].shape == (2, 6, 3)
    assert run.paths["count"].dtype.kind == "i"
    assert np.all(np.diff(run.paths["count"], axis=2) >= 0)


def test_ancestors():
    with double_precision():
        weights = np.array([0.0, 2.0, 1.0, 0.0, 5.0, 0.0])
        compiled = jax.jit(ancestors)
        for u in np.linspace(0.01, 0.99, 23):
            wanted = np.searchsorted(np.cumsum(weights), (np.arange(6) + u) / 6 * 8.0, side="right")
            assert ancestors(u, weights).tolist() == wanted.tolist()
            assert compiled(jnp.asarray(u), jnp.asarray(weights)).tolist() == wanted.tolist()
        # Whatever rounding does, a particle without a weight has no offspring.
        assert compiled(jnp.asarray(1 - 1e-16), jnp.asarray(weights)).max() == 4
        assert ancestors(np.array([1.0]), weights).tolist() == [4]
        # Many of them, in rows.
        many = np.asarray(jr.exponential(jr.key(0), (3000,), float))
        expected = np.searchsorted(np.cumsum(many), (np.arange(3000) + 0.5) / 3000 * many.sum(), side="right")
        assert np.array_equal(compiled(jnp.asarray(0.5), jnp.asarray(many)), expected)


def test_multinomial_positions_are_uniform_numbers_in_order():
    with double_precision():
        normals = jr.normal(jr.key(2), (20_000, 4), float)
        found = np.asarray(jax.jit(positions_of, static_argnums=(1, 2))(normals, "multinomial", 3))
    assert np.all(np.diff(found, axis=1) >= 0)
    # Order statistics of three uniform numbers have means i/4 and variances i(4-i)/80.
    means, variances = np.arange(1, 4) / 4, np.array([3, 4, 3]) / 80
    assert np.all(np.abs(found.mean(axis=0) - means) < 5 * np.sqrt(variances / 20_000))
    assert np.all(np.abs(found.var(axis=0) / variances - 1) < 0.05)


def test_the_order_of_particles_does_not_depend_on_units():
    """Far from zero, and in other units, it is the same order, of which neighbours are near to one another."""
    rows = np.random.default_rng(1).standard_normal((200, 2))
    order = order_of(rows)
    assert sorted(order) == list(range(200)) and not np.array_equal(order, np.arange(200))
    assert np.array_equal(order_of(1000.0 + np.array([1e-3, 50.0]) * rows), order)
    steps, unordered = (np.linalg.norm(np.diff(one, axis=0), axis=1).mean() for one in (rows[order], rows))
    assert steps < unordered / 3


def test_a_hilbert_curve_visits_neighbours():
    cells = np.array(list(np.ndindex(8, 8)))
    order = np.argsort(hilbert_index(cells, 3))
    assert sorted(hilbert_index(cells, 3)) == list(range(64))
    assert np.all(np.abs(np.diff(cells[order], axis=0)).sum(axis=1) == 1)
    cubes = np.array(list(np.ndindex(4, 4, 4)))
    order = np.argsort(hilbert_index(cubes, 2))
    assert np.all(np.abs(np.diff(cubes[order], axis=0)).sum(axis=1) == 1)
    with double_precision():
        assert order_of({"a": jnp.array([3.0, 1.0, 2.0])}).tolist() == [1, 2, 0]
        plane = {"a": jr.normal(jr.key(0), (50,), float), "b": jr.normal(jr.key(1), (50, 1), float)}
        assert np.array_equal(order_of(plane), order_of(jax.tree.map(np.asarray, plane)))


def test_one_program_for_other_data():
    """Data are leaves: another series of the same length, and other parameters, compile nothing."""
    first = require_filter(model(), series(DATA), 5, "systematic", 1.0, False)
    second = require_filter(model(), series(DATA + 1), 5, "systematic", 1.0, False)
    assert jax.tree.structure(first) == jax.tree.structure(second)


def test_noise_of_many_particles_is_drawn_in_pieces():
    """Whether compiled or not, in rows of which no two are the same, and from one call where they are few."""
    with double_precision():

        def rows(key, count):
            return draw_rows(lambda key, number: jr.normal(key, (number, 2)), key, 7, count)

        many = MOST // 3
        found = rows(jr.key(1), many)
        assert found.shape == (7, many, 2)
        assert np.array_equal(found, jax.jit(rows, static_argnums=1)(jr.key(1), many))
        assert len(np.unique(found[:, 0, 0])) == 7
        few = jr.normal(jr.key(1), (7 * 5, 2)).reshape(7, 5, 2)
        assert np.array_equal(rows(jr.key(1), 5), few)
