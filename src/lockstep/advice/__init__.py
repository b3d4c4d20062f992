"""Advice: which rule, and how many samples."""

from lockstep.advice.advice import Advice, Option
from lockstep.advice.advisor import advise

__all__ = ["Advice", "Option", "advise"]
