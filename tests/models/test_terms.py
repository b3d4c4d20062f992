"""Every term of random graphs equals a slow definition, and its change statistic the difference that a tie makes."""

from __future__ import annotations

from itertools import combinations, permutations
from math import comb, exp

import networkx
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from lockstep.core.precision import double_precision
from lockstep.models import ERGM, terms
from lockstep.models.formula import NAMES
from lockstep.models.tie_chain import TieChain

AGES = np.array([3.0, 1.5, 1.5, 7.0, 2.0, 3.0, 4.5])
CLUBS = np.array(["a", "b", "b", "c", "a", "a", "c"])
MATRIX = np.round(np.random.default_rng(0).normal(size=(7, 7)), 2)


def weighted(count, decay):
    """Each further one counts for less, by the sum of a geometric series."""
    return sum((1 - exp(-decay)) ** n for n in range(count))


def ends(graph, value):
    return sum(value(i, j) for i, j in graph.edges())


def partners(graph, i, j):
    """Shared partners: k with i → k → j (common neighbours, without direction)."""
    follows = graph.successors if graph.is_directed() else graph.neighbors
    return sum(graph.has_edge(k, j) for k in follows(i))


def pairs(graph):
    return list((permutations if graph.is_directed() else combinations)(graph, 2))


def triads(graph, *wanted):
    """How many triangles of each kind networkx counts among the triads: 030T, 030C, and those inside of larger ones."""
    counted = networkx.triadic_census(graph)
    return sum(number * counted[kind] for kind, number in wanted)


TRANSITIVE = (("030T", 1), ("120D", 2), ("120U", 2), ("120C", 1), ("210", 3), ("300", 6))
CYCLIC = (("030C", 1), ("120C", 1), ("210", 1), ("300", 2))
BOTH = {
    "edges": ("edges", networkx.Graph.number_of_edges),
    "nodecov": (terms.nodecov(AGES), lambda g: ends(g, lambda i, j: AGES[i] + AGES[j])),
    "absdiff": (terms.absdiff(AGES), lambda g: ends(g, lambda i, j: abs(AGES[i] - AGES[j]))),
    "nodematch": (terms.nodematch(CLUBS), lambda g: ends(g, lambda i, j: CLUBS[i] == CLUBS[j])),
    "nodematch by category": (
        terms.nodematch(CLUBS, by_category=True),
        lambda g: [ends(g, lambda i, j, c=c: CLUBS[i] == c == CLUBS[j]) for c in "abc"],
    ),
    "nodefactor": (
        terms.nodefactor(CLUBS),
        lambda g: [ends(g, lambda i, j, c=c: int(CLUBS[i] == c) + int(CLUBS[j] == c)) for c in "bc"],
    ),
    "gwesp": ("gwesp(0.7)", lambda g: ends(g, lambda i, j: weighted(partners(g, i, j), 0.7))),
    "gwesp without decay": ("gwesp(0)", lambda g: ends(g, lambda i, j: partners(g, i, j) > 0)),
    "gwdsp": ("gwdsp(0.4)", lambda g: sum(weighted(partners(g, i, j), 0.4) for i, j in pairs(g))),
    "two_paths": ("two_paths", lambda g: sum(partners(g, i, j) for i, j in pairs(g))),
}
UNDIRECTED = {
    **BOTH,
    "edgecov": (terms.edgecov(MATRIX + MATRIX.T), lambda g: ends(g, lambda i, j: (MATRIX + MATRIX.T)[i, j])),
    "degree": ("degree(2)", lambda g: networkx.degree_histogram(g)[2:3] or [0]),
    "degree of isolated nodes": ("degree(0)", networkx.number_of_isolates),
    "stars(2)": ("stars(2)", lambda g: sum(comb(d, 2) for _, d in g.degree())),
    "stars(3)": ("stars(3)", lambda g: sum(comb(d, 3) for _, d in g.degree())),
    "triangles": ("triangles", lambda g: sum(networkx.triangles(g).values()) / 3),
    "gwdegree": ("gwdegree(0.4)", lambda g: sum(weighted(d, 0.4) for _, d in g.degree())),
}
DIRECTED = {
    **BOTH,
    "edgecov": (terms.edgecov(MATRIX), lambda g: ends(g, lambda i, j: MATRIX[i, j])),
    "nodeocov": (terms.nodeocov(AGES), lambda g: ends(g, lambda i, j: AGES[i])),
    "nodeicov": (terms.nodeicov(AGES), lambda g: ends(g, lambda i, j: AGES[j])),
    "nodeofactor": (terms.nodeofactor(CLUBS), lambda g: [ends(g, lambda i, j, c=c: CLUBS[i] == c) for c in "bc"]),
    "nodeifactor": (terms.nodeifactor(CLUBS), lambda g: [ends(g, lambda i, j, c=c: CLUBS[j] == c) for c in "bc"]),
    "mutual": ("mutual", lambda g: networkx.overall_reciprocity(g) * g.number_of_edges() / 2 if g.size() else 0),
    "out_degree": ("out_degree(2)", lambda g: sum(d == 2 for _, d in g.out_degree())),
    "in_degree": ("in_degree(1)", lambda g: sum(d == 1 for _, d in g.in_degree())),
    "out_stars": ("out_stars(2)", lambda g: sum(comb(d, 2) for _, d in g.out_degree())),
    "in_stars": ("in_stars(3)", lambda g: sum(comb(d, 3) for _, d in g.in_degree())),
    "gwodegree": ("gwodegree(0.4)", lambda g: sum(weighted(d, 0.4) for _, d in g.out_degree())),
    "gwidegree": ("gwidegree(0.6)", lambda g: sum(weighted(d, 0.6) for _, d in g.in_degree())),
    "ttriple": ("ttriple", lambda g: triads(g, *TRANSITIVE)),
    "ctriple": ("ctriple", lambda g: triads(g, *CYCLIC)),
    "triangles": ("triangles", lambda g: triads(g, *TRANSITIVE, *CYCLIC)),
}
MODELS = {
    is_directed: ERGM([term for term, _ in cases.values()], nodes=7, directed=is_directed)
    for is_directed, cases in ((False, UNDIRECTED), (True, DIRECTED))
}


