"""Nonsense is refused by name, at once; what is written goes where it should, and nowhere else."""

import json
from concurrent.futures import ThreadPoolExecutor

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from typer.testing import CliRunner

import lockstep as ls
from lockstep import cli
from lockstep.storage import archive
from lockstep.storage.errors import StorageError

WALK = ls.RandomWalk(1.0)
KERNEL = ls.standard(lambda theta: -0.5 * jnp.sum(theta**2), WALK)
NOISY = ls.estimators.mean(lambda noise, *_: noise, 4, draw=lambda key, count: jr.normal(key, (count,)))
FINITE = ls.standard(lambda state: 0.0 * state, ls.Finite(np.full((2, 2), 0.5)))
FINITE_NAIVE = ls.naive(NOISY, ls.Finite(np.full((2, 2), 0.5)))
RANDOMIZED = ls.randomized(lambda theta: -0.5 * theta**2, WALK, ls.tempering(lambda theta: -0.5 * theta**2))
INDEPENDENT = ls.standard(lambda theta: -0.5 * theta**2, ls.IndependentNormal(0.0, 1.5))
HUGE = 10**20
BAD = {
    "adapt is 'x'": lambda: ls.sample(KERNEL, 0.0, adapt="x"),
    "progress is 'x'": lambda: ls.sample(KERNEL, 0.0, progress="x"),
    "series is 'x'": lambda: ls.penalty(NOISY, WALK, series="x"),
    "two_sided is 'x'": lambda: ls.noisy_exchange(
        lambda theta: 0.0, lambda theta, x: 0.0, lambda key, theta: theta, 0.0, WALK, 2, two_sided="x"
    ),
    "periodic of Ising is 'x'": lambda: ls.models.Ising((4, 4), periodic="x"),
    "weights of Mixture is 'x'": lambda: ls.Mixture([KERNEL, KERNEL], weights="x"),
    "make is None": lambda: ls.sweep(None, {"a": [1]}, 0.0),
    r"grid names '\.\./evil'": lambda: ls.sweep(lambda **_: KERNEL, {"../evil": [1]}, 0.0),
    "terms of ERGM is 3": lambda: ls.models.ERGM(3, nodes=4),
    r"initial is \[\]": lambda: ls.sample(KERNEL, []),
    "initial is a Pair of": lambda: ls.sample(ls.Coupled(KERNEL, KERNEL), ls.Pair(np.zeros(2), np.zeros(3))),
    "directory is 3; it must be a path": lambda: ls.sample(KERNEL, 0.0, directory=3),
    "directory is ''": lambda: ls.sample(KERNEL, 0.0, directory=""),
    r"directory is 'a\\x00b'": lambda: ls.sample(KERNEL, 0.0, directory="a\0b"),
    "directory is None": lambda: ls.load(None),
    "draws is 1000": lambda: ls.sample(KERNEL, 0.0, draws=HUGE),
    "more updates of a chain than": lambda: ls.sample(KERNEL, 0.0, draws=2**30, thin=2**30),
    "chains is 1000": lambda: ls.sample(KERNEL, 0.0, chains=HUGE),
    "thin is 1000": lambda: ls.sample(KERNEL, 0.0, thin=HUGE),
    "warmup is 1000": lambda: ls.sample(KERNEL, 0.0, warmup=HUGE),
    "count of mean is 1000": lambda: ls.estimators.mean(lambda noise, *_: noise, HUGE),
    "shape of Ising is 1000": lambda: ls.models.Ising((HUGE, 3)),
    "executor is 1000": lambda: ls.sample(KERNEL, 0.0, executor=HUGE),
    "executor is <class": lambda: ls.sample(KERNEL, 0.0, executor=ThreadPoolExecutor),
    "run must be what ls.sample": lambda: ls.separation.summary(None),
    "run must be what": lambda: ls.separation.predict(None),
    "run must be": lambda: ls.separation.bias(None),
    "rows that sum to 2": lambda: ls.check.stationary(np.ones((2, 2))),
    "must be square": lambda: ls.check.stationary(np.ones((2, 3))),
    r"first is \[1.0, -1.0\]": lambda: ls.check.total_variation([1.0, -1.0], [0.5, 0.5]),
    r"first has shape \(3,\)": lambda: ls.check.total_variation([1, 1, 1], [0.5, 0.5]),
    r"weights is \[0.0, 0.0\]": lambda: ls.check.stationarity_error(np.eye(2), [0, 0]),
    r"law is 'x'; it must be a pair": lambda: ls.check.as_law("x"),
    r"law: weights is 'x'": lambda: ls.check.as_law((np.zeros(1), "x")),
    "law has no values, but kernel draws noise": lambda: ls.check.transition_matrix(FINITE_NAIVE, np.arange(2)),
    r"states is an array of shape \(\)": lambda: ls.check.transition_matrix(FINITE, 0),
    "positions is an array of shape": lambda: ls.check.minorization(RANDOMIZED, 0.5, 0.5),
    r"positions are an array of shape \(2,\), but candidates": lambda: ls.check.symmetry(NOISY, np.ones(2), np.ones(3)),
    "replicates is 0": lambda: ls.check.minorization(RANDOMIZED, np.ones(2), np.zeros(2), replicates=0),
    "seed is None": lambda: ls.check.balance(RANDOMIZED, np.ones(2), seed=None),
    "tolerance is nan": lambda: ls.check.balance(RANDOMIZED, np.ones(2), tolerance=np.nan),
    "standard must be of one accept/reject": lambda: ls.check.peskun(FINITE, None, np.arange(2)),
    r"functions has shape \(1, 3\)": lambda: ls.check.peskun(FINITE, FINITE, np.arange(2), functions=[1.0, 2.0, 3.0]),
    r"position is an array of shape \(3,\), but there are 2 x": lambda: ls.check.involution(
        lambda x: -x, np.ones(2), np.ones(3)
    ),
    "key is 0; it must be a random key": lambda: ls.perfect.propp_wilson(0, FINITE, 0, 1),
    "is_below is 'x'": lambda: ls.perfect.propp_wilson(jr.key(0), FINITE, 0, 1, is_below="x"),
    "different shapes or dtypes": lambda: ls.perfect.propp_wilson(jr.key(0), FINITE, False, 1),
    "log_bound is nan": lambda: ls.perfect.murdoch_green(jr.key(0), INDEPENDENT, 0.0, np.nan),
    "worst is nan": lambda: ls.perfect.murdoch_green(jr.key(0), INDEPENDENT, np.nan),
    "estimator is None; it must be what": lambda: ls.subsampling.diagnose(None, WALK, 0.0, [0.0], [[1.0]]),
    "model is None; it must be a NumPyro model": lambda: ls.interop.numpyro(None, np.zeros(3)),
    "shared is 'x'; it must be a tuple": lambda: ls.interop.numpyro(lambda x, y: None, np.zeros(3), y=3, shared="x"),
    "rules is 3": lambda: ls.advise(NOISY, WALK, 0.0, rules=3),
    "make is <class 'int'>": lambda: ls.sweep(int, {"a": [1]}, 0.0),
    "weights is 'x'": lambda: ls.check.balance_error(np.eye(2), "x"),
}


