"""Updates ahead: several updates from one state at once, and not one draw is another than without."""

import multiprocessing
import os
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import cloudpickle
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from covering import chosen

import lockstep as ls
from lockstep.core.kernel import State
from lockstep.core.precision import canonical, double_precision
from lockstep.engine.ahead import CompiledAhead
from lockstep.engine.block import Block
from lockstep.engine.compiled import COMPILED as PLAIN
from lockstep.engine.interface import Moving
from lockstep.engine.thinning import Thinning
from lockstep.host.recall import making, recalling
from lockstep.workers import engine as workers_engine
from lockstep.workers.foresight import Foresight, Guess
from lockstep.workers.pool import Workers


def log_density(theta):
    return -0.5 * jnp.sum(theta**2)


def log_estimate(noise, theta):
    return log_density(theta) + jnp.log(jnp.mean(jnp.exp(noise - 0.5)))


def normal(key):
    return jax.random.normal(key, (4,))


WALK = ls.RandomWalk(3.0)
STANDARD = ls.standard(log_density, WALK)
ESTIMATOR = ls.estimators.mean(
    lambda z, position, candidate: log_density(candidate) - log_density(position) + z, 4, draw=jax.random.normal
)
COMPILED = {
    "standard": STANDARD,
    "pseudo-marginal": ls.pseudo_marginal(log_estimate, WALK, draw=normal),
    "correlated": ls.pseudo_marginal(log_estimate, WALK, correlation=0.9, draw=normal),
    "cycle": ls.Cycle([STANDARD, ls.standard(log_density, ls.RandomWalk(0.3))]),
    "coupled": ls.Coupled(ls.penalty(ESTIMATOR, WALK), ls.naive(ESTIMATOR, WALK)),
}


def host_density(theta):
    return -0.5 * float(np.sum(theta**2))


def host_estimate(theta, rng):
    return host_density(theta) + np.log(np.mean(rng.exponential(size=20)))


def host_sample(rng, position, candidate):
    return host_density(candidate) - host_density(position) + rng.normal()


HOST = ls.standard(ls.blackbox(host_density), WALK)
HOST_ESTIMATOR = ls.estimators.mean(ls.blackbox(host_sample), 4)
INTERPRETED = {
    "standard": HOST,
    "pseudo-marginal": ls.pseudo_marginal(ls.blackbox(host_estimate), WALK),
    "corrected": ls.corrected(HOST_ESTIMATOR, WALK),
    "cycle": ls.Cycle([HOST, ls.standard(ls.blackbox(host_density), ls.RandomWalk(0.3))]),
    "coupled": ls.Coupled(ls.penalty(HOST_ESTIMATOR, WALK), ls.naive(HOST_ESTIMATOR, WALK)),
}


def numbers_of(run):
    return [np.asarray(leaf) for leaf in jax.tree.leaves((run.positions, run.info))]


def assert_same(first, second):
    for one, other in zip(numbers_of(first), numbers_of(second), strict=True):
        assert one.dtype == other.dtype
        assert one.tobytes() == other.tobytes()


@pytest.fixture(scope="module")
def threads():
    with ThreadPoolExecutor(3) as executor:
        yield executor


@pytest.mark.parametrize("name", chosen(COMPILED, {"correlated"}))
def test_compiled_draws_are_the_same(name):
    settings = {"draws": 30, "chains": 3, "seed": 1, "thin": 2, "warmup": 9}
    run = ls.sample(COMPILED[name], np.zeros(2), **settings)
    assert_same(ls.sample(COMPILED[name], np.zeros(2), ahead=5, **settings), run)


def test_a_block_ends_in_the_same_state():
    """Also where the update after its last, which a round may make as well, would change the state."""
    with double_precision():
        kernel, keys = canonical(STANDARD, "kernel"), jax.random.split(jax.random.key(1), 4)
        state = jax.vmap(kernel.init)(jnp.zeros((4, 2)))
        for steps in (2, 3, 4, 7, 8, 9, 30):
            found = [
                engine.advance(Moving(kernel, keys, 2), state, Block(70, steps), Thinning(1))
                for engine in (PLAIN, CompiledAhead(5))
            ]
            for one, other in zip(*map(jax.tree.leaves, found), strict=True):
                np.testing.assert_array_equal(one[:steps] if len(one) > 4 else one, other)


