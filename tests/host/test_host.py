"""Black boxes at the edges: precision, threads, errors, nesting, buffers, and how often they are called."""

import ctypes
import os
import re
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import lockstep as ls
from lockstep.core.precision import double_precision
from lockstep.host.callback import on_host, raised_here

WALK = ls.RandomWalk(1.0)
WITH_53_BITS = 1.0 + 2.0**-52


def normal(theta):
    return -0.5 * float(np.sum(theta**2))


def counted(theta):
    """A function that writes down that it was called, where a run does not look for what it is a function of."""
    with open(os.environ["LOCKSTEP_TEST_CALLS"], "a") as file:
        file.write("x")
    return normal(theta)


def counted_with_noise(theta, rng):
    return counted(theta) + 0.1 * rng.normal()


def sometimes(thetas):
    """Log densities of all chains, which fail on some days."""
    if "LOCKSTEP_TEST_FAILS" in os.environ and (thetas > 1.5).any():
        raise ValueError("not today")
    return -0.5 * thetas**2


@pytest.mark.parametrize("device", ["cpu", "gpu"])  # how a program of each is written; both run here
@pytest.mark.parametrize("is_batched", [True, False])
def test_a_callback_keeps_all_bits(is_batched, device, monkeypatch):
    monkeypatch.setattr(jax, "default_backend", lambda: device)
    seen = []

    def look(values, counts):
        seen.append((values.dtype, counts.dtype, np.ravel(values).tolist(), np.ravel(counts).tolist()))
        return values, counts

    like = (jax.ShapeDtypeStruct((), np.float64), jax.ShapeDtypeStruct((), np.int64))

    @jax.jit
    def program(values, counts):
        return jax.vmap(lambda v, c: on_host(look, like, v, c, is_batched=is_batched))(values, counts)

    with double_precision():
        values, counts = jnp.array([WITH_53_BITS, -1 / 3]), jnp.array([2**62 + 1, -5])
        back = jax.block_until_ready(program(values, counts))
    assert all(kind[:2] == (np.float64, np.int64) for kind in seen)
    assert [v for _, _, row, _ in seen for v in row] == [WITH_53_BITS, -1 / 3]
    assert back[0].tolist() == [WITH_53_BITS, -1 / 3] and back[1].tolist() == [2**62 + 1, -5]


@pytest.mark.parametrize("name", ["Ising", "ERGM"])
def test_simulators_of_models_get_positions_in_double_precision(name, monkeypatch):
    seen = []
    if name == "Ising":
        model = ls.models.Ising((3, 3))
        draws = type(model)._perfect_draws

        def perfect(self, words, theta):
            seen.extend(theta.ravel().tolist())
            return draws(self, words, theta)

        monkeypatch.setattr(type(model), "_perfect_draws", perfect)
        data, initial = np.ones((3, 3), int), 0.1
    else:
        from lockstep.models import toggles

        graph = np.zeros((4, 4), int)
        graph[0, 1] = graph[1, 0] = 1
        model = ls.models.ERGM(["edges"], graph)
        toggle = toggles.toggle

        def recorded(words, theta, *others):
            seen.extend(theta.ravel().tolist())
            return toggle(words, theta, *others)

        monkeypatch.setattr(toggles, "toggle", recorded)
        data, initial = graph, np.array([0.1])
    kernel = ls.exchange(
        lambda theta: 0.0 * jnp.sum(theta), model.log_likelihood, model.simulate, data, ls.RandomWalk(0.1)
    )
    # With one chain JAX may call back from the thread that knows of double precision.
    run = ls.sample(kernel, initial, draws=20, chains=2, seed=1, progress=False)
    moved = run.positions.ravel()[run.info.is_accepted.ravel()]
    assert moved.size and set(moved.tolist()) <= set(seen)
    assert any(value != float(np.float32(value)) for value in seen)


def test_what_a_callback_was_given_stays_as_it_is():
    """A function may keep its arguments: they are no views of memory that the program uses again."""
    kept = []

    def keep(value):
        kept.append(value)
        return value

    def body(_, x):
        return x + on_host(keep, jax.ShapeDtypeStruct((1000,), np.float32), x, is_batched=False)

    jax.block_until_ready(jax.jit(lambda x: jax.lax.fori_loop(0, 5, body, x))(jnp.ones(1000, np.float32)))
    assert [set(value.tolist()) for value in kept] == [{2.0**n} for n in range(5)]


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="processes are pinned to processors on Linux")
def test_a_large_argument_reaches_a_callback_on_one_processor():
    """A program whose input is still being copied runs in JAX's pool, of one thread here: nothing may wait for it."""
    program = """
        import os
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        import jax
        import numpy as np
        from lockstep.host.callback import on_host

        like = jax.ShapeDtypeStruct((), np.float32)
        program = jax.jit(lambda x: on_host(lambda values: values.sum(axis=-1), like, 2 * x))
        for number in range(5):
            assert program(np.full(2**22, number, np.float32)) == number * 2**23
        """
    subprocess.run([sys.executable, "-c", textwrap.dedent(program)], timeout=300, check=True)


