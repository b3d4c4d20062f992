"""What models say of input that they cannot use."""

from __future__ import annotations

import jax.numpy as jnp
import jax.random as jr
import networkx
import numpy as np
import pytest

import lockstep as ls
from lockstep.models import ERGM, ConwayMaxwellPoisson, Ising, Potts, terms
from lockstep.perfect import PerfectSimulationError

KEY = jr.key(0)
RING = networkx.cycle_graph(5)
LOOP = networkx.Graph([(0, 1), (1, 1)])
SPINS = np.ones((3, 3), int)


def with_entry(value, at=(0, 1)):
    matrix = networkx.to_numpy_array(RING)
    matrix[at] = value
    return matrix


BAD = {
    "self-loop of a graph": (lambda: ERGM(["edges"], LOOP), ValueError, "self-loop at node 1"),
    "self-loop of a graph with names": (
        lambda: ERGM(["edges"], networkx.relabel_nodes(LOOP, "node {}".format)),
        ValueError,
        "self-loop at node 'node 1'",
    ),
    "self-loop of a matrix": (lambda: ERGM(["edges"], with_entry(1, (2, 2))), ValueError, "self-loop at node 2"),
    "missing entry": (lambda: ERGM(["edges"], RING).statistic(with_entry(np.nan)), ValueError, "missing entries"),
    "half a missing tie": (lambda: ERGM(["edges"], with_entry(np.nan), directed=False), ValueError, "not symmetric"),
    "a tie twice": (lambda: ERGM(["edges"], edges=[(0, 1), (1, 0)]), ValueError, "0–1 twice"),
    "a tie of nobody": (lambda: ERGM(["edges"], edges=[(0, 9)], nodes=4), ValueError, "edges of ERGM: 9 is no node"),
    "a tie with itself": (lambda: ERGM(["edges"], edges=[("a", "a")]), ValueError, "self-loop at 'a'"),
    "ties that are no pairs": (lambda: ERGM(["edges"], edges=[(0, 1, 2)]), TypeError, "a list of pairs"),
    "ties for a graph": (lambda: ERGM(["edges"], [(0, 1), (1, 2), (0, 2)]), ValueError, "edges=pairs"),
    "both": (lambda: ERGM(["edges"], RING, edges=[(0, 1)]), TypeError, "a graph and edges"),
    "two numbers of nodes": (lambda: ERGM(["edges"], RING, nodes=6), ValueError, "nodes of ERGM is 6, but"),
    "one label twice": (lambda: ERGM(["edges"], edges=[("a", "b")], nodes=["a", "b", "a"]), ValueError, "label twice"),
    "a value that lacks": (
        lambda: ERGM(["nodecov(age)"], edges=[("a", "b")], attributes={"age": {"a": 3}}),
        ValueError,
        "no value for the node 'b'",
    ),
    "an unknown value": (
        lambda: ERGM(["nodecov(age)"], RING, attributes={"age": [1, 2, np.nan, 3, 4]}),
        ValueError,
        "NaN at the node 2",
    ),
    "a covariate of words": (lambda: ERGM([terms.nodecov(list("abcde"))], RING), ValueError, "not all finite numbers"),
    "a factor of one category": (lambda: ERGM([terms.nodefactor([1] * 5)], RING), ValueError, "the one category"),
    "a covariate that is not symmetric": (
        lambda: ERGM([terms.edgecov(np.triu(np.ones((5, 5))))], RING),
        ValueError,
        "edgecov is not symmetric",
    ),
    "a covariate of other pairs": (lambda: ERGM([terms.edgecov(np.eye(3))], RING), ValueError, "shape \\(3, 3\\)"),
    "more ties than allowed": (
        lambda: ERGM(["edges"], RING, max_degree=1),
        ValueError,
        "node 0 of the graph has 2 ties",
    ),
    "one largest degree of a directed graph": (
        lambda: ERGM(["edges"], nodes=4, directed=True, max_degree=2),
        TypeError,
        "give a pair \\(out, in\\)",
    ),
    "nothing is free": (
        lambda: ERGM(["edges"], RING, fixed=~np.eye(5, dtype=bool)),
        ValueError,
        "no pair that can change",
    ),
    "an argument that a term has not": (lambda: ERGM(["gwesp(0.5, 2)"], RING), ValueError, "needs other arguments"),
    "names of others": (
        lambda: ERGM(["edges"], RING).log_likelihood({"triangles": 0.1}, RING),
        ValueError,
        "has the names triangles; they must be edges",
    ),
    "weights": (lambda: ERGM(["edges"], with_entry(2.5), directed=True), ValueError, "other than 0 and 1"),
    "not symmetric": (lambda: ERGM(["edges"], with_entry(0), directed=False), ValueError, "not symmetric"),
    "not square": (lambda: ERGM(["edges"], np.zeros((2, 3))), ValueError, "square adjacency matrix"),
    "multigraph": (lambda: ERGM(["edges"], networkx.MultiGraph(RING)), ValueError, "multigraph"),
    "no graph": (lambda: ERGM(["edges"]).simulate(KEY, [0.1]), TypeError, "ERGM\\(terms, graph\\)"),
    "unknown term": (lambda: ERGM(["hexagons"], RING), ValueError, "'hexagons' is none of them; there are absdiff"),
    "a term without its number": (lambda: ERGM(["gwesp"], RING), ValueError, "needs a number"),
    "one term for a list": (lambda: ERGM("edges", RING), TypeError, "must be a list of terms"),
    "a term for directed graphs": (lambda: ERGM(["mutual"], RING), ValueError, "mutual is for directed graphs"),
    "a negative decay": (lambda: ERGM([terms.gwesp(-1.0)], RING), ValueError, "decay .* is -1.0"),
    "an attribute nobody has": (lambda: ERGM(["nodematch(age)"], RING), ValueError, "needs the attribute 'age'"),
    "values of other nodes": (lambda: ERGM([terms.nodematch([1, 2])], RING), ValueError, "shape \\(2,\\) for 5 nodes"),
    "another number of nodes": (
        lambda: ERGM(["edges"], RING).statistic(networkx.cycle_graph(6)),
        ValueError,
        "shape \\(6, 6\\); the model has 5 nodes",
    ),
    "too few parameters": (
        lambda: ERGM(["edges", "triangles"], RING).log_likelihood([1.0], RING),
        ValueError,
        "shape \\(1,\\); it must be a vector of 2",
    ),
    "an infinite parameter": (lambda: ERGM(["edges"], RING).simulate(KEY, [np.inf]), ValueError, "must be finite"),
    "spins of another shape": (lambda: Ising((3, 3)).statistic(np.ones((3, 4))), ValueError, "shape \\(3, 4\\)"),
    "spins 0 and 1": (lambda: Ising((3, 3)).statistic(np.zeros((3, 3))), ValueError, "2 \\* x - 1"),
    "missing spins": (lambda: Ising((3, 3)).statistic(np.full((3, 3), np.nan)), ValueError, "missing"),
    "a vector for one parameter": (lambda: Ising((3, 3)).simulate(KEY, [0.1, 0.2]), ValueError, "one real number"),
    "a parameter that is no number": (lambda: Ising((3, 3)).simulate(KEY, np.nan), ValueError, "must be finite"),
    "a narrow torus": (lambda: Ising((2, 5), periodic=True), ValueError, "at least 3 rows"),
    "a lattice in three dimensions": (lambda: Ising((2, 5, 5)), ValueError, "must be a pair"),
    "a field of another shape": (lambda: Ising((3, 3), field=[0.1, 0.2]), ValueError, "field of Ising has shape"),
    "a constant of a wide lattice in a field": (
        lambda: Ising((30, 30), field=0.1).log_normalizer(0.1),
        ValueError,
        "16 sites at the most",
    ),
    "colours that are none": (lambda: Potts((3, 3), 2).statistic(3 * SPINS), ValueError, "must be 0 to 1"),
    "one colour": (lambda: Potts((3, 3), 1), ValueError, "colours of Potts is 1"),
    "Potts repulsion": (lambda: Potts((3, 3), 3).simulate(KEY, -0.5), ValueError, "theta of Potts is -0.5"),
    "a design that is a vector": (lambda: ConwayMaxwellPoisson(np.ones(5)), ValueError, "must be a matrix"),
    "negative counts": (lambda: ConwayMaxwellPoisson(np.ones((2, 1))).statistic([1, -1]), ValueError, "negative"),
    "counts without end": (
        lambda: ConwayMaxwellPoisson(np.ones((1, 1))).simulate(KEY, [50.0, 0.0]),
        ValueError,
        "2\\^30",
    ),
    "a draw that would take for ever": (
        lambda: Ising((8, 8), field=np.where(np.arange(64).reshape(8, 8) % 2, 0.1, -0.1), limit=64).simulate(KEY, 1.0),
        PerfectSimulationError,
        "theta = 1; a draw now would be biased. Raise limit",
    ),
    "inner without transitions": (
        lambda: ls.exchange(
            lambda t: 0.0, Ising((3, 3)).log_likelihood, lambda k, t: t, SPINS, ls.RandomWalk(1.0), inner=0
        ),
        ValueError,
        "inner of exchange is 0",
    ),
    "a bridge of nothing": (
        lambda: ls.bridged_exchange(
            lambda t: 0.0, Ising((3, 3)).log_likelihood, Ising((3, 3)).simulate, SPINS, ls.RandomWalk(1.0), bridges=0
        ),
        ValueError,
        "bridges of bridged_exchange is 0",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused(name):
    call, error, message = BAD[name]
    with pytest.raises(error, match=message):
        call()


def uniform_prior(theta):
    return jnp.where((theta >= 0) & (theta <= 1), 0.0, -jnp.inf)


def test_data_of_the_wrong_shape_are_refused_by_a_run():
    model = Ising((3, 3))
    kernel = ls.exchange(uniform_prior, model.log_likelihood, model.simulate, np.ones((3, 4), int), ls.RandomWalk(0.1))
    with pytest.raises(ValueError, match="x of Ising has shape \\(3, 4\\)"):
        ls.sample(kernel, 0.3, draws=10, chains=1)


def test_inner_needs_a_simulator_that_takes_a_start():
    model = Ising((3, 3))
    kernel = ls.exchange(
        uniform_prior,
        model.log_likelihood,
        lambda key, theta: model.simulate(key, theta),
        SPINS,
        ls.RandomWalk(0.1),
        inner=2,
    )
    with pytest.raises(TypeError, match="simulate must take 3 positional arguments"):
        ls.sample(kernel, 0.3, draws=10, chains=1)


def test_a_limit_reached_in_a_run_arrives_as_it_was_raised():
    field = np.array([[0.3, -0.3, 0.3], [-0.3, 0.3, -0.3], [0.3, -0.3, 0.3]])
    model = Ising((3, 3), field=field, limit=1)
    kernel = ls.exchange(uniform_prior, model.log_likelihood, model.simulate, SPINS, ls.RandomWalk(0.1))
    with pytest.raises(PerfectSimulationError, match="coupling from the past had not met after 1 sweeps"):
        ls.sample(kernel, 0.5, draws=50, chains=2)