@pytest.mark.parametrize(
    ("name", "ahead"),
    [
        pytest.param(name, ahead, marks=() if ahead == 3 or name == "coupled" else pytest.mark.study)
        for name in INTERPRETED
        for ahead in (3, "auto")
    ],
)
def test_draws_of_black_boxes_are_the_same(name, ahead, threads, monkeypatch):
    monkeypatch.setattr("lockstep.workers.engine.LEAST_SECONDS", 0.0)  # or nothing would be made ahead
    settings = {"draws": 20, "chains": 2, "seed": 1, "thin": 2, "warmup": 3}
    run = ls.sample(INTERPRETED[name], np.zeros(2), **settings)
    assert_same(ls.sample(INTERPRETED[name], np.zeros(2), ahead=ahead, executor=threads, **settings), run)


def test_dicts_and_integers(threads):
    def of_dict(theta):
        return -0.5 * theta["a"] ** 2 - abs(int(theta["k"]) - 2)

    moves = [ls.Component("a", ls.RandomWalk(2.0)), ls.Component("k", ls.Finite(np.full((5, 5), 0.2)))]
    kernel = ls.Cycle([ls.standard(ls.blackbox(of_dict), move) for move in moves])
    start = {"a": 0.0, "k": 0}
    run = ls.sample(kernel, start, draws=30, chains=1, seed=2)
    assert_same(ls.sample(kernel, start, draws=30, chains=1, seed=2, ahead=4, executor=threads), run)


def test_a_run_may_be_resumed_with_and_without(tmp_path, threads):
    for kernel, executor in ((STANDARD, None), (HOST, threads)):
        whole = ls.sample(kernel, np.zeros(2), draws=90, chains=2, seed=1)
        directory = tmp_path / str(executor is None)
        settings = {"chains": 2, "seed": 1, "directory": directory}
        ls.sample(kernel, np.zeros(2), draws=30, ahead=4, executor=executor, **settings)
        ls.sample(kernel, np.zeros(2), draws=60, **settings)
        assert_same(ls.sample(kernel, np.zeros(2), draws=90, ahead=3, executor=executor, **settings), whole)


def test_a_batched_black_box_is_called_for_all_candidates_at_once():
    sizes = []

    def batched(theta):
        sizes.append(len(theta))
        return -0.5 * np.sum(theta**2, axis=-1)

    kernel = ls.standard(ls.blackbox(batched, batched=True), WALK)
    run = ls.sample(kernel, np.zeros(2), draws=40, chains=2, seed=1)
    calls = len(sizes)
    sizes.clear()
    assert_same(ls.sample(kernel, np.zeros(2), draws=40, chains=2, seed=1, ahead=4), run)
    assert max(sizes) == 8 and len(sizes) < 0.6 * calls


def test_updates_are_made_by_the_workers_ahead(threads, tmp_path):
    # Functions travel by value: what they see is written down outside.
    def density(theta, directory=str(tmp_path)):
        is_here = threading.current_thread().name.startswith("lockstep-chain")
        with open(f"{directory}/{'here' if is_here else 'ahead'}", "a") as file:
            file.write("x")
        return -0.5 * float(np.sum(theta**2))

    kernel = ls.standard(ls.blackbox(density), ls.RandomWalk(20.0))
    # Fewer updates than a chain must stand still for to be said to stick.
    ls.sample(kernel, np.zeros(2), draws=48, chains=1, seed=1, ahead=3, executor=threads)
    assert not (tmp_path / "here").exists()
    assert len((tmp_path / "ahead").read_text()) >= 1 + 48


def test_updates_behind_a_block_are_made_before_it_ends_but_none_behind_the_run(threads, monkeypatch):
    monkeypatch.setattr("lockstep.engine.pace.SECONDS_PER_BLOCK", 0.0)  # blocks of one update
    calls, offered = [], []

    def density(theta):
        calls.append(theta.tobytes())
        return -0.5 * float(np.sum(theta**2))

    kernel = ls.standard(ls.blackbox(density), ls.RandomWalk(20.0))
    plain = ls.sample(kernel, np.zeros(2), draws=40, chains=1, seed=1)
    asked = set(calls)
    offer = Foresight.offer
    monkeypatch.setattr(Foresight, "offer", lambda self, guess: (offered.append(guess), offer(self, guess)))
    assert_same(ls.sample(kernel, np.zeros(2), draws=40, chains=1, seed=1, ahead=3, executor=threads), plain)
    rejected = 40 - int(plain.info.is_accepted.sum())
    assert rejected > 35
    # Each update is made once where nothing is accepted, though every block asks for three.
    assert 40 <= len(offered) <= 40 + 3 * (40 - rejected)
    assert sum(guess.probability < 1 for guess in offered) > 30
    assert set(calls) == asked
    engine = workers_engine.InterpretedAhead(None, 3)
    engine.end = 40
    assert [engine.seen(Block(start, 1), 1).steps for start in (30, 37, 38, 39)] == [4, 3, 2, 1]