def test_an_error_of_a_callback_is_raised_as_it_is_and_not_logged(caplog):
    class TwoArguments(Exception):
        def __init__(self, first, second):
            super().__init__(first, second)

    def fail(values):
        raise TwoArguments("a", "b")

    program = jax.jit(lambda x: on_host(fail, jax.ShapeDtypeStruct((), np.float32), x))
    with pytest.raises(TwoArguments), raised_here():
        jax.block_until_ready(program(1.0))
    assert not caplog.records


def test_a_failed_batch_of_one_thread_never_becomes_a_number(tmp_path, monkeypatch):
    """Threads share a function that raises; what is on disk afterwards is the beginning of the run without errors."""

    def run(directory=None):
        kernel = ls.standard(ls.blackbox(sometimes, batched=True), WALK)
        with ThreadPoolExecutor(2) as pool:
            return ls.sample(kernel, 0.0, 300, 4, seed=3, directory=directory, executor=pool, progress=False)

    expected = run().positions
    for attempt in range(4):
        monkeypatch.setenv("LOCKSTEP_TEST_FAILS", "yes")
        with pytest.raises(ValueError, match="not today"):
            run(tmp_path / str(attempt))
        assert "deferring" not in "".join(path.read_text() for path in tmp_path.rglob("run.json"))
        monkeypatch.delenv("LOCKSTEP_TEST_FAILS")
        np.testing.assert_array_equal(run(tmp_path / str(attempt)).positions, expected)


@pytest.mark.parametrize("is_random", [True, False])
def test_a_run_calls_its_function_once_for_its_start_and_once_an_update(is_random, tmp_path, monkeypatch):
    log = tmp_path / "calls"
    monkeypatch.setenv("LOCKSTEP_TEST_CALLS", str(log))
    make = ls.pseudo_marginal if is_random else ls.standard
    kernel = make(ls.blackbox(counted_with_noise if is_random else counted), WALK)

    def calls(draws):
        log.write_text("")
        run = ls.sample(kernel, 0.0, draws, 2, seed=1, directory=tmp_path / "run", progress=False)
        return len(log.read_text()), run

    assert calls(5)[0] == 2 * (1 + 5)
    assert calls(5)[0] == 0  # a run that is complete is read
    more, run = calls(8)
    assert more == 2 * (1 + 3)  # the last update is taken again, to see whether the model is what it was
    np.testing.assert_array_equal(run.positions, ls.sample(kernel, 0.0, 8, 2, seed=1, progress=False).positions)


def composed():
    box, noisy = ls.blackbox(normal), ls.blackbox(lambda theta, rng: normal(theta) + 0.1 * rng.normal())
    mean = ls.estimators.mean(ls.blackbox(lambda rng, a, b: normal(b) - normal(a) + rng.normal()), 4)
    batched = ls.blackbox(lambda thetas: -0.5 * (thetas**2).sum(axis=1), batched=True)
    draw = {"draw": lambda key: jax.random.normal(key, (3,))}
    return {
        "cycle": ls.Cycle([ls.standard(box, WALK), ls.standard(box, ls.UniformWalk(0.5))]),
        "cycle without a shared memory": ls.Cycle([ls.standard(box, WALK), ls.penalty(mean, WALK)]),
        "coupled": ls.Coupled(ls.pseudo_marginal(noisy, WALK), ls.naive(mean, WALK)),
        "shadowed": ls.Shadowed(ls.standard(box, WALK), ls.naive(mean, WALK)),
        "correlated": ls.pseudo_marginal(
            ls.blackbox(lambda u, theta: normal(theta) + 0.1 * u.sum()), WALK, correlation=0.9, **draw
        ),
        "batched": ls.standard(batched, WALK),
    }


@pytest.mark.parametrize("name", composed())
def test_what_is_read_at_a_resume_is_what_was_there(name, tmp_path):
    kernel, start = composed()[name], {"initial": np.zeros(2), "chains": 2, "seed": 1, "progress": False, "thin": 2}
    ls.sample(kernel, draws=5, directory=tmp_path, **start)
    resumed = ls.sample(kernel, draws=9, directory=tmp_path, **start)
    jax.tree.map(np.testing.assert_array_equal, resumed.positions, ls.sample(kernel, draws=9, **start).positions)


