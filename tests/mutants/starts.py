"""Faults of where chains begin."""

PLACED = "parameters/test_log_prior.py::test_starts_are_placed_where_chains_walk"

FAULTS = {
    ("chains/placing.py", PLACED): [
        ("return legs_placed(self.shown, self.draw(key))", "return self.draw(key)"),
        ("else Starts(_each_placed(shown, initial.positions))", "else initial"),
        ("        return legs_placed(shown, initial)\n", "        return initial\n"),
        (
            "Pair(*(shown.unconstrained(leg) for leg in values))",
            "Pair(*(shown.unconstrained(values.first) for _ in values))",
        ),
        (
            '    return Placing(shown, Function(initial, "initial"), is_left_out)\n',
            '    return Function(initial, "initial")\n',
        ),
        ("isinstance(initial, (Placing, Walked))", "isinstance(initial, Placing)"),
        ("jax.tree.map(lambda leaf: leaf[i], values)", "jax.tree.map(lambda leaf: leaf[0], values)"),
        ("        initial = law_of(kernel)\n", "        return law_of(kernel)\n"),
    ],
}
