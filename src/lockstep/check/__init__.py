"""Checks of kernels: transition matrices on finite spaces, balance, involutions, symmetry, order; and of draws."""

from lockstep.check.balance import balance, involution
from lockstep.check.calibration import calibration
from lockstep.check.curvature import curvature
from lockstep.check.finding import Finding
from lockstep.check.law import Law, as_law, product
from lockstep.check.matrix import balance_error, stationarity_error, stationary, total_variation, transition_matrix
from lockstep.check.order import asymptotic_variance, minorization, peskun
from lockstep.check.symmetry import symmetry

__all__ = [
    "Finding",
    "Law",
    "as_law",
    "asymptotic_variance",
    "balance",
    "balance_error",
    "calibration",
    "curvature",
    "involution",
    "minorization",
    "peskun",
    "product",
    "stationarity_error",
    "stationary",
    "symmetry",
    "total_variation",
    "transition_matrix",
]
