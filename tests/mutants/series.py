"""Further faults of particles and of pairs of chains."""

PATHS = "state_space/test_particle_gibbs.py::test_paths_keep_their_posterior[0]"
JOINT = "state_space/test_particle_gibbs.py::test_parameters_are_moved_for_the_joint_density"
TIMED = (
    "state_space/test_particle_gibbs.py::test_the_density_of_parameters_knows_the_times_and_the_support_of_the_prior"
)
ANCESTORS = "state_space/test_particle_marginal.py::test_ancestors"
ORDERED = "state_space/test_particle_marginal.py::test_multinomial_positions_are_uniform_numbers_in_order"
CURVE = "state_space/test_particle_marginal.py::test_a_hilbert_curve_visits_neighbours"
BOUNDS = "lagged/test_unbiased.py::test_bounds_are_what_the_formulas_say"
PAIR = "coupling/test_lagged.py::test_a_lagged_pair_is_the_chain_alone_and_meets_for_good"
BOXES = "coupling/test_lagged.py::test_black_boxes_meet_as_compiled_kernels_do_and_are_not_called_in_vain"

FAULTS = {
    ("state_space/conditional.py", PATHS): [
        ("time = self.series.time(index - 1) + 1", "time = self.series.time(index - 1)"),
        ("given = ancestors(uniforms[-1:], weights)", "given = ancestors(uniforms[-1:], cloud.weights)"),
        (
            "states = offspring(cloud.states, chosen)",
            "states = jax.tree.map(lambda leaf: leaf[:-1], cloud.states)",
        ),
        ("ancestors(position[None], cloud.weights)[0]", "ancestors(position[None], jnp.ones_like(cloud.weights))[0]"),
        ("jnp.concatenate([leaf, one[:, None]], axis=1)", "jnp.concatenate([one[:, None], leaf], axis=1)"),
        (
            "states, _, history = self.free.moved(states, noise, theta, index, history)",
            "states, _, history = self.free.moved(states, noise, theta, 0, history)",
        ),
    ],
    (
        "state_space/conditional.py",
        "state_space/test_bad_filters.py::test_one_particle_without_a_number_is_not_lost_in_a_conditional_filter",
    ): [
        ("return choose(is_valid, found, path), is_valid", "return found, True | is_valid"),
    ],
    ("state_space/particle_gibbs.py", JOINT): [
        ("first = jax.tree.map(lambda leaf: leaf[:1], path)", "first = jax.tree.map(lambda leaf: leaf[1:2], path)"),
        ("before = jax.tree.map(lambda leaf: leaf[:-1], path)", "before = jax.tree.map(lambda leaf: leaf[1:], path)"),
        ("density += jnp.sum(_at_times(model.log_transition", "density -= jnp.sum(_at_times(model.log_transition"),
        ("leaf[jnp.asarray(plan.times)], path)", "leaf[jnp.asarray(plan.times) - 1], path)"),
        ("jnp.where(plan.is_missing, 0.0, seen)", "jnp.where(plan.is_missing, seen, 0.0)"),
    ],
    ("state_space/particle_gibbs.py", TIMED): [
        ("times = jnp.arange(1, plan.length + 1)", "times = jnp.arange(plan.length)"),
        ("return jnp.where(total == -np.inf, -np.inf, total", "return jnp.where(total == -np.inf, 0.0, total"),
    ],
    ("state_space/resampling.py", ANCESTORS): [
        ("positions * shares[-1], side", "positions, side"),
        ("(count / shares[-1]) - positions)", "count - positions)"),
        ("(count / shares[-1]) - positions)", "(count / shares[-1]) + positions)"),
        ("_counts(below, count)[:count])", "_counts(below, count)[1:])"),
        ("rows @ np.triu(np.ones((width, width)))", "rows @ np.tril(np.ones((width, width)))"),
    ],
    ("state_space/resampling.py", ORDERED): [
        ("jnp.cumsum(-jax.scipy.special.log_ndtr(normals)", "jnp.cumsum(jax.scipy.special.ndtr(normals)"),
    ],
    ("state_space/hilbert.py", CURVE): [
        ("xp.where(is_set, x[0] ^ low, x[0] ^ swapped)", "xp.where(is_set, x[0] ^ low, x[0])"),
        ("((x[i] ^ flip) >> bit) & 1", "(x[i] >> bit) & 1"),
        ("for bit in reversed(range(bits)):", "for bit in range(bits):"),
        ("xp.where(is_set, x[i], x[i] ^ swapped)", "x[i] ^ swapped"),
        ("while level > 1:\n        low", "while level > 2:\n        low"),
        ("(x[-1] & level) != 0, flip", "(x[0] & level) != 0, flip"),
    ],
    ("lagged/convergence.py", BOUNDS): [
        (
            "self._mean(np.maximum(0, -(left // self.lag)).astype(float), most=1.0)",
            "self._mean(1.0 * (left < 0), most=1.0)",
        ),
        ("/ np.sqrt(count)", "/ count"),
        ("tails[np.minimum(t, last)]", "tails[np.minimum(t, last) - 1]"),
    ],
    ("lagged/distance.py", BOUNDS): [
        (
            "one[:, lag - 1 : last].astype(float) - other[:, lag - 1 : last]",
            "one[:, lag - 1 : last].astype(float) - other[:, : last - lag + 1]",
        ),
        ("return np.sqrt(squares)", "return squares"),
    ],
    ("coupling/lagged.py", PAIR): [
        ("waiting = state.waiting - is_waiting", "waiting = state.waiting - is_waiting * 2"),
        (
            "choose(state.is_equal, info, choose(is_waiting, _nothing_done(info), other))",
            "choose(state.is_equal, info, other)",
        ),
        ("jnp.asarray(self.lag))\n", "jnp.asarray(self.lag) - 1)\n"),
    ],
    ("coupling/lagged.py", BOXES): [
        (
            "choose(state.is_equal, first, choose(is_waiting, state.second, second))",
            "choose(is_waiting, state.second, second)",
        ),
        ("is_apart = ~(state.is_equal | is_waiting)", "is_apart = state.is_equal | is_waiting"),
    ],
}
