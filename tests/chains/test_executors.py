"""Runs and sweeps on executors: the same draws everywhere, bit for bit, whatever happens to the workers."""

import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from importlib import import_module
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from durable_models import CHAINS, DRAWS, GRID, LONG, MODELS, START, SWEEP, log_density, make, sample, single

import lockstep as ls
from lockstep.chains import groups
from lockstep.chains.interrupt import Stop
from lockstep.chains.prepare import make_task
from lockstep.engine import block as limits
from lockstep.storage.status import status
from lockstep.workers import pool as pool_module
from lockstep.workers.sent import received, sent

sweep_module = import_module("lockstep.sampling.sweep")
HERE = Path(__file__).parents[1]


@pytest.fixture(scope="module", autouse=True)
def models_are_found():
    """Workers import the models of the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(HERE), prepend=os.pathsep)
        yield


@pytest.fixture(scope="module", autouse=True)
def small_blocks():
    """Runs of all lengths share one program."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "MOST_CELLS", 16)
        yield


def assert_same(first, second):
    for a, b in zip(leaves(first), leaves(second), strict=True):
        assert a.dtype == b.dtype and np.array_equal(a, b)


def leaves(run):
    import jax

    return jax.tree.leaves((run.positions, run.info))


@pytest.fixture(scope="module")
def serial(tmp_path_factory):
    """The tasks of a run one after the other in this process."""
    with ThreadPoolExecutor(1) as executor:
        return sample(single(), executor=executor)


@pytest.fixture(scope="module")
def swept():
    return ls.sweep(make, GRID, START, **SWEEP)


# --- what tasks are


def test_tasks_of_threads_are_those_of_a_serial_run(serial, tmp_path):
    path = tmp_path / "a"
    with ThreadPoolExecutor(2) as executor:
        assert_same(sample(single(), 100, executor=executor, directory=path), cut(serial, 100))
    # Without an executor the groups of the directory are computed here, one after the other.
    assert_same(sample(single(), directory=path), serial)
    assert_same(ls.load(path), serial)
    found = status(path)
    assert len(found.parts) == CHAINS and found.is_complete and found.totals.updates == found.updates
    np.testing.assert_allclose(serial.positions, sample(single()).positions, rtol=0, atol=1e-10)


def cut(run, draws):
    import jax

    positions, info = jax.tree.map(lambda leaf: leaf[:, :draws], (run.positions, run.info))
    return ls.Run(positions, info, run.kernel, run.seed, run.warmup, run.thin, run.seconds)


def test_a_run_that_was_begun_as_one_group_stays_one(tmp_path):
    whole = sample(single())
    sample(single(), 100, directory=tmp_path)
    with ThreadPoolExecutor(2) as executor:
        assert_same(sample(single(), executor=executor, directory=tmp_path), whole)
    assert len(status(tmp_path).parts) == 1


