"""Sums that XLA computes wrongly, as users' programs compile them: right with Lockstep, or said."""

import os
import subprocess
import sys

import pytest

from lockstep.core.wrong_sums import FLAG

REGRESSION = """
import warnings
import jax, jax.numpy as jnp, numpy as np
BEFORE
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    import lockstep as ls
from lockstep.core.wrong_sums import are_wrong

X, y = np.random.default_rng(0).normal(size=(20_000, 3)), np.random.default_rng(1).normal(size=20_000)
run = ls.sample(
    ls.standard(lambda theta: -0.5 * jnp.sum((y - X @ theta) ** 2), ls.RandomWalk(0.01)),
    np.zeros(3), draws=20, chains=3, progress=False,
)
with jax.enable_x64(True):
    state = jax.jit(jax.vmap(run.kernel.init))(run.positions[:, -1])
exact = [-0.5 * np.sum((y - X @ theta) ** 2) for theta in run.positions[:, -1]]
print(are_wrong(), np.allclose(state.memory, exact, rtol=1e-6), [str(one.message)[:40] for one in told])
"""


def ran(before="", flags=""):
    environment = {name: value for name, value in os.environ.items() if name != "JAX_DISABLE_MOST_OPTIMIZATIONS"}
    program = REGRESSION.replace("BEFORE", before)
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env=environment | {"XLA_FLAGS": flags},
    )
    return done.stdout.split(maxsplit=2)


def test_a_regression_with_its_data_in_a_closure_has_its_density():
    assert ran() == ["False", "True", "[]\n"]


@pytest.mark.parametrize("flags", ["", pytest.param(f"--{FLAG}=", marks=pytest.mark.study)])
def test_where_it_is_too_late_that_is_said_and_only_there(flags):
    is_wrong, _, told = ran("jnp.zeros(2).block_until_ready()", flags)
    assert (is_wrong == "True") is ("JAX has computed before lockstep" in told)
    assert is_wrong == "False" or not flags
