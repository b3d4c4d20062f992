"""Chains side by side in compiled blocks: where they lie changes the time that an update takes, and nothing else."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import lockstep as ls
from lockstep.engine import compiled, layout

SHAPES = [(), (2,), (3, 5), (layout.FEW,), (layout.FEW + 1,), (0,), (1,), (7, 1)]


def numbered(*shape):
    return np.arange(np.prod(shape, dtype=int), dtype=float).reshape(shape)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("chains", [1, 2, 6])
def test_arrays_come_back_as_they_were(shape, chains):
    tree = {"at": numbered(chains, *shape), "steps": numbered(4, chains, *shape)}
    laid = {"at": layout.laid_out(tree["at"]), "steps": layout.laid_out(tree["steps"], leading=1)}
    is_last = np.prod(shape) <= layout.FEW
    assert laid["at"].shape == ((*shape, chains) if is_last else (chains, *shape))
    assert laid["steps"].shape == (4, *laid["at"].shape)
    np.testing.assert_array_equal(laid["steps"][1], layout.laid_out(tree["steps"][1]))
    np.testing.assert_array_equal(layout.chains_first(laid["at"], chains), tree["at"])
    for array in (laid["steps"], np.asarray(laid["steps"])):  # of JAX and of NumPy
        back = layout.chains_first(array, chains, leading=1)
        assert isinstance(back, type(array))
        np.testing.assert_array_equal(back, tree["steps"])


@pytest.mark.parametrize("shape", SHAPES)
def test_noise_is_laid_out_at_once(shape):
    noise = numbered(3, 4, *shape)  # chains, steps
    found = layout.laid_out_steps(noise)
    np.testing.assert_array_equal(found, layout.laid_out(np.swapaxes(noise, 0, 1), leading=1))


def log_density(position):
    return -0.5 * jnp.sum(position["few"] ** 2) - 0.5 * jnp.sum(position["many"] ** 2) - jnp.abs(position["one"])


START = {"few": np.zeros((2, 2)), "many": np.full(20, 0.1), "one": np.array(0.3)}
KERNELS = {
    "one": ls.standard(log_density, ls.RandomWalk(0.3)),
    "two in turn": ls.Cycle([ls.standard(log_density, ls.RandomWalk(scale)) for scale in (0.1, 0.6)]),
    "coupled": ls.Coupled(*(ls.standard(log_density, ls.RandomWalk(0.3)) for _ in range(2))),
}


@pytest.mark.parametrize("thin", [1, 3])
@pytest.mark.parametrize("name", KERNELS)
def test_draws_are_the_same_with_the_chains_first(monkeypatch, name, thin):
    def drawn():
        run = ls.sample(KERNELS[name], START, draws=70, chains=5, seed=3, thin=thin)
        return run.positions, run.info

    beside = drawn()
    monkeypatch.setattr(layout, "FEW", -1)
    for program in (compiled._noise, compiled._advance, compiled._draw):
        program.clear_cache()
    try:
        first = drawn()
    finally:
        for program in (compiled._noise, compiled._advance, compiled._draw):
            program.clear_cache()
    for one, other in zip(jax.tree.leaves(beside), jax.tree.leaves(first), strict=True):
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)
