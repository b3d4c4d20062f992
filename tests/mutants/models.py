"""Faults of counts that leap, of sums over lattices, and of first passages."""

CUT = "models/test_leaps.py::test_the_first_cut_is_the_density_of_the_mode"
POISSON_CUTS = "models/test_leaps.py::test_poisson_numbers_change_where_the_distribution_function_says"
CONSTANTS = "models/test_models_lattice.py::test_normalizing_constants_are_those_of_enumeration"
PASSAGE = "separation/test_separation.py::test_first_passage_agrees_with_the_waits_and_with_brute_force"

FAULTS = {
    ("models/leaps.py", CUT): [
        ("jnp.floor((n + 1) * p)", "jnp.floor(n * p - 1)"),
        ("- log_factorial(n - mode)", "- log_factorial(n)"),
        ("(n - mode) * jnp.log1p(-p)", "(n - mode) * jnp.log1p(p)"),
    ],
    ("models/factorials.py", "models/test_leaps.py::test_factorials"): [
        ("(1 / 12 - (1 / 360", "(1 / 12 + (1 / 360"),
        ("(n + 0.5) * jnp.log(n)", "n * jnp.log(n)"),
    ],
    ("models/leaps.py", "models/test_leaps.py::test_edges"): [
        ("is_law = (p >= 0) & (p <= 1) & (n >= 0)", "is_law = (p >= 0) & (n >= 0)"),
        ("(mean >= LARGE) & (mean < np.inf)", "mean >= LARGE"),
    ],
    ("models/leaps.py", "models/test_leaps.py::test_binomial_from_the_mode[400-0.5]"): [
        ("odds * (n - x) / (x + 1)", "odds * (n - x + 1) / (x + 1)"),
        ("x / (odds * (n - x + 1))", "x / (odds * (n - x))"),
        ("rest = rest - down", "rest = rest + 0 * down"),
    ],
    ("models/leaps.py", "models/test_leaps.py::test_binomial_numbers_change_where_the_distribution_function_says"): [
        ("lambda k: odds * (n - k)", "lambda k: odds * n"),
        ("jnp.where(is_few, found, n - found)", "found"),
    ],
    ("models/counting.py", POISSON_CUTS): [
        ("1 / (outcome + 1 + jnp.arange(AT_ONCE))", "1 / (outcome + 2 + jnp.arange(AT_ONCE))"),
        ("(uniform >= total) & (density > NOTHING * total)", "(uniform >= total) & (density > NOTHING)"),
        ("return outcome + AT_ONCE, density", "return outcome + 1, density"),
    ],
    ("models/poisson_quantile.py", POISSON_CUTS): [
        ("error = inverse**3 +", "error = 0 * inverse +"),
        ("(jnp.abs(slope) < STEEPEST)", "(jnp.abs(slope) < 2 * STEEPEST)"),
        ("return outcome - 1, term, total + term", "return outcome - 1, term, total"),
    ],
    ("models/poisson_quantile.py", "models/test_leaps.py::test_doubtful_quantiles_are_found_from_any_guess"): [
        ("total - density, total)", "total, total)"),
        ("density * mean / (outcome + 1)", "density * mean / outcome"),
    ],
    ("models/poisson_quantile.py", "models/test_leaps.py::test_the_expansion_of_poisson_quantiles"): [
        ("-16 / 25515", "16 / 25515"),
        ("1 / 270, -23 / 17280", "1 / 270, -23 / 17180"),
        ("inverse * (rows[2] + inverse * rows[3])", "inverse * rows[2]"),
    ],
    ("models/transfer_matrix.py", CONSTANTS): [
        (
            "jnp.exp(theta * np.array([[1.0, -1.0], [-1.0, 1.0]]))",
            "jnp.exp(theta * np.array([[1.0, 0.0], [0.0, 1.0]]))",
        ),
        ("(spins[:, 0] * spins[:, -1] if is_periodic else 0)", "0"),
        ("log_first = theta * along + spins @ field[0]", "log_first = theta * along"),
        ("log_scale + jnp.log(largest)), None", "log_scale), None"),
        ("jnp.exp(row[c] * np.array([1.0, -1.0]))", "jnp.exp(row[0] * np.array([1.0, -1.0]))"),
        ("* jnp.exp(theta * along)[:, None]\n        largest", "\n        largest"),
        ("weights = weights * jnp.exp(theta * (spins @ spins.T))", "weights = weights * 1.0"),
    ],
    ("separation/first_passage.py", PASSAGE): [
        ("times[active[is_done]] = step + first[is_done] + 1", "times[active[is_done]] = step + first[is_done]"),
        ("info.marks & (first == steps), at + i, first)", "info.marks, at + i, first)"),
        ("info.marks & (first == steps), at + i, first)", "info.marks & (first == steps), i, first)"),
        ("np.resize(kept, room)", "np.resize(np.arange(len(kept)), room)"),
        ("take(noise, i))", "take(noise, 0))"),
        ("(start + at) // CELL, CELLS)", "start // CELL, CELLS)"),
        ("(start + at) // CELL, CELLS)", "at // CELL, CELLS)"),
        ("groups = -(-len(active) // lanes)", "groups = len(active) // lanes"),
        ("mine = take(group_keys, group)", "mine = take(group_keys, 0)"),
        ("dynamic_update_index_in_dim(all_of, one, group, 0)", "dynamic_update_index_in_dim(all_of, one, 0, 0)"),
    ],
    ("state_space/forecast.py", "state_space/test_simulated.py::test_forecasts_go_on_from_the_last_state"): [
        ("leaf[:, :, -1].reshape(-1, *leaf.shape[3:])", "leaf[:, :, 0].reshape(-1, *leaf.shape[3:])"),
        ("time = self.end + 1 + index", "time = self.end + index"),
        (
            "self.model.transition(taken(noise, index), states, theta, *at)",
            "self.model.transition(taken(noise, 0), states, theta, *at)",
        ),
        ("self.model.observe(key, moved, theta, *at))", "self.model.observe(key, states, theta, *at))"),
        ("jr.fold_in(key_data, index)[None]", "key_data[None]"),
    ],
    ("state_space/simulate.py", "state_space/test_simulated.py::test_simulated_states_and_data"): [
        ("moved = model.transition(taken(noise, time), states", "moved = model.transition(taken(noise, 0), states"),
        (
            "one = jax.tree.map(lambda leaf: leaf[time][None], states)",
            "one = jax.tree.map(lambda leaf: leaf[0][None], states)",
        ),
        (
            "_, rest = jax.lax.scan(body, first, jnp.arange(1, plan.length + 1))",
            "_, rest = jax.lax.scan(body, first, jnp.arange(plan.length))",
        ),
    ],
}
