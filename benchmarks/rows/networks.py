"""Toggles of ties with edges, gwesp and nodematch: against a Numba loop, and by nodes and ties."""

import functools
import math

import jax
import jax.numpy as jnp
import jax.random as jr
import networkx
import numba
import numpy as np

import lockstep as ls
from benchmarks.harness import Builder, Row, Task, timed

DECAY = 0.5


@functools.cache
def network(nodes: int, half_degree: int):
    """A clustered graph of that average degree (halved), with two groups of nodes, and parameters near it."""
    graph = networkx.powerlaw_cluster_graph(nodes, half_degree, 0.3, seed=1)
    groups = np.random.default_rng(0).integers(2, size=nodes)
    terms = ["edges", f"gwesp({DECAY})", "nodematch(group)"]
    model = ls.models.ERGM(terms, graph, attributes={"group": groups})
    return model, groups, np.asarray(model.mixing.theta)


@numba.njit
def shared(near, degree, is_tied, i, j):
    if degree[j] < degree[i]:
        i, j = j, i
    count = 0
    for n in range(degree[i]):
        count += is_tied[j, near[i, n]]
    return count


@numba.njit
def toggle_by_hand(is_tied, groups, theta, power, toggles):
    """Tie–no-tie proposals on lists of neighbours, the changes of three statistics written out."""
    nodes = len(is_tied)
    pairs = nodes * (nodes - 1) // 2
    near, degree = np.empty((nodes, nodes), np.int32), np.zeros(nodes, np.int64)
    tie, place, ties = np.empty((pairs, 2), np.int32), np.empty((nodes, nodes), np.int32), 0
    for i in range(nodes):
        for j in range(nodes):
            if is_tied[i, j]:
                near[i, degree[i]] = j
                degree[i] += 1
                if i < j:
                    tie[ties, 0], tie[ties, 1], place[i, j] = i, j, ties
                    ties += 1
    for _ in range(toggles):
        if ties and np.random.random() < 0.5:
            n = int(np.random.random() * ties)
            i, j = tie[n, 0], tie[n, 1]
        else:
            i, j = int(np.random.random() * nodes), int(np.random.random() * (nodes - 1))
            j = j + 1 if j >= i else j
            i, j = min(i, j), max(i, j)
        there = int(is_tied[i, j])
        partners, others = 0, 0.0
        for n in range(degree[i]):
            k = near[i, n]
            if is_tied[j, k]:
                partners += 1
                others += power[shared(near, degree, is_tied, i, k) - there]
                others += power[shared(near, degree, is_tied, j, k) - there]
        change = theta[0] + theta[1] * ((1 - power[partners]) / (1 - power[1]) + others)
        change += theta[2] * (groups[i] == groups[j])
        if there:
            log_ratio, forward, backward = -change, 0.5 / ties + 0.5 / pairs, (0.5 if ties > 1 else 1.0) / pairs
        else:
            log_ratio, forward = change, (0.5 if ties else 1.0) / pairs
            backward = 0.5 / (ties + 1) + 0.5 / pairs
        if np.random.random() * forward < math.exp(log_ratio) * backward:
            is_tied[i, j] = is_tied[j, i] = 1 - there
            if there:
                for a, b in ((i, j), (j, i)):
                    n = 0
                    while near[a, n] != b:
                        n += 1
                    degree[a] -= 1
                    near[a, n] = near[a, degree[a]]
                ties -= 1
                n = place[i, j]
                tie[n, 0], tie[n, 1] = tie[ties, 0], tie[ties, 1]
                place[tie[n, 0], tie[n, 1]] = n
            else:
                for a, b in ((i, j), (j, i)):
                    near[a, degree[a]] = b
                    degree[a] += 1
                tie[ties, 0], tie[ties, 1], place[i, j] = i, j, ties
                ties += 1


def by_hand(nodes: int, half_degree: int) -> Builder:
    def build(updates: int) -> Task:
        model, groups, theta = network(nodes, half_degree)
        power = (1 - math.exp(-DECAY)) ** np.arange(nodes + 1)

        def run():
            toggle_by_hand(np.array(model.data), groups, theta, power, updates)

        run()
        return timed("Numba loop", updates, run)

    return build


def ours(nodes: int, half_degree: int, name: str = "lockstep") -> Builder:
    def build(updates: int) -> Task:
        model, _, theta = network(nodes, half_degree)
        run = jax.jit(lambda key: model.simulate_statistic(key, jnp.asarray(theta), toggles=updates))
        return timed(name, updates, lambda: run(jr.key(0)))

    return build


WHAT = "edges + gwesp + nodematch"
ROWS = [
    Row("networks-100", f"{WHAT}, 100 nodes", ours(100, 3), (by_hand(100, 3),), 0.7, 2**21, "toggle"),
    Row("networks-1000", f"{WHAT}, 1,000 nodes", ours(1000, 3), (by_hand(1000, 3),), 0.7, 2**21, "toggle"),
    # The same ties a node among eight times as many nodes, and twice the ties among as many nodes.
    Row(
        "networks-nodes",
        f"{WHAT}, 2,000 nodes against 250 with as many ties a node",
        ours(2000, 3, "2,000 nodes"),
        (ours(250, 3, "250 nodes"),),
        0.5,
        2**21,
        "toggle",
    ),
    Row(
        "networks-ties",
        f"{WHAT}, 1,000 nodes with 12 ties a node against 6",
        ours(1000, 6, "12 ties a node"),
        (ours(1000, 3, "6 ties a node"),),
        0.4,
        2**21,
        "toggle",
    ),
]
