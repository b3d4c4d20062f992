"""The prediction of a run, kept with it: in memory, and as data in its directory.

A prediction calls the user's function again, which may be a simulation of minutes: it is made once for a number of
draws of a run. The file beside ``run.json`` is plain JSON, committed as a whole; what is read back is checked as data,
and belongs to the run's own configuration (its kernel included) and to that number of draws.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from pathlib import Path
from typing import Any

from lockstep.core.sampled import Sampled
from lockstep.core.types import Tree
from lockstep.separation.prediction import Prediction, RulePrediction
from lockstep.storage.archive import read_json, write_json
from lockstep.storage.directory import read_record
from lockstep.storage.errors import RunDirectoryError

NAME = "prediction.json"
FORMAT = 3
MOST_TEXT, MOST_ENTRIES = 4000, 64


def recall(run: Sampled) -> Prediction | None:
    """The prediction that was made of this run with this many draws; None if there is none."""
    if run.draws not in run.kept and run.directory is not None:
        try:
            found = _from_data(read_json(run.directory / NAME), _belonging(run))
        except (OSError, RunDirectoryError, TypeError, ValueError, KeyError, AttributeError):
            return None  # missing, of other draws, damaged: it is made anew
        run.kept[run.draws] = found
    return run.kept.get(run.draws)


def keep(run: Sampled, prediction: Prediction) -> None:
    """Keep a prediction with its run, and in its directory if that can be written."""
    run.kept[run.draws] = prediction
    if run.directory is None:
        return
    try:
        content = {"format": FORMAT, **_belonging(run), "prediction": _to_data(dataclasses.asdict(prediction))}
        write_json(Path(run.directory) / NAME, {**content, "digest": _digest(content)})
    except (OSError, RunDirectoryError):
        return  # a directory that can only be read: the prediction is in memory


def _belonging(run: Any) -> dict[str, Any]:
    return {"draws": run.draws, "run": read_record(Path(run.directory)).digest}


def _digest(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


def _to_data(value: object) -> Any:
    """The same for JSON, which has no NaN and no infinity: these are written as words that `float` reads."""
    if isinstance(value, dict):
        return {name: _to_data(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_to_data(inner) for inner in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _from_data(found: Any, belonging: dict[str, Any]) -> Prediction:
    """The prediction that a file holds; an error if it is another run's, or not what `keep` writes."""
    content = {name: value for name, value in found.items() if name != "digest"}
    if found["digest"] != _digest(content) or found["format"] != FORMAT:
        raise ValueError("the file was changed")
    if any(found[name] != value for name, value in belonging.items()):
        raise ValueError("the file belongs to another run or to other draws")
    data = found["prediction"]
    prediction = Prediction(
        _text(data["rule"]),
        {_text(name): _rule(one) for name, one in list(data["rules"].items())[:MOST_ENTRIES]},
        tuple(_text(problem) for problem in data["problems"][:MOST_ENTRIES]),
        _count(data["updates"]),
        _count(data["pairs"]),
        _count(data["replicates"]),
        data["is_noise_free"] is True,
        singles=_count(data["singles"]),
    )
    prediction.used  # noqa: B018  (the rule must be among them)
    return prediction


def _rule(data: Tree) -> RulePrediction:
    low, high = data["discrepancy_interval"]
    return RulePrediction(
        _text(data["rule"]),
        float(data["rho"]),
        float(data["rho_se"]),
        float(data["expected_separations"]),
        float(data["discrepancy"]),
        (float(low), float(high)),
        float(data["acceptance"]),
        float(data["at_least"]),
    )


def _text(value: object) -> str:
    """A text that is shown: no escape sequences of a terminal."""
    if not isinstance(value, str) or len(value) > MOST_TEXT or not value.isprintable():
        raise ValueError(f"{value!r} is no text of a prediction")
    return value


def _count(value: object) -> int:
    if type(value) is not int or not 0 <= value < 2**63:
        raise ValueError(f"{value!r} is no number of calls")
    return value
