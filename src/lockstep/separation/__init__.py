"""Separation times: for how many updates two coupled kernels take the very same steps."""

from lockstep.separation.first_passage import FirstPassage, first_passage
from lockstep.separation.summary import Separation, summary

__all__ = ["FirstPassage", "Separation", "first_passage", "summary"]
