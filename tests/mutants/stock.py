"""Faults of noise that is drawn ahead, and of what keeps wrong sums away."""

ONCE = "engine/test_stock.py::test_every_block_gets_its_noise_and_no_noise_is_drawn_twice"
ELSEWHERE = "engine/test_stock.py::test_a_block_elsewhere_than_foreseen_gets_its_own_noise"
SCOPES = "engine/test_stock.py::test_the_thread_draws_in_the_scopes_of_the_run"
SUMS = "core/test_wrong_sums.py"

FAULTS = {
    ("engine/stock.py", ONCE): [
        ("if self._present[0] != first:", "if True:"),
        ("if self._present[0] != first:", "if self._present[0] < 0:"),
        ("if self._is_ahead and following", "if following"),
        (" and following // CELL != first:", ":"),
        ("block.start // CELL, block.start + block.steps", "block.start // CELL, block.start"),
        ("self._begin(following // CELL)", "self._begin(first + 1)"),
    ],
    ("engine/stock.py", "engine/test_stock.py::test_nothing_is_drawn_behind_the_end"): [
        ("following < self._end", "following <= self._end"),
    ],
    ("engine/stock.py", ELSEWHERE): [
        ("drawn is not None and drawn[0] == cell", "drawn is not None"),
    ],
    ("engine/stock.py", SCOPES): [
        ("with double_precision(), jax.default_device(device)", "with jax.default_device(device)"),
        (", jax.threefry_partitionable(partitionable):", ":"),
    ],
    ("core/wrong_sums.py", SUMS): [
        ('f"{given} --{FLAG}=".strip()', "given"),
        ("backends_are_initialized() and are_wrong()", "backends_are_initialized() and not are_wrong()"),
        ("return not np.allclose(", "return np.allclose("),
    ],
}
