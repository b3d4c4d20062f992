"""What newcomers met, taken back one by one: the test of each fails without its mend."""

BEGIN = "starts/test_begin.py::"
FOUND = "results/test_findings.py::"
MODE = "subsampling/test_mode.py::"
NETWORKS = "models/test_mixing.py::"
POSTERIOR = "parameters/test_posterior.py::"
SIMULATORS = "estimators/test_simulators.py::"
POINTS = "kernels/test_simulators_that_say_how_they_draw.py::"

FAULTS = {
    # All chains stay where they were put.
    ("starts/fit.py", BEGIN + "test_chains_begin_more_widely_than_the_posterior"): [
        ("    starts = Starts(start.draw(start_keys(key, range(chains))))\n", "    return initial, None\n"),
    ],
    (
        "starts/start.py",
        BEGIN + "test_chains_of_named_parameters_begin_around_the_mode_unless_the_user_says_where",
    ): [
        ("return not self.is_left_out", "return True"),
    ],
    # Small numbers are stored as 0.0.
    ("results/table.py", FOUND + "test_small_numbers_survive"): [
        ('round_to="none").astype', "round_to=3).astype"),
    ],
    ("results/table.py", FOUND + "test_users_choose_the_digits_that_are_printed"): [
        (
            'number(column, value, row) if round_to == "auto" else _rounded(value, round_to)',
            "number(column, value, row)",
        ),
    ],
    # Chains that stick are not spoken of.
    ("results/convergence.py", FOUND + "test_sticking_is_named_with_the_remedy_of_the_kernel"): [
        ("said = [] if sticks is None else [sticks]", "said = []"),
        ("stays = [stay for stay in longest if _is_stuck(stay, run, acceptance)]", "stays = []"),
    ],
    ("sampling/sample.py", FOUND + "test_sticking_is_named_with_the_remedy_of_the_kernel"): [
        ("        warn(sticks)\n", "        pass\n"),
    ],
    ("ratios/estimated.py", SIMULATORS + "test_a_chain_that_sticks_where_estimates_are_too_noisy_is_told_so"): [
        ("        if not variance > MOST_VARIANCE:", "        if True:"),
        (
            "        if not self.rule.needs_variance:\n            return None",
            "        if False:\n            return None",
        ),
        ("round_up(count * variance)", "round_up(count / 1e9)"),
    ],
    # Rare events take all rows, for ever.
    (
        "ratios/bound_check.py",
        "subsampling/test_bound_check.py::test_rare_events_that_would_take_all_rows_at_each_update_are_refused",
    ): [
        ("    if rows > max(size, FEW_ROWS):", "    if rows > np.inf:"),
    ],
    # A signal does not stop what computes.
    (
        "chains/interrupt.py",
        "chains/test_stopping.py::test_a_second_sigterm_ends_compiled_code_that_does_not_come_back",
    ): [
        ("                if seen > 1:", "                if seen > 2:"),
        ("                    seen, scope = 0, number\n", "                    scope = number\n"),
        ("last_resort(os.getpid())", "last_resort(0)"),
    ],
    (
        "chains/interrupt.py",
        "chains/test_stopping.py::test_processes_that_a_function_forks_end_by_one_signal_and_tell_nobody",
    ): [
        ("        OPEN.pop().leave()\n", "        OPEN.pop()\n"),
        ("            OPEN.append(self)\n", "            pass\n"),
    ],
    ("storage/structure.py", "chains/test_sessions.py::test_positions_of_own_classes_are_read_as_they_were"): [
        ('return dict(found) if rest.get("type") == "dict" else found', "return dict(found)"),
        ('KNOWN.get(name) if rest.get("type") != "own" else None', "KNOWN.get(name)"),
        ('return node.get("type") == "lockstep" and all', 'return node["named"] in KNOWN and all'),
    ],
    ("chains/interrupt.py", "chains/test_stopping.py::test_a_sweep_in_this_process_stops"): [
        ("        self.is_signalled = True\n", "        self.is_signalled = number == signal.SIGINT\n"),
    ],
    # An older ArviZ is given a tree.
    ("results/export.py", "interop/test_ecosystem.py::test_an_older_arviz_takes_inference_data"): [
        ("return arviz.InferenceData(attrs=run.attributes, **groups)", "return run.to_datatree()"),
    ],
    # A chain of toggles is called exact.
    ("models/ergm.py", NETWORKS + "test_the_summary_does_not_call_a_stopped_chain_exact"): [
        ("    is_perfect = False\n", "    is_perfect = None\n"),
    ],
    ("core/simulator.py", NETWORKS + "test_kernels_believe_what_a_simulator_says"): [
        ('owner.is_perfect if is_model else attribute(function, "is_perfect")', "None"),
    ],
    # A ρ does not say against which chain.
    ("separation/prediction.py", "separation/test_precise.py::test_a_prediction_names_its_exact_chain"): [
        (
            '[head, f"  against {REFERENCES[self.against]}", *self._table(), *problems]',
            "[head, *self._table(), *problems]",
        ),
        ("updates from {REFERENCES[self.against]} ", "updates from the exact chain "),
    ],
    # Black boxes are held to one shape of data.
    ("ratios/randomizations.py", POINTS + "test_black_boxes_may_simulate_data_of_any_length"): [
        ("form: Any = np.ndim if is_ragged else np.shape", "form: Any = np.shape"),
    ],
    ("ratios/randomizations.py", POINTS + "test_compiled_simulators_of_any_length_have_statistics_as_data"): [
        ('remedy = "" if is_ragged else ', 'remedy = "" if True else '),
    ],
    # Rows of starts are silently one position.
    ("starts/start.py", BEGIN + "test_an_array_with_a_row_for_each_chain_is_one_position_and_that_is_said"): [
        ("    if given and all(", "    if not given and all("),
    ],
    # The search for a mode ends where it began, and the tails of its approximation are too light.
    ("subsampling/mode.py", MODE + "test_a_search_that_begins_at_a_saddle_goes_elsewhere"): [
        ("for other in _other_starts(start):", "for other in ():"),
    ],
    ("subsampling/proposals.py", MODE + "test_tails_that_a_normal_proposal_misses_are_held_by_a_student_one"): [
        ('NAMES = ("normal", "student", "crank_nicolson")', 'NAMES = ("normal", "crank_nicolson")'),
    ],
    ("kernels/subsampled.py", MODE + "test_a_posterior_that_is_far_from_normal_is_told_in_plain_words"): [
        ("if not diagnosis.is_normal_enough or (self.proposal is None and proposal.is_short):", "if False:"),
    ],
    # A set-up goes over the data again and again.
    ("subsampling/mode.py", MODE + "test_a_large_sample_takes_few_passes"): [
        (
            "objective.search(np.sqrt(len(center) * rows.size / few.size) if few is not rows else 1.0)",
            "objective.search()",
        ),
    ],
    # Summaries are summarised again, and vectors of distances are one likelihood each.
    ("estimators/observed.py", SIMULATORS + "test_summaries_given_as_observed_data_are_refused"): [
        ("        if is_summarised_twice:", "        if False:"),
        ("simulated not in (None, self.data)", "simulated in (None, self.data)"),
    ],
    ("estimators/observed.py", SIMULATORS + "test_summaries_of_another_shape_are_refused"): [
        ("        if found != self.summaries:", "        if False:"),
    ],
    ("estimators/abc.py", SIMULATORS + "test_what_is_no_distance_is_refused"): [
        ("        if np.ndim(distances) != 1:", "        if False:"),
        ("xp.where(far >= 0, log_weights", "xp.where(far == far, log_weights"),
        ("    if len(needed) > 1:", "    if False:"),
    ],
    ("estimators/sides.py", SIMULATORS + "test_summaries_may_be_lists"): [
        ("        found = listed(self.summaries(data))", "        found = self.summaries(data)"),
        ("        return listed(found)\n", "        return found\n"),
    ],
    # Names of arguments that nobody gives.
    ("parameters/keywords.py", POSTERIOR + "test_what_is_no_parameter_is_named"): [
        ("if len(rest) < len(left) and (unknown", "if False and (unknown"),
    ],
    ("parameters/parameters.py", POSTERIOR + "test_what_is_no_parameter_is_named"): [
        ("            if is_prior(given):", "            if False:"),
    ],
    ("starts/placing.py", POSTERIOR + "test_a_start_that_is_wanted_is_all_that_is_told"): [
        ("    kernel.shown.require_law()\n", ""),
    ],
    # Toggles of a draw grow with the pairs of nodes, whatever the mixing.
    ("models/ergm.py", NETWORKS + "test_a_thousand_nodes"): [
        ("toggles = self.mixing.toggles if toggles is None and", "toggles = 49_950_000 if toggles is None and"),
    ],
    # Passes over the data are not shown.
    ("subsampling/objective.py", "subsampling/test_subsample.py::test_progress_of_the_passes_is_shown"): [
        ('over the data", self.show) as shown', 'over the data", False) as shown'),
    ],
}
