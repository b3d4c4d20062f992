"""Advice: which rule, and how many samples."""

from lockstep.advice.advice import Advice, Option
from lockstep.advice.advisor import advise
from lockstep.advice.pilot import Look

__all__ = ["Advice", "Look", "Option", "advise"]
