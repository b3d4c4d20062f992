"""What newcomers met, taken back one by one: the test of each fails without its mend."""

BEGIN = "chains/test_begin.py::"
FOUND = "results/test_findings.py::"
MODE = "subsampling/test_mode.py::"
NETWORKS = "models/test_mixing.py::"
POINTS = "kernels/test_simulators_that_say_how_they_draw.py::"

FAULTS = {
    # All chains stay where they were put.
    ("chains/fit.py", BEGIN + "test_chains_begin_more_widely_than_the_posterior"): [
        ("    starts = Starts(start.draw(start_keys(key, chains)))\n", "    return initial, None\n"),
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
        ("            if seen > 1:", "            if seen > 2:"),
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
    ("chains/starts.py", BEGIN + "test_an_array_with_a_row_for_each_chain_is_one_position_and_that_is_said"): [
        ("    if given and all(", "    if not given and all("),
    ],
    # The search for a mode ends where it began, and the tails of its approximation are too light.
    ("subsampling/mode.py", MODE + "test_a_search_that_begins_at_a_saddle_goes_elsewhere"): [
        ("for other in _other_starts(start):", "for other in ():"),
    ],
    ("subsampling/proposals.py", MODE + "test_tails_that_a_normal_proposal_misses_are_held_by_a_student_one"): [
        ('NAMES = ("normal", "student", "crank_nicolson")', 'NAMES = ("normal", "crank_nicolson")'),
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
