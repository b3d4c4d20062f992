"""Goodness of fit of networks: counts against networkx, and models that fit or do not."""

from __future__ import annotations

import networkx
import numpy as np
import pytest

import lockstep as ls
from lockstep.models import ERGM, goodness_of_fit
from lockstep.models.goodness import distances, in_degrees, out_degrees, shared_partners


@pytest.mark.parametrize("is_directed", [False, True])
@pytest.mark.parametrize("share", [0.0, 0.15, 0.5])
def test_counts_are_those_of_networkx(is_directed, share):
    graph = networkx.gnp_random_graph(12, share, seed=2, directed=is_directed)
    x = networkx.to_numpy_array(graph).astype(np.int8)
    if is_directed:
        assert out_degrees(x).tolist() == np.bincount([d for _, d in graph.out_degree()]).tolist()
        assert in_degrees(x).tolist() == np.bincount([d for _, d in graph.in_degree()]).tolist()
        partners = [len(set(graph.successors(i)) & set(graph.predecessors(j))) for i, j in graph.edges()]
    else:
        assert out_degrees(x).tolist() == networkx.degree_histogram(graph)
        partners = [len(list(networkx.common_neighbors(graph, i, j))) for i, j in graph.edges()]
    assert shared_partners(x, is_directed).tolist() == np.bincount(np.array(partners, int), minlength=1).tolist()
    lengths = [d for i, found in networkx.all_pairs_shortest_path_length(graph) for j, d in found.items() if i != j]
    twice = 1 if is_directed else 2
    found = distances(x, is_directed)
    assert found[:-1].tolist() == (np.bincount(np.array(lengths, int), minlength=2)[1:] // twice).tolist()
    assert found.sum() == 12 * 11 // twice


def test_a_model_that_made_the_graph_fits_and_another_does_not():
    """Graphs with hubs against a model of edges alone: its degrees are too much alike."""
    star = networkx.star_graph(19)
    fit = goodness_of_fit(ERGM(["edges"], star, toggles=2_000), np.full((1, 1), -2.2), simulations=100)
    assert fit.table.loc[("degree", 19.0), "p"] < 0.05
    assert fit.table.loc[("distance", 2.0), "observed"] == 19 * 18 / 2
    even = networkx.gnp_random_graph(20, 0.2, seed=5)
    fit = goodness_of_fit(ERGM(["edges"], even, toggles=2_000), np.full((1, 1), np.log(0.2 / 0.8)), simulations=100)
    assert np.mean(fit.table["p"] < 0.05) < 0.2
    assert "edgewise shared partners" in repr(fit)


def test_missing_ties_come_from_the_run_and_figures_are_drawn():
    import matplotlib.pyplot as plt

    matrix = networkx.to_numpy_array(networkx.gnp_random_graph(8, 0.4, seed=1, directed=True))
    matrix[0, 1] = np.nan
    model = ERGM(["edges", "mutual"], matrix, toggles=100)
    draws = {"theta": np.zeros((1, 3, 2)), "missing": np.ones((1, 3, 1), np.int8)}

    class Drawn:
        positions = draws

    fit = goodness_of_fit(model, Drawn(), simulations=5)
    assert fit.panels[-1].observed[0] == np.nansum(matrix) + 1
    figure = fit.figure()
    assert [axis.get_xlabel() for axis in figure.axes] == [panel.name for panel in fit.panels]
    plt.close(figure)
    with pytest.raises(TypeError, match="has no missing ties, but the graph has"):
        goodness_of_fit(model, np.zeros((2, 2)))
    with pytest.raises(TypeError, match="it must be an ERGM with a graph"):
        goodness_of_fit(ls.models.ERGM(["edges"], nodes=4), np.zeros((2, 1)))
