"""Run directories: interrupted, extended, refused, damaged and hostile ones."""

import errno
import io
import json
import os
import signal
import stat
import subprocess
import sys
import threading
import zipfile
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray
from durable_models import CHAINS, DRAWS, MODELS, SEED, START, THIN, WARMUP, log_density, sample, shadowed, single

import lockstep as ls
from lockstep.chains import drive as chains_module
from lockstep.chains.interrupt import Stop
from lockstep.engine import block as limits
from lockstep.results import export as export_module
from lockstep.storage import archive, configuration, writer as writer_module
from lockstep.storage.errors import DamagedError, LockedError, MismatchError, NoRunError, StorageError
from lockstep.storage.locks import Lock
from lockstep.storage.status import status
from lockstep.storage.structure import decode, encode


def assert_same(first, second, exactly_types=True):
    """Bit for bit, positions and infos."""
    first, second = ((run.positions, run.info) for run in (first, second))
    if exactly_types:
        assert jax.tree.structure(first) == jax.tree.structure(second)
    for a, b in zip(jax.tree.leaves(first), jax.tree.leaves(second), strict=True):
        assert a.dtype == b.dtype and np.array_equal(a, b)


def cut(run, draws):
    positions, info = jax.tree.map(lambda leaf: leaf[:, :draws], (run.positions, run.info))
    return ls.Run(positions, info, run.kernel, run.seed, run.warmup, run.thin, run.seconds)


@pytest.fixture(scope="module", params=MODELS)
def model(request):
    kernel = MODELS[request.param]()
    return kernel, sample(kernel)


@pytest.fixture(scope="module")
def reference():
    return sample(single())


@pytest.fixture(scope="module", autouse=True)
def small_blocks():
    """Blocks of one cell, so that there are many, and runs of all lengths share one program; a segment a call."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "MOST_CELLS", 1)
        patch.setattr(writer_module, "LEAST_SECONDS", 1e9)
        patch.setattr(writer_module, "MOST_SECONDS", 1e9)
        yield


@pytest.fixture
def eager(monkeypatch):
    """Each block a segment."""
    monkeypatch.setattr(writer_module, "MOST_SECONDS", 0.0)


class Interrupting:
    """Updates that are interrupted at some blocks."""

    def __init__(self, monkeypatch, *blocks):
        self.advance, self.blocks, self.count = chains_module.advance, blocks, 0
        monkeypatch.setattr(chains_module, "advance", self)

    def __call__(self, *arguments):
        self.count += 1
        if self.count in self.blocks:
            raise ZeroDivisionError("a bug of the user's")
        return self.advance(*arguments)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A finished run in several segments; tests copy it."""
    path = tmp_path_factory.mktemp("runs") / "a"
    for draws in (100, 200, DRAWS):
        sample(single(), draws, directory=path)
    return path


@pytest.fixture
def copied(made, tmp_path):
    path = tmp_path / "copy"
    path.mkdir()
    for file in made.iterdir():
        (path / file.name).write_bytes(file.read_bytes())
    return path


# --- bit identity


def test_interrupted_and_extended_runs_are_bit_identical(model, tmp_path, eager, monkeypatch):
    kernel, whole = model
    path = tmp_path / "runs" / "a"
    # Errors in the warm-up, within a thinned draw, and later: what was computed is kept each time.
    for block in (1, 2, 2, 4):
        with monkeypatch.context() as patch, pytest.raises(ZeroDivisionError):
            Interrupting(patch, block)
            sample(kernel, 150, directory=path)
    steps = [segment.step for segment in status(path).parts[0]]
    assert len(steps) == 4 and any((step - WARMUP) % THIN for step in steps) and steps[0] <= WARMUP
    assert_same(sample(kernel, 150, directory=path), cut(whole, 150))
    # More draws extend; then fewer are a part of what is there; then nothing is left to compute.
    extended = sample(kernel, directory=path)
    assert_same(extended, whole)
    with monkeypatch.context() as patch:
        Interrupting(patch, 1)
        assert_same(sample(kernel, directory=path), whole)
        assert_same(sample(kernel, 40, directory=path), cut(whole, 40))
    loaded = ls.load(path)
    assert_same(loaded, whole)
    assert loaded.kernel is None and repr(kernel) in repr(loaded)
    assert (loaded.seed, loaded.warmup, loaded.thin, loaded.directory) == (SEED, WARMUP, THIN, path)
    assert str(loaded.summary().table) == str(extended.summary().table)