def test_an_exception_that_is_not_taken_stops_nothing(threads):
    asked = set()

    def density(theta):
        asked.add(theta.tobytes())
        return -0.5 * float(np.sum(theta**2))

    plain = ls.sample(ls.standard(ls.blackbox(density), WALK), np.zeros(2), draws=60, chains=1, seed=3)

    def hostile(theta):
        if theta.tobytes() not in asked:
            raise RuntimeError("nobody asked for this one")
        return -0.5 * float(np.sum(theta**2))

    kernel = ls.standard(ls.blackbox(hostile), WALK)
    ahead = ls.sample(kernel, np.zeros(2), draws=60, chains=1, seed=3, ahead=4, executor=threads)
    assert_same(ahead, plain)


def test_an_exception_that_is_taken_is_raised_where_it_would_be(threads):
    def density(theta):
        if theta[0] > 1.5:
            raise OverflowError(f"too far: {theta[0]}")
        return -0.5 * float(np.sum(theta**2))

    kernel, raised = ls.standard(ls.blackbox(density), ls.RandomWalk(1.0)), []
    for more in ({}, {"ahead": 4, "executor": threads}):
        with pytest.raises(OverflowError, match="too far") as error:
            ls.sample(kernel, np.zeros(2), draws=60, chains=1, seed=3, **more)
        raised.append((str(error.value), [note for note in error.value.__notes__ if "This was in update" in note]))
    assert raised[0] == raised[1]
    rejected = {"draws": 60, "chains": 1, "seed": 3, "on_error": "reject"}
    run = ls.sample(kernel, np.zeros(2), **rejected)
    ahead = ls.sample(kernel, np.zeros(2), ahead=4, executor=threads, **rejected)
    assert_same(ahead, run)
    assert ahead.failed == run.failed > 0


def test_killed_workers_lose_nothing(tmp_path):
    def density(theta, directory=str(tmp_path)):
        is_worker = multiprocessing.parent_process() is not None
        if is_worker and theta[0] > 1.0 and not (Path(directory) / "killed").exists():
            (Path(directory) / "killed").touch()
            os.kill(os.getpid(), 9)
        return -0.5 * float(np.sum(theta**2))

    kernel = ls.standard(ls.blackbox(density), WALK)
    run = ls.sample(kernel, np.zeros(2), draws=40, chains=1, seed=1)
    ahead = ls.sample(kernel, np.zeros(2), draws=40, chains=1, seed=1, ahead=2, executor=2)
    assert (tmp_path / "killed").exists()
    assert_same(ahead, run)


class Inline:
    """An executor that does its work when it is told to."""

    _max_workers = 1

    def __init__(self):
        self.jobs = []

    def submit(self, work, job):
        self.jobs.append((work, job, Future()))
        return self.jobs[-1][2]

    def shutdown(self, wait=True, *, cancel_futures=False):
        pass

    def work(self):
        work, job, future = self.jobs.pop(0)
        future.set_result(work(job))


def test_the_most_probable_guess_is_made_first():
    executor, done = Inline(), []
    found = Foresight(Workers(executor, False), ls.standard(ls.blackbox(host_density), WALK))
    row = (np.zeros(1), (), np.float64(-1.0))
    guesses = [
        Guess(cloudpickle.dumps((State(np.array([float(i)]), np.float64(0.0)), row)), chance)
        for i, chance in enumerate((1.0, 0.1, 0.5, 0.3))
    ]
    for i, guess in enumerate(guesses):
        guess.made.add_done_callback(lambda _, i=i: done.append(i))
        found.offer(guess)
    guesses[3].is_wanted = False
    while executor.jobs:
        assert len(executor.jobs) == 1  # as many as there are workers
        executor.work()
    assert done == [0, 2, 1]
    assert guesses[2].made.result()[0][0].value == host_density(np.array([2.0]))


