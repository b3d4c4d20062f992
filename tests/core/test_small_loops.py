"""Loops of a few cheap chains are one program of the processor, unless the user of the process wants it otherwise."""

import os

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import lockstep as ls
from lockstep.core.precision import canonical, double_precision
from lockstep.core.small_loops import FLAG, OPTION, compile_in_one_piece
from lockstep.engine import compiled
from lockstep.engine.block import Block


def block_of(chains: int, log_density) -> str:
    """The compiled program of a block of a random walk."""
    with double_precision():
        kernel = canonical(ls.standard(log_density, ls.RandomWalk(1.0)), "kernel")
        keys = jax.random.split(jax.random.key(0), chains)
        state = compiled.COMPILED.init(kernel, jnp.zeros((chains, 2)), keys)
        noise = compiled._drawn(kernel, keys, state, 0, 1)
        return compiled._advance.lower(kernel, state, noise, Block(0, 64), None, cells=1).compile().as_text()


def test_the_updates_of_several_chains_are_one_piece():
    assert 'xla_cpu_small_call="true"' in block_of(4, lambda theta: -0.5 * jnp.sum(theta**2))


def test_large_updates_are_not():
    assert "xla_cpu_small_call" not in block_of(
        2, lambda theta: -jnp.sum(jnp.cosh(theta[0] * np.linspace(0, 1, 2**17)))
    )


@pytest.mark.parametrize(
    ("given", "after"),
    [
        ("", f"--{FLAG}={OPTION}="),
        ("--xla_cpu_enable_fast_math=false", f"--xla_cpu_enable_fast_math=false --{FLAG}={OPTION}="),
        (f"--{FLAG}=xla_cpu_optimize_for_size=1", f"--{FLAG}=xla_cpu_optimize_for_size=1"),
    ],
)
def test_what_the_user_has_set_stays(given, after, monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", given)
    compile_in_one_piece()
    compile_in_one_piece()
    assert os.environ["XLA_FLAGS"].rstrip("0123456789") == after.rstrip("0123456789")
