"""Progress is told to whoever listens; a run does not need anybody."""

import io
import os
import sys
from contextlib import suppress

import numpy as np
import pytest

import lockstep as ls
from lockstep.core import progress as progress_module
from lockstep.core.warnings import warn


def log_density(theta):
    return -0.5 * float(np.sum(theta**2))


def nothing():
    return None


def closed():
    stream = io.StringIO()
    stream.close()
    return stream


def full():
    if not os.path.exists("/dev/full"):
        pytest.skip("there is no device without room")
    return open("/dev/full", "w", buffering=1)


def without_a_reader():
    to_read, to_write = os.pipe()
    os.close(to_read)
    return open(to_write, "w", buffering=1)


class Gone(io.StringIO):
    """A terminal whose window was closed."""

    def isatty(self):
        return True

    def write(self, text):
        raise BrokenPipeError(32, "Broken pipe")


@pytest.mark.parametrize("make", [nothing, closed, full, without_a_reader, Gone])
def test_nobody_needs_to_listen(make, monkeypatch, capsys):
    monkeypatch.setattr(progress_module, "SECONDS_BETWEEN_LINES", 0.0)
    kernel = ls.standard(ls.blackbox(log_density), ls.RandomWalk(1.0))
    stream = make()
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", stream)
        run = ls.sample(kernel, np.zeros(2), draws=50, chains=1, progress=True)
        if make is closed:
            with pytest.warns(ls.LockstepWarning):
                warn("said to nobody")
    assert run.draws == 50
    assert capsys.readouterr().out == ""  # and nothing goes where results are expected
    if stream is not None:
        with suppress(OSError):  # what it could not write
            stream.close()