@pytest.mark.parametrize(
    ("share", "probability", "is_waited_for"),
    [
        (0.9, 0.75, True),
        (0.7, 0.75, False),
        (0.97, 0.95, True),
        (0.9, 0.95, False),
        (0.1, 0.5, False),
        (1.6, 0.5, False),
    ],
)
def test_a_worker_waits_for_an_update_that_is_nearly_there(share, probability, is_waited_for):
    engine = workers_engine.InterpretedAhead(None, 2)
    engine.learn(100.0)
    path = workers_engine.Path(engine, ls.standard(ls.blackbox(host_density), WALK), [], 0, {})
    asked = Guess(b"", 1.0)
    assert not path._is_worth_waiting(asked, probability)  # no worker has begun with it
    asked.began = time.perf_counter() - share * 100.0
    assert path._is_worth_waiting(asked, probability) == is_waited_for
    asked.made.set_result(([], 1.0))
    assert path._is_worth_waiting(asked, probability)


@pytest.mark.parametrize("is_late", [True, False])
def test_nobody_waits_for_an_update_that_is_late(is_late, monkeypatch):
    offered = []
    engine = workers_engine.InterpretedAhead(SimpleNamespace(offer=offered.append), 2)
    engine.learn(0.05 if is_late else 50.0)  # the typical time of an update
    path = workers_engine.Path(engine, ls.standard(ls.blackbox(host_density), WALK), [], 0, {})
    asked, held = Guess(b"", 1.0), Guess(b"", 0.5)
    asked.is_offered, asked.began = True, time.perf_counter()
    path.guesses = {(0, b""): asked, (1, b""): held}
    monkeypatch.setattr(path, "_guess", lambda state: None)
    threading.Timer(0.4, lambda: asked.made.set_result(([], 0.4))).start()
    assert path._made(None, 0, b"") == ([], 0.4)
    assert offered == [held] * is_late


def test_calls_are_known_by_their_arguments_and_generators():
    calls = []

    def draws_twice(theta, rng):
        calls.append(theta)
        return float(theta + rng.normal() + rng.normal())

    kernel = ls.pseudo_marginal(ls.blackbox(draws_twice), WALK)
    made = []
    rng = np.random.Generator(np.random.Philox(key=5))
    first = making(kernel, made, repr).ratio.evaluate.log_estimate.function.callee.function
    value = first(np.float64(1.0), rng=rng)
    after = rng.normal()
    known = {one.name: one for one in made}
    again = recalling(kernel, known, RuntimeError).ratio.evaluate.log_estimate.function.callee.function
    rng = np.random.Generator(np.random.Philox(key=5))
    assert again(np.float64(1.0), rng=rng) == value and rng.normal() == after and len(calls) == 1
    # Another argument, or another state of the generator, is another call.
    again(np.float64(1.0), rng=np.random.Generator(np.random.Philox(key=6)))
    again(np.float32(1.0), rng=np.random.Generator(np.random.Philox(key=5)))
    again(np.float64(1.0 + 2**-52), rng=np.random.Generator(np.random.Philox(key=5)))
    again(np.float64(1.0).view(np.int64), rng=np.random.Generator(np.random.Philox(key=5)))  # the same bytes
    assert len(calls) == 5


def test_a_width_is_doubled_as_long_as_it_pays():
    engine = CompiledAhead(None)
    widths = []
    for speed in (100, 180, 300, 290):
        widths.append(engine.width)
        engine._learn(speed, 1.0)
    assert widths == [1, 2, 4, 8] and engine.width == 4 and engine.is_settled
    quick = CompiledAhead(None)
    quick._learn(100, 1e-3)  # too short to tell
    assert quick.width == 1 and not quick.is_settled


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"ahead": 0}, "ahead"),
        ({"ahead": "fast"}, 'ahead is .fast.; it must be a whole number of updates, or "auto"'),
        ({"ahead": 2.5}, "ahead"),
        ({"ahead": 4}, "no workers to call it ahead; give an executor"),
    ],
)
def test_bad_arguments_are_named(settings, says):
    with pytest.raises((TypeError, ValueError), match=says):
        ls.sample(HOST, np.zeros(2), draws=2, chains=1, **settings)


def test_a_run_in_groups_stays_one(tmp_path, threads):
    ls.sample(HOST, np.zeros(2), draws=2, chains=2, directory=tmp_path / "run", executor=threads)
    with pytest.raises(ValueError, match="chains were divided between workers"):
        ls.sample(HOST, np.zeros(2), draws=4, chains=2, directory=tmp_path / "run", executor=threads, ahead=2)
