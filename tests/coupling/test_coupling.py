"""Coupled chains: each leg is its kernel alone, equality is carried rightly, and what is no coupling is refused."""

from __future__ import annotations

import blackjax.util
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from pairs import INDEPENDENT, WALK, M, log_density, naive, normals, penalty

import lockstep as ls


def sampled(kernel, initial=None, draws=3000, **options):
    return ls.sample(kernel, jnp.zeros(2) if initial is None else initial, draws=draws, chains=4, seed=5, **options)


@pytest.fixture(scope="module")
def walks():
    return sampled(ls.Coupled(penalty(WALK), naive(WALK)))


@pytest.fixture(scope="module")
def independents():
    return sampled(ls.Coupled(penalty(INDEPENDENT), naive(INDEPENDENT)))


@pytest.fixture(scope="module")
def shadow():
    return sampled(ls.Shadowed(penalty(WALK), naive(WALK)))


@pytest.mark.parametrize(
    ("pair", "proposal"),
    [("walks", WALK), pytest.param("independents", INDEPENDENT, marks=pytest.mark.study)],
    ids=["walks", "independents"],
)
def test_each_leg_is_its_kernel_alone(pair, proposal, request):
    run = request.getfixturevalue(pair)
    for leg, info, make in (
        (run.positions.first, run.info.first, penalty),
        (run.positions.second, run.info.second, naive),
    ):
        alone = sampled(make(proposal))
        assert np.array_equal(leg, alone.positions)
        assert np.array_equal(info.is_accepted, alone.info.is_accepted)


def test_the_shadowed_chain_is_the_exact_chain(shadow):
    assert np.array_equal(shadow.positions, sampled(penalty(WALK)).positions)


@pytest.mark.parametrize("proposal", [INDEPENDENT, pytest.param(WALK, marks=pytest.mark.study)])
def test_a_kernel_coupled_to_itself_never_separates(proposal):
    run = sampled(ls.Coupled(naive(proposal), naive(proposal)))
    assert run.info.is_equal.all() and not run.info.marks.any() and not run.info.gaps.any()
    assert np.array_equal(run.positions.first, run.positions.second)
    shadow = sampled(ls.Shadowed(naive(proposal), naive(proposal)))
    assert not shadow.info.marks.any() and not shadow.info.gaps.any()


def test_the_flag_is_the_equality_of_positions(walks, independents):
    for run in (walks, independents):
        first, second = run.positions
        assert np.array_equal(run.info.is_equal, (first == second).all(axis=-1))


def test_walks_separate_once_and_shadow_one_another(walks):
    marks, is_equal = walks.info.marks, walks.info.is_equal
    assert np.all(marks.sum(axis=1) == 1)
    for chain in range(4):
        at = int(np.argmax(marks[chain]))
        assert is_equal[chain, :at].all() and not is_equal[chain, at:].any()
    # They shadow one another: increments are shared, so that the distance changes only where decisions differ.
    distance = walks.positions.first - walks.positions.second
    moved = np.abs(np.diff(distance, axis=1)).max(axis=-1) > 1e-9
    alike = (walks.info.first.is_accepted == walks.info.second.is_accepted)[:, 1:]
    assert not np.any(moved & alike)


def test_independence_chains_coalesce_and_branch_again(independents):
    assert np.all(independents.info.marks.sum(axis=1) > 10)
    summary = ls.separation.summary(independents)
    assert summary.coalescences > 40
    assert 0.5 < summary.identical_fraction < 1


def test_gaps_are_the_probability_of_a_mark(shadow):
    gaps, marks = shadow.info.gaps, shadow.info.marks
    alphas = [np.exp(np.minimum(leg.log_ratio, 0)) for leg in (shadow.info.exact, shadow.info.approximate)]
    assert np.allclose(gaps, np.abs(alphas[0] - alphas[1]), rtol=0, atol=1e-14)
    assert np.array_equal(marks, shadow.info.exact.is_accepted != shadow.info.approximate.is_accepted)
    score = (marks - gaps).sum() / np.sqrt((gaps * (1 - gaps)).sum())
    assert abs(score) < 5


def test_different_starts_are_not_equal_until_they_coalesce():
    apart = ls.Pair(jnp.zeros(2), jnp.ones(2))
    run = sampled(ls.Coupled(penalty(INDEPENDENT), penalty(INDEPENDENT)), apart)
    for chain in run.info.is_equal:
        meeting = int(np.argmax(chain))
        assert chain[meeting:].all()
    assert run.info.is_equal.any(axis=1).all()
    walk = sampled(ls.Coupled(penalty(WALK), penalty(WALK)), apart)
    assert not walk.info.is_equal.any()


