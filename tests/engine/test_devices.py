"""Chains over several devices: the same draws but for rounding. A process of its own has two of them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import lockstep as ls
from lockstep.engine.devices import used

PROGRAM = """
import sys
import jax
jax.config.update("jax_num_cpu_devices", 2)
import jax.numpy as jnp, jax.random as jr, numpy as np
import lockstep as ls
from lockstep.engine import compiled

laid = []
original = compiled.laid_over
compiled.laid_over = lambda tree, count: laid.append(count) or original(tree, count)

def log_density(theta):
    return -0.5 * jnp.sum(theta**2) - 0.1 * jnp.sum(theta**4)

walk = ls.RandomWalk(1.0)
standard = ls.standard(log_density, walk)
def sample(key, theta, new):
    return log_density(new) - log_density(theta) + jr.normal(key)

noisy = ls.penalty(ls.estimators.mean(sample, 8), walk)
boxed = ls.standard(ls.blackbox(lambda theta: -0.5 * float(np.sum(theta**2))), walk)
ising = ls.models.Ising((3, 3))
data = ising.simulate(jr.key(1), 0.2)
exchange = ls.exchange(lambda theta: -0.5 * theta**2, ising.log_likelihood, ising.simulate, data, ls.RandomWalk(0.3))
start = jnp.array([0.5, -0.5])

def same(one, two, digits=1e-9):
    leaves = zip(jax.tree.leaves((one.positions, one.info)), jax.tree.leaves((two.positions, two.info)), strict=True)
    assert all(np.allclose(a, b, rtol=digits, atol=digits, equal_nan=True) for a, b in leaves)

def check(kernel, initial, expected, **options):
    laid.clear()
    one = ls.sample(kernel, initial, seed=3, progress=False, devices=1, **options)
    assert not laid
    two = ls.sample(kernel, initial, seed=3, progress=False, **options)
    assert laid == expected, laid
    same(one, two)

check(standard, start, [2], draws=70, chains=4, thin=3, warmup=10)
check(boxed, start, [], draws=20, chains=4)
if sys.argv[2] == "all":
    check(standard, start, [2], draws=150, chains=6)
    check(standard, start, [], draws=70, chains=5)
    check(ls.Coupled(standard, noisy), start, [2], draws=100, chains=4)
    check(standard, start, [], draws=50, chains=4, ahead=4)
    check(exchange, 0.1, [], draws=20, chains=4)
laid.clear()
whole = ls.sample(standard, start, draws=300, chains=4, seed=3, progress=False)
ls.sample(standard, start, draws=130, chains=4, seed=3, progress=False, directory=sys.argv[1])
# On the same devices a resume is the run itself, to the last bit, and so is the update that it repeats.
same(whole, ls.sample(standard, start, draws=300, chains=4, seed=3, progress=False, directory=sys.argv[1]), digits=0.0)
assert laid == [2, 2, 2, 2]
print("all the same")
"""


@pytest.mark.parametrize("cases", ["some", pytest.param("all", marks=pytest.mark.study)])
def test_draws_over_two_devices_are_those_of_one(tmp_path: Path, cases: str):
    """As users compile them: optimized programs of two and of four chains may differ in last digits."""
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "run"), cases]
    environment = {name: value for name, value in os.environ.items() if name != "JAX_DISABLE_MOST_OPTIMIZATIONS"}
    environment["XLA_FLAGS"] = ""
    found = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert found.returncode == 0 and "all the same" in found.stdout, found.stderr


def test_every_device_has_the_same_number_of_chains(monkeypatch):
    monkeypatch.setattr("jax.device_count", lambda: 8)
    assert [used(None, chains) for chains in (1, 4, 7, 12, 64, 100)] == [1, 4, 7, 6, 8, 5]
    assert [used(3, chains) for chains in (2, 9, 64)] == [2, 3, 2]


@pytest.mark.parametrize(("devices", "said"), [(0, "at least 1"), (100_000, "jax_num_cpu_devices"), ("all", "devices")])
def test_devices_that_cannot_be_had_are_refused(devices, said):
    kernel = ls.standard(lambda theta: -0.5 * theta**2, ls.RandomWalk(1.0))
    with pytest.raises((ValueError, TypeError), match=said) as caught:
        ls.sample(kernel, 0.0, draws=4, chains=2, devices=devices)
    assert "devices" in str(caught.value)
