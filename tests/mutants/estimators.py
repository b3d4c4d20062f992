"""Faults of estimators, rules, proposals, perfect draws and checks: the first modules, of which the rest is made."""

RULES = "ratios/test_rules.py"
COUNTS = "estimators/test_estimators.py::test_with_count_is_the_estimator_made_with_that_count"

FAULTS = {
    ("ratios/rules.py", RULES): [
        ("_corrected(estimate, _checked(estimate.variance) / 2)", "_corrected(estimate, _checked(estimate.variance))"),
        ("estimate.bias + _checked(estimate.variance) / 2", "_checked(estimate.variance) / 2"),
        ("estimate.bias + _checked(estimate.variance) / 2", "estimate.bias - _checked(estimate.variance) / 2"),
        ("chi2**2 / (4 * (n + 1))", "chi2**2 / (4 * n)"),
        ("chi2**3 / (3 * (n + 1) * (n + 3))", "chi2**3 / (3 * (n + 1) * (n + 2))"),
        ("choose(variance >= 0, variance, np.nan)", "variance"),
        ("choose(estimate.value == NEVER, NEVER, estimate.value - correction)", "estimate.value - correction"),
    ],
    ("ratios/universal.py", "kernels/test_protocol.py::test_universal_by_hand"): [
        ("xp.minimum(log_ratio, error), log_ratio)", "xp.maximum(log_ratio, error), log_ratio)"),
        ("Decision(smaller - self.bound, (),", "Decision(smaller, (),"),
        ("noise_ratio, position, candidate).value", "noise_ratio, candidate, position).value"),
        ("noise_self, position, position).value", "noise_self, position, candidate).value"),
    ],
    ("ratios/universal.py", "kernels/test_exactness.py::test_exact_kernels_are_exact_and_say_so"): [
        ("log_ratio = log_proposal_ratio + estimated(", "log_ratio = estimated("),
        (
            "smaller = choose(log_ratio < np.inf, xp.minimum(log_ratio, error), log_ratio)",
            "smaller = log_proposal_ratio + xp.minimum(log_ratio - log_proposal_ratio, error)",
        ),
    ],
    ("ratios/universal.py", "kernels/test_keys.py"): [
        ("self.estimator.noise(key_self, position, shape)", "self.estimator.noise(key_ratio, position, shape)"),
    ],
    ("ratios/universal.py", "sampling/test_bad_input.py::test_violations_of_the_universal_rule_are_counted"): [
        ("(), error > self.bound)", "(), error > np.inf)"),
    ],
    ("ratios/involutions.py", "check/test_check.py::test_involutions_pass"): [
        ("denominator = self.c * x - self.a", "denominator = self.c * x + self.a"),
        ("(self.a * x + self.b) / denominator", "(self.a * x - self.b) / denominator"),
        ("/ denominator**2", "/ denominator"),
        ("(self.a**2 + self.b * self.c) /", "(self.a**2 - self.b * self.c) /"),
        ("return self.total - x, 0.0", "return self.total + x, 0.0"),
        ("return jnp.linalg.slogdet(jacobian)[1]", "return 2 * jnp.linalg.slogdet(jacobian)[1]"),
    ],
    ("estimators/samples.py", "estimators/test_estimators.py::test_mean"): [
        ("squares.sum(axis=-1) * (1 / (m - 1) if", "squares.sum(axis=-1) * (1 / m if"),
        ("(m / ((m - 1) * (m - 2)) if m > 2", "(1 / (m - 1) if m > 2"),
        ("(squares * centred).sum(axis=-1)", "(squares * samples).sum(axis=-1)"),
    ],
    ("estimators/samples.py", "separation/test_predict.py::test_pooled_estimates_are_estimates_from_all_samples"): [
        ("(squares + count * apart**2).sum(axis=0) / (total - 1)", "squares.sum(axis=0) / (total - 1)"),
        ("cubes + 3 * apart * squares +", "cubes + apart * squares +"),
        ("+ count * apart**3).sum", "+ apart**3).sum"),
    ],
    ("estimators/mean.py", "estimators/test_estimators.py::test_mean"): [
        ("ZERO, of.variance / count, of.third", "ZERO, of.variance, of.third"),
        ("of.variance / count, of.third / count**2, count)", "of.variance / count, of.third / count, count)"),
    ],
    ("estimators/log_mean_exp.py", "estimators/test_estimators.py::test_log_mean_exp"): [
        ("Estimate(value, -variance / 2, variance", "Estimate(value, variance / 2, variance"),
        ("Estimate(value, -variance / 2, variance", "Estimate(value, -variance, variance"),
        ("of.third - 3 * of.variance**2", "of.third - of.variance**2"),
        ("return array_module.log(mean) + shift, scaled, mean", "return array_module.log(mean), scaled, mean"),
    ],
    ("estimators/gaussianized.py", "estimators/test_estimators.py::test_gaussianized"): [
        ("self.variance**0.5 * noise", "self.variance * noise"),
        (
            "np.float64(0.0), self.variance, np.float64(0.0)",
            "np.float64(0.0), self.variance / self.count, np.float64(0.0)",
        ),
    ],
    ("estimators/gaussianized.py", COUNTS): [
        ("self.variance * self.count / count", "self.variance * count / self.count"),
    ],
    ("estimators/combinations.py", COUNTS): [
        ("self.factor * self.estimator.count / count", "self.factor"),
    ],
    ("estimators/combinations.py", "estimators/test_estimators.py::test_two_sided"): [
        ("self.estimator(noise[1], candidate, position))", "self.estimator(noise[1], position, candidate))"),
        ("self.estimator(noise[1], candidate, position))", "self.estimator(noise[0], candidate, position))"),
    ],
    ("estimators/batch_means.py", "estimators/test_estimators.py::test_batch_means"): [
        ("mean_of(samples.reshape(self.batches, -1))", "mean_of(samples.reshape(-1, self.batches))"),
        ("mean_of(samples.reshape(self.batches, -1))", "mean_of(samples.reshape(-1, self.batches).T)"),
    ],
    ("proposals/independent.py", "proposals/test_proposals.py::test_independent_normal_ratio"): [
        ("-0.5 * (z * z).sum() - noise.log_density", "-0.5 * (z * z).sum() + noise.log_density"),
        ("-0.5 * (z * z).sum() - noise.log_density", "0.5 * (z * z).sum() + noise.log_density"),
        ("namespace(noise.log_density)) - mean)", "namespace(noise.log_density)))"),
        ("-0.5 * jnp.sum(z**2, axis=0)", "-jnp.sum(z**2, axis=0)"),
    ],
    ("proposals/independent.py", "proposals/test_proposals.py::test_independent_uniform_ratio"): [
        ("array_module.where(is_inside, 0.0, -np.inf)", "array_module.where(is_inside, -np.inf, 0.0)"),
        ("unflatten(low + (high - low) * u, position, shape)", "unflatten(low + high * u, position, shape)"),
    ],
    ("proposals/independent.py", "proposals/test_proposals.py::test_independent_ratio_with_a_sampler_of_the_user"): [
        ("self.log_density(position) - noise.log_density", "noise.log_density - self.log_density(position)"),
    ],
    ("proposals/component.py", "proposals/test_proposals.py::test_component_passes_the_ratio_on"): [
        (
            "return self._set(position, component), log_proposal_ratio\n\n    def require",
            "return self._set(position, component), 0.0\n\n    def require",
        ),
    ],
    ("perfect/propp_wilson.py", "perfect/test_perfect.py"): [
        ("lambda i, carry: step(length - i, carry)", "lambda i, carry: step(length + i, carry)"),
        ("lambda i, carry: step(length - i, carry)", "lambda i, carry: step(i + 1, carry)"),
        ("is_ordered & order(states[0].position, states[1].position)", "is_ordered"),
        (
            "jax.tree.map(lambda a, b: jnp.all(a == b), first, second)",
            "jax.tree.map(lambda a, b: jnp.any(a == b), first, second)",
        ),
        ("return value, length, is_met | ~is_ordered, is_ordered", "return value, length, True | is_met, is_ordered"),
    ],
    ("perfect/propp_wilson.py", "perfect/test_perfect.py::test_noise_is_replayed_and_not_redrawn"): [
        (
            "return kernel.noise(random.fold_in(key, t), position)",
            "return kernel.noise(random.fold_in(key, t // 2), position)",
        ),
    ],
    ("perfect/murdoch_green.py", "perfect/test_perfect.py::test_the_way_from_the_meeting_has_the_noise_of_its_times"): [
        ("jax.lax.fori_loop(1, t, forward", "jax.lax.fori_loop(2, t, forward"),
        ("noise_at(key, kernel, worst, t - i))[0]", "noise_at(key, kernel, worst, t + i))[0]"),
        ("noise_at(key, kernel, worst, t - i))[0]", "noise_at(key, kernel, worst, i))[0]"),
    ],
    ("perfect/murdoch_green.py", "perfect/test_perfect.py"): [
        ("noise.accept <= log_weight - log_bound, is_bounded", "noise.accept <= log_weight, is_bounded"),
        ("noise.accept <= log_weight - log_bound, is_bounded", "noise.accept <= log_weight + log_bound, is_bounded"),
        ("is_bounded = ~(log_weight > log_bound + TOLERANCE)", "is_bounded = log_weight == log_weight"),
    ],
    ("check/order.py", "check/test_check.py::test_asymptotic_variance_against_a_closed_form"): [
        ("(2 * fundamental @ f - f)", "(2 * fundamental @ f)"),
        ("np.eye(len(pi)) - matrix + pi[None, :]", "np.eye(len(pi)) + matrix + pi[None, :]"),
        ("f = values - pi @ values", "f = values - values.mean()"),
    ],
    ("check/matrix.py", "kernels/test_exactness.py::test_wrong_variants_are_rejected"): [
        ("np.max(np.abs(pi @ matrix - pi))", "np.max(np.abs(pi @ matrix - pi @ matrix))"),
    ],
    ("check/matrix.py", "kernels/test_exactness.py::test_exact_kernels_are_exact_and_say_so"): [
        ("matrix[i, j] += probability * accepted", "matrix[i, j] += accepted"),
        ("jnp.exp(jnp.minimum(log_ratio, 0.0))", "jnp.exp(jnp.minimum(log_ratio, 0.1))"),
        ("flow = pi[:, None] * matrix", "flow = pi[None, :] * matrix"),
        ("lambda new: probability(old, new), law), law)", "lambda new: probability(new, old), law), law)"),
        ("return candidate, accepted * law.weights", "return candidate, accepted"),
    ],
    (
        "coupling/maximal.py",
        "kernels/test_keys.py::test_the_second_of_maximally_coupled_chains_is_its_kernel",
    ): [
        ("meet.proposal, here, candidate, there)", "meet.proposal, there, candidate, here)"),
    ],
    ("advice/particles.py", "state_space/test_advice.py::test_options_of_particles"): [
        ("left = float(2 * ndtr(-noise / 2))", "left = float(ndtr(-noise / 2))"),
        ("left = float(2 * ndtr(-noise / 2))", "left = float(2 * ndtr(-noise))"),
        ("noise = ratio / np.sqrt(count)", "noise = ratio / count"),
        ("left, fixed + each * count, refresh)", "left, each * count, refresh)"),
        ("(MIXING / self.acceptance + self.refresh)", "(MIXING * self.acceptance + self.refresh)"),
        ("return 1 / (self.seconds * (MIXING", "return self.seconds / ((MIXING"),
    ],
    ("state_space/noisiness.py", "state_space/test_advice.py::test_noise_of_estimates"): [
        ("np.var(values, axis=1, ddof=1)", "np.var(values, axis=0, ddof=1)"),
        ("np.where(np.isfinite(variances), variances, np.inf)", "np.where(np.isfinite(variances), variances, 0.0)"),
        ("return float(np.sqrt(np.median(", "return float((np.median("),
    ],
}
