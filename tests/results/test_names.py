"""Components are found by name in summaries and files: names that would lose one are refused when a run starts."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import lockstep as ls


def run_of(start, **options):
    def log_density(position):
        return -0.5 * sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(position))

    return ls.sample(ls.standard(log_density, ls.RandomWalk(0.5)), start, draws=50, chains=2, **options)


@pytest.mark.parametrize(
    ("start", "words"),
    [
        (
            {"a": {"b": 0.0}, "a_b": 0.0},
            "initial\\['a_b'\\] and initial\\['a'\\]\\['b'\\] are both called 'a_b'.*rename",
        ),
        ({"a": np.zeros(2), "a[0]": 0.0}, "'a\\[0\\]' is what an entry or an axis of initial\\['a'\\]"),
        ({"a": np.zeros(2), "a_dim_0": 0.0}, "'a_dim_0' is what an entry or an axis"),
        ({"mu/sigma": 0.0}, "cannot be called 'mu/sigma', which would be a path"),
        ({"..\\mu": 0.0}, "would be a path"),
        ({"chain": 0.0}, "cannot be called 'chain', which is what ArviZ calls an axis"),
        ({"draw": 0.0}, "cannot be called 'draw'"),
        ({"a\0": 0.0}, "cannot all be shown"),
        ({"\x1b[31mred": 0.0}, "cannot be called '<0x1b>.31mred'"),
        ({"": 0.0}, "cannot all be shown"),
    ],
)
def test_names_that_would_lose_a_component_are_refused(start, words):
    with pytest.raises(ValueError, match=words):
        run_of(start)


def test_other_names_are_left_alone():
    run = run_of({"a": {"b": 0.0}, "a.b": 0.0, "µ": 0.0, "a b": np.zeros(2), "x[0]": 0.0})
    assert len(run.summary().table) == 6
    assert set(run.to_datatree()["posterior"].data_vars) == {"a_b", "a.b", "µ", "a b", "x[0]"}
    for start in (np.zeros(2), (0.0, 0.0), {0: 0.0, 1: 0.0}):
        assert len(run_of(start).summary().table) == 2


def test_a_loaded_run_shows_no_escape_sequences():
    shape = (2, 5)
    info = ls.Info(np.ones(shape, bool), np.zeros(shape), np.ones(shape, bool))
    run = ls.Run({"\x1b[31mred": np.zeros(shape)}, info, None, 0, 0, 1, 0.0, None, {"kernel": ""})
    assert "\x1b" not in repr(run) and "<0x1b>[31mred" in repr(run)
