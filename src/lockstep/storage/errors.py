"""What can go wrong with a run directory."""

from __future__ import annotations


class RunDirectoryError(Exception):
    """A run directory that cannot be used as asked; nothing that it holds was changed."""


class NoRunError(RunDirectoryError, FileNotFoundError):
    """There is no run in the directory."""


class MismatchError(RunDirectoryError, ValueError):
    """The directory holds a run of another configuration."""


class LockedError(RunDirectoryError, OSError):
    """Another process is writing to the directory."""


class DamagedError(RunDirectoryError, ValueError):
    """A file of the directory is not what was written."""


class StorageError(RunDirectoryError, OSError):
    """The directory cannot be written: full, read-only, or gone."""
