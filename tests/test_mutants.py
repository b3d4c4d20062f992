"""A study of the tests themselves: each fault of this table, put into a copy of the package, must fail its test.

Every line is a mistake that once passed the tests of its module. The text before must occur exactly once, so that a
line that no longer fits the code fails as well.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

import lockstep

PACKAGE = Path(lockstep.__file__).parent
ROOT = Path(__file__).parent.parent


class Mutant(NamedTuple):
    """A change of one text in one file of the package, and the test that must fail on it."""

    file: str
    before: str
    after: str
    test: str


MUTANTS = {
    "further chunks of rows from one key": Mutant(
        "ratios/tuna.py",
        "self._draw(jr.fold_in(process.key, number))",
        "self._draw(process.key)",
        "subsampling/test_subsample.py::test_further_arrivals_are_new_ones",
    ),
    "slack in the bound of TunaMH": Mutant(
        "ratios/tuna.py",
        "jnp.abs(difference) <= c * size * (1 + 1e-9)",
        "jnp.abs(difference) <= c * size * 1.5",
        "subsampling/test_subsample.py::test_a_bound_is_enforced_without_slack",
    ),
    "slack in the bound of the Poisson product": Mutant(
        "ratios/tuna.py",
        "jnp.abs(r) <= c * size * (1 + 1e-9)",
        "jnp.abs(r) <= c * size * 1.5",
        "subsampling/test_subsample.py::test_a_bound_is_enforced_without_slack",
    ),
    "the last edge is like any other": Mutant(
        "models/toggles.py",
        "backward = 0.5 / dyads if edges > 1 else 1.0 / dyads",
        "backward = 0.5 / dyads",
        "models/test_models_graphs.py::test_simulated_graphs_have_the_frequencies_of_enumeration",
    ),
    "the first edge is like any other": Mutant(
        "models/toggles.py",
        "forward = 0.5 / dyads if edges else 1.0 / dyads",
        "forward = 0.5 / dyads",
        "models/test_models_graphs.py::test_simulated_graphs_have_the_frequencies_of_enumeration",
    ),
    "x with the key of its base": Mutant(
        "ratios/randomized.py",
        "self.randomization.noise(key_x if jax.tree.leaves(base) else key, position, shape)",
        "self.randomization.noise(key_base if jax.tree.leaves(base) else key, position, shape)",
        "ratios/test_randomized.py::test_x_and_the_base_draw_independently",
    ),
    "coupling of the ghost spin": Mutant(
        "models/ising.py",
        "-np.expm1(-2 * np.abs(field[held]))",
        "-np.expm1(-1.9 * np.abs(field[held]))",
        "models/test_models_lattice.py::test_spins_without_coupling_follow_their_field",
    ),
    "random clusters with new noise for the past": Mutant(
        "models/random_cluster.py",
        "sweep(low, high, stream(words, t), p, q, ends, first, sites, bonds, work)",
        "sweep(low, high, stream(words, back - t + 1), p, q, ends, first, sites, bonds, work)",
        "models/test_models_lattice.py::test_random_clusters_replay_their_noise_from_any_earlier_start",
    ),
    "heat bath with new noise for the past": Mutant(
        "models/past.py",
        "sweep(low, high, stream(words[i], t), theta[i], field, first, sites)",
        "sweep(low, high, stream(words[i], length - t + 1), theta[i], field, first, sites)",
        "models/test_models_lattice.py::test_heat_bath_replays_its_noise_from_any_earlier_start",
    ),
    "bounds not swapped for repulsion": Mutant(
        "models/past.py",
        "lowest, highest = highest, lowest",
        "lowest, highest = lowest, highest",
        "models/test_models_lattice.py::test_bounds_of_the_heat_bath_hold_every_configuration_between_them",
    ),
    "exponent of the Student proposal": Mutant(
        "proposals/laplace.py",
        "-0.5 * (self.degrees + len(z)) * array_module.log1p(square)",
        "-0.5 * (self.degrees + 1) * array_module.log1p(square)",
        "proposals/test_proposals.py::test_independent_student_ratio",
    ),
    "exponent of the mixture": Mutant(
        "proposals/mixtures.py",
        "-0.5 * (self.degrees + z.shape[-1])",
        "-0.5 * (self.degrees + 1)",
        "proposals/test_proposals.py::test_student_mixture_ratio",
    ),
    "log determinant of the mixture": Mutant(
        "proposals/mixtures.py",
        "parts.append(log_weight + log_t - jnp.sum(jnp.log(jnp.diagonal(factor))))",
        "parts.append(log_weight + log_t)",
        "proposals/test_proposals.py::test_student_mixture_ratio",
    ),
    "third cumulant of pooled halves": Mutant(
        "estimators/combinations.py",
        "(forward.linear - reverse.linear) / 2, (forward.third - reverse.third) / 8)",
        "(forward.linear - reverse.linear) / 2, (forward.third - reverse.third) / 4)",
        "estimators/test_estimators.py::test_pooled_two_sided",
    ),
    "skewness in the normal score": Mutant(
        "separation/scores.py",
        "1 - shape.skewness**2 / 36",
        "1 - shape.skewness**2 / 18",
        "separation/test_scores.py::test_the_first_order_is_that_of_gamma_laws",
    ),
    "stretch of the curved noise": Mutant(
        "separation/gaps.py",
        "stretch**2 * ((value - centre) / s - linear)",
        "stretch * ((value - centre) / s - linear)",
        "separation/test_scores.py::test_noise_is_stretched_by_the_power_of_its_order",
    ),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_every_fault_fits_the_code(name):
    assert (PACKAGE / MUTANTS[name].file).read_text().count(MUTANTS[name].before) == 1


@pytest.mark.study
@pytest.mark.parametrize("name", MUTANTS)
def test_every_fault_fails_its_test(name, tmp_path):
    mutant = MUTANTS[name]
    copy = tmp_path / "lockstep"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    file = copy / mutant.file
    text = file.read_text()
    assert text.count(mutant.before) == 1
    file.write_text(text.replace(mutant.before, mutant.after))
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    imported = subprocess.run(
        [sys.executable, "-c", "import lockstep; print(lockstep.__file__)"],
        env=environment, cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert Path(imported.stdout.strip()).parent == copy
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", f"tests/{mutant.test}"]
    found = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True)
    # 1: a test has failed; any other number means that it could not be run.
    assert found.returncode == 1 and "1 failed" in found.stdout, found.stdout
