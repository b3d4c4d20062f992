"""Faults of counts that leap, of sums over lattices, and of first passages."""

LEAPS = "models/test_leaps.py::"
POISSON_CUTS = LEAPS + "test_poisson_numbers_change_where_the_distribution_function_says"
BINOMIAL_CUTS = LEAPS + "test_binomial_numbers_change_where_the_distribution_function_says"
ANY_GUESS = LEAPS + "test_doubtful_quantiles_are_found_from_any_guess"
EXPANSION = LEAPS + "test_the_expansion_stays_within_its_error"
HUGE = LEAPS + "test_binomial_numbers_of_huge_counts"
CONSTANTS = "models/test_models_lattice.py::test_normalizing_constants_are_those_of_enumeration"
PASSAGE = "separation/test_separation.py::test_first_passage_agrees_with_the_waits_and_with_brute_force"
ROUNDS = "separation/test_separation.py::test_one_program_serves_first_passages_however_many_are_left"

FAULTS = {
    ("models/factorials.py", LEAPS + "test_factorials"): [
        ("return (1 / 12 - (1 / 360", "return (1 / 12 + (1 / 360"),
        ("(n + 0.5) * jnp.log(n)", "n * jnp.log(n)"),
        ("1 / 1188, -691 / 360360", "1 / 1188, 691 / 360360"),
        ("TABLE - ((n + 0.5) * np.log(n)", "TABLE - (n * np.log(n)"),
        ("jnp.clip(count, 1, len(RESTS) - 1)", "jnp.clip(count - 1, 1, len(RESTS) - 1)"),
    ],
    ("models/leaps.py", LEAPS + "test_edges"): [
        ("is_law = (p >= 0) & (p <= 1) & (n >= 0)", "is_law = (p >= 0) & (n >= 0)"),
        ("(mean >= LARGE) & (mean < np.inf)", "mean >= LARGE"),
        ("jnp.minimum(1 - uniform, ALMOST_ONE)", "1 - uniform"),
    ],
    ("models/leaps.py", BINOMIAL_CUTS): [
        ("lambda k: odds * (n - k)", "lambda k: odds * n"),
        ("jnp.where(is_few, found, n - found)", "found"),
        ("jnp.where(is_few, uniform, jnp.minimum(1 - uniform, ALMOST_ONE))", "uniform"),
        ("jnp.where(is_few, p, 1 - p)", "p"),
        ("binomial_quantile.settled_from(u, n, p, found, flags), found)", "found, found)"),
    ],
    ("models/elementwise.py", LEAPS + "test_batches_of_leaps_are_leaps_of_arrays"): [
        ("jnp.broadcast_to(one, (size, *one.shape))", "jnp.broadcast_to(one, (*one.shape, size))"),
        ("one if is_already else jnp.broadcast_to", "jnp.broadcast_to"),
        ("return batched(*with_axis), True", "return batched(*with_axis)[0], False"),
    ],
    ("models/counting.py", BINOMIAL_CUTS): [
        ("(uniform >= total) & (density > NOTHING * total)", "(uniform >= total) & (density > NOTHING)"),
    ],
    ("models/counting.py", POISSON_CUTS): [
        ("1 / (outcome + 1 + jnp.arange(AT_ONCE))", "1 / (outcome + 2 + jnp.arange(AT_ONCE))"),
        ("return outcome + AT_ONCE, density", "return outcome + 1, density"),
    ],
    ("models/cornish_fisher.py", BINOMIAL_CUTS): [
        ("return 0.03 / variance**3 + 4e-4", "return 0 * variance + 4e-4"),
        ("+ 4e-4 * variance * (fourth * fourth)", "+ 0 * fourth"),
        ("(jnp.abs(slope) < STEEPEST)", "(jnp.abs(slope) < 2 * STEEPEST)"),
        ("~is_sure & (variance < WIDE)", "~is_sure & (variance < 100)"),
        ("return whole + jnp.floor(found)", "return whole + jnp.round(found)"),
    ],
    ("models/cornish_fisher.py", EXPANSION): [
        ("(1 / 240, -1 / 2160)", "(1 / 240, 1 / 2160)"),
        ("-139 / 348364800", "-1 / 139"),
        ("-1451 / 3135283200", "-1 / 1451"),
        ("-433 / 622080", "433 / 622080"),
        ("(1 / 756, -37 / 17010", "(-1 / 756, -37 / 17010"),
        ("(1.0 if k % 2 else skew)", "skew"),
        ("inverse * (rows[2] + inverse * rows[3])", "inverse * rows[2]"),
    ],
    ("models/settling.py", ANY_GUESS): [
        ("return outcome - 1, term, total + term", "return outcome - 1, term, total"),
        ("total - density, total)", "total, total)"),
        ("density * above(outcome)", "density * above(outcome + 1)"),
        ("density * below(outcome), density)", "density, density)"),
        ("NOTHING = 1e-17", "NOTHING = 1e-7"),
    ],
    ("models/binomial_quantile.py", ANY_GUESS): [
        ("odds * (n - k) / (k + 1)", "odds * (n - k) / k"),
        ("k / (odds * (n - k + 1))", "k / (odds * (n - k))"),
        ("jnp.log1p(-distance / (n * (1 - p)))", "jnp.log1p(-distance / n)"),
        ("0.5 * jnp.log(outcome * (others / n))", "0.5 * jnp.log(outcome)"),
        (
            "stirling_rest_of_any(n) - stirling_rest_of_any(outcome)",
            "stirling_rest_of_any(n) + stirling_rest_of_any(outcome)",
        ),
    ],
    ("models/binomial_quantile.py", HUGE): [
        ("high = jnp.floor(p * HALF) / HALF", "high = p"),
        ("(some - jnp.floor(some)) + n * (p - high)", "(some - jnp.floor(some))"),
        ("whole = jnp.floor(most) + jnp.floor(some)", "whole = jnp.floor(most)"),
    ],
    ("models/poisson_quantile.py", POISSON_CUTS): [
        ("mean - whole, mean, 1.0)", "mean - whole, mean, 0.5)"),
    ],
    ("models/poisson_quantile.py", ANY_GUESS): [
        ("lambda k: mean / (k + 1)", "lambda k: mean / k"),
        ("lambda k: k / mean", "lambda k: (k + 1) / mean"),
        ("- distance\n", "+ distance\n"),
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
    ("separation/first_passage.py", ROUNDS): [
        ("np.resize(kept, room)", "np.resize(np.arange(len(kept)), room)"),
        ("(start + at) // CELL, CELLS)", "at // CELL, CELLS)"),
    ],
    ("separation/first_passage.py", PASSAGE): [
        ("times[active[is_done]] = step + first[is_done] + 1", "times[active[is_done]] = step + first[is_done]"),
        ("info.marks & (first == steps), at + i, first)", "info.marks, at + i, first)"),
        ("info.marks & (first == steps), at + i, first)", "info.marks & (first == steps), i, first)"),
        ("take(noise, i))", "take(noise, 0))"),
        ("(start + at) // CELL, CELLS)", "start // CELL, CELLS)"),
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
        ("random.fold_in(key_data, index)[None]", "key_data[None]"),
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
