"""What a fit has made is read back: a run that is opened again calls nothing of the user's without need."""

import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import lockstep as ls
from lockstep.chains.prepare import make_task
from lockstep.core.precision import double_precision
from lockstep.starts import fit
from lockstep.storage.directory import FITTED
from lockstep.storage.errors import MismatchError, StorageError

GENERATOR = np.random.default_rng(0)
X = GENERATOR.normal(size=(3000, 2))
DATA = {"x": X, "y": GENERATOR.uniform(size=3000) < 1 / (1 + np.exp(-X @ [0.5, -0.3]))}
CALLS = [0]
PARAMETERS = ls.Parameters(a=stats.norm(0, 1), b=stats.gamma(2.0))
BOUND = ls.subsampling.logistic(lambda row: row["x"])


def log_likelihood(theta, row):
    CALLS[0] += 1
    logit = jnp.dot(row["x"], theta)
    return row["y"] * logit - jnp.logaddexp(0.0, logit)


def log_prior(theta):
    return -0.5 * jnp.sum(theta**2)


def two_places(theta, row):
    return -0.5 * (theta[0] ** 2 - 1.0 - row["x"][0]) ** 2 - 0.5 * (theta[1] - row["x"][1]) ** 2


def of_values(values, row):
    return log_likelihood(jnp.stack([values["a"], values["b"]]), row)


def subsample(count=16, likelihood=log_likelihood):
    return ls.estimators.subsample(log_prior, likelihood, DATA, count)


def sample(directory, draws=30, data=DATA, kernel=None, **options):
    kernel = ls.subsampled(log_prior, log_likelihood, data, count=16) if kernel is None else kernel
    return ls.sample(kernel, np.zeros(2), draws=draws, chains=2, directory=directory, progress=False, **options)


@pytest.fixture
def no_fit(monkeypatch):
    """Call it, and from then on a fit is an error."""

    def refuse(*arguments):
        raise AssertionError("it was fitted again")

    return lambda: monkeypatch.setattr(fit, "fitted", refuse)


KERNELS = {
    "normal": lambda: ls.subsampled(log_prior, log_likelihood, DATA, proposal="normal"),
    "student": lambda: ls.subsampled(log_prior, log_likelihood, DATA, count=16, proposal="student"),
    "steps": lambda: ls.subsampled(log_prior, log_likelihood, DATA, count=16, proposal="crank_nicolson"),
    "own proposal": lambda: ls.subsampled(log_prior, log_likelihood, DATA, count=16, proposal=ls.RandomWalk(0.02)),
    "estimator": lambda: ls.corrected(subsample(), ls.RandomWalk(0.02)),
    "pair": lambda: ls.Coupled(*(ls.corrected(subsample(m), ls.RandomWalk(0.02)) for m in (8, 16))),
    "known mode": lambda: ls.subsampled(log_prior, log_likelihood, DATA, count=16, initial=np.zeros(2)),
    "tunamh": lambda: ls.tunamh(log_prior, log_likelihood, DATA, BOUND),
    "poisson": lambda: ls.poisson_product(log_prior, log_likelihood, DATA, BOUND),
    "modes": lambda: ls.subsampled(log_prior, two_places, DATA, count=16),
    "all rows": lambda: ls.subsampled(log_prior, two_places, {"x": X[:40]}),
    "parameters": lambda: PARAMETERS.posterior(ls.subsampled(None, of_values, DATA, count=16)),
}


@pytest.mark.filterwarnings("ignore:.*(modes or more|rows .* are used instead|not close to the normal)")
@pytest.mark.parametrize("name", KERNELS)
def test_what_is_read_back_is_what_was_fitted(name, tmp_path, no_fit):
    initial = {"a": 0.0, "b": 1.0} if name == "parameters" else np.array([0.1, 0.1])

    def task():
        return make_task(KERNELS[name](), initial, 10, 3, 1, 0, directory=tmp_path / "run")

    first = task()
    no_fit()
    second = task()
    assert first.began == second.began and first.began is not None
    with double_precision():
        assert first.configuration() == second.configuration()
        assert jax.tree.structure(first.kernel) == jax.tree.structure(second.kernel)


