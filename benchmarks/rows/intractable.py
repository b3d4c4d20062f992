"""Models with unknown constants: spin updates, toggles of edges, and effective draws of the exchange algorithm."""

import math

import jax
import jax.numpy as jnp
import jax.random as jr
import networkx
import numba
import numpy as np

import lockstep as ls
from benchmarks.harness import Builder, Row, Task, timed

SIDE = 64
THETA = 0.3


@numba.njit
def sweep_by_hand(x, theta, sweeps):
    """Heat-bath sweeps, site by site, with the probabilities of each sum of neighbours from a table."""
    rows, columns = x.shape
    up = np.array([1 / (1 + math.exp(-2 * theta * total)) for total in range(-4, 5)])
    for _ in range(sweeps):
        for i in range(rows):
            for j in range(columns):
                total = 0
                if i > 0:
                    total += x[i - 1, j]
                if i < rows - 1:
                    total += x[i + 1, j]
                if j > 0:
                    total += x[i, j - 1]
                if j < columns - 1:
                    total += x[i, j + 1]
                x[i, j] = 1 if np.random.random() < up[total + 4] else -1


def spins_by_hand(updates: int) -> Task:
    sweeps = updates // SIDE**2
    x = np.ones((SIDE, SIDE), np.int8)
    return timed("Numba loop", sweeps * SIDE**2, lambda: sweep_by_hand(x, THETA, sweeps))


