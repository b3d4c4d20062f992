"""Faults of lagged pairs, of candidates made again, of forecasts and of the order along a Hilbert curve."""

ALONE = "coupling/test_lagged.py::test_a_lagged_pair_is_the_chain_alone_and_meets_for_good"
BOXES = "coupling/test_lagged.py::test_black_boxes_meet_as_compiled_kernels_do_and_are_not_called_in_vain"
BOUNDS = "lagged/test_unbiased.py::test_bounds_are_what_the_formulas_say"
CANDIDATES = "surrogates/test_quadratic.py::test_candidates_are_made_again_from_the_noise"
AFTER = "state_space/test_simulated.py::test_forecasts_go_on_from_the_last_state"
CURVE = "state_space/test_particle_marginal.py::test_a_hilbert_curve_visits_neighbours"

FAULTS = {
    ("coupling/lagged.py", ALONE): [
        ("second = choose(state.is_equal, first, choose(is_waiting, state.second, second))", "second = second"),
        ("is_waiting = state.waiting > 0", "is_waiting = state.waiting > 1"),
        ("return LaggedState(*states, np.bool_(False)", "return LaggedState(*states, np.bool_(True)"),
        ("return Info(never, choose(always, np", "return Info(always, choose(always, np"),
    ],
    ("coupling/lagged.py", BOXES): [
        ("return (_both if is_apart else _alone)(*arguments)", "return _both(*arguments)"),
    ],
    ("coupling/lagged.py", "kernels/test_keys.py"): [
        (
            "self.kernel.meeting_noise(random.fold_in(key, MEETING_STREAM), shape)",
            "self.kernel.meeting_noise(key, shape)",
        ),
    ],
    ("lagged/convergence.py", BOUNDS): [
        ("return Bound(np.minimum(mean, most)", "return Bound(mean"),
        ("ndtri((1 + CONFIDENCE) / 2)", "ndtri(CONFIDENCE)"),
        ("np.clip(mean - half, 0.0, most)", "mean - half"),
    ],
    (
        "lagged/convergence.py",
        "lagged/test_unbiased.py::test_a_band_reaches_up_to_what_few_pairs_leave_possible",
    ): [
        ("betaincinv(apart + 1, np.maximum(count - apart, 1e-9)", "betaincinv(apart + 1, np.maximum(count, 1e-9)"),
    ],
    ("lagged/convergence.py", "lagged/test_unbiased.py::test_the_bound_lies_above_the_distance"): [
        ("< level else (middle + 1, high)", "<= level / 2 else (middle + 1, high)"),
    ],
    ("surrogates/replay.py", CANDIDATES): [
        ("(first + run.draws - 2) // CELL - first // CELL + 1", "(first + run.draws - 2) // CELL - first // CELL"),
        ("numbers = first // CELL + jnp.arange(cells)", "numbers = jnp.arange(cells)"),
        (
            "here = jax.tree.map(lambda leaf: leaf[:, :-1], positions)",
            "here = jax.tree.map(lambda leaf: leaf[:, 1:], positions)",
        ),
    ],
    ("state_space/forecast.py", AFTER): [
        (
            "keys = random.split(key, len(jax.tree.leaves(flat)[0]))",
            "keys = jnp.broadcast_to(key, len(jax.tree.leaves(flat)[0]))",
        ),
        ("return moved, (moved, self.model.observe(", "return states, (moved, self.model.observe("),
        ("states = self.model.transition(row, states, theta,", "_ = self.model.transition(row, states, theta,"),
        ("theta, states = taken(positions, draw)", "theta, states = taken(positions, 0)"),
    ],
    ("state_space/forecast.py", "state_space/test_particle_marginal.py::test_inputs_reach_every_function"): [
        (
            "(time,) if inputs is None else (time, taken(inputs, index))",
            "(time,) if inputs is None else (time, taken(inputs, 0))",
        ),
    ],
    ("state_space/hilbert.py", CURVE): [
        ("index = (index << 1) |", "index = (index << 2) |"),
    ],
    (
        "state_space/hilbert.py",
        "state_space/test_particle_marginal.py::test_the_order_of_particles_does_not_depend_on_units",
    ): [
        ("scores = (rows - xp.mean(rows, axis=0)) /", "scores = rows /"),
        ("xp.where(spread > 0, spread, 1.0)", "1.0"),
        ("2.0**bits / (1 + xp.exp(-2 * scores))", "2.0**bits * scores"),
    ],
}
