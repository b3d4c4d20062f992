"""The proposal that suits a posterior with a known mode."""

from __future__ import annotations

from typing import Any

from lockstep.core.adopt import adopted
from lockstep.core.estimator import Estimator
from lockstep.core.proposal import Proposal
from lockstep.core.warnings import warn
from lockstep.proposals import CrankNicolson, IndependentNormal, IndependentStudent
from lockstep.proposals.layout import LEAVES
from lockstep.subsampling.diagnosis import Diagnosis, diagnose
from lockstep.subsampling.mode import Mode
from lockstep.subsampling.other_modes import around, other_modes

STEPS = (0.5, 0.25, 0.1)
DEGREES = (5.0, 2.0)  # of a Student proposal: heavier tails if those of the first do not hold
NAMES = ("normal", "student", "crank_nicolson")


def check_proposal(proposal: Proposal) -> str | None:
    """The name of a proposal that is to be made at the mode; None for a proposal, or where the choice is ours."""
    if isinstance(proposal, str):
        if proposal not in NAMES:
            raise ValueError(f"proposal is {proposal!r}; it must be one of {', '.join(NAMES)}, or a proposal")
        return proposal
    if proposal is not None:
        adopted(proposal, Proposal, "proposal", f"one of {', '.join(NAMES)}, or a proposal")
    return None


def choose_proposal(proposal: Proposal, name: str | None, estimator: Estimator, mode: Mode) -> tuple[Any, Diagnosis]:
    """The proposal that was asked for, or the first that serves, and what its candidates will meet.

    Independent draws if they serve, with heavier tails if not, else smaller steps; the best of all if none serves. If
    the choice is ours and there are several modes: independent draws around all of them.
    """
    ready: dict[str, list[Any]] = {
        "normal": [IndependentNormal(mode.mean, mode.factor, order=LEAVES)],
        "student": [IndependentStudent(mode.mean, mode.factor, degrees, LEAVES) for degrees in DEGREES],
        "crank_nicolson": [CrankNicolson(mode.mean, mode.factor, step, LEAVES) for step in STEPS],
    }
    if proposal is None and name is None:
        others = other_modes(estimator.log_prior, estimator.log_likelihood, estimator.rows, mode)
        if others:
            warn(
                f"the posterior has {len(others) + 1} modes or more; candidates come from around all that were found, "
                f"and an expansion at one of them is no good control at the others. Is there a symmetry of the "
                f"parameters that an order among them would remove?"
            )
            proposal = around([mode, *others])
    candidates = [proposal] if proposal is not None else [one for n in ([name] if name else NAMES) for one in ready[n]]
    found = []
    for one in candidates:
        diagnosis = diagnose(estimator, one, mode.position, mode.mean, mode.factor)
        if diagnosis.is_normal_enough:
            return one, diagnosis
        found.append((one, diagnosis))
    return max(found, key=lambda pair: pair[1].acceptance)
