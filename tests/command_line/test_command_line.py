"""The command line: run, resume, status, summary, export, and what its exit codes say."""

import json
import signal
import subprocess
import sys

import numpy as np
import pytest
import xarray
from durable_models import log_density

import lockstep as ls
from lockstep import cli
from lockstep.chains import drive as chains_module
from lockstep.engine import block as limits
from lockstep.model_file import load_model
from lockstep.storage.locks import Lock

MODEL = """
import jax.numpy as jnp
import lockstep as ls

def log_density(theta):
    return -0.5 * jnp.sum(theta**2)

kernel = ls.standard(log_density, ls.RandomWalk(1.2))
initial = jnp.zeros(2)
"""
FUNCTION = MODEL.replace("kernel = ", "def model():\n    kernel = ").replace(
    "initial = jnp.zeros(2)", "    return kernel, jnp.zeros(2)"
)


@pytest.fixture(scope="module", autouse=True)
def small_blocks():
    """Runs of all lengths share one program."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "MOST_CELLS", 1)
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("models")
    (path / "model.py").write_text(MODEL)
    (path / "function.py").write_text(FUNCTION)
    return path


@pytest.fixture
def command(monkeypatch, capsys, folder):
    """Run a command in this process: exit code, output, errors."""
    monkeypatch.chdir(folder)

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["lockstep", *map(str, arguments)])
        with pytest.raises(SystemExit) as caught:
            cli.main()
        out, err = capsys.readouterr()
        return caught.value.code or 0, out, err

    return call


@pytest.fixture(scope="module")
def reference():
    return ls.sample(ls.standard(log_density, ls.RandomWalk(1.2)), np.zeros(2), draws=200, chains=2, seed=3)


OPTIONS = ("--chains", 2, "--seed", 3)


@pytest.mark.usefixtures("signals")
def test_run_interrupt_resume_look_and_export(command, tmp_path, monkeypatch, reference):
    out = tmp_path / "a"
    arguments = ("run", "model.py", "--draws", 200, "--out", out, *OPTIONS)
    real = chains_module.advance

    def advance(*arguments):
        if arguments[3].start > 64:
            signal.raise_signal(signal.SIGINT)
        return real(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(chains_module, "advance", advance)
        code, _, shown = command(*arguments)
    assert code == 130 and "The same command again goes on" in shown and str(out) in shown
    assert command("status", out)[1].splitlines()[0].endswith("stopped")
    code, text, shown = command(*arguments)
    assert code == 0 and f"{out}: 2 chains of 200 draws, acceptance 0." in text and "sampling: 400/400" in shown
    assert np.array_equal(ls.load(out).positions, reference.positions)
    code, text, _ = command("status", out)
    assert code == 0
    for word in (
        f"{out}: complete",
        "200 of 200 in each of 2 chains",
        "updates  400",
        "acceptance 0.",
        "NaN or +inf 0.00%",
    ):
        assert word in text
    code, text, _ = command("status", out, "--json")
    found = json.loads(text)
    assert found["state"] == "complete" and found["draws"] == 200 and found["seconds_left"] == 0
    code, text, _ = command("summary", out)
    assert code == 0 and "r_hat" in text and "exact kernel" in text
    code, text, _ = command("export", out)
    with xarray.open_datatree(text.strip(), engine="h5netcdf") as tree:
        assert np.array_equal(tree["posterior"]["position"], reference.positions)
    assert command("export", out, "--to", tmp_path / "x.xls")[0] == 2


@pytest.mark.usefixtures("signals")
def test_adaptation_from_the_command_line(command, tmp_path, monkeypatch):
    out = tmp_path / "a"
    arguments = ("run", "model.py", "--draws", 20, "--warmup", 100, "--adapt", "--out", out, *OPTIONS)
    real = chains_module.advance

    def advance(*arguments):
        signal.raise_signal(signal.SIGINT)
        return real(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(chains_module, "advance", advance)
        code, _, shown = command(*arguments)
    assert code == 130 and "stopped in the warm-up" in shown and "The same command again goes on" in shown
    code, _, shown = command(*arguments)
    assert code == 0 and "warm-up: 200/200" in shown and "sampling: 40/40" in shown
    kernel = ls.standard(log_density, ls.RandomWalk(1.2))
    run = ls.sample(kernel, np.zeros(2), draws=20, chains=2, seed=3, warmup=100, adapt=True)
    assert np.array_equal(ls.load(out).positions, run.positions) and ls.load(out).warmup == 100


def test_a_function_may_return_the_model(folder):
    for name in ("model.py", "function.py", "function.py:model"):
        kernel, initial = load_model(str(folder / name))
        assert isinstance(kernel, ls.MetropolisHastings) and np.array_equal(initial, np.zeros(2))
    with pytest.raises(ValueError, match="has no function other"):
        load_model(str(folder / "function.py:other"))


def test_exit_codes(command, folder, tmp_path):
    out = tmp_path / "a"
    # A function of the same code is the same function, wherever its file is.
    ls.sample(ls.standard(log_density, ls.RandomWalk(1.2)), np.zeros(2), draws=100, chains=2, seed=3, directory=out)
    assert command("run", "model.py", "--draws", 100, "--out", out, "--quiet", *OPTIONS)[0] == 0

    def check(code, words, *arguments):
        found, _, shown = command(*arguments)
        assert found == code and words in shown and "Traceback" not in shown
        assert code == 2 or len([line for line in shown.splitlines() if line != "sampling: compiling"]) == 1

    again = ("run", "model.py", "--draws", 100, "--out", out)
    check(2, "neither refuse nor accept", *again, "--changed", "maybe")
    check(3, "seed: 3 there, 4 here", *again, "--chains", 2, "--seed", 4)
    with Lock(out):
        check(4, "is being written by process", *again, *OPTIONS)
    check(5, "no run.json", "status", folder)
    check(5, "no directory", "summary", tmp_path / "nothing")
    (out / "segment-000000.npz").write_bytes(b"")
    check(5, "segment-000000.npz", "summary", out)
    check(6, "is a file", "run", "model.py", "--out", folder / "model.py", *OPTIONS)
    check(2, "--draws", "run", "model.py", "--draws", 0)
    check(1, "nothing.py is no file", "run", "nothing.py")
    (folder / "empty.py").write_text("x = 1\n")
    check(1, "does not define `kernel` and `initial`", "run", "empty.py")
    (folder / "broken.py").write_text("raise ZeroDivisionError('in the model')\n")
    check(1, "ZeroDivisionError: in the model", "run", "broken.py")


def test_debug_shows_the_traceback(folder, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["lockstep", "run", str(folder / "nothing.py"), "--debug"])
    with pytest.raises(FileNotFoundError):
        cli.main()


def test_status_of_a_sweep(command, tmp_path):
    def make(scale):
        return ls.standard(log_density, ls.RandomWalk(scale))

    ls.sweep(make, {"scale": [1.0, 2.0]}, np.zeros(2), draws=100, chains=2, directory=tmp_path)
    code, text, _ = command("status", tmp_path)
    assert code == 0 and text.count("complete") == 2 and "scale=2.0" in text
    found = json.loads(command("status", tmp_path, "--json")[1])
    assert [one["point"] for one in found] == [{"scale": "1.0"}, {"scale": "2.0"}]


def test_help_imports_nothing_slow():
    program = "import sys; from lockstep.cli import main\ntry: main()\nfinally: print([m for m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program, "--help"], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.splitlines()[-1].split("'"))
    assert "typer" in loaded and not {"jax", "numpy", "xarray", "scipy"} & loaded
    for name in ("run", "status", "summary", "export", "130 interrupted"):
        assert name in done.stdout


def test_workers(command, tmp_path, reference):
    """The model travels to the workers by value."""
    code, _, shown = command("run", "model.py", "--draws", 200, "--out", tmp_path, "--workers", 1, "--quiet", *OPTIONS)
    assert (code, shown) == (0, "")
    np.testing.assert_allclose(ls.load(tmp_path).positions, reference.positions, rtol=0, atol=1e-10)
    assert len(list(tmp_path.glob("group-*"))) == 2


RAISING = """
import lockstep as ls

