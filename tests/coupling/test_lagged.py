"""Lagged pairs: each leg is its kernel in law, exactly; chains meet, and stay together; what cannot meet is refused."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from covering import chosen
from joint_matrices import joint
from registry import CASES, PROPOSALS, Case, log_pi, penalty
from scipy import stats

import lockstep as ls
from lockstep.core.precision import canonical, double_precision
from lockstep.coupling.cost import is_cheap
from lockstep.proposals.reflection import reflected
from lockstep.ratios import Randomized
from lockstep.ratios.carried import Correlated

TOLERANCE = 1e-14
QUICK = {"penalty", "universal", "exchange", "pseudo-marginal"}
SIMPLE = [case for case in CASES if case.is_exact and case.name not in ("cycle", "mixture")]
LONG = {"particle marginal": [pytest.mark.study, pytest.mark.optimized]}  # compiled as users' programs are
ALL = [
    pytest.param(
        case,
        name,
        id=f"{case.name}, {name}",
        marks=() if case.name in QUICK and name == "hastings" else LONG.get(case.name, pytest.mark.study),
    )
    for case in SIMPLE
    for name in PROPOSALS
]


# --- exactly, on finite spaces ----------------------------------------------------------------------------------------
@pytest.mark.parametrize(("case", "name"), ALL)
def test_both_legs_are_the_kernel_and_equal_chains_stay_equal(case, name):
    both, alone = joint(case, PROPOSALS[name])
    count = len(alone)
    assert np.abs(both.sum(axis=3) - alone[:, None, :]).max() < TOLERANCE
    assert np.abs(both.sum(axis=2) - alone[None, :, :]).max() < TOLERANCE
    for state in range(count):
        assert np.abs(both[state, state] - np.diag(alone[state])).max() < TOLERANCE
    if not case.make(PROPOSALS[name]).is_memory_random:
        require_bound(both, alone, lag=2)
        require_bound(both, alone, lag=5)


def require_bound(both, alone, lag, start=3):
    """E max(0, ⌈(τ - L - t)/L⌉) lies above the total variation to equilibrium, at every t; all by matrix powers."""
    count = len(alone)
    first = np.eye(count)[start]
    for _ in range(lag):
        first = first @ alone
    pair = np.outer(first, np.eye(count)[start]).ravel()  # X_L and Y_0
    square = both.reshape(count**2, count**2)
    apart = []  # Pr(X_{L+s} ≠ Y_s)
    while not apart or apart[-1] > 1e-12:
        apart.append(pair.sum() - np.trace(pair.reshape(count, count)))
        pair = pair @ square
    law, target = np.eye(count)[start], np.linalg.matrix_power(alone, 2000)[0]
    bounds = [sum(apart[t::lag]) for t in range(len(apart))]
    for bound in bounds:
        assert bound >= np.abs(law - target).sum() / 2 - 1e-12
        law = law @ alone
    assert bounds[0] > 0.5 and bounds[-1] < 1e-6


@ls.part
class Tilted(ls.Proposal):
    """`ls.Finite` with a coupling that is slightly wrong: what is left is drawn from the row, not from the residual."""

    matrix: np.ndarray

    def noise(self, key, position, shape=()):
        return jr.uniform(key, shape)

    def __call__(self, noise, position):
        return ls.Finite(self.matrix)(noise, position)

    def law(self, position):
        return ls.Finite(self.matrix).law(position)

    def coupled(self, noise, meet, position, candidate, other):
        share = jnp.minimum(1.0, self.matrix[other, candidate] / self.matrix[position, candidate])
        uniform = jnp.exp(meet)
        drawn, _ = self((uniform - share) / jnp.where(share < 1, 1 - share, 1.0), other)
        second = jnp.where(uniform <= share, candidate, drawn)
        return second, jnp.log(self.matrix[second, other] / self.matrix[other, second])


def test_a_coupling_that_is_slightly_wrong_is_found_out():
    case = Case("standard", lambda proposal: ls.standard(log_pi, proposal), None)
    matrix = np.asarray(PROPOSALS["hastings"].matrix)
    right, wrong = joint(case, ls.Finite(matrix)), joint(case, Tilted(matrix))
    for (both, alone), is_right in ((right, True), (wrong, False)):
        assert np.abs(both.sum(axis=3) - alone[:, None, :]).max() < TOLERANCE
        assert (np.abs(both.sum(axis=2) - alone[None, :, :]).max() < 1e-3) == is_right


def test_finite_proposals_are_the_same_as_often_as_can_be():
    matrix = np.asarray(PROPOSALS["hastings"].matrix)
    flat = Case("flat", lambda proposal: ls.standard(lambda state: 0.0 * state, proposal), None)
    symmetric = matrix + matrix.T  # accepted always, so that moves are proposals
    symmetric = symmetric / symmetric.sum(axis=1).max() + np.diag(
        1 - symmetric.sum(axis=1) / symmetric.sum(axis=1).max()
    )
    both, alone = joint(flat, ls.Finite(symmetric))
    overlap = np.minimum(alone[:, None, :], alone[None, :, :]).sum(axis=2)
    assert np.allclose(np.trace(both, axis1=2, axis2=3), overlap, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("make", [ls.Cycle, ls.Mixture])
def test_composed_kernels_move_both_chains_part_by_part(make):
    parts = [ls.standard(log_pi, PROPOSALS["symmetric"]), penalty(PROPOSALS["hastings"])]
    with double_precision():
        kernel = canonical(make(parts), "kernel")

        @jax.vmap
        def update(key, i, j):
            first, second = kernel.init(i), kernel.init(j)
            noise = kernel.noise(key, i)
            meet = kernel.meeting_noise(jr.fold_in(key, 7))
            moved = kernel.move_both(first, second, noise, meet)
            if make is ls.Mixture:
                choice, noises = noise
                each = [
                    k.move_both(k.init(i), k.init(j), n, m)
                    for k, n, m in zip(kernel.kernels, noises, meet, strict=False)
                ]
                pairs = [jnp.stack([a.position, b.position]) for (a, _), (b, _) in each]
                return moved, jnp.where(choice == 0, *pairs)
            places = (i, j)
            for one, one_noise, one_meet in zip(kernel.kernels, noise, meet, strict=False):
                (a, _), (b, _) = one.move_both(*map(one.init, places), one_noise, one_meet)
                places = (a.position, b.position)
            return moved, jnp.stack(places)

        states = jnp.asarray(np.random.default_rng(0).integers(0, 5, (2, 4000)))
        ((first, _), (second, _)), expected = jax.jit(update)(jr.split(jr.key(1), 4000), *states)
    assert np.array_equal(np.stack([first.position, second.position], axis=1), expected)
    is_equal = states[0] == states[1]
    assert np.array_equal(first.position[is_equal], second.position[is_equal])


# --- proposals on the line and in the plane ---------------------------------------------------------------------------
FACTOR = np.array([[1.3, 0.0], [-0.4, 0.7]])
HERE, THERE = jnp.array([0.3, -0.5]), jnp.array([-0.6, 0.4])
ON_PLANE = {
    "normal walk": ls.RandomWalk(FACTOR),
    "uniform walk": ls.UniformWalk([1.5, 0.8]),
    "Crank–Nicolson": ls.CrankNicolson(0.2, FACTOR, 0.6),
    "independent": ls.IndependentNormal(0.0, 2.0),
    "Student": ls.IndependentStudent(0.0, 2.0),
    "component": ls.Component(1, ls.RandomWalk(0.7)),
}


def proposed_to_both(proposal, count=40_000):
    """Candidates of two chains at `HERE` and `THERE` with their log ratios, and those of one at `THERE` alone."""

    @jax.jit
    @jax.vmap
    def propose(key):
        key_noise, key_meet, key_alone = jr.split(key, 3)
        noise = proposal.noise(key_noise, HERE)
        candidate, _ = proposal(noise, HERE)
        second = proposal.coupled(noise, -jr.exponential(key_meet), HERE, candidate, THERE)
        return candidate, second, proposal(proposal.noise(key_alone, THERE), THERE)

    with double_precision():
        proposal = canonical(proposal, "proposal")
        return jax.tree.map(np.asarray, propose(jr.split(jr.key(3), count)))


def worst_p_value(first, second):
    """Of Kolmogorov–Smirnov tests in several directions."""
    directions = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, -1.0]])
    return min(stats.ks_2samp(first @ d, second @ d).pvalue for d in directions)


@pytest.mark.parametrize("name", ON_PLANE)
def test_the_second_candidate_has_the_law_of_its_proposal(name):
    candidate, (second, log_ratio), (alone, alone_ratio) = proposed_to_both(ON_PLANE[name])
    assert worst_p_value(second, alone) > 1e-6
    assert stats.ks_2samp(log_ratio + 0 * second[:, 0], alone_ratio + 0 * alone[:, 0]).pvalue > 1e-6
    is_same = (candidate == second).all(axis=1)
    z = np.linalg.solve(FACTOR, HERE - THERE)
    expected = {
        "normal walk": 2 * stats.norm.cdf(-np.linalg.norm(z) / 2),
        "uniform walk": np.prod(1 - np.abs(HERE - THERE) / 2 / np.array([1.5, 0.8])),
        "Crank–Nicolson": 2 * stats.norm.cdf(-np.linalg.norm(0.8 * z / 0.6) / 2),
        "independent": 1.0,
        "Student": 1.0,
        "component": 0.0,  # the other components differ
    }[name]
    assert abs(is_same.mean() - expected) < 5 * np.sqrt(0.25 / len(is_same))


def test_a_reflection_without_the_factor_two_is_rejected(monkeypatch):
    def wrong(z, apart, meet):
        right, is_same = reflected(z, apart, meet)
        return (z + right) / 2, is_same

    monkeypatch.setattr("lockstep.proposals.walks.reflected", wrong)
    _, (second, _), (alone, _) = proposed_to_both(ON_PLANE["normal walk"])
    assert worst_p_value(second, alone) < 1e-6


# --- noise that is remembered -----------------------------------------------------------------------------------------
RHO = 0.8
U, V = {"a": np.array([0.4, -0.2]), "b": np.array(0.3)}, {"a": np.array([0.1, 0.3]), "b": np.array(-0.2)}


def flat(noise):
    return jnp.append(noise["a"], noise["b"])


def draw_noise(key):
    return {"a": jr.normal(key, (2,)), "b": jr.normal(jr.fold_in(key, 1))}


def remembering_both(place, other, randomization=None, count=40_000):
    """Two chains of a correlated kernel that accepts everything, at two noises: moved together, and the first alone."""
    kernel = ls.pseudo_marginal(lambda z, theta: 0.0 * theta[0], ls.RandomWalk(0.7), RHO, draw_noise)
    if randomization is not None:
        kernel = ls.MetropolisHastings(kernel.proposal, Randomized(kernel.ratio, randomization))

    @jax.jit
    @jax.vmap
    def update(key):
        key_noise, key_meet = jr.split(key)
        first, second = (
            kernel.init(position, jr.key(0))._replace(memory=Correlated(0.0, noise))
            for position, noise in ((place, U), (other, V))
        )
        noise, meet = kernel.noise(key_noise, place), kernel.meeting_noise(key_meet)
        (moved, _), (moved_second, _) = kernel.move_both(first, second, noise, meet)
        alone, _ = kernel.move(first, noise)
        return [(state.position, flat(state.memory.noise)) for state in (moved, moved_second, alone)]

    with double_precision():
        kernel = canonical(kernel, "kernel")
        return jax.tree.map(np.asarray, update(jr.split(jr.key(5), count)))


@ls.part
class Coin(ls.Randomization):
    """An x that weighs nothing."""

    exact_when = "always"

    def noise(self, key, position, shape=()):
        return jr.uniform(key, shape)

    def sample(self, noise, position, candidate):
        return noise

    def log_weight(self, x, position, candidate):
        return 0.0 * x


@pytest.mark.parametrize("place", chosen(("apart", "together", "randomized"), {"apart", "together"}))
def test_remembered_noises_are_each_their_walk_and_meet_as_often_as_can_be(place):
    """Of u' = ρ u + √(1-ρ²) ε and v' from v, at one position and at two, exactly in law."""
    others = HERE if place == "together" else THERE
    (x, u), (y, v), alone = remembering_both(HERE, others, Coin() if place == "randomized" else None)
    assert np.array_equal(x, alone[0]) and np.array_equal(u, alone[1])
    root = np.sqrt(1 - RHO**2)
    for noise, before in ((u, U), (v, V)):
        z = (noise - RHO * np.asarray(flat(before))) / root
        apart = np.asarray(flat(U)) - np.asarray(flat(V))
        for direction in (*np.eye(3), apart / np.linalg.norm(apart)):
            assert stats.kstest(z @ direction, "norm").pvalue > 1e-6
        assert np.abs(np.corrcoef(z.T) - np.eye(3)).max() < 5 / np.sqrt(len(z))
    is_near = np.abs(u - v).max(axis=1) < 1e-12
    expected = 2 * stats.norm.cdf(-RHO * np.linalg.norm(flat(U) - flat(V)) / root / 2)
    same = (x == y).all(axis=1)
    share = 1.0 if place == "together" else 2 * stats.norm.cdf(-np.linalg.norm((HERE - THERE) / 0.7) / 2)
    for found, chance in ((is_near, expected), (same, share), (is_near & same, expected * share)):
        assert abs(found.mean() - chance) < 5 * np.sqrt(0.25 / len(found))


# --- pairs ------------------------------------------------------------------------------------------------------------
def log_density(theta):
    return -0.5 * jnp.sum(theta**2)


def start(key):
    key_first, key_second = jr.split(key)
    return ls.Pair(4 * jr.normal(key_first, (2,)), 4 * jr.normal(key_second, (2,)))


@pytest.fixture(scope="module")
def pairs():
    kernel = ls.standard(log_density, ls.RandomWalk(1.0))
    return ls.sample(ls.Lagged(kernel, 10), start, draws=300, chains=16, seed=1)


def test_a_lagged_pair_is_the_chain_alone_and_meets_for_good(pairs):
    kernel, run = pairs.kernel.kernel, pairs
    alone = ls.sample(kernel, lambda key: start(key).first, draws=300, chains=16, seed=1)
    assert np.array_equal(run.positions.first, alone.positions)
    first, second = run.positions
    assert np.array_equal(run.info.is_equal, (first == second).all(axis=2) & (np.arange(300) >= 9))
    met = run.info.is_equal.argmax(axis=1)
    assert run.info.is_equal[:, -1].all() and len(set(met)) > 4
    for pair in range(16):
        assert run.info.is_equal[pair, met[pair] :].all()
        assert np.array_equal(second[pair, :10], np.broadcast_to(second[pair, 0], (10, 2)))  # waits
        assert run.info.second.is_accepted[pair, 10 : met[pair] + 1].any()
    assert not run.info.second.is_accepted[:, :10].any() and run.info.second.is_valid.all()


def test_black_boxes_meet_as_compiled_kernels_do_and_are_not_called_in_vain(pairs):
    calls = []

    def boxed(theta):
        calls.append(theta)
        return -0.5 * float(theta @ theta)

    walk, lag = ls.RandomWalk(1.0), 10
    run = ls.sample(ls.Lagged(ls.standard(ls.blackbox(boxed), walk), lag), start, draws=80, chains=3, seed=1)
    assert np.array_equal(run.info.is_equal, pairs.info.is_equal[:3, :80])
    assert np.allclose(run.positions.second, pairs.positions.second[:3, :80], rtol=0, atol=1e-12)
    met = run.info.is_equal.argmax(axis=1) + 1
    # The second chain calls until it has met the first, and not for a candidate that is proposed to both.
    assert 3 * (2 + 80) < len(calls) < 3 * (2 + 80) + (met - lag).sum()


def test_black_boxes_that_raise_are_rejected_leg_by_leg():
    def fragile(theta):
        if theta[0] > 1.5:
            raise ArithmeticError("too far")
        return -0.5 * float(theta @ theta)

    def inside(key):
        return ls.Pair(*(-jnp.abs(jr.normal(k, (2,))) for k in jr.split(key)))

    kernel = ls.Lagged(ls.standard(ls.blackbox(fragile), ls.RandomWalk(1.0)), 5)
    run = ls.sample(kernel, inside, draws=100, chains=2, seed=1, on_error="reject")
    assert run.failed > 0 and run.info.is_equal[:, -1].all()
    assert run.positions.first[..., 0].max() <= 1.5 and run.positions.second[..., 0].max() <= 1.5


@ls.part
class Stubborn(ls.Proposal):
    """A walk that does not say how two chains may meet."""

    def noise(self, key, position, shape=()):
        return jr.normal(key, (*shape, 2))

    def __call__(self, noise, position):
        return position + noise, 0.0


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: ls.Lagged(ls.standard(log_density, Stubborn())), ValueError, ["never meet", "Stubborn", "coupled("]),
        (
            lambda: ls.Lagged(
                ls.Cycle([ls.standard(log_density, p) for p in (ls.RandomWalk(1.0), ls.Component(0, Stubborn()))])
            ),
            ValueError,
            ["never meet", "Component"],
        ),
        (
            lambda: ls.Lagged(ls.standard(log_density, ls.RandomWalk(1.0)), 0),
            ValueError,
            ["lag of Lagged", "at least 1"],
        ),
        (lambda: ls.Lagged(ls.Lagged(ls.standard(log_density, ls.RandomWalk(1.0)))), TypeError, ["coupling already"]),
        (
            lambda: ls.MaximallyCoupled(*[ls.standard(log_density, Stubborn())] * 2),
            ValueError,
            ["MaximallyCoupled", "never meet", "Stubborn"],
        ),
        (lambda: ls.Lagged(log_density), TypeError, ["kernel of Lagged"]),
    ],
)
def test_what_never_meets_is_refused(make, error, words):
    with pytest.raises(error) as caught:
        make()
    assert all(word in str(caught.value) for word in words), caught.value


ROWS = np.linspace(-1.0, 1.0, 5000)


@pytest.mark.parametrize(
    ("log_density", "expected"),
    [
        (lambda theta: -0.5 * jnp.sum(theta**2), True),
        (lambda theta: -jnp.sum((ROWS - theta[0]) ** 2), False),
        (lambda theta: functools.reduce(lambda x, _: jnp.sin(x), range(800), theta).sum(), False),
        (lambda theta: jax.lax.fori_loop(0, 3, lambda i, x: x - theta[0] ** 2, 0.0), False),
        (lambda theta: jax.pure_callback(np.sum, jax.ShapeDtypeStruct((), np.float32), theta), False),
    ],
    ids=["cheap", "many rows", "many steps", "a loop", "the host"],
)
def test_only_what_is_dear_is_branched_around(log_density, expected):
    """The second leg of chains that are equal is computed for nothing only where that is cheap."""
    kernel = ls.standard(log_density, ls.RandomWalk(1.0))

    def move(position, key):
        return kernel.move(kernel.init(position, key), kernel.noise(key, position))

    assert is_cheap(move, np.zeros(2), jr.key(0)) == expected


COIN = ls.Finite(np.full((2, 2), 0.5))


def test_chains_at_one_place_are_not_equal_while_one_waits():
    kernel = ls.standard(lambda state: 0.0 * state, COIN)
    run = ls.sample(ls.Lagged(kernel, 3), 0, draws=40, chains=32, seed=1)
    is_same = run.positions.first == run.positions.second
    assert is_same[:, :2].any() and not run.info.is_equal[:, :2].any()
    assert run.info.is_equal[:, -1].all()


def test_chains_at_one_place_are_not_equal_while_they_remember_other_estimates():
    kernel = ls.pseudo_marginal(lambda z, state: 0.0 * state + z, COIN, draw=lambda key: jr.normal(key))
    run = ls.sample(ls.Lagged(kernel, 1), 0, draws=60, chains=32, seed=1)
    is_same, is_equal = run.positions.first == run.positions.second, run.info.is_equal
    assert (is_same & ~is_equal).any() and not (is_equal & ~is_same).any()
    assert (is_equal[:, 1:] >= is_equal[:, :-1]).all() and is_equal[:, -1].any()
