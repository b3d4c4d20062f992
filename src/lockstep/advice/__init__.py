"""Advice: which rule, and how many samples or particles."""

from lockstep.advice.advice import Advice, Option
from lockstep.advice.advisor import advise
from lockstep.advice.particles import ParticleAdvice, ParticleOption
from lockstep.advice.pilot import Look

__all__ = ["Advice", "Look", "Option", "ParticleAdvice", "ParticleOption", "advise"]
