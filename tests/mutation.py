"""Tests of a package with one fault in it, many in a row.

An ``Overlay`` is the package as links to its files, with one of them changed. A ``Runner`` is a process that has
imported what takes long (JAX, SciPy, Numba, pytest) but nothing of the package, and forks itself for every test: the
child puts an overlay first on its path and runs pytest. JAX may be imported before a fork, but nothing computed.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parent.parent
OPTIONS = ("-x", "-q", "-p", "no:cacheprovider", "--assert=plain", "--tb=short")
LIMIT, PATIENCE = 60, 900  # seconds that a run of tests may compute, and that it may take
HEAVY = ("jax", "jax.numpy", "jax.random", "jax.scipy.special", "jax.scipy.stats", "scipy.stats", "scipy.optimize")
HEAVY += ("numba", "xarray", "arviz_base", "arviz_stats", "networkx", "_pytest.assertion.rewrite", "unittest.mock")


class Outcome(NamedTuple):
    """How a run of tests ended: pytest's exit code, what failed and why, what was printed, seconds of computing."""

    code: int | None  # None: it was ended at the limit of time
    failed: list[tuple[str, str]]
    printed: str
    seconds: float

    @property
    def is_killed(self) -> bool:
        """Whether a test ran and failed; 1 alone may also be an error of a fixture, other codes mean that none ran."""
        return self.code == 1 and bool(self.failed)

    @property
    def is_late(self) -> bool:
        return self.code is None


def overlay(package: Path, place: Path, file: str = "", text: str = "") -> Path:
    """A copy of a package made of links, where one file has another text."""
    copy = place / package.name
    copy.mkdir()
    first, _, rest = file.partition("/")
    for entry in package.iterdir():
        if entry.name == "__pycache__":
            continue  # a changed file and those beside it (Numba compiles them as one) are compiled anew
        if entry.name != first:
            (copy / entry.name).symlink_to(entry)
        elif rest:
            overlay(entry, copy, rest, text)
        else:
            (copy / entry.name).write_text(text)
    return copy


class Runner:
    """A process that runs tests with a package found at a place of its own, each time in a fork of itself."""

    def __init__(self) -> None:
        # Programs compile quickly, and pytest imports no plugins: a fault takes a few seconds.
        environment = os.environ | {"LOCKSTEP_TEST_COMPILATION": "quick", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # or the whole package would be read anew each time
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__))],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment,
        )  # fmt: skip

    def run(self, place: Path, *tests: str, limit: int = LIMIT) -> Outcome:
        """The outcome of tests with the package in ``place``, which may compute for ``limit`` seconds."""
        task = {"place": str(place), "tests": [f"tests/{test}" for test in tests], "limit": limit}
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps(task) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        assert answer, "the runner of tests has ended"
        return Outcome(**json.loads(answer))

    def close(self) -> None:
        """End the process."""
        with self.process:
            pass  # closes its pipes and waits


class Failures:
    """A plugin of pytest that notes which tests failed, and why."""

    def __init__(self) -> None:
        self.failed: list[tuple[str, str]] = []

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed and report.when == "call":
            crash = getattr(report.longrepr, "reprcrash", None)
            self.failed.append((report.nodeid, crash.message if crash else str(report.longrepr)))


def child(task: dict[str, Any], answer: Path) -> int:
    """Run the tests of a task in this process, and write what failed."""
    import pytest

    place = task["place"]
    sys.path.insert(0, place)
    os.environ["PYTHONPATH"] = place
    assert not any(name.partition(".")[0] == "lockstep" for name in sys.modules)
    import lockstep

    assert Path(lockstep.__file__).parent == Path(place) / "lockstep"
    failures = Failures()
    code = pytest.main([*OPTIONS, *task["tests"]], plugins=[failures])
    assert Path(sys.modules["lockstep"].__file__ or "").parent == Path(place) / "lockstep"
    answer.write_text(json.dumps(failures.failed))
    return int(code)


def forked(task: dict[str, Any], directory: Path) -> Outcome:
    """The outcome of a task in a child of this process, which is ended with its own children at the limit of time."""
    began, used = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    before = used.ru_utime + used.ru_stime
    answer, printed = directory / "answer", directory / "printed"
    process = os.fork()
    if process == 0:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CPU, (task["limit"], task["limit"] + 5))
        with open(printed, "wb") as file, open(os.devnull, "rb") as nothing:
            for number, target in ((0, nothing), (1, file), (2, file)):
                os.dup2(target.fileno(), number)
        code = 100
        try:
            code = child(task, answer)
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    code: int | None = None
    while time.monotonic() - began < PATIENCE:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            code = os.waitstatus_to_exitcode(status)
            break
        time.sleep(0.02)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process, signal.SIGKILL)  # the workers that it left, or all of them at the limit
    if code is None:
        os.waitpid(process, 0)
    code = None if code in (-signal.SIGXCPU, -signal.SIGKILL) else code
    failed = json.loads(answer.read_text()) if answer.exists() else []
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Outcome(code, failed, printed.read_text(errors="replace"), used.ru_utime + used.ru_stime - before)


def serve() -> None:
    """Run the tasks of standard input, one a line, until it ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    import compilation

    compilation.choose()
    for name in HEAVY:
        __import__(name)
    warnings.filterwarnings("ignore", "os.fork", RuntimeWarning)
    for line in sys.stdin:
        with tempfile.TemporaryDirectory() as directory:
            outcome = forked(json.loads(line), Path(directory))
        print(json.dumps(outcome._asdict()), file=answers, flush=True)


if __name__ == "__main__":
    serve()