def log_density(theta):
    if theta > 1.0:
        raise ValueError("too large")
    return -0.5 * float(theta**2)

kernel = ls.standard(ls.blackbox(log_density), ls.RandomWalk(1.2))
initial = 0.0
"""


def test_a_run_that_an_exception_has_ended_goes_on(command, folder, tmp_path):
    (folder / "raising.py").write_text(RAISING)
    again = ("run", "raising.py", "--draws", 50, "--chains", 2, "--out", tmp_path / "run", "--quiet")
    code, _, errors = command(*again)
    assert code == 1 and "too large" in errors
    code, output, errors = command(*again, "--on-error", "reject")
    assert code == 0 and "2 chains of 50 draws" in output
    assert "evaluations raised ValueError: too large and were rejected" in errors
    assert "evaluations raised ValueError: too large and were rejected" in command("summary", tmp_path / "run")[1]


def test_run_until_precise(command, folder):
    settings = ("run", "model.py", "--draws", 3000, "--seed", 4, "--out", "precise", "--quiet")
    code, out, _ = command(*settings, "--until", "error(0.1) | seconds(900)")
    assert code == 0 and "error(0.1) | seconds(900) was met at draw" in out
    draws = ls.load(folder / "precise").draws
    assert draws < 3000 and f"chains of {draws} draws" in out
    assert json.loads(command("status", "precise", "--json")[1])["state"] == "complete"
    code, _, err = command(*settings, "--until", "error")
    assert code == 2 and "combined by & and |" in err.replace("\n", " ").replace("│", "").replace("  ", " ")


FITTED = """
import numpy as np
import lockstep as ls

