"""Segments: the immutable pieces of a run on disk. Each holds draws, the state after them, and running counts."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from lockstep.core.kernel import Positioned
from lockstep.core.trees import is_key
from lockstep.core.types import Array
from lockstep.engine.block import Output
from lockstep.engine.totals import Totals
from lockstep.storage import structure
from lockstep.storage.archive import read_arrays, write_arrays
from lockstep.storage.errors import DamagedError

COUNTS = ("first", "draws", "step", "target", "repeatable")
PATTERN = re.compile(r"segment-(\d{6,12})\.npz")


@dataclasses.dataclass(frozen=True)
class Segment:
    """What a segment says of itself.

    Attributes
    ----------
    run
        The digest of the configuration that it belongs to.
    first, draws
        The number of its first draw, and how many it holds of each chain.
    step
        How many updates each chain had taken at its end.
    target
        How many draws the run was asked for when it was written.
    span
        From when to when it was computed, in seconds since 1970; None if it does not say.
    trees
        The structures of positions and info.
    repeatable
        How many of its last updates a resume takes again, to see whether the model is what it was.
    """

    path: Path
    run: str
    first: int
    draws: int
    step: int
    target: int
    totals: Totals
    trees: Any
    repeatable: int
    span: tuple[float, float] | None = None

    @property
    def end(self) -> int:
        return self.first + self.draws


def segment_path(directory: Path, number: int) -> Path:
    """Where a segment is or will be."""
    return directory / f"segment-{number:06d}.npz"


def write_segment(
    segment: Segment, output: Output | None, pending: Any, state: Positioned, before: tuple[Any, ...]
) -> None:
    """Commit a segment: its draws (if it has any), the info of a draw that has only begun, and the state.

    ``before`` are the state and the info before its last updates, and the info after them.
    """
    meta = {name: getattr(segment, name) for name in (*COUNTS, "run", "trees", "span")}
    meta["totals"] = dataclasses.asdict(segment.totals)
    trees = {"state": state, "pending": pending, **dict(zip(("before", "past", "after"), before, strict=True))}
    if output is not None:
        trees |= {"positions": output.positions, "info": output.info}
    arrays = {
        f"{name}.{i}": _plain(leaf) for name, tree in trees.items() for i, leaf in enumerate(jax.tree.leaves(tree))
    }
    arrays["meta"] = np.frombuffer(json.dumps(meta).encode(), np.uint8)
    write_arrays(segment.path, arrays)


def read_segments(directory: Path, run: str) -> list[Segment]:
    """All segments of a directory, in order and without a gap."""
    numbers = _numbers(directory)
    segments = [_read_meta(segment_path(directory, number)) for number in numbers]
    end = step = 0
    for number, segment in enumerate(segments):
        if numbers[number] != number or segment.first != end or segment.step < step:
            raise DamagedError(
                f"{directory}: a segment is missing before {segment.path.name}; those before it are intact. "
                f"{_remedy(segment.path)}"
            )
        if segment.run != run:
            raise DamagedError(
                f"{segment.path} belongs to another run than run.json beside it. {_remedy(segment.path)}"
            )
        end, step = segment.end, segment.step
    return segments


def has_begun(directory: Path | None) -> bool:
    """Whether a directory holds segments of a run."""
    return directory is not None and directory.is_dir() and bool(_numbers(directory))


def last_segment(directory: Path) -> Segment | None:
    """The last segment of a directory, without a look at the others."""
    numbers = _numbers(directory)
    return _read_meta(segment_path(directory, numbers[-1])) if numbers else None


def _numbers(directory: Path) -> list[int]:
    return sorted(int(match[1]) for path in directory.iterdir() if (match := PATTERN.fullmatch(path.name)) is not None)


def _read_meta(path: Path) -> Segment:
    try:
        meta = json.loads(read_arrays(path, lambda name: name == "meta")["meta"].tobytes())
        counts = [meta[name] for name in COUNTS]
        if not all(isinstance(count, int) and 0 <= count < 2**62 for count in counts):
            raise ValueError(f"its counts are {counts}")
        first, draws, step, target, repeatable = counts
        totals, span = totals_of(meta["totals"]), span_of(meta.get("span"))
        return Segment(path, str(meta["run"]), first, draws, step, target, totals, meta["trees"], repeatable, span)
    except DamagedError as error:
        raise DamagedError(f"{error}. {_remedy(path)}") from None
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise DamagedError(f"{path} says nothing sensible of itself ({error!r}). {_remedy(path)}") from None


def totals_of(counts: Any) -> Totals:
    """Totals as they were written, refused if they are no numbers."""
    found = {field.name: counts[field.name] for field in dataclasses.fields(Totals)}
    failure = found.pop("failure")
    is_text = failure is None or isinstance(failure, str)
    measured = {"gaps": found["gaps"] or 0.0, "seconds": found["seconds"]}
    counted = [found[name] for name in found if name not in measured and not (name == "marks" and found[name] is None)]
    are_counts = all(type(value) is int and 0 <= value < 2**62 for value in counted)
    if not is_text or not are_counts or not all(math.isfinite(value) for value in measured.values()):
        raise ValueError(f"its totals are {found}")
    return Totals(**found, failure=failure)


def span_of(value: Any) -> tuple[float, float] | None:
    """The span of a segment as it was read, refused if it is none."""
    if value is None:
        return None
    start, end = value
    if not all(isinstance(time, (int, float)) and math.isfinite(time) for time in (start, end)):
        raise ValueError(f"it was computed from {start!r} to {end!r}")
    return float(start), float(end)


def read_output(segment: Segment) -> Output:
    """The draws of a segment, with leading axes (chains, draws)."""
    try:
        arrays = read_arrays(segment.path, lambda name: name.startswith(("positions.", "info.")))
        trees = [structure.decode(segment.trees[name], iter(_leaves(arrays, name))) for name in ("positions", "info")]
        leaves = jax.tree.leaves(trees)
        chains = {leaf.shape[:2] for leaf in leaves}
        if len(chains) != 1 or next(iter(chains))[1:] != (segment.draws,):
            raise ValueError(f"its arrays do not all hold {segment.draws} draws")
        if not any(leaf.size for leaf in leaves):  # what takes no room can be declared in any number
            raise ValueError(f"it declares {segment.draws:,} draws in which there is no number")
        return Output(*trees)
    except DamagedError as error:
        raise DamagedError(f"{error}. {_remedy(segment.path)}") from None
    except (KeyError, TypeError, ValueError, StopIteration, RuntimeError, RecursionError) as error:
        raise DamagedError(f"{segment.path} does not hold its draws ({error}). {_remedy(segment.path)}") from None


def read_state(segment: Segment, like: object, name: str = "state") -> tuple[Any, dict[str, list[np.ndarray]]]:
    """The state at the end of a segment in the structure of ``like``, and the leaves of infos by name.

    With the name ``before`` the state from which its last updates were taken.
    """
    infos = ("pending", "past", "after")
    try:
        arrays = read_arrays(segment.path, lambda member: member.partition(".")[0] in (name, *infos))
        leaves, known = _leaves(arrays, name), {info: _leaves(arrays, info) for info in infos}
    except DamagedError as error:
        raise DamagedError(f"{error}. {_remedy(segment.path)}") from None
    except KeyError as error:
        raise DamagedError(f"{segment.path} does not hold {error}. {_remedy(segment.path)}") from None
    wanted = jax.tree.leaves(like)
    if [(leaf.shape, leaf.dtype) for leaf in leaves] != [(leaf.shape, leaf.dtype) for leaf in map(_plain, wanted)]:
        raise DamagedError(f"{segment.path} holds no state of this kernel. {_remedy(segment.path)}")
    restored = [_as(leaf, old) for leaf, old in zip(leaves, wanted, strict=True)]
    return jax.tree.unflatten(jax.tree.structure(like), restored), known


def _leaves(arrays: dict[str, np.ndarray], name: str) -> list[np.ndarray]:
    count = sum(key.startswith(f"{name}.") for key in arrays)
    return [arrays[f"{name}.{i}"] for i in range(count)]


def _as(leaf: np.ndarray, like: Any) -> Any:
    """A leaf from disk as the kind of array that it was."""
    if is_key(like):
        return jr.wrap_key_data(jnp.asarray(leaf), impl=jr.key_impl(like))
    return jnp.asarray(leaf) if isinstance(like, jax.Array) else leaf


def _plain(leaf: Array) -> np.ndarray:
    return np.asarray(jr.key_data(leaf) if is_key(leaf) else leaf)


def _remedy(path: Path) -> str:
    return (
        "Nothing was changed. Move this segment and all that follow it out of the directory, and call again: the run "
        f"goes on from what is before {path.name} and makes the same draws anew"
    )
