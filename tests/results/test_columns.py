"""Draws as columns: data frames, CSV in CmdStan's layout, Parquet and Arrow are read back equal."""

import math
import shutil
import subprocess
import sys

import numpy as np
import pandas
import pytest

import lockstep as ls
from lockstep.storage.errors import StorageError


def read(path):
    """What a file says, to the last digit: some versions of pandas make numbers of texts in a hurry."""
    return pandas.read_csv(path, comment="#", dtype=str).astype(float)


def made(positions, thin=1, shape=(2, 50)):
    """A run of given draws, so that nothing is compiled."""
    rng = np.random.default_rng(1)
    info = ls.Info(rng.integers(0, thin + 1, shape), rng.normal(size=shape), np.ones(shape, bool))
    return ls.Run(positions, info, None, seed=7, warmup=20, thin=thin, seconds=1.25)


@pytest.fixture(scope="module")
def run():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(2, 50)) * 10.0 ** rng.integers(-300, 300, (2, 50))
    values[0, 3], values[1, 4], values[1, 5] = np.nan, np.inf, -np.inf
    positions = {
        "wild": values,
        "matrix": rng.normal(size=(2, 50, 2, 3)),
        "flag": rng.random((2, 50)) < 0.5,
        "count": rng.integers(-(2**60), 2**60, (2, 50, 1)),
    }
    return made(positions, thin=3)


def same(run, frame):
    """Every component of the run is a column of the frame, bit for bit."""
    assert list(frame.columns[:2]) == ["chain", "draw"] and len(frame) == run.chains * run.draws
    for name, array in run.positions.items():
        for index in np.ndindex(array.shape[2:]):
            label = name + (f"[{', '.join(map(str, index))}]" if index else "")
            column = frame[label].to_numpy()
            expected = array[(slice(None), slice(None), *index)].ravel()
            assert column.dtype == expected.dtype and column.tobytes() == expected.tobytes(), label


def test_a_data_frame_has_a_row_for_each_draw(run):
    frame = run.to_dataframe()
    same(run, frame)
    assert frame[(frame.chain == 1) & (frame.draw == 7)]["matrix[1, 2]"].item() == run.positions["matrix"][1, 7, 1, 2]


def test_a_pair_has_columns_of_both_chains():
    pair = made(ls.Pair({"a": np.zeros((2, 50))}, {"a": np.ones((2, 50))}))
    frame = pair.to_dataframe()
    assert list(frame.columns) == ["chain", "draw", "a", "reference_a"] and (frame["reference_a"] == 1).all()


def read_as_cmdstanr_does(path):
    """The rules of cmdstanr's reader: comments are `key = value`, the first other line that begins with a letter is the
    header, and there are ceil(num_samples / thin) rows."""
    said, header, rows = {}, None, 0
    for line in path.read_text().splitlines():
        if line.startswith("#"):
            pair = [part.strip() for part in line.replace("#", "").replace("(Default)", "").split("=")]
            if len(pair) == 2:
                said[pair[0]] = pair[1]
        elif header is None:
            assert line[0].isalpha()
            header = line.split(",")
        else:
            assert line[0].isdigit(), "a row that begins with a letter would be taken for another header"
            rows += 1
    assert {"model", "method", "num_samples", "num_warmup", "save_warmup", "thin", "id", "seed"} <= said.keys()
    assert said["method"] == "sample" and rows == math.ceil(int(said["num_samples"]) / int(said["thin"]))
    variables = [name for name in header if not name.endswith("__")]
    repaired = [name.replace(".", "[", 1).replace(".", ",") + "]" * ("." in name) for name in variables]
    return said, header, repaired


def test_csv_is_in_the_layout_of_cmdstan_and_read_back_equal(run, tmp_path):
    paths = run.to_csv(tmp_path / "draws.csv")
    assert [path.name for path in paths] == ["draws_1.csv", "draws_2.csv"]
    for chain, path in enumerate(paths):
        said, header, variables = read_as_cmdstanr_does(path)
        assert said["id"] == str(chain + 1) and said["num_warmup"] == "20" and said["thin"] == "3"
        # The first index runs fastest, as R and Stan have it.
        matrix = [f"matrix[{i},{j}]" for j in (1, 2, 3) for i in (1, 2)]
        assert set(variables) == {"wild", *matrix, "flag", "count[1]"}
        assert [name for name in variables if name.startswith("matrix")] == matrix and header[0] == "accept_stat__"
        frame = read(path)
        np.testing.assert_array_equal(frame["wild"], run.positions["wild"][chain])
        np.testing.assert_array_equal(frame["matrix.2.3"], run.positions["matrix"][chain, :, 1, 2])
        np.testing.assert_array_equal(frame["count.1"], run.positions["count"][chain, :, 0])
        np.testing.assert_array_equal(frame["flag"], run.positions["flag"][chain].astype(int))
        np.testing.assert_allclose(frame["accept_stat__"], run.info.is_accepted[chain] / 3)
    reshaped = frame[[f"matrix.{i}.{j}" for j in (1, 2, 3) for i in (1, 2)]].to_numpy().reshape(50, 2, 3, order="F")
    np.testing.assert_array_equal(reshaped, run.positions["matrix"][1])


