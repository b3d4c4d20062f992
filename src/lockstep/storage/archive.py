"""Arrays in files: written whole or not at all, and read without trust.

A file is an uncompressed ``.npz``. It is written under a temporary name, flushed to the disk and renamed; the rename is
the commit. Reading never unpickles, never follows a link, and never allocates more than the file holds.
"""

from __future__ import annotations

import json
import math
import os
import re
import secrets
import stat
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from lockstep.storage.errors import DamagedError, StorageError

TEMPORARY = ".tmp"
MOST_TEXT = 2**23  # bytes of a JSON file
RESTORE = "Nothing was changed. Restore the file from a copy, or begin anew in another directory"
# What `save_arrays` writes before the numbers of an array, and nothing else: no parser of Python is asked.
HEADER = re.compile(rb"\{'descr': '([<>|][fiub]\d{1,2})', 'fortran_order': False, 'shape': \(([\d, ]{0,200})\), \} *\n")


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Commit arrays under a name each."""
    commit(path, lambda file: save_arrays(file, arrays))


def save_arrays(file: BinaryIO, arrays: Mapping[str, np.ndarray]) -> None:
    """What `numpy.savez` writes, without its copies of the data."""
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            array = np.asarray(array, order="C")
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array_header_1_0(member, np.lib.format.header_data_from_array_1_0(array))
                data: Any = array.reshape(-1).view(np.uint8)
                member.write(data)


def write_json(path: Path, value: object) -> None:
    """Commit a JSON file."""
    text = json.dumps(value, indent=1, ensure_ascii=False).encode()
    if len(text) > MOST_TEXT:
        raise StorageError(
            f"{path} would have {len(text):,} bytes, more than the {MOST_TEXT:,} that are read back: what the "
            f"functions of the kernel refer to is too large to be compared; hand large data over as arrays"
        )
    commit(path, lambda file: file.write(text))


def commit(path: Path, write: Callable[[BinaryIO], Any]) -> None:
    """Write a file that is there as a whole or not at all."""
    temporary = temporary_of(path)
    try:
        try:
            with temporary.open("xb") as file:
                write(file)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        sync_directory(path.parent)
    except OSError as error:
        raise StorageError(
            f"{path} could not be written ({error.strerror or error}). What was committed before is intact: make room "
            f"or give permission, then call again with the same arguments to go on"
        ) from error


def temporary_of(path: Path) -> Path:
    """A name beside a file that no other process, past or present, has."""
    return path.with_name(f"{path.name}.{os.getpid()}-{secrets.token_hex(4)}{TEMPORARY}")


def make_directory(path: Path, name: str) -> None:
    """Make a directory and what it is in; an error names the argument that it came from."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise StorageError(f"{name} is {str(path)!r}, which is a file") from None
    except OSError as error:
        raise StorageError(f"{name} {str(path)!r} cannot be made ({error.strerror or error})") from error


def sync_directory(path: Path) -> None:
    """Make the names in a directory durable, where the system can."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:  # Windows cannot open a directory
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_json(path: Path) -> Any:
    """The value of a JSON file."""
    require_file(path)
    try:
        if path.stat().st_size > MOST_TEXT:
            raise ValueError(f"it has {path.stat().st_size:,} bytes")
        return json.loads(path.read_bytes())
    except (ValueError, RecursionError, OSError) as error:
        raise DamagedError(f"{path} is no description of a run: {error}. {RESTORE}") from None


def read_arrays(path: Path, wanted: Callable[[str], bool] = lambda name: True) -> dict[str, np.ndarray]:
    """The arrays of a file whose names are wanted; an error if anything about the file is wrong."""
    require_file(path)
    try:
        with path.open("rb") as file, zipfile.ZipFile(file) as archive:
            members = archive.infolist()
            size = os.fstat(file.fileno()).st_size
            if any(member.compress_type != zipfile.ZIP_STORED for member in members):
                raise ValueError("it is compressed")
            if sum(member.file_size for member in members) > size:
                raise ValueError("it declares more than it holds")
            return {
                member.filename[:-4]: _array(archive, member)
                for member in members
                if member.filename.endswith(".npy") and wanted(member.filename[:-4])
            }
    # Whatever a flipped bit makes of a file, the parser of archives must not be the one to say so.
    except Exception as error:
        raise DamagedError(f"{path} is damaged or was not written by Lockstep ({error})") from None


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> np.ndarray:
    with archive.open(member) as file:
        version = np.lib.format.read_magic(file)
        if version != (1, 0):
            raise ValueError(f"array {member.filename} has format {version}")
        found = HEADER.fullmatch(file.read(int.from_bytes(file.read(2), "little")))
        if found is None:
            raise ValueError(f"array {member.filename} has no header of an array of numbers")
        dtype, shape = (
            np.dtype(found[1].decode()),
            tuple(int(length) for length in found[2].split(b",") if length.strip()),
        )
        if math.prod(shape) * dtype.itemsize != member.file_size - file.tell():
            raise ValueError(f"array {member.filename} declares shape {shape}, which is not what it holds")
        data = bytearray(file.read())  # reads to the end: the checksum is compared
    if len(data) != math.prod(shape) * dtype.itemsize:
        raise ValueError(f"array {member.filename} is cut off")
    return np.frombuffer(data, dtype).reshape(shape)


def require_file(path: Path) -> None:
    """Refuse what is missing or no plain file: a directory, a link, or a pipe from which one would read for ever."""
    require_plain(path)
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        raise DamagedError(f"{path} is missing. {RESTORE}") from None
    except OSError as error:
        raise DamagedError(f"{path} cannot be read ({error.strerror or error}). {RESTORE}") from None
    if not stat.S_ISREG(mode):
        kind = "a directory" if stat.S_ISDIR(mode) else "no plain file"
        raise DamagedError(f"{path} is {kind}; a run directory has a plain file there. {RESTORE}")


def require_plain(path: Path) -> None:
    """Refuse a link: it could lead out of the directory."""
    if path.is_symlink():
        raise DamagedError(f"{path} is a link; a run directory holds plain files and directories only")
