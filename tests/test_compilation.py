"""The tests' programs are compiled in the way that the session says."""

import os
from pathlib import Path

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


def test_a_session_has_one_directory_of_its_own_for_what_it_compiles(monkeypatch):
    """The first process makes it, workers take it, and programs are in it."""
    named = Path(jax.config.jax_compilation_cache_dir)
    assert str(named) == os.environ[compilation.DIRECTORY] and compilation.share() is None
    jax.jit(lambda x: 3 * x - 7)(2.5)
    assert list(named.glob("jit__lambda*"))
    for name in (compilation.DIRECTORY, *compilation.WHATEVER):
        monkeypatch.delenv(name)
    made = compilation.share()
    assert made != named and not list(made.iterdir()) and os.environ[compilation.DIRECTORY] == str(made)
    compilation.forget(made)
    assert not made.exists() and named.exists()
