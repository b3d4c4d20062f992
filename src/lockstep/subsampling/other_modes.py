"""Other modes of a posterior: one normal approximation would miss them without a sign."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from lockstep.core.flat import unflatten
from lockstep.core.precision import canonical, double_precision
from lockstep.proposals.mixtures import StudentMixture
from lockstep.subsampling.mode import Mode, find_mode
from lockstep.subsampling.objective import Objective
from lockstep.subsampling.rows import Rows

STARTS = 4  # besides the mirrored mode
ROWS = 4096  # in the search for other modes; those that are found are looked at with all rows
APART = 6.0  # standard deviations
LEAST_MASS = 1e-4  # of a mode, relative to the heaviest


def other_modes(
    log_prior: Callable[..., Any], log_likelihood: Callable[..., Any], rows: Rows, mode: Mode
) -> list[Mode]:
    """Modes of the posterior besides one that is known, where searches from scattered starts end.

    The starts are the mode mirrored at the origin and points spread as widely as the mode's own coordinates. No search
    can promise to find all modes.
    """
    found: list[Mode] = []
    with double_precision():
        like = canonical(mode.position, "position")
        few = rows.some(ROWS)
        precision = np.linalg.inv(mode.factor)
        # On few rows a mode is found less exactly.
        apart = APART * max(1.0, np.sqrt(rows.size / few.size))
        for start in _starts(mode):
            search = Objective(log_prior, log_likelihood, few, like, rows.size, False)
            search.center = start
            try:
                search.search()
                end = search.center
                known = [mode, *found]
                if not min(np.linalg.norm(precision @ (end - m.center)) for m in known) > apart:
                    continue
                position = jax.tree.map(np.asarray, unflatten(end, like))
                other = find_mode(log_prior, log_likelihood, rows, position, False)
            except (ValueError, np.linalg.LinAlgError):
                continue  # no mode there
            is_new = all(np.linalg.norm(precision @ (other.center - m.center)) > APART for m in known)
            if is_new and mass(other) - mass(mode) > np.log(LEAST_MASS):
                found.append(other)
    return found


def mass(mode: Mode) -> float:
    """The logarithm of the posterior mass around a mode, up to a constant that all modes share."""
    return float(mode.height + np.sum(np.log(np.diag(mode.factor))))


def around(modes: list[Mode]) -> StudentMixture:
    """Candidates around all modes, each with its mass."""
    log_weights = np.array([mass(mode) for mode in modes])
    return StudentMixture(
        np.stack([mode.mean for mode in modes]),
        np.stack([mode.factor for mode in modes]),
        log_weights - np.logaddexp.reduce(log_weights),
        5.0,
    )


def _starts(mode: Mode) -> list[np.ndarray]:
    generator = np.random.default_rng(0)
    spread = np.maximum(2 * np.abs(mode.center), 10 * np.sqrt(np.sum(mode.factor**2, axis=1)))
    scattered = spread * generator.normal(size=(STARTS, len(mode.center)))
    return [-mode.center, *scattered]
