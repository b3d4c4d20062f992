"""Estimators of D = log π(candidate)/π(position) from m = ``count`` samples, with their cumulants."""

from lockstep.estimators.batch_means import batch_means
from lockstep.estimators.combinations import difference, known_variance, two_sided
from lockstep.estimators.gaussianized import gaussianized
from lockstep.estimators.log_mean_exp import log_mean_exp
from lockstep.estimators.mean import mean
from lockstep.estimators.smooth import smooth
from lockstep.estimators.subsample import subsample

__all__ = [
    "batch_means",
    "difference",
    "gaussianized",
    "known_variance",
    "log_mean_exp",
    "mean",
    "smooth",
    "subsample",
    "two_sided",
]