def test_thinned_runs_count_marks_and_add_gaps(shadow, independents):
    thinned = sampled(ls.Shadowed(penalty(WALK), naive(WALK)), draws=1000, thin=3)
    assert np.array_equal(thinned.info.marks, shadow.info.marks.reshape(4, 1000, 3).sum(axis=2))
    assert np.allclose(thinned.info.gaps, shadow.info.gaps.reshape(4, 1000, 3).sum(axis=2), rtol=0, atol=1e-12)
    summary, thin_summary = ls.separation.summary(shadow), ls.separation.summary(thinned)
    assert thin_summary.rho_1 == pytest.approx(summary.rho_1)
    assert thin_summary.rho_2 == pytest.approx(summary.rho_2)
    assert np.isnan(thin_summary.tau)
    pair = sampled(ls.Coupled(penalty(INDEPENDENT), naive(INDEPENDENT)), draws=1000, thin=3)
    assert np.array_equal(pair.info.is_equal, independents.info.is_equal.reshape(4, 1000, 3).sum(axis=2))


@pytest.mark.parametrize("make", [ls.Coupled, ls.Shadowed])
def test_kernels_run_in_blackjax_and_jit(make):
    kernel = make(penalty(INDEPENDENT), naive(INDEPENDENT))
    state, _ = jax.jit(kernel.step)(jr.key(0), kernel.init(jnp.zeros(2), jr.key(1)))
    _, (_, info) = blackjax.util.run_inference_algorithm(
        jr.key(2), kernel, 200, initial_position=jnp.zeros(2), transform=lambda state, info: (state.position, info)
    )
    assert info.marks.shape == (200,)
    assert jax.tree.structure(state) == jax.tree.structure(kernel.init(jnp.zeros(2), jr.key(1)))


def test_coupled_datatree_keeps_the_legs_apart(independents):
    tree = independents.to_datatree()
    assert np.array_equal(tree["posterior"]["position"].values, independents.positions.first)
    assert np.array_equal(tree["reference_posterior"]["position"].values, independents.positions.second)
    assert "marks" in tree["sample_stats"]


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: ls.Coupled(penalty(WALK), naive(INDEPENDENT)), ValueError, ["different proposals", "same proposal"]),
        (
            lambda: ls.Coupled(penalty(WALK), naive(ls.RandomWalk(1.0))),
            ValueError,
            ["proposals", "1.0", "1.5"],
        ),
        (
            lambda: ls.Shadowed(penalty(WALK), ls.pseudo_marginal(lambda key, theta: 0.0, WALK)),
            ValueError,
            ["random estimate", "ls.Coupled"],
        ),
        (lambda: ls.Coupled(penalty(WALK), ls.Cycle([naive(WALK)])), TypeError, ["second of Coupled"]),
        (lambda: ls.Shadowed(WALK, naive(WALK)), TypeError, ["exact of Shadowed"]),
        (lambda: ls.separation.summary(sampled(naive(WALK), draws=10)), TypeError, ["ls.Shadowed"]),
    ],
)
def test_what_is_no_coupling_is_refused(make, error, words):
    with pytest.raises(error) as caught:
        make()
    assert all(word in str(caught.value) for word in words), caught.value


# --- states that can be compared, and starts --------------------------------------------------------------------------
def test_discrete_chains_are_equal_where_their_states_are():
    log_pi = np.array([0.0, -0.7, 0.4, -1.5, 0.9])
    proposal = ls.Finite((np.ones((5, 5)) - np.eye(5)) / 4)

    def log_target(state):
        return jnp.asarray(log_pi)[state]

    noisy = ls.estimators.mean(lambda z, a, b: log_target(b) - log_target(a) + 2 * z, 4, draw=normals)
    run = ls.sample(
        ls.Coupled(ls.standard(log_target, proposal), ls.naive(noisy, proposal)), jnp.array(0), draws=2000, chains=2
    )
    first, second = run.positions
    assert np.array_equal(run.info.is_equal, first == second)
    assert np.array_equal(run.info.was_equal[:, 1:], run.info.is_equal[:, :-1])
    assert np.array_equal(run.info.marks, run.info.was_equal & ~run.info.is_equal)
    assert 0.2 < run.info.is_equal.mean() < 0.98


def test_a_pair_of_equal_starts_is_equal():
    run = sampled(ls.Coupled(naive(WALK), naive(WALK)), ls.Pair(jnp.ones(2), jnp.ones(2)), draws=50)
    assert run.info.is_equal.all()
    starts = ls.Starts(ls.Pair(jnp.zeros((4, 2)), jnp.zeros((4, 2)).at[2].set(1.0)))
    assert sampled(ls.Coupled(naive(WALK), naive(WALK)), starts, draws=50).info.is_equal.all(axis=1).tolist() == [
        True,
        True,
        False,
        True,
    ]


def test_starts_of_coupled_kernels_are_checked():
    box = ls.IndependentUniform(-1.0, 1.0)
    for make in (ls.Coupled, ls.Shadowed):
        with pytest.raises(ValueError, match=r"outside|inside"):
            sampled(make(naive(box), naive(box)), jnp.full(2, 3.0), draws=10)
    with pytest.raises(ValueError, match=r"outside|inside"):
        sampled(ls.Coupled(naive(box), naive(box)), ls.Pair(jnp.zeros(2), jnp.full(2, 3.0)), draws=10)


