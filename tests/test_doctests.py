"""The examples of all docstrings run as they stand."""

import doctest
import importlib
import pkgutil

import pytest

import lockstep

MODULES = ["lockstep", *(module.name for module in pkgutil.walk_packages(lockstep.__path__, "lockstep."))]


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name):
    module = importlib.import_module(name)
    failures, _ = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert failures == 0, f"{failures} examples of {name} fail; run python -m doctest on it"


def test_there_are_examples():
    finder = doctest.DocTestFinder(exclude_empty=True)
    found = sum(len(test.examples) for name in MODULES for test in finder.find(importlib.import_module(name)))
    assert found > 50


@pytest.mark.parametrize("name", lockstep.__all__)
def test_public_names_load_and_are_documented(name):
    value = getattr(lockstep, name)
    assert value.__doc__ and value.__doc__.strip()
    assert name in dir(lockstep)