@pytest.mark.parametrize(
    ("inner_is_batched", "is_stepped"),
    [(True, False), (False, True), *(pytest.param(both, both, marks=pytest.mark.study) for both in (False, True))],
)
def test_a_kernel_inside_a_function_leaves_its_generator_alone(inner_is_batched, is_stepped):
    def inner_estimate(theta, rng):
        return -(theta**2) + rng.normal(size=np.shape(theta))[()]

    inner = ls.pseudo_marginal(ls.blackbox(inner_estimate, batched=inner_is_batched), WALK)
    state = inner.init(jnp.array(0.0), jax.random.key(0))

    def estimate(theta, rng, is_nested=True):
        before = rng.normal()
        if is_nested and is_stepped:
            inner.step(jax.random.key(1), state)
        elif is_nested:
            ls.sample(inner, 0.0, draws=2, chains=1, seed=3, progress=False)
        drawn.append((before, rng.normal()))
        return normal(theta)

    drawn = []
    ls.sample(ls.pseudo_marginal(ls.blackbox(estimate), WALK), 0.0, draws=4, chains=1, seed=1, progress=False)
    nested, drawn = drawn, []
    alone = ls.blackbox(lambda theta, rng: estimate(theta, rng, False))
    ls.sample(ls.pseudo_marginal(alone, WALK), 0.0, draws=4, chains=1, seed=1, progress=False)
    assert nested == drawn and len({number for pair in nested for number in pair}) == 10


@pytest.mark.parametrize("is_from_c", [True, False])
def test_a_simulator_may_fill_one_array_again_and_again(is_from_c):
    """As a C library does, which knows nothing of read-only arrays and of what was computed from the last content."""
    data = np.array([0.3, -0.2])

    def fresh(theta, rng):
        return theta + rng.normal(size=2)

    buffer = np.zeros(2)
    address = buffer.ctypes.data

    def reused(theta, rng):
        x = fresh(theta, rng)
        if is_from_c:
            ctypes.memmove(address, x.ctypes.data, x.nbytes)
        else:
            buffer[:] = x
        return buffer

    def kernel(simulate):
        return ls.auxiliary_variable(
            ls.blackbox(normal),
            ls.blackbox(lambda theta, x: -0.5 * float(np.sum((x - theta) ** 2))),
            ls.blackbox(simulate),
            ls.blackbox(lambda x: -0.25 * float(np.sum(x**2))),
            data,
            WALK,
        )

    runs = [ls.sample(kernel(one), 0.0, draws=50, chains=1, seed=1, progress=False) for one in (fresh, reused)]
    np.testing.assert_array_equal(runs[0].info.log_ratio, runs[1].info.log_ratio)


def test_a_parameter_that_is_meant_for_random_numbers_is_recognised():
    ran = []

    def kernel(function):
        return ls.pseudo_marginal(ls.blackbox(function), WALK)

    def with_key(theta, key):
        ran.append(theta)

    def with_seed(x, seed=None):
        ran.append(x)

    def with_other_name(theta, z):
        ran.append(theta)

    for function, written in (
        (with_key, r"with_key\(theta, rng\)"),
        (with_seed, r"with_seed\(x, rng\)"),
        (with_other_name, r"with_other_name\(theta, rng\)"),
    ):
        with pytest.raises(TypeError, match=written):
            ls.sample(kernel(function), 0.0, draws=2, chains=1, progress=False)
    sample = ls.blackbox(lambda position, candidate, random_state: ran.append(position))
    with pytest.raises(TypeError, match=r"\(position, candidate, rng\)"):
        ls.sample(ls.naive(ls.estimators.mean(sample, 2), WALK), 0.0, draws=2, chains=1, progress=False)
    assert not ran  # not one of them has run with the generator in the wrong place
    with pytest.raises(TypeError, match=r"without a random generator.*ls\.pseudo_marginal"):
        ls.sample(ls.standard(ls.blackbox(with_key), WALK), 0.0, draws=2, chains=1, progress=False)
    # These are right as they are.
    for right in (lambda key, theta: normal(theta), lambda r, theta, seed=3: normal(theta)):
        ls.sample(kernel(right), 0.0, draws=2, chains=1, progress=False)


def test_one_callback_in_the_package():
    package = Path(ls.__file__).parent
    texts = {path.name: path.read_text() for path in package.rglob("*.py")}
    assert [name for name, text in texts.items() if re.search(r"_callback\(.*vmap_method", text)] == ["callback.py"]
