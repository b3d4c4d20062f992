"""The text of a value that holds no others."""

from __future__ import annotations

import types

import jax
import jax.random as jr
import numpy as np

from lockstep.core.trees import is_key
from lockstep.storage.fingerprint.code import digest

LARGEST_SHOWN = 8  # entries of an array
SIMPLE = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis), np.generic)


def plain_text(value: object) -> str | None:
    """The text of a value that holds no others; None if it does."""
    if isinstance(value, jax.Array) and is_key(value):
        return f"random key {digest(np.asarray(jr.key_data(value)).tobytes())}"
    if isinstance(value, jax.Array) or (isinstance(value, np.ndarray) and not isinstance(value, np.ma.MaskedArray)):
        array = np.asarray(value)
        return None if array.dtype.hasobject else array_text(array)
    if isinstance(value, (float, np.floating)) and not isinstance(value, np.longdouble):
        return repr(float(value))
    if type(value) in SIMPLE or isinstance(value, np.generic):
        return repr(value.item() if isinstance(value, np.generic) else value)
    if isinstance(value, jax.tree_util.PyTreeDef):
        return "structure"
    kinds = (np.dtype, range, slice, jax.ShapeDtypeStruct, types.GenericAlias, types.NotImplementedType)
    return repr(value) if isinstance(value, kinds) else None


def array_text(array: np.ndarray) -> str:
    """All numbers of a small array, the digest of a large one."""
    if array.size <= LARGEST_SHOWN:
        kind = "" if array.dtype in (np.dtype(float), np.dtype(np.int64), np.dtype(bool)) else f" {array.dtype}"
        return f"{array.tolist()}{kind}"
    return f"{array.dtype.name}{list(array.shape)} {digest(np.ascontiguousarray(array).tobytes())}"
