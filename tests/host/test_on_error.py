"""``on_error="reject"``: evaluations that raise are rejected, counted and reported."""

from concurrent.futures import ThreadPoolExecutor

import jax
import numpy as np
import pytest

import lockstep as ls

WALK = ls.RandomWalk(1.0)
BOUND = 1.0


def works(theta):
    """A normal density that cannot be computed above a bound."""
    if np.any(theta > BOUND):
        raise ValueError("the solver does not converge")
    return -0.5 * float(np.sum(theta**2))


def restricted(theta):
    return -np.inf if np.any(theta > BOUND) else -0.5 * float(np.sum(theta**2))


def kernels(function):
    """Kernels that ask the function for its value, directly and in estimates."""
    box = ls.blackbox(function)
    noisy = ls.blackbox(lambda theta, rng: function(theta) + 0.0 * rng.normal())
    difference = ls.blackbox(lambda rng, here, there: function(there) - function(here) + 0.1 * rng.normal())
    mean = ls.estimators.mean(difference, 4)
    exchange = ls.exchange(
        box,
        ls.blackbox(lambda theta, x: -0.5 * float(np.sum((x - theta) ** 2))),
        ls.blackbox(lambda theta, rng: theta + rng.normal(size=2) + 0 * function(theta)),
        np.array([0.1, 0.4]),
        WALK,
    )
    return {
        "standard": ls.standard(box, WALK),
        "pseudo-marginal": ls.pseudo_marginal(noisy, WALK),
        "penalty": ls.penalty(mean, WALK),
        "universal": ls.universal(mean, 1.0, WALK),
        "exchange": exchange,
        "cycle": ls.Cycle([ls.standard(box, WALK), ls.standard(box, ls.UniformWalk(0.5))]),
        "mixture": ls.Mixture([ls.standard(box, WALK), ls.standard(box, ls.UniformWalk(0.5))]),
        "coupled": ls.Coupled(ls.standard(box, WALK), ls.naive(mean, WALK)),
        "shadowed": ls.Shadowed(ls.standard(box, WALK), ls.naive(mean, WALK)),
        "dict": ls.standard(ls.blackbox(lambda place: function(place["a"])), WALK),
    }


def sampled(kernel, initial=0.0, draws=200, chains=2, **options):
    return ls.sample(kernel, initial, draws, chains, seed=1, progress=False, **options)


HERE = {("standard", 1), ("universal", 1), ("exchange", 1), ("mixture", 1), ("dict", 1), ("cycle", 2), ("coupled", 2)}


@pytest.mark.parametrize(
    ("name", "thin"),
    [
        pytest.param(name, thin, marks=() if (name, thin) in HERE else pytest.mark.study)
        for thin in (1, 2)
        for name in kernels(works)
    ],
)
def test_what_raises_is_rejected_as_a_candidate_of_zero_density(name, thin):
    initial = {"a": 0.0} if name == "dict" else 0.0
    with pytest.raises(ValueError, match="converge"):
        sampled(kernels(works)[name], initial, thin=thin)
    run = sampled(kernels(works)[name], initial, thin=thin, on_error="reject")
    expected = sampled(kernels(restricted)[name], initial, thin=thin)
    jax.tree.map(np.testing.assert_array_equal, run.positions, expected.positions)
    assert run.failed > 10 and run.failure.startswith("ValueError: the solver does not converge\nTraceback")
    assert f"{run.failed} evaluations raised ValueError: the solver does not converge" in repr(run.summary())
    for leg in jax.tree.leaves(run.info, is_leaf=lambda node: isinstance(node, ls.Info)):
        assert not isinstance(leg, ls.Info) or (leg.is_valid == thin).all()


def test_of_a_batch_all_chains_stay_where_they_are():
    def works_for_all(thetas):
        if (thetas > BOUND).any():
            raise ValueError("one of them is too large")
        return -0.5 * thetas**2

    kernel = ls.standard(ls.blackbox(works_for_all, batched=True), WALK)
    run = sampled(kernel, draws=400, on_error="reject")
    assert run.failed and run.failed % 2 == 0
    rejected = np.isneginf(run.info.log_ratio)
    np.testing.assert_array_equal(rejected[0], rejected[1])
    assert int(rejected.sum()) == run.failed and run.positions.max() <= BOUND and run.info.is_valid.all()
    assert not run.info.is_accepted[rejected].any() and run.info.is_accepted.any()
    # Both chains keep the restricted normal law: a chain stays for the other one's candidate, never for its own value.
    long = sampled(kernel, draws=2000, on_error="reject").positions
    truth = -np.exp(-0.5) / np.sqrt(2 * np.pi) / 0.8413447460685429
    assert abs(long.mean() - truth) < 0.12