@pytest.mark.parametrize("message", BAD)
def test_nonsense_is_refused_by_name(message):
    with pytest.raises((TypeError, ValueError), match=message):
        BAD[message]()


@pytest.fixture(scope="module")
def run():
    shape = (2, 50)
    values = np.random.default_rng(0).normal(size=shape)
    info = ls.Info(np.ones(shape, bool), np.zeros(shape), np.ones(shape, bool))
    return ls.Run({"<!--<script>": values}, info, None, 0, 0, 1, 0.0, None, {"kernel": "", "exact_when": "always"})


def test_a_report_replaces_a_link_and_leaves_its_target_alone(run, tmp_path):
    precious = tmp_path / "precious.txt"
    precious.write_text("mine")
    (tmp_path / "report.html").symlink_to(precious)
    run.report(tmp_path)
    assert precious.read_text() == "mine"
    assert not (tmp_path / "report.html").is_symlink() and sorted(p.name for p in tmp_path.iterdir()) == [
        "precious.txt",
        "report.html",
    ]


def test_what_cannot_be_written_is_told(run, tmp_path):
    """A file in the place of a directory: of a page, of an export, of a sweep."""
    file = tmp_path / "file"
    file.write_text("mine")
    writers = [
        lambda: run.report(file / "page.html"),
        lambda: run.to_netcdf(file / "run.nc"),
        lambda: run.to_zarr(file / "run.zarr"),
        lambda: ls.sweep(lambda scale: KERNEL, {"scale": [1.0]}, 0.0, draws=1, directory=file),
    ]
    for write in writers:
        with pytest.raises(StorageError, match="file"):
            write()
    assert file.read_text() == "mine" and list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize(
    "arguments",
    [
        ["status", ""],
        ["report", ""],
        ["run", "model.py", "--out", ""],
        ["paper", "--out", ""],
        ["report", ".", "--out", ""],
    ],
    ids=" ".join,
)
def test_an_empty_path_of_a_command_is_not_the_directory_that_one_is_in(arguments):
    done = CliRunner().invoke(cli.app, arguments)
    assert done.exit_code == 2 and "an empty text is no path" in done.output.replace("\n", " ")


def test_names_cannot_leave_the_data_of_a_page(run, tmp_path):
    text = run.report(tmp_path / "page.html").read_text(encoding="utf-8")
    data = text.split('id="data">')[1].split("</script>")[0]
    assert "<" not in data and json.loads(data)["components"][0]["name"] == "<!--<script>"


def test_leftovers_of_a_process_of_the_same_number_are_no_obstacle(tmp_path):
    assert archive.temporary_of(tmp_path / "a") != archive.temporary_of(tmp_path / "a")


def test_a_damaged_run_does_not_hide_a_sweep(tmp_path):
    for name in ("good", "bad"):
        ls.sample(KERNEL, 0.0, draws=5, chains=2, directory=tmp_path / name)
    (tmp_path / "bad" / "run.json").write_text("{")
    done = CliRunner().invoke(cli.app, ["status", str(tmp_path)])
    assert done.exit_code == 0 and "bad: damaged" in done.output and "good: complete" in done.output
    found = json.loads(CliRunner().invoke(cli.app, ["status", "--json", str(tmp_path)]).output)
    assert [one["state"] for one in found] == ["damaged", "complete"] and "run.json" in found[0]["reason"]
