"""Faults of likelihoods that are known by simulation: synthetic ones, ABC, and calibration."""

MOMENTS = "estimators/test_synthetic_moments.py::test_cumulants_are_those_of_von_mises_expansion"
POOLED = "estimators/test_synthetic_moments.py::test_pooled_simulations_are_one_larger_set"
UNBIASED = "estimators/test_synthetic_moments.py::test_the_unbiased_density_is_that_of_ghurye_and_olkin"
CONSTANT = "estimators/test_synthetic_moments.py::test_the_constant_of_the_unbiased_density_of_two_summaries"
ABC = "estimators/test_synthetic_moments.py::test_abc_is_the_average_of_its_kernel"
STATISTIC = "check/test_calibration.py::test_the_statistic_is_chi_squared_over_bins"
SLOW = "check/test_calibration.py::test_kernels_that_hardly_move_have_uniform_ranks"
STILL = "check/test_calibration.py::test_a_kernel_that_never_moves_has_uniform_ranks"
CHANCES = "check/test_calibration.py::test_the_least_chance_of_several_parameters_counts_as_many_times"

FAULTS = {
    ("estimators/synthetic.py", MOMENTS): [
        ("linear = z @ w - xp.trace(m, axis1=1, axis2=2) / 2", "linear = z @ w + xp.trace(m, axis1=1, axis2=2) / 2"),
        ("axis2=2) / 2 + along @ w / 2", "axis2=2) / 2 + along @ w"),
        ("linear = z @ w - xp", "linear = -z @ w - xp"),
        ("(m**2).sum(axis=(-2, -1)) / 4", "(m**2).sum(axis=(-2, -1)) / 2"),
        ("/ 4 - (z**2).sum(axis=-1) / 2", "/ 4 + (z**2).sum(axis=-1) / 2"),
        ("squares - (along * z).sum(axis=-1) -", "squares -"),
        ("(along * z).sum(axis=-1) - (along**2).sum(axis=-1) / 2", "(along * z).sum(axis=-1)"),
        ("third = of.third + 6 * quadratic", "third = of.third + 3 * quadratic"),
        ("3 * (xp.trace(less) - w @ less @ w)", "3 * (xp.trace(less) + w @ less @ w)"),
        ("3 * (xp.trace(less) - w @ less @ w)", "0.0"),
        ("inverse @ (kept * (mean_change", "inverse @ ((mean_change"),
        ("quadratic(spread, turned, spread @ w)", "quadratic(spread, turned, turned)"),
        ("value = -(log_determinant + w @ w) / 2", "value = -log_determinant / 2"),
        ("of.variance / count, third / count**2, count)", "of.variance, third / count**2, count)"),
        ("of.variance / count, third / count**2, count)", "of.variance / count, third / count, count)"),
        ("(1 - self.shrinkage) + self.shrinkage * np.eye(size)", "(1 - self.shrinkage) * np.ones((size, size))"),
    ],
    ("estimators/synthetic.py", "estimators/test_synthetic_moments.py::test_the_covariance_is_the_unbiased_one"): [
        ("(apart.T @ apart) / (count - 1)", "(apart.T @ apart) / count"),
    ],
    ("estimators/synthetic.py", POOLED): [
        ("linear.reshape(groups.shape[:2]).mean(axis=1)", "linear.reshape(groups.shape[:2]).sum(axis=1)"),
        ("self._estimate(groups.reshape(-1, groups.shape[-1]))", "self._estimate(groups[0])"),
    ],
    ("estimators/synthetic.py", UNBIASED): [
        ("left = 1 - w @ w / (1 - 1 / count)", "left = 1 - w @ w"),
        ("(count - size - 3) / 2 * log_left", "(count - size - 2) / 2 * log_left"),
        ("math.log(2 * math.pi * (1 - 1 / count))", "math.log(2 * math.pi)"),
        ("log_c(count - 2) - log_c(count - 1)", "log_c(count - 1) - log_c(count)"),
        ("value = -log_determinant / 2 + (count", "value = -log_determinant + (count"),
        ("choose(left <= 0, -np.inf, np.nan))", "choose(left <= 0, 0.0, np.nan))"),
    ],
    ("estimators/synthetic.py", CONSTANT): [
        ("math.lgamma((degrees - i) / 2) for i in range(size)", "math.lgamma(degrees / 2) for i in range(size)"),
        ("-size * degrees / 2 * math.log(2)", "-degrees / 2 * math.log(2)"),
    ],
    ("estimators/abc.py", ABC): [
        ("-(far**2) / 2 if", "-(far**2) if"),
        ("xp.where(far <= 1, 0.0, -np.inf)", "xp.where(far < 1, 0.0, -np.inf)"),
        ("xp.where(far <= 1, 0.0, -np.inf)", "xp.where(far <= 1, 0.0, -(far**2))"),
        ("distances / self.epsilon", "distances * self.epsilon"),
        ("xp.exp(log_weights - shift).mean()) + shift", "xp.exp(log_weights - shift).sum()) + shift"),
        ("xp.exp(log_weights - shift).mean()) + shift", "xp.exp(log_weights - shift).mean())"),
        ("shift = choose(xp.isfinite(largest), largest, 0.0)", "shift = 0.0 * largest"),
        ("shift = choose(xp.isfinite(largest), largest, 0.0)", "shift = largest"),
        (
            "log_weights = xp.where(far >= 0, log_weights, np.nan)",
            "log_weights = xp.where(far >= 0, log_weights, -np.inf)",
        ),
    ],
    ("check/calibration.py", STATISTIC): [
        ("bins = ranks * BINS // (draws + 1)", "bins = ranks * BINS // draws"),
        ("bins = ranks * BINS // (draws + 1)", "bins = ranks // ((draws + 1) // BINS)"),
        ("((counts - sizes) ** 2 / sizes)", "((counts - sizes) ** 2)"),
        ("/ (draws + 1) * ranks.shape[1]", "/ draws * ranks.shape[1]"),
        (
            "np.bincount(np.arange(draws + 1) * BINS // (draws + 1), minlength=BINS)",
            "np.full(BINS, (draws + 1) / BINS)",
        ),
    ],
    ("check/calibration.py", SLOW): [
        ("cut = int(rng.integers(draws + 1))", "cut = draws"),
        ("cut = int(rng.integers(draws + 1))", "cut = draws // 2"),
        (
            "np.concatenate([values[0, :cut], values[1, : draws - cut]])",
            "np.concatenate([values[0, :cut], values[0, cut:]])",
        ),
        (
            "run = sample(kernel, truth, draws",
            "run = sample(kernel, {name: 0 * one for name, one in truth.items()}, draws",
        ),
    ],
    ("check/calibration.py", STILL): [
        ("below + rng.integers(0, same + 1)", "below"),
        ("below + rng.integers(0, same + 1)", "below + same // 2"),
        ("below + rng.integers(0, same + 1)", "below + same"),
    ],
    ("check/calibration.py", CHANCES): [
        ("chance = min(1.0, float(chances[worst]) * len(chances))", "chance = float(chances[worst])"),
        ("worst = min(chances, key", "worst = max(chances, key"),
        ("np.sum(references >= one)) /", "np.sum(references <= one)) /"),
        ("(1 + np.sum(references >= one)) / (1 + REFERENCES)", "np.sum(references >= one) / REFERENCES"),
    ],
}