@pytest.mark.parametrize(("chains", "sizes"), [(1, [1]), (5, [1] * 5), (64, [1] * 64), (65, [2] * 32 + [1])])
def test_groups_depend_on_the_number_of_chains_alone(chains, sizes):
    task = make_task(single(), START, 10, chains, 0, 0, 1, None)
    tasks = groups.split(task, -(-chains // groups.MOST_GROUPS))
    assert [one.width for one in tasks] == sizes
    assert [one.first for one in tasks] == list(np.cumsum([0, *sizes[:-1]]))


def test_starts_are_those_of_the_chains(tmp_path):
    def draw(key):
        import jax.random as jr

        return jr.normal(key, (2,))

    points = ls.Starts(np.arange(2.0 * CHAINS).reshape(CHAINS, 2))
    for initial in (draw, points):
        with ThreadPoolExecutor(2) as executor:
            run = sample(single(1e-9), initial=initial, executor=executor)
        here = sample(single(1e-9), initial=initial)
        np.testing.assert_allclose(run.positions, here.positions, rtol=0, atol=1e-12)
        assert len(np.unique(run.positions[:, 0, 0].round(6))) == CHAINS


# --- losing workers, without real ones


class Failing(Executor):
    """Loses the first ``losses`` jobs in the way ``error`` says; then computes them here."""

    def __init__(self, losses, error):
        self.losses, self.error, self.submitted = losses, error, 0

    def submit(self, function, *arguments):
        self.submitted += 1
        future = Future()
        if self.submitted <= self.losses:
            future.set_exception(self.error)
        else:
            future.set_result(function(*arguments))
        return future

    def shutdown(self, wait=True, cancel_futures=False):
        pass


class KilledWorker(Exception):
    """As Dask calls it."""


def test_lost_jobs_are_submitted_again(serial):
    executor = Failing(2, KilledWorker("a worker died"))
    assert_same(sample(single(), executor=executor), serial)
    assert executor.submitted == CHAINS + 2


def test_a_broken_pool_is_replaced(serial, monkeypatch):
    pools = []

    def another(size):
        pools.append(ThreadPoolExecutor(size))
        return pools[-1]

    monkeypatch.setattr(pool_module, "spawn_pool", another)
    assert_same(sample(single(), executor=Failing(99, BrokenExecutor("broken"))), serial)
    assert len(pools) == 1


def test_endless_losses_end(monkeypatch):
    with pytest.raises(RuntimeError, match="lost 6 times without one task being finished"):
        sample(single(), executor=Failing(10**6, KilledWorker("gone")))


class CustomError(Exception):
    pass


def failing(theta):
    raise CustomError("a bug of the user's")


def test_errors_of_tasks_arrive_as_themselves():
    with ThreadPoolExecutor(2) as executor, pytest.raises(CustomError, match="a bug of the user's") as caught:
        sample(ls.standard(failing, ls.RandomWalk(1.0)), executor=executor)
    assert any("In a worker" in note for note in caught.value.__notes__)


@pytest.mark.parametrize("executor", ["two", 0, True, object()])
def test_wrong_executors(executor):
    with pytest.raises((TypeError, ValueError), match="executor"):
        sample(single(), executor=executor)


def test_what_cannot_travel():
    lock = threading.Lock()

    def locked(theta):
        with lock:
            return -jnp.sum(theta**2)

    with ThreadPoolExecutor(1) as executor, pytest.raises(TypeError, match="cannot be sent to a worker"):
        sample(ls.standard(locked, ls.RandomWalk(1.0)), executor=executor)


def test_a_stopped_run_on_an_executor_goes_on(serial, tmp_path, monkeypatch):
    """Ctrl-C reaches workers through a file; what they have written is kept."""
    real = Stop.is_wanted.fget
    monkeypatch.setattr(Stop, "is_wanted", property(lambda self: self.file is None or real(self)))
    with ThreadPoolExecutor(1) as executor, pytest.raises(ls.Interrupted, match="same arguments to go on"):
        sample(single(), executor=executor, directory=tmp_path)
    monkeypatch.undo()
    assert not (tmp_path / "stop").exists()
    assert_same(sample(single(), directory=tmp_path), serial)


# --- sweeps


def test_a_sweep_is_its_runs(swept):
    assert len(swept) == 4 and swept.points[1] == {"scale": 0.7, "seed": 4}
    for point, run in zip(swept.points, swept, strict=True):
        assert_same(run, ls.sample(make(point["scale"]), START, seed=point["seed"], **SWEEP))
        assert swept.select(**point) is run
    with pytest.raises(KeyError, match="2 runs of the sweep have"):
        swept.select(seed=3)
    assert "scale=0.7,seed=4: acceptance" in repr(swept)


def test_a_larger_grid_computes_only_what_is_new(tmp_path, swept, monkeypatch):
    ls.sweep(make, {**GRID, "scale": [1.2]}, START, directory=tmp_path, **SWEEP)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("segment-*")}
    found = ls.sweep(make, GRID, START, directory=tmp_path, **SWEEP)
    assert before.items() <= {path: path.stat().st_mtime_ns for path in tmp_path.rglob("segment-*")}.items()
    for run, other in zip(found, swept, strict=True):
        assert_same(run, other)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["scale=0.7,seed=3", "scale=0.7,seed=4", "scale=1.2,seed=3", "scale=1.2,seed=4"]
    assert json.loads((tmp_path / names[0] / "run.json").read_text())["about"]["point"] == {"scale": "0.7", "seed": "3"}


def test_settings_may_be_objects(tmp_path):
    walks = [ls.RandomWalk(1.2), ls.RandomWalk(0.7)]
    found = ls.sweep(
        lambda proposal: ls.standard(log_density, proposal), {"proposal": walks}, START, directory=tmp_path, **SWEEP
    )
    assert_same(found[0], ls.sample(single(1.2), START, **SWEEP))
    assert found.select(proposal=walks[1]) is found[1]
    assert all(path.name.startswith("proposal=") for path in tmp_path.iterdir())


@pytest.mark.parametrize(
    ("grid", "words"),
    [({}, "grid is"), ({"a": 3}, r"grid\['a'\]"), ({"a": []}, "at least one"), ({"a": [1, 1]}, "twice")],
)
def test_wrong_grids(grid, words):
    with pytest.raises((TypeError, ValueError), match=words):
        ls.sweep(make, grid, START)


def test_a_pool_is_started_where_it_pays(monkeypatch, swept):
    seen = []
    real = groups.run_all

    def noted(tasks, executor, shown, stop):
        seen.append((len(tasks), executor))
        return real(tasks, None, shown, stop)

    monkeypatch.setattr(sweep_module, "run_all", noted)
    monkeypatch.setattr(sweep_module, "processors", lambda: 3)
    ls.sweep(make, GRID, START, **SWEEP)
    monkeypatch.setattr(sweep_module, "WORTH_A_POOL", 0.0)
    ls.sweep(make, GRID, START, **SWEEP)
    assert seen == [(1, None), (3, None), (1, None), (3, 3)]


# --- processes, Dask, MPI


def kill_a_worker(path, killed, stop):
    """Kill the process that writes one of the runs of a sweep, once."""
    while not stop.is_set() and not killed:
        for lock in path.glob("*/lock"):
            text = lock.read_text()
            if text and list(lock.parent.glob("segment-*")):
                os.kill(json.loads(text)["pid"], signal.SIGKILL)
                killed.append(lock.parent.name)
                break
        time.sleep(0.01)


def sweep_with_a_kill(executor, path):
    """A sweep whose first writer is killed as soon as it has committed something."""
    killed, stop = [], threading.Event()
    thread = threading.Thread(target=kill_a_worker, args=(path, killed, stop))
    thread.start()
    try:
        found = ls.sweep(make, GRID, START, executor=executor, directory=path, **LONG)
    finally:
        stop.set()
        thread.join()
    assert killed and killed[0].startswith("scale=")
    return found


@pytest.fixture(scope="module")
def long_swept():
    return ls.sweep(make, GRID, START, **LONG)


@pytest.fixture
def pool():
    made = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))
    yield made
    made.shutdown()


