"""Warnings that name the user's line, not the package's."""

from __future__ import annotations

import inspect
import warnings
from contextlib import suppress
from pathlib import Path

import jax

# Of users' programs are neither our lines nor those of JAX between them.
PACKAGES = (str(Path(__file__).parent.parent), str(Path(jax.__file__).parent))


class LockstepWarning(UserWarning):
    """A run that ended, but about which its user should know something."""


def warn(message: str) -> None:
    """Warn at the line outside of the package from which it was called."""
    frame, level = inspect.currentframe(), 1
    while frame is not None and frame.f_code.co_filename.startswith(PACKAGES):
        frame, level = frame.f_back, level + 1
    with suppress(ValueError):  # standard error is closed
        warnings.warn(message, LockstepWarning, stacklevel=level)
