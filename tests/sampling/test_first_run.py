"""What a first run compiles: few programs, the noise of a block is traced once, and a second run compiles nothing."""

import json
import subprocess
import sys

import jax
import numpy as np
import pytest
import registry
from covering import chosen

import lockstep as ls

FIRST_RUN = """
import json, sys
import jax
import jax.numpy as jnp
import numpy as np

compiled, traced = [], []


def listen(name, seconds, **about):
    if name.endswith("backend_compile_duration"):
        compiled.append(about.get("fun_name"))


jax.monitoring.register_event_duration_secs_listener(listen)
import lockstep as ls


def draw(key, count):
    traced.append(count)
    return ls.random.normal(key, (count,))


def sample(noise, position, candidate):
    return 0.5 * jnp.sum(position**2 - candidate**2) + noise


kernel = ls.naive(ls.estimators.mean(sample, 4, draw), ls.RandomWalk(1.0))
ls.sample(kernel, np.zeros(2), draws=1000, progress=False)
first = len(compiled), len(traced)
ls.sample(kernel, np.ones(2), draws=1000, seed=1, progress=False)
heavy = ("scipy", "xarray", "arviz_base", "arviz_stats", "matplotlib", "numba")
large = [name for name in heavy if name in sys.modules]
print(json.dumps({"large": large, "first": first, "second": [len(compiled), len(traced)], "names": compiled}))
"""


def test_the_first_run_of_a_process_compiles_few_programs_and_the_second_none():
    done = subprocess.run([sys.executable, "-c", FIRST_RUN], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    programs, traces = found["first"]
    assert programs <= 5, found["names"]
    assert traces == 2  # of the start, and of a block
    assert found["second"] == found["first"]
    assert not found["large"]  # which would take longer to import than all of Lockstep


@pytest.fixture
def compiled():
    """The programs that are compiled, or loaded, while a test runs."""
    found = []

    def listen(name, seconds, **about):
        if name.endswith("backend_compile_duration"):
            found.append(about.get("fun_name"))

    jax.monitoring.register_event_duration_secs_listener(listen)
    yield found
    jax.monitoring.unregister_event_duration_listener(listen)


@pytest.mark.parametrize("case", chosen(registry.CASES, {"TunaMH", "Poisson product", "tempering"}))
def test_a_second_run_of_a_kernel_compiles_nothing(case, compiled):
    """Nor do the looks at its promises before a run: those at bounds took longer than the run itself."""
    kernel = case.make(registry.PROPOSALS["hastings"])
    ls.sample(kernel, np.array(2), draws=20, chains=2, seed=1, progress=False)
    jax.jit(lambda x: x + 1)(1.0)  # a new one, whatever other tests have compiled
    assert compiled
    compiled.clear()
    ls.sample(kernel, np.array(2), draws=20, chains=2, seed=2, progress=False)
    assert not compiled


IMPORT = """
import gc
import jax

found = []
gc.callbacks.append(lambda phase, about: found.append(about["generation"]) if phase == "start" else None)
gc.set_threshold(100, 2, 1)
import lockstep as ls
before = found.count(2)
ls.sample
print(found.count(1), found.count(2) - before, gc.get_threshold())
"""


def test_importing_does_not_make_python_look_through_all_old_objects():
    """Which takes as long as a fifth of the import."""
    done = subprocess.run([sys.executable, "-c", IMPORT], capture_output=True, text=True, check=True)
    younger, oldest, *threshold = done.stdout.split(maxsplit=2)
    assert int(younger) > 10 and int(oldest) == 0
    assert threshold == ["(100, 2, 1)\n"]