def test_a_batch_of_whole_numbers_that_fails_is_no_data():
    """A simulator of counts has no NaN to return: what stands for its data must not be used."""
    data = np.array([2, 3, 1])

    def simulate(thetas, rng):
        if (thetas > BOUND).any():
            raise ArithmeticError("overflow")
        return rng.poisson(np.exp(thetas)[:, None], size=(len(thetas), 3))

    def log_likelihood(thetas, x):
        return thetas * x.sum(axis=1)

    kernel = ls.exchange(
        ls.blackbox(lambda thetas: -0.5 * thetas**2, batched=True),
        ls.blackbox(log_likelihood, batched=True),
        ls.blackbox(simulate, batched=True),
        data,
        WALK,
    )
    with pytest.raises(ArithmeticError, match="overflow"):
        sampled(kernel)
    run = sampled(kernel, on_error="reject")
    assert run.failed and run.positions.max() <= BOUND and int(np.isneginf(run.info.log_ratio).sum()) == run.failed


def test_coupled_batches_fail_apart():
    """Each of two kernels in one program rejects what it failed at itself."""

    def exact(thetas):
        if (thetas > BOUND).any():
            raise ValueError("too large")
        return -0.5 * thetas**2

    def differences(rng, here, there, count):
        return (0.5 * here**2 - 0.5 * there**2)[:, None] + 0.1 * rng.normal(size=(len(here), count))

    mean = ls.estimators.mean(ls.blackbox(differences, batched=True), 4)
    kernel = ls.Coupled(ls.standard(ls.blackbox(exact, batched=True), WALK), ls.naive(mean, WALK))
    run = sampled(kernel, on_error="reject")
    assert int(np.isneginf(run.info.first.log_ratio).sum()) == run.failed > 0
    assert not np.isneginf(run.info.second.log_ratio).any()


@pytest.mark.parametrize("executor", [None, "threads"])
def test_a_run_that_an_exception_has_ended_goes_on(tmp_path, executor):
    kernel = kernels(works)["pseudo-marginal"]

    def run(**options):
        if executor is None:
            return sampled(kernel, directory=tmp_path, **options)
        with ThreadPoolExecutor(2) as pool:
            return sampled(kernel, directory=tmp_path, executor=pool, **options)

    with pytest.raises(ValueError, match="converge"):
        run()
    resumed = run(on_error="reject")
    options = {} if executor is None else {"executor": ThreadPoolExecutor(2)}
    whole = sampled(kernel, on_error="reject", **options)
    np.testing.assert_array_equal(resumed.positions, whole.positions)
    assert resumed.failed == whole.failed > 0
    loaded = ls.load(tmp_path)
    assert (loaded.failed, loaded.failure) == (resumed.failed, resumed.failure)


def test_a_start_that_raises_is_an_error():
    with pytest.raises(ValueError, match="converge"):
        sampled(kernels(works)["standard"], 2.0, on_error="reject")
    batched = ls.blackbox(lambda thetas: 1 / 0, batched=True)
    with pytest.raises(ZeroDivisionError):
        sampled(ls.standard(batched, WALK), on_error="reject")


@pytest.mark.parametrize("draws", [3, 1000])
def test_a_function_that_always_raises_is_an_error(draws):
    def only_at_the_start(theta):
        if theta != 0.0:
            raise KeyError("nothing there")
        return 0.0

    kernel = ls.standard(ls.blackbox(only_at_the_start), WALK)
    with pytest.raises(RuntimeError, match=r"every one of [\d,]+ evaluations(.|\n)*KeyError: 'nothing there'"):
        sampled(kernel, draws=draws, on_error="reject")


def test_only_exceptions_are_rejected():
    calls = 0

    def interrupted(theta):
        nonlocal calls
        calls += 1
        if calls > 20:
            raise KeyboardInterrupt
        return -0.5 * float(theta**2)

    with pytest.raises(KeyboardInterrupt):
        sampled(ls.standard(ls.blackbox(interrupted), WALK), on_error="reject")


def test_another_word_is_refused():
    with pytest.raises(ValueError, match="on_error is 'ignore'"):
        sampled(kernels(works)["standard"], on_error="ignore")
