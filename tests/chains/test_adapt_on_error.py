"""Adaptation and evaluations that raise: what is rejected in a run is rejected in its warm-up, too."""

import numpy as np

import lockstep as ls


def fragile(theta):
    if theta[0] > 1.5:
        raise ValueError("the solver diverged")
    return -0.5 * float((theta**2).sum())


def test_a_warm_up_rejects_what_raises():
    kernel = ls.standard(ls.blackbox(fragile), ls.RandomWalk(1.0))
    options = {"draws": 100, "chains": 2, "seed": 2, "warmup": 200, "adapt": True, "progress": False}
    run = ls.sample(kernel, np.zeros(2), on_error="reject", **options)
    assert run.positions[..., 0].max() <= 1.5
    in_draws = int(np.isneginf(run.info.log_ratio).sum())
    assert run.failed > in_draws > 0  # the warm-up's are counted, too
    assert "diverged" in run.failure