READ_IN_R = """
files <- commandArgs(trailingOnly = TRUE)
chains <- lapply(files, read.csv, comment.char = "#", check.names = FALSE)
for (chain in chains) for (name in names(chain)) cat("column", name, sprintf("%.17g", chain[[name]]), "\\n")
if (suppressMessages(requireNamespace("posterior", quietly = TRUE))) {
  draws <- posterior::as_draws_array(lapply(chains, function(x) x[c("calm", "matrix.2.3")]))
  found <- posterior::summarise_draws(draws, "mean", "sd")
  cat("summary", sprintf("%.12g", c(found$mean, found$sd)), dim(draws), "\\n")
}
"""


def test_r_reads_the_numbers(tmp_path):
    """By R itself, where there is one: every number, and means by its package posterior if that is installed."""
    if shutil.which("Rscript") is None:
        pytest.skip("there is no Rscript here: install R (Debian: r-base-core, r-cran-posterior) to run this test")
    rng = np.random.default_rng(2)
    positions = {
        "calm": rng.normal(size=(2, 50)),
        "matrix": rng.normal(size=(2, 50, 2, 3)),
        "tiny": rng.normal(size=(2, 50)) * 10.0 ** rng.integers(-300, 300, (2, 50)),
        "count": rng.integers(-(2**30), 2**30, (2, 50)),
    }
    run = made(positions)
    program = tmp_path / "read.R"
    program.write_text(READ_IN_R)
    paths = run.to_csv(tmp_path / "draws.csv")
    done = subprocess.run(["Rscript", program, *paths], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    columns = [(name, np.array(numbers, float)) for kind, name, *numbers in lines if kind == "column"]
    for chain in range(2):
        read = dict(columns[chain * len(columns) // 2 : (chain + 1) * len(columns) // 2])
        assert list(read)[:2] == ["accept_stat__", "calm"] and len(read) == 10
        # R makes numbers of digits in its own way, which may miss the last bit.
        for name in ("calm", "tiny", "count"):
            np.testing.assert_allclose(read[name], run.positions[name][chain], rtol=1e-15, atol=0)
        for i, j in np.ndindex(2, 3):
            np.testing.assert_allclose(
                read[f"matrix.{i + 1}.{j + 1}"], run.positions["matrix"][chain, :, i, j], rtol=1e-15, atol=0
            )
    for _, *numbers in (line for line in lines if line[0] == "summary"):
        both = [run.positions["calm"], run.positions["matrix"][:, :, 1, 2]]
        expected = [*(x.mean() for x in both), *(x.std(ddof=1) for x in both), 50, 2, 2]
        np.testing.assert_allclose(np.array(numbers, float), expected, rtol=1e-10)


@pytest.mark.parametrize("name", ["a,b", "log sigma", "x.1", "θ", "lp__", "# a"])
def test_names_that_csv_cannot_hold_are_refused(tmp_path, name):
    with pytest.raises(StorageError, match=r"letters, digits and underscores .* Rename it, or export to \.parquet"):
        made({name: np.zeros((2, 50))}).to_csv(tmp_path / "draws.csv")
    assert not list(tmp_path.iterdir())


def test_one_position_and_one_draw_can_be_written(tmp_path):
    one = made(np.zeros((1, 1, 2)), shape=(1, 1))
    frame = read(one.to_csv(tmp_path / "d")[0])
    assert list(frame.columns) == ["accept_stat__", "position.1", "position.2"] and len(frame) == 1


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_parquet_and_arrow_are_read_back_equal(run, tmp_path, kind):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / f"draws.{kind}"
    assert getattr(run, f"to_{kind}")(path) == path
    table = parquet.read_table(path) if kind == "parquet" else pyarrow.ipc.open_file(path.read_bytes()).read_all()
    same(run, table.to_pandas())
    assert table.schema.metadata[b"seed"] == b"7"
    assert list(tmp_path.iterdir()) == [path]


def test_without_pyarrow_the_remedy_is_said(run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"pip install 'lockstep-mcmc\[export\]'"):
        run.to_parquet(tmp_path / "draws.parquet")