def test_legs_with_a_random_memory_are_their_kernels_alone():
    def log_estimate(z, theta):
        return log_density(theta) + 0.3 * z

    noisy, exact = ls.pseudo_marginal(log_estimate, WALK, draw=jr.normal), ls.standard(log_density, WALK)
    run = sampled(ls.Coupled(noisy, exact), draws=500)
    assert np.array_equal(run.positions.first, sampled(noisy, draws=500).positions)
    assert np.array_equal(run.positions.second, sampled(exact, draws=500).positions)


def test_summary_of_a_thinned_pair(independents):
    thinned = sampled(ls.Coupled(penalty(INDEPENDENT), naive(INDEPENDENT)), draws=1000, thin=3)
    every, some = ls.separation.summary(independents), ls.separation.summary(thinned)
    assert some.updates == every.updates and some.marks == every.marks
    assert some.rho_1 == pytest.approx(every.rho_1) and some.rho_2 == pytest.approx(every.rho_2)
    assert some.identical_fraction == pytest.approx(every.identical_fraction)


LOG_WEIGHTS = jnp.log(jnp.array([0.5, 0.3, 0.2]))


def between_states(noise, here, there):
    return LOG_WEIGHTS[there] - LOG_WEIGHTS[here] + noise


def on_three_states(matrix):
    """Exact penalty and naive on three states, from the same noise; one program for all matrices."""
    finite = ls.Finite(matrix)
    noisy = ls.estimators.mean(between_states, M, draw=normals)
    return ls.penalty(ls.estimators.known_variance(noisy, 1 / M), finite), ls.naive(noisy, finite)


@pytest.fixture(scope="module")
def predicted_on_three_states():
    alone = ls.sample(on_three_states(np.full((3, 3), 1 / 3))[1], jnp.array(0), draws=10_000, chains=4, seed=2)
    return ls.separation.predict(alone, calls=40_000).rho


@pytest.mark.parametrize("couple", [ls.Shadowed, pytest.param(ls.Coupled, marks=pytest.mark.study)])
def test_a_candidate_that_is_the_position_separates_nothing(couple, predicted_on_three_states):
    still = ls.sample(couple(*on_three_states(np.eye(3))), jnp.array(0), draws=100, chains=4, seed=1)
    assert not still.info.marks.any() and not still.info.gaps.any()
    run = ls.sample(couple(*on_three_states(np.full((3, 3), 1 / 3))), jnp.array(0), draws=10_000, chains=4, seed=1)
    found = ls.separation.summary(run)
    assert found.rho_1 == pytest.approx(found.rho_2, abs=4 * np.hypot(found.rho_1_se, found.rho_2_se))
    assert predicted_on_three_states == pytest.approx(found.rho_1, rel=0.15)


def test_still_candidates_of_black_boxes_and_of_floats_separate_nothing():
    @ls.part
    class Lazy:
        """Stays where it is in half of the cases."""

        def noise(self, key, position, shape=()):
            return jr.normal(key, shape) * jr.bernoulli(jr.fold_in(key, 1), 0.5, shape)

        def __call__(self, noise, position):
            return position + noise, 0.0 * noise

    def sample(rng, position, candidate, count):
        return 0.5 * (position**2 - candidate**2) + rng.standard_normal(count)

    boxed = ls.estimators.mean(ls.blackbox(sample, vectorized=True), M)
    exact = ls.penalty(ls.estimators.known_variance(boxed, 1 / M), Lazy())
    run = ls.sample(ls.Shadowed(exact, ls.naive(boxed, Lazy())), 0.0, draws=300, chains=1, seed=1)
    assert 0.3 < np.mean(run.info.gaps == 0) < 0.75


def test_decisions_about_a_still_candidate_part_no_floats():
    """One leg accepts and the other rejects a candidate that is the position itself."""

    @ls.part
    class Still:
        def noise(self, key, position, shape=()):
            return jnp.zeros(shape)

        def __call__(self, noise, position):
            return position + noise, 0.0 * noise

    def deciding(value):
        return ls.naive(ls.estimators.mean(lambda noise, here, there: noise + value, 1, draw=zeros), Still())

    def zeros(key, count):
        return jnp.zeros(count)

    pair = ls.Coupled(deciding(0.0), deciding(-1e9))
    state, info = pair.step(jr.key(0), pair.init(jnp.array(0.5)))
    assert info.first.is_accepted and not info.second.is_accepted
    assert state.is_equal and not info.marks and info.gaps == 0


def test_continuous_proposals_are_not_asked_whether_they_stay():
    """Of a proposal that cannot propose the position itself the candidate is made twice, once for each leg."""

    class Counted:
        calls = 0

        def noise(self, key, position, shape=()):
            return INDEPENDENT.noise(key, position, shape)

        def __call__(self, noise, position):
            Counted.calls += 1
            return INDEPENDENT(noise, position)

    def calls(can_stay):
        proposal = jax.tree_util.register_static(type("Counting", (Counted,), {"can_stay": can_stay}))()
        pair = ls.Coupled(penalty(proposal), naive(proposal))
        state = pair.init(jnp.zeros(2))
        Counted.calls = 0
        pair.step(jr.key(0), state)
        return Counted.calls

    assert (calls(False), calls(True)) == (2, 3)
    assert not WALK.can_stay and not INDEPENDENT.can_stay and ls.Finite(np.eye(2)).can_stay
