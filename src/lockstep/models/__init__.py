"""Models with unknown normalising constants: an unnormalised likelihood, a statistic, and a simulator of data."""

from lockstep.models.ising import Ising

__all__ = ["Ising"]
