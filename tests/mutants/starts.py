"""Faults of where chains begin."""

PLACED = "parameters/test_log_prior.py::test_starts_are_placed_where_chains_walk"

BACK = "storage/test_fitted.py::test_what_is_read_back_is_what_was_fitted"
ACCEPTED = "storage/test_fitted.py::test_changed_data_that_are_accepted_are_fitted_once"
SEED = "storage/test_fitted.py::test_a_fit_that_was_not_followed_by_a_run_does_not_bind_the_directory"
BESIDE = "storage/test_fitted.py::test_nothing_is_written_beside_other_files"
PATHS = "core/test_wrappers.py::test_paths_are_kept_through_what_stands_around_a_filter"
OWN_NOISE = "core/test_wrappers.py::test_a_second_chain_comes_to_remember_what_its_own_noise_makes"
NAMED = "core/test_wrappers.py::test_a_screen_around_named_parameters_leaves_their_names_and_supports"
COUNTED = "core/test_wrappers.py::test_a_promise_that_is_broken_within_a_posterior_is_counted"
CARRIED = "core/test_wrappers.py::test_what_is_carried_is_replaced_inside_of_all_that_stands_around_it"
CALLS = "chains/test_sessions.py::test_a_black_box_is_called_once_at_the_start_and_once_an_update"
PRIOR = "host/test_blackbox.py::test_a_prior_is_asked_once_of_each_candidate"

FAULTS = {
    ("storage/fitted.py", BACK): [
        ('return {"at": places[id(value)]}', 'return {"at": []}'),
        ("before = _children(before)[number]", "before = _children(before)[0]"),
        ('if meta["digest"] == digest else None', "if False else None"),
    ],
    ("storage/fitted.py", ACCEPTED): [
        ('if meta["digest"] == digest else None', "if True else None"),
    ],
    ("storage/fitted.py", SEED): [
        ("json.dumps([model, seed, chains], sort_keys=True)", "json.dumps([model, chains], sort_keys=True)"),
    ],
    ("storage/fitted.py", BESIDE): [
        ("        require_empty(directory)\n", "        pass\n"),
    ],
    ("ratios/screened.py", PATHS): [
        ("return self.base.kept(memory.memory)", "return ()"),
    ],
    ("ratios/randomized.py", PATHS): [
        ("return () if self.base is None else self.base.kept(memory)", "return ()"),
    ],
    ("ratios/screened.py", OWN_NOISE): [
        ("return (noise[0], noise_base), is_same", "return noise, True"),
        ("return (noise[0], noise_base), is_same", "return noise, is_same"),
    ],
    ("ratios/screened.py", NAMED): [
        ('"shown is_memory_random', '"is_memory_random'),
    ],
    ("ratios/screened.py", CARRIED): [
        ("return around(lambda base: Screened(base, self.surrogate), self.base)", "return self.base.with_evaluation"),
    ],
    ("estimators/within.py", COUNTED): [
        ("return self.inner.is_violated(noise, values) & (log_prior > -np.inf)", "return log_prior == -np.inf"),
        ("when_violated can_be_violated", "when_violated"),
    ],
    ("coupling/common_noise.py", CALLS): [
        ("return [(exact, place, state), (*approximate, None)]", "return [(exact, place, None), (*approximate, None)]"),
    ],
    ("host/call.py", PRIOR): [
        ("given[0] is arguments[0] and", "given is arguments and"),
    ],
    ("starts/start.py", PLACED): [
        ("return of_each(self.shown.unconstrained, self.draw(key))", "return self.draw(key)"),
        ("return Starts(jax.tree.map(lambda *leaves: jnp.stack(leaves), *chains))", "return self"),
        ("return of_each(shown.unconstrained, self.position)", "return self.position"),
        ("return Placing(shown, self.function, is_left_out)", "return self.function"),
        ("one_of(self.positions, i)", "one_of(self.positions, 0)"),
    ],
    ("coupling/pair.py", PLACED): [
        (
            "found = tuple(map(change, legs(positions)))",
            "found = tuple(change(legs(positions)[0]) for _ in legs(positions))",
        ),
    ],
    ("starts/placing.py", PLACED): [
        ("return initial if start.is_walked else start", "return start"),
        ("        initial = law_of(kernel)\n", "        return law_of(kernel)\n"),
    ],
}
