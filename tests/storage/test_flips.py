"""Every file of a run directory with a byte flipped, or another thing in its place: told, never raw or silent."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import time
import warnings
import zipfile

import jax
import jax.random as jr
import numpy as np
import pytest

import lockstep as ls
from lockstep.separation.kept import keep, recall
from lockstep.separation.prediction import Prediction, RulePrediction
from lockstep.storage.errors import DamagedError
from lockstep.storage.locks import NAME as LOCK
from lockstep.storage.status import status

NAMES = ["run.json", "segment-000001.npz", "warmup/learnt.npz", "prediction.json", LOCK]


def kernel(mean=0.0):
    def one_sample(noise, position, candidate):
        return -0.5 * ((candidate - mean) ** 2 - (position - mean) ** 2) + noise

    return ls.naive(
        ls.estimators.mean(one_sample, 4, draw=lambda key, count: jr.normal(key, (count,))), ls.RandomWalk(1.0)
    )


def sample(path, draws, mean=0.5, **options):
    return ls.sample(kernel(mean), 0.0, draws=draws, chains=2, seed=3, warmup=8, adapt=True, directory=path, **options)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A run with everything that a directory can hold: a warm-up, two segments, a change of the model, a prediction."""
    path = tmp_path_factory.mktemp("runs") / "a"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ls.LockstepWarning)
        sample(path, 2, mean=0.0)
        run = sample(path, 4, changed="accept")
    rule = RulePrediction("naive", 0.1, 0.01, 0.4, 0.02, (0.01, 0.03), 0.5)
    keep(run, Prediction("naive", {"naive": rule}, ("no problem",), 4, 2, 8))
    names = {str(file.relative_to(path)) for file in files(path)}
    assert names >= {*NAMES, "warmup/run.json", "segment-000000.npz"} - {LOCK}
    return path


@pytest.fixture
def copied(made, tmp_path):
    return shutil.copytree(made, tmp_path / "copy")


def files(path):
    return sorted(file for file in path.rglob("*") if file.is_file() and file.name != LOCK)


def told(run):
    """All that a run tells."""
    arrays = [np.asarray(leaf).tobytes() for leaf in jax.tree.leaves((run.positions, run.info))]
    facts = (run.seed, run.warmup, run.thin, run.seconds, run.about, run.changes, run.failed, run.failure)
    return arrays, facts