def test_sums_over_a_thinned_draw_do_not_depend_on_blocks(tmp_path, eager, monkeypatch):
    """Floating-point sums over the interval of a draw are taken in one order, wherever blocks and sessions end."""
    with monkeypatch.context() as patch:
        patch.setattr(limits, "MOST_CELLS", 16)
        whole = sample(shadowed(), 30, thin=31)
    assert (whole.info.gaps > 0).all()
    for draws in (7, 18, 30):
        run = sample(shadowed(), draws, thin=31, directory=tmp_path)
    assert any((segment.step - WARMUP) % 31 for segment in status(tmp_path).parts[0])
    assert_same(run, whole)


def test_counts_go_on_where_they_were(reference, tmp_path):
    sample(single(), 100, directory=tmp_path)
    sample(single(), directory=tmp_path)
    totals = status(tmp_path).totals
    assert totals.updates == CHAINS * (WARMUP + DRAWS * THIN) == totals.ratios
    kept = int(reference.info.is_accepted.sum())
    assert kept < totals.accepted <= kept + CHAINS * WARMUP and totals.bad == 0


class Place(NamedTuple):
    x: jnp.ndarray
    rest: dict


def test_structured_positions_come_back(tmp_path):
    def log_density(place):
        return -0.5 * (place.x**2 + jnp.sum(place.rest["b"][0] ** 2))

    kernel = ls.standard(log_density, ls.RandomWalk(1.0))
    start = Place(np.float64(0), {"b": (np.zeros(2),), "a": None})
    run = ls.sample(kernel, start, draws=20, chains=2, directory=tmp_path)
    again = ls.sample(kernel, start, draws=20, chains=2, directory=tmp_path)
    assert_same(again, run)
    assert isinstance(again.positions, Place)
    loaded = ls.load(tmp_path)
    assert type(loaded.positions).__name__ == "Place" and loaded.positions.rest["a"] is None
    assert np.array_equal(loaded.positions.rest["b"][0], run.positions.rest["b"][0])
    assert set(loaded.to_datatree()["posterior"].data_vars) == set(run.to_datatree()["posterior"].data_vars)


def test_structures_are_json():
    tree = {"a": [1.0, (2.0, None)], "b": ls.Info(1.0, 2.0, 3.0), "c": ls.RandomWalk(4.0), 3: 5.0}
    tree = {str(key): value for key, value in tree.items()}
    leaves = jax.tree.leaves(tree)
    back = decode(json.loads(json.dumps(encode(tree))), iter(leaves))
    assert jax.tree.leaves(back) == leaves
    assert back["a"] == tree["a"] and back["b"] == tree["b"] and back["c"]._asdict() == {"scale": 4.0}
    assert type(back["c"]).__name__ == "RandomWalk" and type(back["b"]) is ls.Info


# --- refusals


def other_density(theta):
    return -0.25 * jnp.sum(theta**2)


SIGMA = 2.0


def with_global(theta):
    return -0.5 * jnp.sum(theta**2) / SIGMA


@pytest.mark.parametrize(
    ("kernel", "options", "words"),
    [
        (single(), {"seed": SEED + 1}, ["seed: 5 there, 6 here"]),
        (single(1.3), {}, ["kernel.proposal.scale: 1.2 there, 1.3 here"]),
        (single(), {"thin": THIN + 1}, ["thin: 3 there, 4 here"]),
        (single(), {"warmup": 0}, ["warmup: 37 there, 0 here"]),
        (single(), {"chains": CHAINS + 1}, ["chains: 3 there, 4 here"]),
        (ls.standard(other_density, ls.RandomWalk(1.2)), {}, ["kernel.ratio.evaluate.log_density", "other_density"]),
        (ls.standard(log_density, ls.UniformWalk(1.2)), {}, ["kernel.proposal: RandomWalk there, UniformWalk here"]),
    ],
)
def test_other_settings_are_refused_by_name(kernel, options, words, made):
    before = {file.name: file.read_bytes() for file in made.iterdir() if file.name != "lock"}
    with pytest.raises(MismatchError) as caught:
        sample(kernel, directory=made, **options)
    for word in [*words, str(made)]:
        assert word in str(caught.value)
    assert before == {file.name: file.read_bytes() for file in made.iterdir() if file.name != "lock"}