def test_process_pool(serial, swept, pool, tmp_path):
    def local(theta):  # a function that no worker could import
        return -0.5 * jnp.sum(theta**2)

    assert_same(sample(ls.standard(local, ls.RandomWalk(1.2)), executor=pool), serial)
    found = ls.sweep(make, GRID, START, executor=pool, directory=tmp_path, **SWEEP)
    for run, other in zip(found, swept, strict=True):
        assert_same(run, other)


@pytest.mark.study  # the suite has executors that say that they are broken, above
def test_a_process_pool_with_a_kill(long_swept, pool, tmp_path):
    for run, other in zip(sweep_with_a_kill(pool, tmp_path), long_swept, strict=True):
        assert_same(run, other)


def test_a_pool_that_would_fork_is_replaced():
    pool = ProcessPoolExecutor(3, multiprocessing.get_context("fork"))
    with pool_module.workers(pool) as found:
        assert found.is_own and found.size == 3 and found.executor is not pool
        assert found.executor._mp_context.get_start_method() == "spawn"
    with pool_module.workers(2) as found:
        assert found.is_own and found.size == 2


def test_a_script_without_a_guard(tmp_path):
    """Workers do not import the script that starts them: functions travel by value."""
    script = tmp_path / "script.py"
    script.write_text(
        "import jax.numpy as jnp, numpy as np, lockstep as ls\n"
        "def log_density(theta):\n    return -0.5 * jnp.sum(theta**2)\n"
        "kernel = ls.standard(log_density, ls.RandomWalk(1.2))\n"
        "run = ls.sample(kernel, np.zeros(2), 20, 2, executor=1)\n"
        "print(run.positions.shape)\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=300)
    assert done.stdout == "(2, 20, 2)\n", done.stderr


def test_dask_in_this_process(serial):
    distributed = pytest.importorskip("distributed", reason="the extra `cluster` is not installed")
    with distributed.Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=":0") as client:
        assert_same(sample(single(), executor=client.get_executor()), serial)


@pytest.mark.study
def test_dask(serial, long_swept, tmp_path):
    distributed = pytest.importorskip("distributed", reason="the extra `cluster` is not installed")
    options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        found = sweep_with_a_kill(client.get_executor(), tmp_path)
        assert_same(sample(single(), executor=client.get_executor()), serial)
    for run, other in zip(found, long_swept, strict=True):
        assert_same(run, other)


def mpiexec():
    """A launcher of MPI beside Python (from the package `mpich`) or on the path, and a library to go with it."""
    places = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    found = shutil.which("mpiexec", path=places)
    if found is None:
        pytest.skip("there is no mpiexec; the package mpich has one")
    test = subprocess.run([sys.executable, "-c", "import mpi4py.MPI"], capture_output=True, text=True)
    if test.returncode:
        pytest.skip(f"mpi4py finds no MPI library: {test.stderr.strip().splitlines()[-1]}")
    return found


@pytest.mark.study  # the processes of a pool are told the same
def test_mpi(serial, swept, tmp_path):
    command = [mpiexec(), "-n", "3", sys.executable, "-m", "mpi4py.futures", str(HERE / "mpi_program.py")]
    result = tmp_path / "result.npz"
    done = subprocess.run([*command, str(result), str(tmp_path / "runs")], cwd=HERE, capture_output=True, timeout=300)
    assert done.returncode == 0, done.stderr.decode()
    with np.load(result) as held:
        assert held["workers"] == 2
        assert np.array_equal(held["arr_0"], serial.positions)
        for i, run in enumerate(swept):
            assert np.array_equal(held[f"arr_{i + 1}"], run.positions)


def test_all_models_are_known():
    assert DRAWS == 300 and {"single", "coupled"} <= set(MODELS)


def test_a_worker_makes_one_object_of_equal_functions():
    """Then kernels that differ in numbers alone share one compiled program there."""

    def log_density(theta):
        return -0.5 * theta**2

    kernels = [ls.standard(log_density, ls.RandomWalk(scale)) for scale in (0.5, 2.0)]
    first, second = (received(sent((kernel, 0.0), "kernel"))[0] for kernel in kernels)
    assert first is not second and jax.tree.structure(first) == jax.tree.structure(second)
