"""Large data: rows in memory or on disk, sums over all of them, modes, and what replaces most of the rows."""

from lockstep.subsampling.bounds import Bound, logistic, robust
from lockstep.subsampling.diagnosis import Diagnosis, diagnose
from lockstep.subsampling.mode import Mode, find_mode
from lockstep.subsampling.surrogates import Surrogate, Taylor

__all__ = ["Bound", "Diagnosis", "Mode", "Surrogate", "Taylor", "diagnose", "find_mode", "logistic", "robust"]
