"""A hidden lattice under noise, as `examples/restoration.py` composes it: the posterior of enumeration."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from lattices import configurations

import lockstep as ls
from lockstep.core.precision import double_precision

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def restoration(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    spec = importlib.util.spec_from_file_location("restoration", EXAMPLES / "restoration.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "restoration", module)
    spec.loader.exec_module(module)
    return module


def by_enumeration(noisy):
    """Means of θ, of the noise's logarithm and of every pixel, on a grid, over all pictures."""
    model, x = ls.models.Ising(noisy.shape), configurations(noisy.shape)
    theta, log_noise = np.linspace(0, 1, 61), np.linspace(-2.5, 2.5, 81)
    with double_precision():
        energies = np.asarray(jax.vmap(model.statistic)(jnp.asarray(x)))
        constants = np.array([model.log_normalizer(t) for t in theta])
    misfits = ((noisy - x) ** 2).sum(axis=(1, 2)) / 2
    log_weights = (
        (np.outer(theta, energies) - constants[:, None])[:, None]
        - np.exp(-2 * log_noise)[:, None] * misfits
        - (noisy.size * log_noise + log_noise**2 / 2)[:, None]
    )
    weights = np.exp(log_weights - log_weights.max())
    weights[[0, -1]] /= 2  # the trapezoidal rule on a closed interval
    weights /= weights.sum()
    pixels = np.einsum("tnx,xij->ij", weights, x)
    return weights.sum(axis=(1, 2)) @ theta, weights.sum(axis=(0, 2)) @ log_noise, pixels


def test_pixels_attraction_and_noise_have_the_posterior_of_enumeration(restoration):
    noisy = np.array([[0.9, 1.4, -0.3], [0.2, 1.1, -1.3]])
    kernel = restoration.restoration(noisy, restoration.log_prior, steps=(0.6, 0.7))
    assert "simulate draws exactly" in kernel.exact_when
    run = ls.sample(kernel, restoration.start(noisy), draws=300, chains=24, warmup=20, seed=1)
    theta, log_noise, pixels = by_enumeration(noisy)
    for values, exact in (
        (run.positions["theta"], theta),
        (run.positions["log_noise"], log_noise),
        (run.positions["field"].astype(float), pixels),
    ):
        means = values.mean(axis=1)
        errors = means.std(axis=0, ddof=1) / np.sqrt(len(means))
        assert np.all(np.abs(means.mean(axis=0) - exact) < 4.5 * errors)
        assert np.all(errors < 0.05)