data = np.random.default_rng(0).normal(3.0, 1.0, size=400)
kernel = ls.subsampled(None, lambda mean, row: -0.5 * (row - mean) ** 2, data)
initial = 2.0
"""


def test_chains_that_did_not_begin_at_initial_are_told_of(command, folder):
    (folder / "fitted.py").write_text(FITTED)
    code, out, _ = command("run", "fitted.py", "--draws", 20, "--chains", 2, "--out", "fitted", "--quiet")
    began = ls.load(folder / "fitted").began
    assert code == 0 and "not at `initial`" in began and out.startswith(f"{began}.\n")
    code, out, _ = command("run", "model.py", "--draws", 20, "--chains", 2, "--out", "given", "--quiet")
    assert code == 0 and "began" not in out


def test_several_runs_are_summarized_side_by_side(command, folder):
    for seed in (1, 2):
        assert command("run", "model.py", "--draws", 100, "--seed", seed, "--out", f"many/{seed}", "--quiet")[0] == 0
    code, out, _ = command("summary", "many/1", "many/2")
    assert code == 0 and "ess_per_second" in out and "deviation" in out and "many/2" in out
    assert command("summary", "many")[1].count("many/2") == out.count("many/2")
    (folder / "many" / "2" / "run.json").write_text("{")
    code, out, err = command("summary", "many")
    assert code == 0 and "position[0]" in out and "damaged, and left out" in err


def test_a_coupled_run_is_summarized_with_its_separations(command, folder):
    both = "kernel = ls.Shadowed(kernel, ls.standard(lambda theta: 1.1 * log_density(theta), kernel.proposal))\n"
    (folder / "coupled.py").write_text(MODEL + both)
    assert command("run", "coupled.py", "--draws", 100, "--chains", 2, "--out", "coupled", "--quiet")[0] == 0
    code, out, _ = command("summary", "coupled")
    assert code == 0 and "\nSeparation: " in out and "decided otherwise than the exact one" in out
    assert command("run", "model.py", "--draws", 100, "--chains", 2, "--out", "alone", "--quiet")[0] == 0
    assert "Separation" not in command("summary", "alone")[1]


def test_export_to_files_of_columns(command, folder):
    assert command("run", "model.py", "--draws", 20, "--chains", 2, "--out", "columns", "--quiet")[0] == 0
    code, out, _ = command("export", "columns", "--to", "draws.csv")
    assert code == 0 and out.split() == ["draws_1.csv", "draws_2.csv"]
    assert (folder / "draws_2.csv").read_text().count("\n") > 20
    code, _, err = command("export", "columns", "--to", "draws.xls")
    assert code == 2 and ".parquet" in err