def test_another_start_is_refused(made):
    with pytest.raises(MismatchError, match=r"initial: \[0.0, 0.0\] there, \[1.0, 0.0\] here"):
        ls.sample(single(), np.array([1.0, 0.0]), DRAWS, CHAINS, SEED, WARMUP, THIN, made)


def test_what_a_function_uses_belongs_to_its_description(monkeypatch):
    def describe():
        return configuration.describe(ls.standard(with_global, ls.RandomWalk(1.0)), "kernel")

    before = describe()
    assert configuration.differences(before, describe()) == []
    monkeypatch.setitem(globals(), "SIGMA", 3.0)
    (difference,) = configuration.differences(before, describe())
    assert "SIGMA: 2.0 there, 3.0 here" in difference

    def make(data):
        return lambda theta: -jnp.sum((theta - data) ** 2)

    first, same, other = (configuration.describe(make(np.arange(9.0) + i), "f") for i in (0, 0, 1))
    assert configuration.differences(first, same) == [] and len(configuration.differences(first, other)) == 1
    # Comments, names of files and docstrings are no settings; another Python has another byte code.
    sources = [
        "def f(x):\n    return x + 1",
        'def f(x):\n    "Words."\n\n    return x + 1  # more',
        "def f(x): return x+2",
    ]
    found = []
    for source in sources:
        names = {}
        exec(source, names)
        found.append(configuration.describe(names["f"], "f"))
    assert configuration.differences(found[0], found[1]) == [] and configuration.differences(found[0], found[2])
    elsewhere = {name: text.replace("with code 3", "with code 4") for name, text in found[2].items()}
    assert configuration.differences(found[0], elsewhere) == []


@pytest.mark.parametrize(
    ("change", "kind", "word"),
    [
        ({"format": 99}, MismatchError, "format 99"),
        ({"versions": {"lockstep": "9.9.9"}}, MismatchError, "made by Lockstep 9.9.9"),
        ({"configuration": []}, DamagedError, "no description"),
    ],
)
def test_other_versions_are_refused(change, kind, word, copied):
    file = copied / "run.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | change))
    with pytest.raises(kind, match=word):
        sample(single(), directory=copied)


def test_another_jax_is_told(copied):
    file = copied / "run.json"
    content = json.loads(file.read_text())
    content["versions"]["jax"] = "0.9.0"
    file.write_text(json.dumps(content))
    with pytest.warns(ls.LockstepWarning, match=r"jax 0\.9\.0 there"):
        sample(single(), directory=copied)


def test_places_that_hold_no_run(tmp_path):
    with pytest.raises(NoRunError, match="no directory"):
        ls.load(tmp_path / "nothing")
    with pytest.raises(FileNotFoundError, match=r"no run\.json"):
        ls.load(tmp_path)
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(StorageError, match=r"other files \(thesis.tex\)"):
        sample(single(), directory=tmp_path)
    with pytest.raises(StorageError, match="is a file"):
        sample(single(), directory=tmp_path / "thesis.tex")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["lock", "thesis.tex"]


# --- a second writer


def test_a_second_writer_is_refused_and_readers_are_not(made, reference):
    with Lock(made):
        assert status(made).is_running
        with pytest.raises(LockedError, match=f"written by process {os.getpid()}"):
            sample(single(), directory=made)
        assert_same(ls.load(made), reference)
    assert not status(made).is_running
    assert_same(sample(single(), directory=made), reference)


def test_a_killed_process_leaves_no_lock(tmp_path):
    program = (
        "import sys, time; from pathlib import Path; from lockstep.storage.locks import Lock\n"
        "with Lock(Path(sys.argv[1])): print('held', flush=True); time.sleep(60)"
    )
    child = subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout.readline() == "held\n"
        with pytest.raises(LockedError), Lock(tmp_path):
            pass
    finally:
        child.kill()
        child.wait()
        child.stdout.close()
    with Lock(tmp_path):
        pass


# --- damage


def test_segments_are_what_numpy_reads(tmp_path):
    arrays = {
        "a": np.arange(6.0).reshape(2, 3).T,
        "b": np.array(True),
        "c": np.zeros((0, 4), np.int32),
        "d": np.uint8(3),
    }
    archive.write_arrays(tmp_path / "x.npz", arrays)
    with np.load(tmp_path / "x.npz", allow_pickle=False) as held:
        found, own = dict(held), archive.read_arrays(tmp_path / "x.npz")
    for name, array in arrays.items():
        for read in (found[name], own[name]):
            assert read.dtype == array.dtype and read.shape == array.shape and np.array_equal(read, array)


