"""Models of the package `particles`."""

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from linear_normal import kalman

import lockstep as ls
from lockstep.interop.numpy_tracing import Stand

ssm = pytest.importorskip("particles.state_space_models")
distributions = pytest.importorskip("particles.distributions")
DATA = np.array([0.3, -0.2, 0.5, 1.0, 0.7])


class Linear(ssm.StateSpaceModel):
    default_params = {"phi": 0.8, "sigma": 0.6}  # noqa: RUF012

    def PX0(self):
        return distributions.Normal()

    def PX(self, t, xp):
        return distributions.Normal(loc=self.phi * xp, scale=self.sigma)

    def PY(self, t, xp, x):
        return distributions.Normal(loc=x, scale=0.8)


class Counted(Linear):
    def PY(self, t, xp, x):
        return distributions.Poisson(rate=np.exp(x))


def test_normal_laws_are_compiled():
    model = ls.interop.particles(Linear, DATA)
    assert not model.is_boxed
    found = model.filter(jr.key(0), Linear.default_params, DATA, particles=20_000)
    assert abs(found.log_likelihood - kalman(DATA, 0.8, np.log(0.6))[0]) < 0.05


def test_other_laws_are_black_boxes():
    counts = np.array([1, 0, 2, 3, 1])
    model = ls.interop.particles(Counted, counts)
    assert model.is_boxed
    first, again = (model.filter(jr.key(1), Linear.default_params, counts, 50) for _ in range(2))
    assert first.log_likelihood == again.log_likelihood
    assert model.filter(jr.key(2), Linear.default_params, counts, 50).log_likelihood != first.log_likelihood
    walk = ls.RandomWalk({"phi": 0.1, "sigma": 0.05})
    kernel = ls.particle_marginal(lambda theta: 0.0, model, counts, walk, particles=20, paths=True)
    run = ls.sample(kernel, Linear.default_params, draws=10, chains=2, seed=1)
    assert run.paths.shape == (2, 10, 5)


class Volatile(Linear):
    """Functions of NumPy in its methods."""

    def PX(self, t, xp):
        return distributions.Normal(loc=np.where(xp > 0, self.phi * xp, self.phi * xp + 0.1), scale=np.abs(self.sigma))

    def PY(self, t, xp, x):
        return distributions.Normal(scale=np.exp(0.5 * x))


class Changing(Linear):
    """A decision by the time, and by a value: JAX cannot trace it."""

    def PX(self, t, xp):
        return distributions.Normal(loc=xp if t == 3 else 0.0 * xp, scale=self.sigma)


class Bare(Linear):
    default_params = {"phi": 0.8}  # noqa: RUF012


class Leveraged(Linear):
    def PY(self, t, xp, x):
        return distributions.Normal(loc=x - 0.5 * xp, scale=1.0)


def test_functions_of_numpy_are_traced():
    model = ls.interop.particles(Volatile, DATA)
    assert not model.is_boxed
    theta, states, z = {"phi": 0.7, "sigma": -0.4}, np.array([-1.0, 0.3]), np.array([0.5, -1.0])
    law = Volatile(**theta).PX(2, states)
    assert np.allclose(model.transition(z, states, theta, 2), law.loc + law.scale * z)
    density = Volatile(**theta).PY(2, None, states).logpdf(0.8)
    assert np.allclose(model.log_observation(theta, states, 0.8, 2), density, rtol=1e-6)


def test_what_cannot_be_traced_is_a_black_box():
    assert ls.interop.particles(Changing, DATA).is_boxed
    for function in (bool, np.asarray, float):
        with pytest.raises(TypeError):
            function(Stand(jnp.ones(())))


def test_what_is_no_model_is_refused():
    with pytest.raises(TypeError, match=r"Leveraged cannot be used .* PY\(t, None, x\) must work"):
        ls.interop.particles(Leveraged, DATA)
    with pytest.raises(TypeError, match=r"no attribute 'sigma'.* with all parameters in theta or in default_params"):
        ls.interop.particles(Bare, DATA)
    with pytest.raises(TypeError, match="it must be a class of particles"):
        ls.interop.particles(Linear(), DATA)
    with pytest.raises(ValueError, match="leading axis"):
        ls.interop.particles(Linear, 1.0)
