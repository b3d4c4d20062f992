"""Faults of named parameters: supports, priors, and the prior around ratios and estimators."""

JACOBIANS = "parameters/test_supports.py::test_jacobians_and_inverses"
ROUNDED = "parameters/test_supports.py::test_values_that_round_to_a_bound_are_outside"
FORMULAS = "parameters/test_supports.py::test_every_formula_is_that_of_scipy"
PRIOR = "parameters/test_log_prior.py::test_prior_joint_prior_and_jacobian"
BOUNDED = "parameters/test_log_prior.py::test_what_rounds_to_a_bound_has_no_prior"
NUMPYRO = "parameters/test_log_prior.py::test_supports_of_numpyro_s_distributions"
REMEMBERED = "parameters/test_log_prior.py::test_a_ratio_remembers_the_prior_of_its_candidate"
BREAKING = "parameters/test_log_prior.py::test_only_a_candidate_inside_can_break_a_bound"
FORMS = "parameters/test_log_prior.py::test_estimators_have_the_prior_in_every_form"
VALUES = "parameters/test_log_prior.py::test_evaluations_and_functions_are_those_of_values"
EXACT = "parameters/test_posterior.py::test_a_prior_around_every_ratio_is_exact"

FAULTS = {
    ("parameters/supports.py", JACOBIANS): [
        ("else self.bound - apart), free.sum()", "else self.bound - apart), -free.sum()"),
        ("else self.bound - apart), free.sum()", "else self.bound - apart), 0.0 * free.sum()"),
        ("(self.bound + apart if self.is_above else self.bound - apart), free", "self.bound + apart, free"),
        ("jnp.log(value - self.bound if self.is_above else self.bound - value)", "jnp.log(value - self.bound)"),
        ("(log_share + log_rest + xp.log(width)).sum()", "(log_share + log_rest).sum()"),
        ("(log_share + log_rest + xp.log(width)).sum()", "(log_share + xp.log(width)).sum()"),
        ("self.lower + width * xp.exp(log_share)", "self.lower + width * xp.exp(log_rest)"),
        ("jnp.log(value - self.lower) - jnp.log(self.upper - value)", "jnp.log(value - self.lower)"),
        ("return xp.exp(log_value), log_value.sum()", "return xp.exp(log_value), log_value[..., :-1].sum()"),
        ("jnp.log(value[..., :-1]) - jnp.log(value[..., -1:])", "jnp.log(value[..., :-1])"),
        ("xp.exp(whole_free - largest).sum(axis=-1, keepdims=True)", "xp.exp(whole_free - largest).sum(keepdims=True)"),
        ("xp.cumsum(steps, axis=-1), free[..., 1:].sum()", "xp.cumsum(steps, axis=-1), free.sum()"),
        ("xp.concatenate([free[..., :1], xp.exp(free[..., 1:])], axis=-1)", "xp.exp(free)"),
        ("jnp.log(jnp.diff(value, axis=-1))", "jnp.diff(value, axis=-1)"),
    ],
    ("parameters/supports.py", ROUNDED): [
        ("((apart > 0) & (apart < np.inf)).all()", "((apart >= 0) & (apart < np.inf)).all()"),
        ("((apart > 0) & (apart < np.inf)).all()", "(apart > 0).all()"),
        ("(value < self.upper)).all()", "(value <= self.upper)).all()"),
        ("return (value > 0).all() & (abs(value", "return (value >= 0).all() & (abs(value"),
        ("(value[..., 1:] > value[..., :-1]).all()", "(value[..., 1:] >= value[..., :-1]).all()"),
    ],
    ("parameters/scipy_priors.py", FORMULAS): [
        ("z = (value - self.location) / self.scale", "z = value / self.scale - self.location"),
        ("(inside - numbers[0]) / numbers[1], *numbers", "inside / numbers[1], *numbers"),
        ('"gamma": lambda xp, z, a: (a - 1)', '"gamma": lambda xp, z, a: a'),
        ("-(a + 1) * xp.log(z) - 1 / z", "-(a - 1) * xp.log(z) - 1 / z"),
        ("(b - 1) * xp.log1p(-z)", "b * xp.log1p(-z)"),
        ("(2 * s**2) - xp.log(z)", "(2 * s**2)"),
        ("-(df + 1) / 2 * xp.log1p(z**2 / df)", "-(df + 1) / 2 * xp.log1p(z**2)"),
        ("-abs(z) - 2 * xp.log1p", "-abs(z) - xp.log1p"),
        ("(c - 1) * xp.log(z) - z**c", "(c - 1) * xp.log(z) - z"),
        ('"truncnorm": lambda xp, z, a, b: -(z**2) / 2', '"truncnorm": lambda xp, z, a, b: -((z - a) ** 2) / 2'),
    ],
    ("parameters/numpyro_priors.py", NUMPYRO): [
        ("        return Simplex(shape)\n", "        return Ordered(shape)\n"),
        (
            "between(np.asarray(constraint.lower_bound), np.asarray(constraint.upper_bound), shape)",
            "between(0.0, 1.0, shape)",
        ),
        ("between(np.asarray(constraint.lower_bound), np.inf, shape)", "between(0.0, np.inf, shape)"),
        ("between(-np.inf, np.asarray(constraint.upper_bound), shape)", "Real(shape)"),
        ("return jnp.sum(self.distribution.log_prob(value))", "return jnp.mean(self.distribution.log_prob(value))"),
    ],
    ("parameters/parameters.py", PRIOR): [
        ("log_density + log_jacobian + choose(", "log_density + choose("),
        ("log_density + log_jacobian + choose(", "log_density - log_jacobian + choose("),
        ("log_density = log_density + log_jacobian +", "log_density = log_jacobian +"),
        ("choose(is_inside, prior(value), -np.inf)", "choose(is_inside, 0.0, -np.inf)"),
        ("choose(is_inside, self.log_prior(values), -np.inf)", "choose(is_inside, 0.0, -np.inf)"),
        ("            values[name] = value\n", "            values[name] = position[name]\n"),
    ],
    ("parameters/parameters.py", BOUNDED): [
        ("is_inside = is_inside & prior.support.contains(value)", "is_inside = is_inside & np.True_"),
    ],
    (
        "parameters/parameters.py",
        "parameters/test_log_prior.py::test_each_parameter_draws_with_a_key_of_its_own",
    ): [
        ("return {name: prior.draw(own) for", "return {name: prior.draw(key) for"),
    ],
    ("parameters/wrapping.py", VALUES): [
        ("return log_prior + self.own(values)", "return self.own(values)"),
        ("return log_prior + self.own(values)", "return log_prior + self.own(position)"),
        ("self.function(self.placement.values(position), *others)", "self.function(position, *others)"),
    ],
    ("estimators/within.py", VALUES): [
        ("-np.inf, log_prior + self.inner(noise, values))", "-np.inf, self.inner(noise, values))"),
        ("-np.inf, log_prior + self.inner(noise, values))", "-np.inf, log_prior + self.inner(noise, position))"),
    ],
    ("estimators/within.py", FORMS): [
        ("choose(is_outside, -np.inf, found.value + change)", "choose(is_outside, -np.inf, found.value)"),
        ("self.estimator.value(noise, here, there) + change)", "self.estimator.value(noise, here, there))"),
        ("found.estimate.value + change)", "found.estimate.value - change)"),
        ("log_prior_there - log_prior), is_outside", "log_prior - log_prior_there), is_outside"),
        (
            "found = estimated(self.estimator, noise, here, there)",
            "found = estimated(self.estimator, noise, here, here)",
        ),
        ("found._replace(value=choose(is_outside, -np.inf,", "found._replace(value=choose(is_outside, 0.0,"),
        ("value = choose(is_outside, -np.inf, found", "value = choose(is_outside, 0.0, found"),
    ],
    ("ratios/posterior.py", EXACT): [
        (
            "choose(is_outside, 0.0, log_prior - memory.log_prior)",
            "choose(is_outside, 0.0, memory.log_prior - log_prior)",
        ),
        ("log_ratio = log_proposal_ratio + choose(", "log_ratio = choose("),
        ("found = self.inner(noise, here, memory.memory", "found = self.inner(noise, position, memory.memory"),
        ("inside = choose(is_outside, here, there)\n        found", "inside = candidate\n        found"),
        ("Placed(log_prior, self.inner.init(noise, values))", "Placed(log_prior, self.inner.init(noise, position))"),
        (
            "Placed(log_prior, self.inner.init(noise, values))",
            "Placed(0.0 * log_prior, self.inner.init(noise, values))",
        ),
    ],
    ("ratios/posterior.py", REMEMBERED): [
        ("            Placed(log_prior, found.memory),", "            Placed(memory.log_prior, found.memory),"),
        ("            Placed(log_prior, found.memory),", "            Placed(log_prior, memory.memory),"),
        ("choose(is_outside, -np.inf, found.log_ratio)", "found.log_ratio"),
    ],
    ("ratios/posterior.py", BREAKING): [
        ("found.is_violated & ~is_outside", "found.is_violated"),
        ("found.is_violated & ~is_outside", "found.is_violated & is_outside"),
    ],
    (
        "ratios/posterior.py",
        "parameters/test_posterior.py::test_nothing_is_called_outside_the_prior",
    ): [
        ("if type(is_outside) is FLAG and is_outside:", "if False:"),
        (
            "if isinstance(log_prior, float) and log_prior == -np.inf:  # interpreted\n            raise",
            "if False:\n            raise",
        ),
    ],
    (
        "ratios/posterior.py",
        "parameters/test_posterior.py::test_estimators_predictions_and_couplings",
    ): [
        ("else Within(self.placement, self.inner.estimator)", "else self.inner.estimator"),
    ],
}