def spins(chains: int) -> Builder:
    model = ls.models.Ising((SIDE, SIDE))

    def build(updates: int) -> Task:
        sweeps = updates // SIDE**2 // chains
        run = jax.jit(jax.vmap(lambda key, x: model.simulate(key, THETA, x, sweeps=sweeps)))
        keys, x = jr.split(jr.key(0), chains), jnp.ones((chains, SIDE, SIDE), jnp.int8)
        # A sweep there and back of two colours joins with the next one: half a lattice more than its name says.
        return timed("lockstep", chains * (2 * sweeps + 1) * SIDE**2 // 2, lambda: run(keys, x))

    return build


# --- edges, 2-stars and triangles of the karate club ------------------------------------------------------------------
KARATE = networkx.karate_club_graph()
COEFFICIENTS = np.array([-2.5, 0.02, 0.3])


@numba.njit
def toggle_by_hand(a, theta, toggles):
    """Tie–no-tie proposals, the changes of three statistics written out."""
    nodes = len(a)
    dyads = nodes * (nodes - 1) // 2
    edge, place = np.empty((dyads, 2), np.int64), np.empty((nodes, nodes), np.int64)
    degree, edges = np.zeros(nodes, np.int64), 0
    for i in range(nodes):
        for j in range(i + 1, nodes):
            if a[i, j]:
                edge[edges, 0], edge[edges, 1], place[i, j] = i, j, edges
                edges += 1
                degree[i] += 1
                degree[j] += 1
    for _ in range(toggles):
        if edges and np.random.random() < 0.5:
            n = int(np.random.random() * edges)
            i, j = edge[n, 0], edge[n, 1]
        else:
            i, j = int(np.random.random() * nodes), int(np.random.random() * (nodes - 1))
            j = j + 1 if j >= i else j
            i, j = min(i, j), max(i, j)
        shared = 0
        for k in range(nodes):
            shared += a[i, k] & a[j, k]
        there = a[i, j]
        log_ratio = theta[0] + theta[1] * (degree[i] + degree[j] - 2 * there) + theta[2] * shared
        if there:
            log_ratio = -log_ratio
            forward, backward = 0.5 / edges + 0.5 / dyads, (0.5 if edges > 1 else 1.0) / dyads
        else:
            forward, backward = (0.5 if edges else 1.0) / dyads, 0.5 / (edges + 1) + 0.5 / dyads
        if np.random.random() * forward < math.exp(log_ratio) * backward:
            a[i, j], a[j, i] = 1 - there, 1 - there
            sign = 1 - 2 * there
            degree[i] += sign
            degree[j] += sign
            if there:
                edges -= 1
                n = place[i, j]
                edge[n, 0], edge[n, 1] = edge[edges, 0], edge[edges, 1]
                place[edge[n, 0], edge[n, 1]] = n
            else:
                edge[edges, 0], edge[edges, 1], place[i, j] = i, j, edges
                edges += 1


def toggles_by_hand(updates: int) -> Task:
    a = networkx.to_numpy_array(KARATE, weight=None).astype(np.int8)
    return timed("Numba loop", updates, lambda: toggle_by_hand(a, COEFFICIENTS, updates))


def toggles(chains: int) -> Builder:
    model = ls.models.ERGM(["edges", "stars(2)", "triangles"], KARATE)

    def build(updates: int) -> Task:
        each = updates // chains
        run = jax.jit(jax.vmap(lambda key: model.simulate(key, jnp.asarray(COEFFICIENTS), toggles=each)))
        keys = jr.split(jr.key(0), chains)
        return timed("lockstep", each * chains, lambda: run(keys))

    return build


# --- exchange on a 32 by 32 lattice, data sets by 20 sweeps from the data --------------------------------------------
LATTICE, SWEEPS, STEP = ls.models.Ising((32, 32)), 20, 0.06


def observed() -> np.ndarray:
    return np.asarray(LATTICE.simulate(jr.key(7), THETA))


def log_prior(theta):
    return jnp.where((theta >= 0) & (theta <= 1), 0.0, -jnp.inf)


def transitions(key, theta, x):
    return LATTICE.simulate(key, theta, x, sweeps=SWEEPS)


def effective(positions) -> float:
    """The effective number of draws of chains, in all."""
    import arviz_stats

    return float(arviz_stats.ess(np.asarray(positions)))


def exchange(chains: int) -> Builder:
    def build(updates: int) -> Task:
        kernel = ls.exchange(log_prior, LATTICE.log_likelihood, transitions, observed(), ls.RandomWalk(STEP), inner=1)
        draws = updates // chains

        def run():
            return ls.sample(kernel, THETA, draws=draws, chains=chains, progress=False).positions

        return timed(f"lockstep, {chains} chains", max(1, round(effective(run()))), run)

    return build


def numpy_exchange(updates: int) -> Task:
    """One chain, spins of one colour at a time as NumPy arrays, in a Python loop: a program as it is often written."""
    data, draws = observed().astype(float), updates // 16
    black = np.indices(data.shape).sum(axis=0) % 2 == 0

    def neighbours(x):
        total = np.zeros_like(x)
        total[1:] += x[:-1]
        total[:-1] += x[1:]
        total[:, 1:] += x[:, :-1]
        total[:, :-1] += x[:, 1:]
        return total

    def statistic(x):
        return (x * neighbours(x)).sum() / 2

    def run():
        generator, theta = np.random.default_rng(0), THETA
        positions, here = np.empty(draws), statistic(data)
        for t in range(draws):
            candidate = theta + STEP * generator.normal()
            if 0 <= candidate <= 1:
                x = data.copy()
                for _ in range(SWEEPS):
                    for mask in (black, ~black):
                        up = generator.random(x.shape) < 1 / (1 + np.exp(-2 * candidate * neighbours(x)))
                        x = np.where(mask, np.where(up, 1.0, -1.0), x)
                if np.log(generator.random()) < (candidate - theta) * (here - statistic(x)):
                    theta = candidate
            positions[t] = theta
        return positions

    return timed("NumPy program, 1 chain", max(1, round(effective(run()[None]))), run)


ROWS = [
    Row("spins-1-numba", "heat bath, 64 by 64 spins, 1 chain", spins(1), (spins_by_hand,), 0.5, 2**23, "spin"),
    Row("spins-64-numba", "heat bath, 64 by 64 spins, 64 chains", spins(64), (spins_by_hand,), 1.0, 2**24, "spin"),
    Row("toggles-numba", "toggles of the karate club, 1 chain", toggles(1), (toggles_by_hand,), 0.5, 2**21, "toggle"),
    Row(
        "exchange-numpy",
        "exchange, 32 by 32 spins, data sets by 20 sweeps",
        exchange(64),
        (numpy_exchange,),
        1.0,
        2**14,
        "effective draw",
        repeats=5,
    ),
]