def random_graph(seed, share, is_directed):
    return networkx.gnp_random_graph(7, share, seed=seed, directed=is_directed)


def chain_of(model) -> TieChain:
    return TieChain(model.terms, model.nodes, model.is_directed)


def test_every_term_is_tried():
    tried = {name.split("(")[0] for model in MODELS.values() for name in model.names}
    assert tried == set(NAMES)


@pytest.mark.parametrize("is_directed", [False, True])
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), share=st.sampled_from([0.0, 0.2, 0.5, 0.8, 1.0]))
def test_every_term_equals_its_slow_definition(is_directed, seed, share):
    """Products of matrices, and ties added one after the other by their changes, against plain counts."""
    model = MODELS[is_directed]
    graph = random_graph(seed, share, is_directed)
    slow = [np.ravel(slow(graph)) for _, slow in (DIRECTED if is_directed else UNDIRECTED).values()]
    expected = np.concatenate(slow)
    with double_precision():
        assert np.allclose(model.statistic(graph), expected, rtol=1e-12, atol=1e-12)
    x = networkx.to_numpy_array(graph, weight=None)
    assert np.allclose(chain_of(model).counted(x[None])[0], expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("is_directed", [False, True])
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6), share=st.sampled_from([0.1, 0.5, 0.9]))
def test_changes_are_differences(is_directed, seed, share):
    """For every pair, tied or not: the statistics with the tie minus those without it."""
    model = MODELS[is_directed]
    x = networkx.to_numpy_array(random_graph(seed, share, is_directed), weight=None)
    listed = np.array(pairs(random_graph(seed, share, is_directed)))
    both = np.repeat(x[None], 2 * len(listed), axis=0)
    for n, (i, j) in enumerate(listed):
        both[n, i, j], both[n + len(listed), i, j] = 1, 0
        if not is_directed:
            both[n, j, i], both[n + len(listed), j, i] = 1, 0
    counted = dense(model, both)
    assert np.allclose(chain_of(model).changes(x, listed), counted[: len(listed)] - counted[len(listed) :], atol=1e-11)


def dense(model, graphs):
    """The statistics by products of matrices, with NumPy."""
    with double_precision():
        return np.array([[float(t.statistic(x, model.is_directed)) for t in model.terms] for x in graphs.astype(float)])


def test_changes_do_not_depend_on_the_number_of_nodes():
    """A graph among ten times as many nodes: lists are widened, words of bits are many."""
    small = networkx.gnp_random_graph(40, 0.5, seed=3)
    large = networkx.relabel_nodes(small, {n: 9 * n + 5 for n in small})
    names = ["edges", "gwesp(0.5)", "gwdsp(0.5)", "triangles", "stars(2)"]
    with double_precision():
        counted = [
            ERGM(names, edges=list(graph.edges()), nodes=nodes).statistic(graph_of(graph, nodes))
            for graph, nodes in ((small, 40), (large, 400))
        ]
    assert np.allclose(counted[0], counted[1], rtol=1e-12)


def graph_of(graph, nodes):
    whole = networkx.empty_graph(nodes)
    whole.add_edges_from(graph.edges())
    return whole


CLUB = ("Mr. Hi", "Officer")


def test_names_say_what_a_parameter_belongs_to():
    karate = networkx.karate_club_graph()
    model = ERGM(["edges", "nodefactor(club)", "nodematch(club, by_category=True)", terms.nodematch(range(34))], karate)
    assert model.names == (
        *("edges", "nodefactor(club=Officer)", "nodematch(club=Mr. Hi)", "nodematch(club=Officer)", "nodematch"),
    )
    within = [
        sum({karate.nodes[i]["club"], karate.nodes[j]["club"]} == {club} for i, j in karate.edges()) for club in CLUB
    ]
    assert model.statistic(karate).tolist()[2:] == [*within, 0] and sum(within) == 67
