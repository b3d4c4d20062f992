"""Arguments that users give: what they are, and errors that name them."""

from __future__ import annotations

from os import PathLike, fspath
from pathlib import Path
from typing import Any

import jax
import numpy as np

from lockstep.core.trees import is_concrete, is_key
from lockstep.core.types import Array, Tree


def is_array(value: object) -> bool:
    """Whether a value is an array or a number that JAX can compute with."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.dtype.kind in "fiubc"
    return isinstance(value, (jax.Array, bool, int, float, complex))


def is_number(value: Any) -> bool:
    """Whether a value is one real number whose value is known."""
    return is_array(value) and not is_key(value) and np.ndim(value) == 0 and np.asarray(value).dtype.kind in "fiu"


def positive(value: Any, name: str) -> Any:
    """One positive number, or an error that names it."""
    if not is_concrete(value):
        return value
    if not is_number(value) or not 0 < value < np.inf:
        raise ValueError(f"{name} is {value!r}; it must be one positive number")
    return float(value)


def real_numbers(value: object, name: str) -> Any:
    """Finite real numbers as a float array, or an error that names them."""
    try:
        numbers = np.asarray(value)
    except (TypeError, ValueError):
        numbers = np.asarray(None)
    if numbers.dtype.kind not in "fiu":
        raise TypeError(f"{name} is {value!r}; it must be real numbers, such as 1.0 or [1.0, 0.5]")
    if not numbers.size:
        raise ValueError(f"{name} is {value!r}, which holds no number; give at least one")
    if not np.all(np.isfinite(numbers)):
        raise ValueError(f"{name} is {numbers.tolist()}; it must be finite")
    return numbers.astype(float)


MOST = 2**31 - 1  # of anything that is counted
MOST_SEED = 2**63 - 1


def whole(value: object, name: str, least: int, most: int = MOST) -> int:
    """A whole number that is large enough and not too large, or an error that names it."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise ValueError(f"{name} is {value!r}; it must be a whole number, at least {least}")
    if value > most:
        raise ValueError(f"{name} is {value!r}; it must be a whole number, at most {most}")
    return int(value)


def flag(value: object, name: str, is_none_allowed: bool = False) -> Any:
    """True or False (or None), or an error that names it."""
    if isinstance(value, (bool, np.bool_)) or (value is None and is_none_allowed):
        return value
    raise TypeError(f"{name} is {value!r}; it must be True{', False or None' if is_none_allowed else ' or False'}")


def require_run(run: object, name: str = "run") -> None:
    """Refuse what is no run."""
    if not all(hasattr(run, name) for name in ("positions", "info")):
        raise TypeError(f"{name} must be what ls.sample or ls.load returned, not {run!r}")


def path_of(value: object, name: str) -> Path:
    """A path that is not empty, or an error that names it."""
    if not isinstance(value, (str, PathLike)) or isinstance(fspath(value), bytes):
        raise TypeError(f"{name} is {value!r}; it must be a path")
    if not fspath(value) or "\0" in fspath(value):
        raise ValueError(f"{name} is {value!r}, which is no path; '.' is the directory that one is in")
    return Path(value)


def law_of(weights: Array, name: str) -> np.ndarray:
    """Weights of a finite law, so that they sum to 1."""
    found = real_numbers(weights, name)
    if not np.all(found > -1e-9) or not found.sum() > 0:
        raise ValueError(f"{name} is {found.tolist()}; it must be weights, at least 0 and not all 0")
    return np.asarray(found / found.sum())


def shapes(tree: Tree) -> str:
    """A text of what a tree holds, for error messages."""
    if jax.tree_util.all_leaves([tree]):
        return f"an array of shape {np.shape(tree)}" if is_array(tree) else repr(tree)
    if tree is None:
        return "None"
    held = [np.shape(leaf) if is_array(leaf) else repr(leaf) for leaf in jax.tree.leaves(tree)]
    return f"a {type(tree).__name__} of arrays of shapes {', '.join(map(str, held[:6]))}{', …' * (len(held) > 6)}"