def test_opening_a_complete_run_calls_nothing(tmp_path):
    first = sample(tmp_path / "run")
    CALLS[0] = 0
    again = sample(tmp_path / "run")
    assert CALLS[0] == 0 and np.array_equal(first.positions, again.positions) and first.began == again.began
    assert repr(first.kernel) == repr(again.kernel)


PROGRAM = """
import sys
from hashlib import sha256
from pathlib import Path
import test_fitted

run = test_fitted.sample(Path(sys.argv[1]), draws=int(sys.argv[2]))
print(test_fitted.CALLS[0], sha256(run.positions.tobytes()).hexdigest())
"""


def in_a_new_process(directory, draws):
    found = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(directory), str(draws)],
        cwd=Path(__file__).parent, capture_output=True, text=True, check=True,
    )  # fmt: skip
    calls, digest = found.stdout.split()
    return int(calls), digest


def test_opening_a_complete_run_in_a_new_process_calls_nothing(tmp_path):
    calls, digest = in_a_new_process(tmp_path / "run", 30)
    assert calls > 0
    assert in_a_new_process(tmp_path / "run", 30) == (0, digest)


def test_a_run_goes_on_without_a_second_fit(tmp_path, no_fit):
    longer = sample(tmp_path / "one", draws=60)
    sample(tmp_path / "two")
    no_fit()
    assert np.array_equal(sample(tmp_path / "two", draws=60).positions, longer.positions)


def test_changed_data_are_refused(tmp_path):
    sample(tmp_path / "run")
    before = (tmp_path / "run" / FITTED).read_bytes()
    with pytest.raises(MismatchError, match=r"rows\.arrays\['x'\]"):
        sample(tmp_path / "run", data=DATA | {"x": X + 1e-3})
    assert (tmp_path / "run" / FITTED).read_bytes() == before


def test_changed_data_that_are_accepted_are_fitted_once(tmp_path, no_fit):
    sample(tmp_path / "run")
    before = (tmp_path / "run" / FITTED).read_bytes()
    changed = {"data": DATA | {"x": X + 1e-3}, "changed": "accept", "draws": 60}
    first = sample(tmp_path / "run", **changed)
    assert (tmp_path / "run" / FITTED).read_bytes() != before
    no_fit()
    assert np.array_equal(sample(tmp_path / "run", **changed).positions, first.positions)


def test_another_seed_is_fitted_anew_and_refused(tmp_path):
    sample(tmp_path / "run")
    with pytest.raises(MismatchError, match="seed"):
        sample(tmp_path / "run", seed=1)


@pytest.mark.parametrize("content", [b"", b"no archive", None], ids=["empty", "text", "absent"])
def test_a_damaged_file_is_made_anew_from_the_model(tmp_path, content):
    first, file = sample(tmp_path / "run"), tmp_path / "run" / FITTED
    file.unlink()
    if content is not None:
        file.write_bytes(content)
    assert np.array_equal(sample(tmp_path / "run").positions, first.positions)


def test_a_fit_that_was_not_followed_by_a_run_does_not_bind_the_directory(tmp_path):
    kernel = KERNELS["estimator"]()
    make_task(kernel, np.zeros(2), 10, 2, 0, 0, directory=tmp_path / "run")
    assert [path.name for path in (tmp_path / "run").iterdir()] == [FITTED]
    other = sample(tmp_path / "run", seed=5, kernel=kernel)
    assert np.array_equal(other.positions, sample(tmp_path / "another", seed=5, kernel=kernel).positions)


def test_nothing_is_written_beside_other_files(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(StorageError, match=r"holds other files \(notes.txt\)"):
        sample(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_model_that_cannot_be_compared_is_fitted_each_time(tmp_path):
    file = tmp_path / "sd"
    file.write_text("1.0")

    def prior(theta):
        return -0.5 * jnp.sum(theta**2) / float(file.read_text())

    kernel = ls.subsampled(prior, log_likelihood, DATA, count=16)
    sample(tmp_path / "run", kernel=kernel)
    assert not (tmp_path / "run" / FITTED).exists()
