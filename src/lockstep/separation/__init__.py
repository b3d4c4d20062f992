"""Separation times: for how many updates two coupled kernels take the very same steps."""

from lockstep.separation.bias import Bias, Biases, bias
from lockstep.separation.distance import Distance, distance
from lockstep.separation.first_passage import FirstPassage, first_passage
from lockstep.separation.predict import predict
from lockstep.separation.prediction import Prediction, RulePrediction
from lockstep.separation.summary import Separation, summary

__all__ = [
    "Bias",
    "Biases",
    "Distance",
    "FirstPassage",
    "Prediction",
    "RulePrediction",
    "Separation",
    "bias",
    "distance",
    "first_passage",
    "predict",
    "summary",
]
