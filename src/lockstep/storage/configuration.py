"""What a run is a function of, in words and digests: a resume compares them and names what differs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lockstep.core.kernel import Kernel
from lockstep.core.types import Tree
from lockstep.storage.fingerprint.noise import noise_fingerprint
from lockstep.storage.fingerprint.owner import package_version
from lockstep.storage.fingerprint.walk import Walk

CODE, NOISE, INTERNALS, OPAQUE, PACKAGES = "code", "noise", "internals", "cannot be compared", "packages"
# Compared otherwise: objects of packages hold caches and memory that was never set, so that only results can tell.
ASIDE = (INTERNALS, OPAQUE, PACKAGES)
TOLD_ANYWAY = {"jax", "jaxlib", "numpy"}  # every run records their versions
MODEL = ("kernel", "initial", CODE, NOISE)  # what another model may have of its own, and a resume may accept


def describe(value: object, name: str) -> dict[str, str]:
    """Everything that ``value`` is made of, by path: numbers, digests of arrays, and of the code of functions.

    >>> describe({"scale": 2.0, "steps": (1,)}, "it")
    {'it': 'dict', "it['scale']": '2.0', "it['steps']": 'tuple', "it['steps'][0]": '1'}
    """
    walk = Walk()
    found = walk.describe(value, name)
    for entries in walk.finished().values():
        found |= entries
    return found | walk.internals


def describe_model(kernel: Kernel, initial: Any) -> dict[str, Any]:
    """What a kernel and a start are made of, the code and the packages that they use, and the noise.

    What cannot be compared is listed by path.
    """
    walk = Walk()
    roots = {"kernel": walk.describe(kernel, "kernel"), "initial": walk.describe(initial, "initial")}
    code = walk.finished()
    packages = {name: package_version(name) for name in sorted(walk.packages - TOLD_ANYWAY)}
    aside = {INTERNALS: walk.internals, OPAQUE: walk.opaque, PACKAGES: packages}
    return {**roots, CODE: code, NOISE: noise_fingerprint(), **aside}


def differences(there: Mapping[str, Any], here: Mapping[str, Any]) -> list[str]:
    """What differs between two configurations, in words, other than what is compared aside."""
    lines = []
    for name in [*there, *(key for key in here if key not in there)]:
        first, second = there.get(name), here.get(name)
        if name in ASIDE:
            continue
        if isinstance(first, Mapping) and isinstance(second, Mapping):
            lines += differences(*_without_moved(first, second)) if name == CODE else differences(first, second)
        elif first != second and not _is_other_python(first, second):
            lines.append(f"{name}: {_shown(first)} there, {_shown(second)} here")
    return lines


def _without_moved(there: Mapping[str, Any], here: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Code by modules, without modules that only have another name: the same code is the same wherever its file is."""

    def by_content(code: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, str]:
        own = {module: code[module] for module in code if module not in other and isinstance(code[module], Mapping)}
        return {
            repr(sorted((str(name).removeprefix(module), text) for name, text in entries.items())): module
            for module, entries in own.items()
        }

    old, new = by_content(there, here), by_content(here, there)
    moved = [(old[content], new[content]) for content in old if content in new]
    first = {module: there[module] for module in there if module not in {a for a, _ in moved}}
    return first, {module: here[module] for module in here if module not in {b for _, b in moved}}


def _shown(value: object) -> str:
    if value is None:
        return "nothing"
    text = value if isinstance(value, str) else str(dict(value) if isinstance(value, Mapping) else value)
    return text if len(text) <= 80 else f"{text[:77]}…"


def _is_other_python(first: Tree, second: Tree) -> bool:
    """Whether two functions differ only in being compiled by different Pythons: then their sources tell, if known."""
    if not (isinstance(first, str) and isinstance(second, str) and " with code " in first and " with code " in second):
        return False
    (name, code), (other, other_code) = first.split(" with code "), second.split(" with code ")
    if name != other or code.split(":")[0] == other_code.split(":")[0]:
        return False
    sources = [text.partition(", source ")[2] for text in (code, other_code)]
    return not all(sources) or sources[0] == sources[1]
