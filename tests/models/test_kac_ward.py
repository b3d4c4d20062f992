"""The constant of free lattices by a determinant: against enumeration, transfer matrices, a series and Onsager."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from lattices import configurations, log_weights

import lockstep as ls
from lockstep.core.precision import double_precision
from lockstep.models import transfer_matrix

THETAS = np.array([0.0, 0.2, -0.2, 0.4406867935, -0.7, 3.0])


def log_normalizers(shape, thetas=THETAS):
    with double_precision():
        return np.asarray(jax.vmap(ls.models.Ising(shape).log_normalizer)(jnp.asarray(thetas)))


@pytest.mark.parametrize(
    "shape", [(3, 4), (1, 6), (1, 1), *(pytest.param(s, marks=pytest.mark.study) for s in [(4, 3), (2, 2)])]
)
def test_it_is_the_sum_over_all_configurations(shape):
    model = ls.models.Ising(shape)
    exact = [np.logaddexp.reduce(log_weights(model, theta, configurations(shape))) for theta in THETAS]
    np.testing.assert_allclose(log_normalizers(shape), exact, rtol=1e-13)


@pytest.mark.parametrize("shape", [pytest.param((12, 12), marks=pytest.mark.study), (20, 7)])
def test_it_is_that_of_transfer_matrices(shape):
    with double_precision():
        exact = [transfer_matrix.log_normalizer(theta, jnp.zeros(shape), False) for theta in THETAS[1:5]]
    np.testing.assert_allclose(log_normalizers(shape, THETAS[1:5]), exact, rtol=1e-13)


def onsager(theta):
    """The logarithm of Z for each site of the infinite lattice."""
    angle = (np.arange(4000) + 0.5) * np.pi / 4000
    modulus = 2 * np.sinh(2 * theta) / np.cosh(2 * theta) ** 2
    return np.log(2 * np.cosh(2 * theta)) + np.mean(np.log((1 + np.sqrt(1 - (modulus * np.sin(angle)) ** 2)) / 2)) / 2


@pytest.mark.parametrize("theta", [0.25, -1.0])
def test_large_lattices_have_onsager_s_free_energy_inside(theta):
    """Corners and edges cancel in a double difference, up to what decays with the size."""
    large, between, small = (ls.models.Ising(shape).log_normalizer(theta) for shape in ((22, 22), (22, 21), (21, 21)))
    assert large - 2 * between + small == pytest.approx(onsager(abs(theta)), abs=1e-10)


def test_weak_coupling_counts_squares():
    t, (rows, columns) = np.tanh(0.03), (24, 24)
    bonds = rows * (columns - 1) + columns * (rows - 1)
    rest = log_normalizers((rows, columns), [0.03])[0] - rows * columns * np.log(2) - bonds * np.log(np.cosh(0.03))
    squares = (rows - 1) * (columns - 1)
    oblongs = (rows - 1) * (columns - 2) + (rows - 2) * (columns - 1)
    assert rest == pytest.approx(squares * t**4 + oblongs * t**6, rel=1e-5)


def test_its_slope_is_the_mean_energy():
    model = ls.models.Ising((3, 4))
    x = configurations((3, 4))
    weights = np.exp(log_weights(model, 0.3, x) - model.log_normalizer(0.3))
    with double_precision():
        slope = jax.grad(model.log_normalizer)(0.3)
        energies = np.asarray(jax.vmap(model.statistic)(jnp.asarray(x)))
    assert slope == pytest.approx(weights @ energies, rel=1e-12)


def test_a_field_or_a_torus_is_left_to_transfer_matrices():
    field = ls.models.Ising((40, 40), field=0.1)
    with pytest.raises(ValueError, match=r"16 sites at the most.*Without a field and with free boundaries"):
        field.log_normalizer(0.3)
    with pytest.raises(ValueError, match="11 sites at the most"):
        ls.models.Ising((40, 40), periodic=True).log_normalizer(0.3)
    assert ls.models.Ising((2, 2), field=0.1).log_normalizer(0.0) == pytest.approx(4 * np.log(2 * np.cosh(0.1)))
