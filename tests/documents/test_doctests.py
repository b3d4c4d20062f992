"""The examples of all docstrings run as they stand."""

import ast
import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest

import lockstep

MODULES = ["lockstep", *(module.name for module in pkgutil.walk_packages(lockstep.__path__, "lockstep."))]


SLOW = {
    "lockstep.advice.advisor",
    "lockstep.check.curvature",
    "lockstep.interop.numpyro_model",
    "lockstep.kernels.subsampled",
    "lockstep.kernels.tunamh",
    "lockstep.lagged.convergence",
    "lockstep.lagged.unbiased",
    "lockstep.models.ergm",
    "lockstep.models.leaps",
    "lockstep.models.potts",
    "lockstep.parameters.parameters",
    "lockstep.perfect.murdoch_green",
    "lockstep.sampling.compare",
    "lockstep.separation.predict",
    "lockstep.state_space.model",
    "lockstep.state_space.particle_gibbs",
}  # these run with the studies


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.study if name in SLOW else ()) for name in MODULES]
)
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


def test_type_checkers_see_the_same_public_names():
    stub = ast.parse(Path(lockstep.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    seen = {alias.asname for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert seen == {*lockstep.__all__, "__version__"}
