"""A lock that ends with its process: a killed one cannot leave it behind, nor can a child that it forked keep it."""

from __future__ import annotations

import errno
import json
import os
import socket
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from lockstep.storage.archive import require_file, require_plain
from lockstep.storage.errors import DamagedError, LockedError, StorageError

NAME = "lock"
PATIENCE = 0.5  # seconds: one who only looks holds the lock for a moment
NO_LINK = getattr(os, "O_NOFOLLOW", 0)  # not on every system
TAKEN = (errno.EACCES, errno.EAGAIN, errno.EWOULDBLOCK, errno.EDEADLK)

_held: set[int] = set()


def _let_go() -> None:
    """In a child that a black box has forked: the lock belongs to the parent, and must not outlive it."""
    for descriptor in _held:
        with suppress(OSError):
            os.close(descriptor)
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_let_go)


class Lock:
    """The right to write to a directory, held while the context is open. ``note`` tells others what is going on."""

    def __init__(self, directory: Path, note: dict[str, Any] | None = None) -> None:
        self.path = directory / NAME
        self.note = {"pid": os.getpid(), "host": socket.gethostname(), **(note or {})}

    def __enter__(self) -> Self:
        require_plain(self.path)
        if self.path.exists():
            require_file(self.path)
        try:
            self.descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | NO_LINK, 0o666)
        except OSError as error:
            raise StorageError(f"{self.path} cannot be written ({error.strerror or error})") from error
        until = time.monotonic() + PATIENCE
        while not self._is_taken():
            if time.monotonic() > until:
                os.close(self.descriptor)
                raise LockedError(
                    f"{self.path.parent} is being written by {_who(self.path)}; wait until it ends, or give another "
                    f"directory. (`ls.load` and `lockstep status` can read it meanwhile.)"
                )
            time.sleep(0.05)
        _held.add(self.descriptor)
        with suppress(OSError):  # on a full disk the note is missing, the lock is not
            os.ftruncate(self.descriptor, 0)
            os.pwrite(self.descriptor, json.dumps(self.note).encode(), 0)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.descriptor in _held:  # not in a forked child, which has let it go
            _held.discard(self.descriptor)
            os.close(self.descriptor)

    def _is_taken(self) -> bool:
        try:
            return _take(self.descriptor)
        except OSError as error:
            os.close(self.descriptor)
            raise StorageError(
                f"{self.path} cannot be locked ({error.strerror or error}): the file system gives no locks, without "
                f"which two processes could write to one run. Give a directory on another one, such as a local disk, "
                f"or have locks switched on (of NFS: rpc.lockd, or the mount option local_lock)"
            ) from error


def is_locked(directory: Path) -> bool:
    """Whether somebody is writing to a directory."""
    try:
        require_file(directory / NAME)
        descriptor = os.open(directory / NAME, os.O_RDONLY | NO_LINK)
    except (OSError, DamagedError):
        return False
    try:
        return not _take(descriptor, is_shared=True)
    except OSError:  # without locks nobody can tell
        return False
    finally:
        os.close(descriptor)


def lock_note(directory: Path) -> dict[str, Any]:
    """What the last writer wrote into the lock."""
    try:
        require_file(directory / NAME)
        with (directory / NAME).open("rb") as file:
            note = json.loads(file.read(4096))
    except (OSError, ValueError, RecursionError):
        return {}
    return note if isinstance(note, dict) else {}


def _who(path: Path) -> str:
    note = lock_note(path.parent)
    return f"process {note.get('pid', '?')} on {note.get('host', '?')}" if note else "another process"


def _take(descriptor: int, is_shared: bool = False) -> bool:
    """Try to take the lock of the operating system: False if somebody has it, an OSError if it cannot be had at all."""
    try:
        import fcntl
    except ImportError:  # Windows
        return _take_on_windows(descriptor, is_shared)
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if is_shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in TAKEN:
            raise
        return False
    return True


def _take_on_windows(descriptor: int, is_shared: bool) -> bool:
    import msvcrt

    os.lseek(descriptor, 2**30, os.SEEK_SET)  # a byte beyond the note, which others may read
    try:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        if is_shared:
            msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)  # type: ignore[attr-defined]
    except OSError as error:
        if error.errno not in TAKEN:
            raise
        return False
    return True
