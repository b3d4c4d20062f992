"""Randomized ratios: keys of their own, and involutions that are looked at when a run starts and at every update."""

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from covering import chosen

import lockstep as ls
from lockstep.core.precision import double_precision


def test_x_and_the_base_draw_independently():
    """Both draw a normal number from their key: over one key the two would be equal."""
    base = ls.pseudo_marginal(lambda noise, theta: noise - theta**2, ls.RandomWalk(1.0), draw=jr.normal).ratio
    randomization = ls.Density(
        lambda noise, position, candidate: noise, lambda x, position, candidate: -(x**2) / 2, draw=jr.normal
    )
    ratio = ls.Randomized(base, randomization)
    with double_precision():
        for shape in ((), (4096,)):
            of_base, of_x = (np.asarray(noise) for noise in ratio.noise(jr.key(1), 0.0, shape))
            assert of_base.shape == of_x.shape == shape
            assert not np.intersect1d(of_base, of_x).size
    assert abs(np.corrcoef(of_base, of_x)[0, 1]) < 5 / 64


# --- involutions


def log_density(theta):
    return -0.5 * theta**2


def density(involution):
    return ls.Density(
        lambda key, position, candidate: 0.5 * jr.normal(key),
        lambda x, position, candidate: -2 * x**2,
        involution,
    )


def kernel(involution):
    return ls.randomized(log_density, ls.RandomWalk(1.0), density(involution))


def sampled(involution, chains=4, draws=64, **options):
    return ls.sample(kernel(involution), 0.0, draws=draws, chains=chains, seed=1, **options)


def turned(x, position, candidate):
    """Undone only by itself with the two positions swapped."""
    return jnp.where(candidate > position, 2 * x, x / 2)


NONE = {
    "halved": (lambda x: x / 2, r"involution is none.*f\(f\(x\)\) must be x"),
    "the same in both directions": (lambda x, position, candidate: x + candidate - position + 1, "involution is none"),
    "no inverse Jacobian": (lambda x: (0.25 - x, 0.3), "involution is none|states a log Jacobian"),
    "another Jacobian": (lambda x: (1 / x, 0.0), r"states a log Jacobian of 0\.0 .* but autodiff finds"),
    "another shape": (ls.Reflection(np.array([1.0, 2.0])), "involution makes .*must be like x"),
}


@pytest.mark.parametrize("name", NONE)
def test_what_is_no_involution_is_refused_when_a_run_starts(name):
    involution, message = NONE[name]
    with pytest.raises(ValueError, match=message):
        sampled(involution)


INVOLUTIONS = {
    "mirrored": lambda x: 0.25 - x,
    "inverse": lambda x: 1 / x,
    "turned": turned,
    "with its Jacobian": lambda x: (1 / x, -2 * jnp.log(jnp.abs(x))),
}


@pytest.mark.parametrize("name", chosen(INVOLUTIONS, {"turned", "with its Jacobian"}))
def test_involutions_pass_and_are_watched(name):
    run = sampled(INVOLUTIONS[name])
    assert run.kernel.ratio.can_be_violated and not run.info.is_violated.any()


def test_ready_made_involutions_are_not_watched():
    run = sampled(ls.Mobius(1.0, 2.0, 3.0))
    assert not run.kernel.ratio.can_be_violated and not run.info.is_violated.any()


def test_where_an_involution_fails_is_counted():
    """Near 0, where eight draws hardly come: 1 in 1,250 updates."""
    with pytest.warns(ls.LockstepWarning, match=r"at \d+ updates .* the involution did not undo itself") as caught:
        run = sampled(lambda x: jnp.where(jnp.abs(x) < 5e-4, x + 1, -x), chains=16, draws=1000)
    broken = int(run.info.is_violated.sum())
    assert 2 < broken < 40 and f"at {broken} updates" in str(caught[0].message)
    assert run.summary().findings[0].startswith(f"{broken} updates")


def test_discrete_and_structured_x():
    """A coin and a number: the coin is turned, the number mirrored; a coin that is turned one way only is refused."""

    def pair(key, position, candidate):
        return {"coin": jr.bernoulli(key).astype(int), "number": jr.normal(jr.split(key)[0], (2,))}

    def log_xi(x, position, candidate):
        return -0.5 * jnp.sum(x["number"] ** 2)

    def made(turn):
        return ls.Density(pair, log_xi, lambda x: ({"coin": turn(x["coin"]), "number": -x["number"]}, 0.0))

    run = ls.sample(ls.randomized(log_density, ls.RandomWalk(1.0), made(lambda coin: 1 - coin)), 0.0, draws=8, chains=2)
    assert not run.info.is_violated.any()
    with pytest.raises(ValueError, match="involution is none"):
        ls.sample(ls.randomized(log_density, ls.RandomWalk(1.0), made(lambda coin: 0 * coin)), 0.0, draws=8, chains=2)


def test_black_boxes_and_composed_kernels_are_watched_too():
    boxed = ls.randomized(ls.blackbox(lambda theta: -0.5 * theta**2), ls.RandomWalk(1.0), density(lambda x: -x))
    run = ls.sample(boxed, 0.0, draws=4, chains=1)
    assert not run.info.is_violated.any() and run.info.is_violated.dtype == bool
    cycle = ls.Cycle([kernel(lambda x: -x), ls.standard(log_density, ls.RandomWalk(1.0))])
    assert ls.sample(cycle, 0.0, draws=8, chains=2).info.is_violated.shape == (2, 8, 2)
    with pytest.raises(ValueError, match="involution is none"):
        ls.sample(ls.Cycle([kernel(lambda x: x / 2), ls.standard(log_density, ls.RandomWalk(1.0))]), 0.0, draws=8)
