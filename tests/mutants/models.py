"""Faults of counts that leap, of sums over lattices, and of first passages."""

CUT = "models/test_leaps.py::test_the_first_cut_is_the_density_of_the_mode"
CONSTANTS = "models/test_models_lattice.py::test_normalizing_constants_are_those_of_enumeration"
PASSAGE = "separation/test_separation.py::test_first_passage_agrees_with_the_waits_and_with_brute_force"

FAULTS = {
    ("models/leaps.py", CUT): [
        ("jnp.floor((n + 1) * p)", "jnp.floor(n * p)"),
        ("- log_factorial(n - mode)", "- log_factorial(n)"),
        ("jax.scipy.special.xlog1py(n - mode, -p)", "jax.scipy.special.xlog1py(n - mode, p)"),
        ("(1 / 12 - square * (1 / 360", "(1 / 12 + square * (1 / 360"),
        ("(large + 0.5) * jnp.log(large)", "large * jnp.log(large)"),
    ],
    ("models/leaps.py", "models/test_leaps.py::test_edges"): [
        ("down = jnp.where(low < 0, 0.0, down)", "down = jnp.where(low < 0, 1.0, down)"),
        ("is_law = (p >= 0) & (p <= 1) & (n >= 0)", "is_law = (p >= 0) & (n >= 0)"),
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
        ("info.marks & (first == steps), i, first)", "info.marks, i, first)"),
        ("index = np.resize(kept, width) if", "index = np.resize(np.arange(len(kept)), width) if"),
        ("take(noise, offset + i))", "take(noise, offset))"),
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