def segments(path):
    return sorted(path.glob("segment-*.npz"))


def truncate(file):
    file.write_bytes(file.read_bytes()[:-100])


def flip(file):
    """Change one byte of the draws, which only the checksum can tell."""
    data = bytearray(file.read_bytes())
    with zipfile.ZipFile(file) as held:
        place = held.getinfo("positions.0.npy").header_offset + 400
    data[place] ^= 1
    file.write_bytes(data)


@pytest.mark.parametrize("damage", [truncate, flip, lambda file: file.write_bytes(b""), lambda file: file.unlink()])
@pytest.mark.parametrize("which", [1, -1])
def test_damage_is_told_and_mended_by_going_on(damage, which, copied, reference):
    file = segments(copied)[which]
    is_end = file == segments(copied)[-1]
    damage(file)
    if not file.exists() and is_end:  # the last one gone: a run that is not finished
        assert ls.load(copied).draws < DRAWS
    else:
        for use in (ls.load, lambda path: sample(single(), directory=path)):
            before = {file.name: file.read_bytes() for file in segments(copied)}
            with pytest.raises(DamagedError, match=file.name if file.exists() else "missing before") as caught:
                use(copied)
            assert "Move this segment and all that follow it" in str(caught.value)
            assert before == {file.name: file.read_bytes() for file in segments(copied)}
        # The remedy of the message.
        for later in segments(copied):
            if later.name >= file.name:
                later.unlink()
    assert_same(sample(single(), directory=copied), reference)


def test_segments_of_another_run_are_refused(copied, tmp_path):
    sample(single(), 100, directory=tmp_path / "other", seed=SEED + 1)
    segments(copied)[0].write_bytes(segments(tmp_path / "other")[0].read_bytes())
    with pytest.raises(DamagedError, match="another run"):
        ls.load(copied)


def test_a_full_disk_loses_nothing(reference, tmp_path, eager, monkeypatch):
    calls = []

    def full(descriptor):
        calls.append(descriptor)
        if len(calls) > 8:
            raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(archive.os, "fsync", full)
        with pytest.raises(StorageError, match="No space left on device") as caught:
            sample(single(), directory=tmp_path)
    assert "committed before is intact" in str(caught.value)
    assert not list(tmp_path.glob("*.tmp"))
    kept = ls.load(tmp_path)
    assert 0 < kept.draws < DRAWS
    assert_same(kept, cut(reference, kept.draws))
    assert_same(sample(single(), directory=tmp_path), reference)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_device_without_room(tmp_path):
    with pytest.raises(StorageError, match="No space left"):
        archive.commit(tmp_path / "x", lambda file: Path("/dev/full").write_bytes(b"x"))
    assert not list(tmp_path.iterdir())


def test_a_read_only_directory(copied, monkeypatch, tmp_path):
    if os.geteuid() == 0:  # root may write anywhere: the system's answer is played
        real = os.open

        def refuse(path, flags, *arguments, **options):
            if flags & os.O_RDWR and str(path).startswith(str(copied)):
                raise PermissionError(errno.EACCES, "Permission denied")
            return real(path, flags, *arguments, **options)

        monkeypatch.setattr(os, "open", refuse)
    else:
        copied.chmod(stat.S_IRUSR | stat.S_IXUSR)
        (copied / "lock").chmod(stat.S_IRUSR)
    with pytest.raises(StorageError, match="cannot be written"):
        sample(single(), DRAWS + 1, directory=copied)
    assert ls.load(copied).draws == DRAWS


def test_leftovers_of_a_killed_writer_are_removed(copied, reference):
    (copied / "segment-000009.npz.123.tmp").write_bytes(b"half")
    assert_same(sample(single(), directory=copied), reference)
    assert not list(copied.glob("*.tmp"))


# --- hostile directories


class Evil:
    def __reduce__(self):
        return os.system, ("touch /tmp/lockstep-was-here",)


def rewritten(file, **changes):
    """A segment with other arrays, or with other bytes in place of an array."""
    with np.load(file) as held:
        arrays = dict(held)
    raw = {name: value for name, value in changes.items() if isinstance(value, bytes)}
    arrays |= {name: value for name, value in changes.items() if name not in raw}
    with zipfile.ZipFile(file, "w") as out:
        for name, array in arrays.items():
            if name in raw:
                out.writestr(f"{name}.npy", raw[name])
                continue
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, np.asanyarray(array), allow_pickle=True)
            out.writestr(f"{name}.npy", buffer.getvalue())


