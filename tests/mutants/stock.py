"""Faults of noise that is drawn ahead, of where chains lie, of keys, options of XLA, the collector, updates ahead."""

ONCE = "engine/test_stock.py::test_every_block_gets_its_noise_and_no_noise_is_drawn_twice"
ELSEWHERE = "engine/test_stock.py::test_a_block_elsewhere_than_foreseen_gets_its_own_noise"
SCOPES = "engine/test_stock.py::test_the_thread_draws_in_the_scopes_of_the_run"
SUMS = "core/test_wrong_sums.py"
LOOPS = "core/test_small_loops.py"
COLLECTOR = "core/test_collector.py::test_new_objects_are_looked_at_and_the_collector_is_left_as_it_was_found"
OPEN = "core/test_collector.py::test_the_collector_waits_for_the_last_of_several_scopes"
RECORDS = "host/test_blackbox.py::test_records_of_updates_do_not_make_the_collector_look_through_all_objects"
BEHIND = "workers/test_ahead.py::test_updates_behind_a_block_are_made_before_it_ends_but_none_behind_the_run"
UNIFORM = "core/test_random.py::test_uniform_numbers_are_those_of_jax"
LAID = "engine/test_layout.py::test_arrays_come_back_as_they_were"
DRAWN = "engine/test_layout.py::test_draws_are_the_same_with_the_chains_first"
KEPT = "chains/test_keepers.py"
DERIVED = "core/test_random.py::test_derived_keys_are_those_of_jax"

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
        ("                double_precision(),\n", ""),
        ("                jax.threefry_partitionable(partitionable),\n", ""),
    ],
    ("engine/layout.py", LAID): [
        ("math.prod(leaf.shape[leading + 1 :])", "math.prod(leaf.shape[leading:])"),
        ("math.prod(leaf.shape[leading:]) // chains, leading)", "math.prod(leaf.shape[leading:]), leading)"),
        ("jnp.moveaxis(leaf, leading, axis)", "jnp.moveaxis(leaf, axis, leading)"),
        ("-1 if numbers <= FEW else leading", "-1 if numbers < FEW else leading"),
    ],
    ("engine/layout.py", "engine/test_layout.py::test_noise_is_laid_out_at_once"): [
        (".T.reshape(steps, *rest, chains)", ".reshape(steps, *rest, chains)"),
    ],
    ("engine/compiled.py", DRAWN): [
        ("thinning._replace(info=laid_out(thinning.info))", "thinning"),
        ("return chains_first(state, chains), output", "return state, output"),
    ],
    ("chains/keepers.py", KEPT): [
        ('kind="stable")[::-1]', 'kind="stable")'),
        ("leaf[:, self.filled : self.filled + count]", "leaf[:, :count]"),
        ("self._copying = _copier().submit(copy)", "copy()"),
        ("            return None\n        self._settle()", "            return None"),
    ],
    ("core/random.py", DERIVED): [
        ("words.reshape(-1, 1, 2)", "words.reshape(-1, 2, 1)"),
        ("counter.reshape(1, -1), ON_HOST)", "counter.reshape(1, -1) + np.uint32(1), ON_HOST)"),
        ("in _on_host(key, np.arange(2)))", "in _on_host(key, np.arange(2))[::-1])"),
        ("if _is_counted(keys) and _is_known(keys, numbers):", "if _is_known(keys, numbers):"),
    ],
    ("core/random.py", "core/test_random.py::test_seeds_give_the_keys_of_jax"): [
        ("[seed >> 32,", "[0,"),
        ('if settings.jax_default_prng_impl != "threefry2x32":', "if False:"),
    ],
    ("core/precision.py", "core/test_precision.py"): [
        ("jax.device_put(np.array(array, dtype))", "jax.device_put(np.asarray(array, dtype))"),
    ],
    ("core/small_loops.py", LOOPS): [
        ("if FLAG not in given:", "if True:"),
        ('f"{given} --{FLAG}={OPTION}={BYTES}".strip()', 'f"--{FLAG}={OPTION}={BYTES}"'),
    ],
    ("core/collector.py", COLLECTOR): [
        ("gc.set_threshold(youngest, middle, NEVER)", "pass"),
        ("gc.set_threshold(youngest, middle, _SCOPES.oldest)", "pass"),
    ],
    ("core/collector.py", OPEN): [
        ("if not _SCOPES.count:\n                youngest", "if True:\n                youngest"),
        ("_SCOPES.count -= 1", "pass"),
    ],
    ("engine/interpreted.py", RECORDS): [("PIECE = CELL", "PIECE = 10**6")],
    ("workers/engine.py", BEHIND): [
        ("min(block.steps + width, cells", "min(block.steps, cells"),
        (", max(self.end - block.start, block.steps))", ")"),
        ("self.begun[chain] = path.guesses", "pass"),
    ],
    ("core/random.py", UNIFORM): [
        ("_from_one_to_two(_counted(key, shape)) - 1.0", "_from_one_to_two(_counted(key, shape)) - 0.5"),
        ("_has_words(key) and _is_counted(key) else", "_has_words(key) else"),
    ],
    ("chains/repeat.py", "engine/test_devices.py::test_draws_over_two_devices_are_those_of_one[some]"): [
        ("if task.ahead == 1:  # on the devices", "if False:  # on the devices"),
    ],
    ("core/wrong_sums.py", SUMS): [
        ('f"{given} --{FLAG}=".strip()', "given"),
        ("backends_are_initialized() and are_wrong()", "backends_are_initialized() and not are_wrong()"),
        ("return not np.allclose(", "return np.allclose("),
    ],
}
