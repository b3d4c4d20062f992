"""What the study is compared with: the numbers of the paper, and a reference computed without Monte Carlo chains.

Paper: Nicholls, Fox and Muir Watt (2012), section 5. It gives few numbers, and those rounded.

Reference: computed by quadrature over the noise and quasi-Monte Carlo over (θ, θ') for the target, the estimators and
the coupling of section 5 with its misprints put right, and with the two proposals of `model`. Standard errors are
given where the quasi-Monte Carlo error was estimated. The ratios of variances come from long runs of the chains.

The paper does not state its proposals. That the numbers agree does not prove that these were its authors' settings.
"""

from __future__ import annotations

CAVEAT = (
    "The paper does not state its proposals. The two used here, a normal random walk with standard deviation 4 and "
    "independent draws from N((4.5, 4.5), 2.5² I), were chosen because they agree with its numbers. Agreement does not "
    "prove that these were the authors' settings: others, such as uniform steps on [-6, 6]², fit as well."
)

# "approximately 72 updates for the random walk update and 32 for the independence sampler"
PAPER_SEPARATION = {("naive", "random walk", 8): "about 72", ("naive", "independence", 8): "about 32"}
# "90% of the samples returned by the naive sampler are exactly equal to those returned by the Penalty Method"
PAPER_IDENTICAL = "90 %"
# "The separation return times ρ and separation times τ are approximately equal."
PAPER_TAU_OVER_RHO = "about 1"
# "The ρ̂₁ estimator has lower variance than the ρ̂₂ estimator."
PAPER_VARIANCES = "above 1"
# Orders in m of the separation times, and of the mean gap to standard Metropolis–Hastings.
PAPER_SLOPE = {"naive": "1", "penalty_estimate": "3/2", "standard": "-1/2"}
# "the slight over-dispersion of the naive samplers compared to the target distribution"
PAPER_DISPERSION = "above 11"
# "separation return times are not easily distinguished from iid geometric random numbers"
PAPER_GEOMETRIC = "not small"

# Mean return time ρ with its standard error, by pair of kernels, proposal and m.
SEPARATION = {
    ("naive", "random walk", 8): (72.19, 0.09),
    ("naive", "random walk", 32): (295.8, 0.4),
    ("naive", "random walk", 128): (1188.6, 1.9),
    ("naive", "independence", 8): (32.74, 0.02),
    ("naive", "independence", 32): (132.3, 0.1),
    ("naive", "independence", 128): (530.0, 0.5),
    ("penalty_estimate", "random walk", 8): (552.3, 0.8),
    ("penalty_estimate", "random walk", 32): (4460.0, 7.0),
    ("penalty_estimate", "independence", 8): (246.3, 0.2),
    ("penalty_estimate", "independence", 32): (1988.0, 2.0),
}
TAU_OVER_RHO = {"random walk": 1.0022, "independence": 1.0017}  # naive against penalty, m = 8
IDENTICAL = 0.898  # naive against penalty, independence proposal, m = 8

# Mean gap E|α - α_N| between standard Metropolis–Hastings and the naive kernel.
STANDARD_GAP = {
    ("random walk", 8): 0.023011,
    ("random walk", 32): 0.010444,
    ("independence", 8): 0.050901,
    ("independence", 32): 0.023379,
}

# Mean and variance of θ₁+θ₂ in equilibrium, for the target and for the naive chain.
TARGET_MEAN, TARGET_VARIANCE = 9.0, 11.0
NAIVE_MEAN = {
    ("random walk", 8): 8.9945,
    ("random walk", 32): 8.999,
    ("independence", 8): 9.0311,
    ("independence", 32): 9.0085,
}
NAIVE_VARIANCE = {
    ("random walk", 8): 11.324,
    ("random walk", 32): 11.067,
    ("independence", 8): 10.842,
    ("independence", 32): 10.959,
}

# Variance of ρ̂₂ over that of ρ̂₁ from the same run, naive against penalty, about.
VARIANCE_RATIO = {8: 8.0, 256: 280.0}
