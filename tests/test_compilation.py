"""The tests' programs are compiled in the way that the session says."""

import os

import compilation
import jax
import pytest


@pytest.mark.parametrize("session", ["first", pytest.param("second", marks=pytest.mark.optimized)])
def test_jax_has_heard_of_the_way(session):
    """JAX reads it once: were it imported before, either session of `make test` would silently be of the other way."""
    is_quick = os.environ.get(compilation.VARIABLE, "quick") == "quick"
    assert jax.config.read("jax_disable_most_optimizations") is is_quick


def test_what_was_given_stays_and_nothing_is_written_twice(monkeypatch):
    monkeypatch.delenv(compilation.VARIABLE, raising=False)
    monkeypatch.setenv("JAX_DISABLE_MOST_OPTIMIZATIONS", "0")  # as it was, afterwards
    monkeypatch.setenv("XLA_FLAGS", "--xla_dump_to=here")
    compilation.choose()
    compilation.choose()
    assert os.environ["XLA_FLAGS"].split() == ["--xla_dump_to=here", *compilation.FLAGS]


@pytest.mark.parametrize("way", ["users", "fast"])
def test_other_ways(way, monkeypatch):
    monkeypatch.setenv(compilation.VARIABLE, way)
    monkeypatch.setenv("XLA_FLAGS", "")
    if way == "users":
        compilation.choose()
        assert os.environ["XLA_FLAGS"] == ""
    else:
        with pytest.raises(ValueError, match=r"is 'fast': give one of \('quick', 'users'\)"):
            compilation.choose()
