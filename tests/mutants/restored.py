"""Mistakes of runs, files, workers and arguments that were there once, put back."""

HOST = "host/test_host.py"
CHANGED = "storage/test_changed_models.py"
REFUSED = f"{CHANGED}::test_a_changed_model_is_refused_and_the_same_one_goes_on"
DURABLE = "storage/test_durable.py"
FLIPS = "storage/test_flips.py"
STOPPING = "chains/test_stopping.py"
WORKERS = "workers/test_workers.py"
ARGUMENTS = "sampling/test_arguments.py"

FAULTS = {
    # --- silently wrong
    (
        "separation/summary.py",
        "separation/test_separation.py::test_of_walks_that_separate_for_good_all_is_told_of_tau_and_nothing_of_rho",
    ): [
        ("is_parted = np.isnan(self.rho_1)", "is_parted = False"),
    ],
    ("separation/summary.py", "separation/test_separation.py::test_chains_that_never_differ_are_told_so"): [
        (' if np.isfinite(value) else "infinite, as far as this run tells"', ""),
    ],
    ("host/callback.py", f"{HOST}::test_a_failed_batch_of_one_thread_never_becomes_a_number"): [
        (
            "            raise _marked(error) from error\n",
            "            results = jax.tree.map(lambda one: np.zeros((*batch, *one.shape), one.dtype), like)\n",
        ),
    ],
    ("host/callback.py", f"{HOST}::test_what_a_callback_was_given_stays_as_it_is"): [
        ("np.asarray(buffer).copy() for", "np.asarray(buffer) for"),
    ],
    ("storage/fingerprint/functions.py", REFUSED): [
        ("            _global(walk, value.__globals__[name], module, name, chains)\n", "            pass\n"),
        ("    walk.inside(_defaults(walk, value, spot, uses.changes), spot)\n", ""),
        ("    walk.inside(_closure(walk, value, spot, uses.changes), spot)\n    walk", "    walk"),
    ],
    ("storage/fingerprint/values.py", REFUSED): [
        ('    walk.visit(value.__wrapped__, spot.at(".wrapped"))\n', ""),
        ('walk.inside([(".func", value.func), *(', "walk.inside([*("),
        ('        walk.visit(kind, spot.at(".class"))\n        parts', "        parts"),
        ('(".mask", np.ma.getmaskarray(value)), ', ""),
        ("return digest(keys.encode() + np.array(items).tobytes())", "return digest(keys.encode())"),
    ],
    ("storage/configuration.py", f"{CHANGED}::test_other_noise_is_refused"): [
        ("CODE: code, NOISE: noise_fingerprint(), **aside", "CODE: code, **aside"),
    ],
    ("storage/configuration.py", f"{CHANGED}::test_another_python_compares_sources"): [
        ("return not all(sources) or sources[0] == sources[1]", "return True"),
    ],
    ("chains/repeat.py", f"{CHANGED}::test_the_last_update_is_repeated"): [
        ("    if not found:\n        return None\n", "    return None\n"),
    ],
    ("host/generator.py", f"{HOST}::test_a_kernel_inside_a_function_leaves_its_generator_alone"): [
        ("    outer, _LEVEL.current = _LEVEL.current, None\n", "    outer = _LEVEL.current\n"),
    ],
    ("host/functions.py", f"{HOST}::test_a_simulator_may_fill_one_array_again_and_again"): [
        ("return checked.copy() if type(checked) is np.ndarray", "return checked if type(checked) is np.ndarray"),
    ],
    ("coupling/names.py", "results/test_names.py::test_names_that_would_lose_a_component_are_refused"): [
        ("        if name in names:\n", "        if False:\n"),
    ],
    ("storage/directory.py", f"{DURABLE}::test_what_is_known_of_the_kernel_is_in_the_digest"): [
        ('_digest({"configuration": configuration, "about": about}), changes)', "_digest(configuration), changes)"),
    ],
    # --- cannot go on, cannot stop
    ("storage/fingerprint/functions.py", f"{CHANGED}::test_a_function_may_change_what_it_uses"): [
        ('walk.changes.meet_cell(cell, f"{spot.path}.{name}", changed)', "changed.clear()"),
    ],
    ("storage/fingerprint/values.py", f"{CHANGED}::test_samples_that_are_vectors"): [
        (
            'spot.say(f"black box {value.is_vectorized} {value.is_batched}")',
            'spot.say(f"black box {__import__(BlackBox.__module__, fromlist=[0])._SAMPLE_SHAPES.get(value.callee)}")',
        ),
    ],
    ("chains/interrupt.py", f"{STOPPING}::test_a_sweep_in_this_process_stops"): [
        ("        if self.outer is not None and self.outer.is_wanted:\n            return True\n", ""),
    ],
    ("chains/groups.py", f"{STOPPING}::test_groups_in_this_process_stop_at_once"): [
        ("run_and_keep(one, stop)", "run_and_keep(one, None)"),
    ],
    ("engine/pace.py", f"{STOPPING}::test_compiled_blocks_begin_with_one_step"): [
        ("FIRST_STEPS = 1", "FIRST_STEPS = 64"),
    ],
    ("workers/process.py", f"{WORKERS}::test_workers_end_when_their_parent_was_killed"): [
        ("    os._exit(1)", "    pass"),
    ],
    ("storage/locks.py", f"{WORKERS}::test_a_forked_child_does_not_keep_the_lock"): [
        ("    os.register_at_fork(after_in_child=_let_go)", "    pass"),
    ],
    ("storage/locks.py", f"{WORKERS}::test_a_file_system_without_locks_is_told"): [
        (
            "LOCK_NB)\n    except OSError as error:\n        if error.errno not in TAKEN:",
            "LOCK_NB)\n    except OSError:\n        if False:",
        ),
    ],
    ("core/said.py", "core/test_said.py"): [
        ("        return len(text)", "        return self.stream.write(text)"),
    ],
    ("workers/raised.py", f"{WORKERS}::test_errors_arrive_as_they_were_raised"): [
        ("    error = kind.__new__(kind, *arguments)", "    error = kind(*arguments)"),
    ],
    ("chains/executors.py", f"{WORKERS}::test_what_waits_is_cancelled_after_an_error"): [
        ("left = [future for future in running if not future.cancel()]", "left = list(running)"),
    ],
    ("chains/executors.py", f"{WORKERS}::test_a_cluster_without_workers_is_told"): [
        ('if not self.client.scheduler_info()["workers"]:', "if False:"),
    ],
    # --- directories
    ("storage/archive.py", f"{FLIPS}::test_some_flips_are_told"): [
        (
            "    except Exception as error:\n        raise DamagedError",
            "    except ValueError as error:\n        raise DamagedError",
        ),
    ],
    ("storage/archive.py", f"{FLIPS}::test_a_huge_description_is_told_at_once"): [
        ("if path.stat().st_size > MOST_TEXT:", "if False:"),
    ],
    ("storage/segments.py", f"{FLIPS}::test_draws_that_take_no_room_are_told"): [
        ("if not any(leaf.size for leaf in leaves):", "if False:"),
    ],
    ("storage/archive.py", f"{ARGUMENTS}::test_leftovers_of_a_process_of_the_same_number_are_no_obstacle"): [
        ("{os.getpid()}-{secrets.token_hex(4)}{TEMPORARY}", "{os.getpid()}{TEMPORARY}"),
    ],
    ("results/report/write.py", f"{ARGUMENTS}::test_a_report_replaces_a_link_and_leaves_its_target_alone"): [
        ("commit(path, lambda file: file.write(page.encode()))", "path.write_bytes(page.encode())"),
    ],
    ("results/report/write.py", f"{ARGUMENTS}::test_names_cannot_leave_the_data_of_a_page"): [
        (r'allow_nan=False).replace("<", r"\u003c")', r'allow_nan=False).replace("</", r"\u003c/")'),
    ],
    # --- claims, bounds, arguments
    (
        "kernels/auxiliary_variable.py",
        "kernels/test_exchange_family.py::test_the_auxiliary_density_must_have_one_mass_on_every_support",
    ): [
        ("return simulation(self.simulate).exact_when(MASS)", 'return simulation(self.simulate).exact_when("always")'),
    ],
    (
        "ratios/bound_check.py",
        "subsampling/test_subsample.py::test_a_bound_that_does_not_hold_is_refused_when_a_run_starts",
    ): [
        ("    if is_beyond.any():\n        worst", "    if False:\n        worst"),
    ],
    ("ratios/bound_check.py", "subsampling/test_subsample.py::test_a_distance_must_be_the_same_in_both_directions"): [
        ("if is_two_way and np.any(", "if False and np.any("),
    ],
    ("ratios/bound_check.py", "subsampling/test_subsample.py::test_bounds_that_fail_later_are_counted"): [
        ("    return jnp.abs(change) > minibatch", "    return jnp.abs(0 * change) > minibatch"),
    ],
    ("ratios/randomized.py", "ratios/test_randomized.py::test_what_is_no_involution_is_refused_when_a_run_starts"): [
        (
            "        self.randomization.require_start(self.randomization.noise(key_x",
            "        return\n        self.randomization.require_start(self.randomization.noise(key_x",
        ),
    ],
    ("ratios/randomized.py", "ratios/test_randomized.py::test_where_an_involution_fails_is_counted"): [
        ("return decision._replace(is_violated=is_violated)", "return decision"),
    ],
    ("core/arguments.py", f"{ARGUMENTS}::test_nonsense_is_refused_by_name"): [
        (
            '    raise TypeError(f"{name} is {value!r}; it must be True{',
            '    return False\n    raise TypeError(f"{name} is {value!r}; it must be True{',
        ),
    ],
    # --- compiled anew in every run
    ("ratios/bound_check.py", "sampling/test_first_run.py::test_a_second_run_of_a_kernel_compiles_nothing[TunaMH]"): [
        (
            "_looks(minibatch, rows, position, candidates))",
            "jax.jit(lambda *a: _looks(*a))(minibatch, rows, position, candidates))",
        ),
    ],
}
