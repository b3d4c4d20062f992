"""Whether a directory holds a run of the model that is given; and if not, what differs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lockstep.core.warnings import warn
from lockstep.storage.configuration import CODE, INTERNALS, MODEL, OPAQUE, PACKAGES, differences
from lockstep.storage.errors import MismatchError

REFUSE, ACCEPT = "refuse", "accept"
MOST_SHOWN = 4


def require_choice(changed: Any) -> str:
    """What to do with a run of another model, checked."""
    if not isinstance(changed, str) or changed not in (REFUSE, ACCEPT):
        raise ValueError(f"changed is {changed!r}; it must be {REFUSE!r} or {ACCEPT!r}")
    return str(changed)


def changes_of_model(path: Path, there: Mapping[str, Any], here: Mapping[str, Any], changed: str) -> list[str]:
    """What differs between the models of two configurations, if that is accepted; whatever else differs is refused."""
    settings = [{name: value for name, value in one.items() if name not in MODEL} for one in (there, here)]
    model = [{name: one[name] for name in MODEL if name in one} for one in (there, here)]
    others, found = differences(*settings), differences(*model)
    if others or (found and changed == REFUSE):
        accepting = (
            f'. changed="accept" takes another model, not other settings: {_listed(others)}'
            if changed == ACCEPT
            else ""
            if others
            else ', or go on with the model as it is now by changed="accept", which is recorded'
        )
        raise MismatchError(
            f"{path} holds a run with other settings: {_listed([*others, *found])}. Give the same settings to go on "
            f"with it, or another directory{accepting}"
        )
    return found


def other_versions(there: Mapping[str, Any], here: Mapping[str, Any]) -> list[str]:
    """Versions that are not what they were, in words."""
    return [f"{name} {there.get(name)} there, {here[name]} here" for name in here if there.get(name) != here[name]]


def other_packages(there: Mapping[str, Any], here: Mapping[str, Any]) -> list[str]:
    """Packages that a model uses now and then, with other versions."""
    old, new = (one.get(PACKAGES, {}) for one in (there, here))
    return other_versions(old, {name: new[name] for name in new if name in old})


def suspects(there: Mapping[str, Any], here: Mapping[str, Any]) -> list[str]:
    """What could not be compared, or only with doubt, where a model computes something else than before."""
    opaque = {**there.get(OPAQUE, {}), **here.get(OPAQUE, {})}
    inner = differences({CODE: there.get(INTERNALS, {})}, {CODE: here.get(INTERNALS, {})})
    return [*inner, *(f"{path} ({what})" for path, what in opaque.items())]


def tell_versions(path: Path, found: list[str]) -> None:
    """Warn of other versions."""
    if found:
        warn(
            f"{path} was begun with other versions ({'; '.join(found)}): its further draws may differ by rounding "
            f"from those of an uninterrupted run"
        )


def _listed(found: list[str]) -> str:
    more = f"; and {len(found) - MOST_SHOWN} more" if len(found) > MOST_SHOWN else ""
    return "; ".join(found[:MOST_SHOWN]) + more