def header(shape, descr="<f8"):
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": descr, "fortran_order": False, "shape": shape})
    return buffer.getvalue()


def meta(file, **changes):
    with np.load(file) as held:
        found = json.loads(held["meta"].tobytes())
    return np.frombuffer(json.dumps(found | changes).encode(), np.uint8)


def deep():
    node = "array"
    for _ in range(5000):
        node = {"list": [node]}
    return node


HOSTILE = {
    "object arrays": lambda file: rewritten(file, **{"positions.0": np.array([Evil()], dtype=object)}),
    "object meta": lambda file: rewritten(file, meta=np.array([Evil()], dtype=object)),
    "huge shape": lambda file: rewritten(file, **{"positions.0": header((10**9, 10**6))}),
    "overflowing shape": lambda file: rewritten(file, **{"positions.0": header((2**33, 2**33))}),
    "negative shape": lambda file: rewritten(file, **{"positions.0": header((-1, 5))}),
    "huge meta": lambda file: rewritten(file, meta=header((2**50,), "|u1")),
    "other shape": lambda file: rewritten(file, **{"positions.0": np.zeros((CHAINS, 1, 2))}),
    "many draws": lambda file: rewritten(file, meta=meta(file, draws=10**15)),
    "text for a count": lambda file: rewritten(file, meta=meta(file, draws="many")),
    "endless structure": lambda file: rewritten(file, meta=meta(file, trees={"positions": "x", "info": None})),
    "code as a name": lambda file: rewritten(
        file, meta=meta(file, trees={"positions": {"named": "a,b:exit()", "fields": [["x", "array"]]}, "info": "array"})
    ),
    "compressed": lambda file: zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED).writestr("meta.npy", b"0" * 10**7),
    "no archive": lambda file: file.write_bytes(b"PK\x05\x06" + b"\0" * 10),
    "link": lambda file: (file.rename(file.with_suffix(".real")), file.symlink_to(file.with_suffix(".real"))),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_segment_does_nothing(name, copied):
    HOSTILE[name](segments(copied)[0])
    for use in (ls.load, lambda path: sample(single(), DRAWS + 1, directory=path)):
        with pytest.raises(ls.RunDirectoryError):
            use(copied)
    assert not Path("/tmp/lockstep-was-here").exists()


@pytest.mark.parametrize(
    "text", ["[" * 100_000, "{", '{"format": 1, "configuration": {"chains": 1e400}, "about": {}, "versions": {}}']
)
def test_a_hostile_description(text, copied):
    (copied / "run.json").write_text(text)
    with pytest.raises(ls.RunDirectoryError):
        ls.load(copied)


@pytest.mark.parametrize("name", ["../../evil", "..", "/tmp/evil"])
def test_names_cannot_lead_out_of_an_export(name, copied, tmp_path):
    for file in segments(copied):
        held = meta(file, trees={"positions": {"mapping": [[name, "array"]]}, "info": NAMES})
        rewritten(file, meta=held)
    before = sorted(tmp_path.rglob("*"))
    for export in (export_module.to_netcdf, export_module.to_zarr):
        with pytest.raises((StorageError, ImportError), match=r"rename it|needs zarr"):
            export(ls.load(copied), tmp_path / "x")
    assert sorted(tmp_path.rglob("*")) == before


NAMES = encode(ls.Info(1.0, 1.0, 1.0))


