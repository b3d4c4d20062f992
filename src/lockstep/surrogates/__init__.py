"""Cheap approximations of a log density, for the screen of `ls.screened`."""

from lockstep.surrogates.quadratic import Quadratic, quadratic

__all__ = ["Quadratic", "quadratic"]