def outcome(use, path):
    """What a use of a directory tells, or None if it is refused with the name of the directory and a reason."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ls.LockstepWarning)  # of other versions, which are told
            return use(path)
    except ls.RunDirectoryError as error:
        assert path.name in str(error) or "run.json" in str(error)
        return None


def loaded(path):
    run = ls.load(path)
    prediction = recall(run)
    return told(run), None if prediction is None else dataclasses.asdict(prediction)


def flips(path, share, seed=0):
    """Some of all bytes of a directory, each with a bit to be flipped; the directory is whole again after each."""
    generator = np.random.default_rng(seed)
    for file in files(path):
        data = file.read_bytes()
        for place in np.flatnonzero(generator.uniform(size=len(data)) < share):
            changed = bytearray(data)
            changed[place] ^= 1 << int(generator.integers(8))
            file.write_bytes(changed)
            yield file, place
            file.write_bytes(data)


def look_at_flips(path, share):
    before, prediction = loaded(path)
    count = refused = 0
    for file, place in flips(path, share):
        found = outcome(loaded, path)
        assert found is None or found[0] == before, (file, place)
        assert found is None or found[1] is None or found[1] == prediction, (file, place)
        count, refused = count + 1, refused + (found is None)
    return count, refused


def test_some_flips_are_told(copied):
    count, refused = look_at_flips(copied, share=0.008)
    assert count > 100 and refused > count / 3


def test_going_on_after_some_flips(copied):
    """What a resume reads besides: the states, the last update, and what the warm-up has learnt."""
    before = told(sample(copied, 4))[0]
    for file, place in flips(copied, share=0.0006, seed=1):
        found = outcome(lambda path: told(sample(path, 4))[0], copied)
        assert found is None or found == before, (file, place)


@pytest.mark.study
def test_flips_of_every_byte_are_told(copied):
    count, refused = look_at_flips(copied, share=1.0)
    print(f"\n{count:,} bytes flipped: {refused:,} refused, the others told the same run")
    assert count == sum(file.stat().st_size for file in files(copied))


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
@pytest.mark.parametrize("name", NAMES)
def test_what_is_no_file_is_told_at_once(name, make, copied):
    """A pipe in place of a file would be waited for; a prediction and the note of a lock can be done without."""
    (copied / name).unlink()
    make(copied / name)
    for use in (loaded, status, lambda path: sample(path, 5)):
        found = outcome(use, copied)
        assert found is None or name in ("prediction.json", "lock") or (name == "warmup/learnt.npz" and use is status)


def rewritten(file, **changes):
    """A segment whose description of itself has other values, and arrays that are replaced."""
    with np.load(file) as held:
        arrays = dict(held)
    meta = json.loads(arrays["meta"].tobytes())
    arrays |= {name: value for name, value in changes.items() if isinstance(value, np.ndarray)}
    meta |= {name: value for name, value in changes.items() if not isinstance(value, np.ndarray)}
    arrays["meta"] = np.frombuffer(json.dumps(meta).encode(), np.uint8)
    np.savez(file, **arrays)


@pytest.mark.parametrize("name", ["updates", "accepted", "seconds", "failed"])
@pytest.mark.parametrize("value", [float("nan"), float("inf"), "1", None])
def test_totals_that_are_no_counts_are_told(name, value, copied):
    file = copied / "segment-000001.npz"
    with np.load(file) as held:
        totals = json.loads(held["meta"].tobytes())["totals"]
    rewritten(file, totals=totals | {name: value})
    with pytest.raises(DamagedError, match=r"segment-000001.*totals|segment-000001.*sensible"):
        ls.load(copied)


def test_draws_that_take_no_room_are_told(copied):
    file, *others = sorted(copied.glob("segment-*.npz"))
    for other in others:
        other.unlink()
    with np.load(file) as held:
        names = [name for name in held.files if name.startswith(("positions.", "info."))]
    empty = {name: np.zeros((2, 10**15, 0)) for name in names}
    rewritten(file, draws=10**15, **empty)
    with pytest.raises(DamagedError, match=r"segment-000000.*no number"):
        ls.load(copied)


def test_a_header_of_absurd_length_is_told(copied):
    file = copied / "segment-000001.npz"
    with zipfile.ZipFile(file) as held:
        members = {name: held.read(name) for name in held.namelist()}
    text = b"{'descr': '<f8', 'fortran_order': False, 'shape': (" + b"1, " * 20_000 + b"), }\n"
    members["positions.0.npy"] = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text
    with zipfile.ZipFile(file, "w") as out:
        for name, data in members.items():
            out.writestr(name, data)
    with pytest.raises(DamagedError, match=r"segment-000001.*positions\.0"):
        ls.load(copied)


def test_a_huge_description_is_told_at_once(copied):
    found = json.loads((copied / "run.json").read_text())
    found["about"]["remedy"] = "x" * 60_000_000
    (copied / "run.json").write_text(json.dumps(found))
    began = time.perf_counter()
    with pytest.raises(DamagedError, match=r"run\.json.*bytes.*Restore"):
        ls.load(copied)
    assert time.perf_counter() - began < 5


def test_an_edited_change_is_told(copied):
    found = json.loads((copied / "run.json").read_text())
    found["changes"][0]["draw"] = 1
    (copied / "run.json").write_text(json.dumps(found))
    with pytest.raises(DamagedError, match="changes"):
        ls.load(copied)