def test_links_cannot_lead_writers_out(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    for name in ("lock", "run.json"):
        path = tmp_path / f"with-{name}"
        path.mkdir()
        (path / name).symlink_to(outside / "target")
        with pytest.raises(ls.RunDirectoryError):
            sample(single(), directory=path)
    assert not list(outside.iterdir())


# --- living runs, Ctrl-C, exports


def test_a_living_run_can_be_opened(tmp_path, eager, monkeypatch, reference):
    seen = []
    real = chains_module.advance

    def looking(*arguments):
        if (tmp_path / "segment-000004.npz").exists() and not seen:
            seen.append((ls.load(tmp_path), status(tmp_path)))
        return real(*arguments)

    monkeypatch.setattr(chains_module, "advance", looking)
    sample(single(), directory=tmp_path)
    run, found = seen[0]
    assert_same(run, cut(reference, run.draws))
    assert found.is_running and not found.is_complete and 0 < found.draws < found.target == DRAWS


@pytest.mark.usefixtures("signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_at_a_block_and_keeps_everything(number, tmp_path, eager, monkeypatch, reference, capsys):
    real, calls = chains_module.advance, []

    def advance(*arguments):
        calls.append(arguments[3].start > 300)  # draws have come, however short the first blocks are
        if calls[-1]:
            signal.raise_signal(number)
        return real(*arguments)

    with monkeypatch.context() as patch, pytest.raises(ls.Interrupted) as caught:
        patch.setattr(chains_module, "advance", advance)
        sample(single(), directory=tmp_path, progress=True)
    assert calls.index(True) == len(calls) - 1 and isinstance(caught.value, KeyboardInterrupt)
    assert f"kept in {tmp_path}" in str(caught.value) and "same arguments to go on" in str(caught.value)
    assert "Stopping at the end of this block" in capsys.readouterr().err
    assert_same(caught.value.run, cut(reference, ls.load(tmp_path).draws))
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert_same(sample(single(), directory=tmp_path), reference)


@pytest.mark.usefixtures("signals")
def test_a_stopped_run_in_memory_is_kept_too(monkeypatch, eager, reference):
    real = chains_module.advance

    def advance(*arguments):
        result = real(*arguments)
        if arguments[3].start > 300:
            signal.raise_signal(signal.SIGINT)
        return result

    monkeypatch.setattr(chains_module, "advance", advance)
    with pytest.raises(ls.Interrupted, match="draws so far are the `run`") as caught:
        sample(single())
    run = caught.value.run
    assert 50 < run.draws < DRAWS
    assert_same(run, cut(reference, run.draws))


@pytest.mark.usefixtures("signals")
def test_a_second_signal_interrupts_at_once():
    with Stop(is_announced=False) as stop:
        signal.raise_signal(signal.SIGINT)
        assert stop.is_wanted
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


@pytest.mark.usefixtures("signals")
def test_signals_are_left_alone_in_other_threads():
    seen = []

    def inside():
        with Stop():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=inside)
    thread.start()
    thread.join()
    assert seen == [signal.default_int_handler]


def test_progress_tells_everything(capsys, tmp_path):
    sample(MODELS["coupled"](), directory=tmp_path, progress=True)
    line = capsys.readouterr().err.splitlines()[-1]
    for word in (
        "sampling: 2,811/2,811",
        "/s",
        "acceptance 0.",
        "NaN or +inf 0.00%",
        "separations",
        "expected",
        "0 s left",
    ):
        assert word in line
    sample(MODELS["coupled"](), directory=tmp_path, progress=False)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("form", ["netcdf", "zarr"])
def test_exports(form, made, reference, tmp_path):
    if form == "zarr":
        pytest.importorskip("zarr", reason="the extra `export` is not installed")
    run = ls.load(made)
    path = getattr(run, f"to_{form}")(tmp_path / "x")
    with xarray.open_datatree(path, engine="h5netcdf" if form == "netcdf" else "zarr") as tree:
        assert np.array_equal(tree["posterior"]["position"], reference.positions)
        assert np.array_equal(tree["sample_stats"]["is_accepted"], reference.info.is_accepted)
        assert tree.attrs["seed"] == SEED and "RandomWalk" in tree.attrs["kernel"]
    assert [file.name for file in tmp_path.iterdir()] == ["x"]


def test_start_is_what_the_models_use():
    assert np.array_equal(START, np.zeros(2))


@pytest.mark.parametrize("executor", [None, 1], ids=["one group", "groups"])
def test_what_is_known_of_the_kernel_is_in_the_digest(executor, tmp_path):
    ls.sample(single(), np.zeros(2), draws=10, chains=2, directory=tmp_path, executor=executor)
    text = (tmp_path / "run.json").read_text()
    for before, after in (('"exact_when": "always"', '"exact_when": null'), ('"chains": 2', '"chains": 3')):
        assert before in text
        (tmp_path / "run.json").write_text(text.replace(before, after))
        with pytest.raises(ls.RunDirectoryError):
            ls.load(tmp_path)
    (tmp_path / "run.json").write_text(text)
    assert ls.load(tmp_path).chains == 2
