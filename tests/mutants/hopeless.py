"""Faults of filters that stop early, and of lines to workers."""

SAME = "state_space/test_hopeless.py::test_the_draws_are_the_same[times]"
PATHS = "state_space/test_hopeless.py::test_the_draws_are_the_same[paths]"
LATE = "state_space/test_hopeless.py::test_a_filter_stops_neither_too_early_nor_too_late"
TOLD = "state_space/test_hopeless.py::test_a_bound_that_is_exceeded_is_told"
BOXES = "state_space/test_hopeless.py::test_black_boxes_are_called_less_often"
ALONE = "state_space/test_hopeless.py::test_what_is_compiled_by_itself_does_not_take_the_first_limit_for_all"
ANSWERS = "workers/test_lines.py::test_answers_belong_to_their_jobs"
ERRORS = "workers/test_lines.py::test_an_error_arrives_and_the_line_lives_on"
FREE = "workers/test_lines.py::test_workers_are_free_when_lines_are_closed"
ONCE = "workers/test_lines.py::test_the_model_is_handed_to_each_worker_once"
LOST = "workers/test_lines.py::test_what_a_lost_worker_was_asked_for_is_told_and_others_take_its_place"

FAULTS = {
    ("state_space/stopping.py", LATE): [
        ("xp.cumsum(bounds[:0:-1])[::-1]", "xp.cumsum(bounds[1:])"),
        ("xp.cumsum(bounds[:0:-1])[::-1]", "xp.cumsum(bounds[::-1])[::-1][:-1]"),
        ("to_come[index - 1] < least", "to_come[index] < least"),
        ("to_come[index - 1] < least", "to_come[index - 1] < least + 1"),
        ("& ~(cloud.log_likelihood + to_come[index - 1] < least)", ""),
        ("xp.where(index < count, -np.inf, cloud.log_likelihood)", "xp.where(True, cloud.log_likelihood, 0.0)"),
        ("most = made.unless_missing(found, index)", "most = found"),
    ],
    ("state_space/stopping.py", PATHS): [
        ("kept(lineage, cloud.ancestors, index)", "lineage"),
    ],
    ("state_space/stopping.py", TOLD): [
        ("is_exceeded = cloud.increment > bounds[index]", "is_exceeded = cloud.increment > np.inf"),
    ],
    ("state_space/estimate.py", SAME): [
        ("surely_below(limit_now(), -log_prior)", "surely_below(limit_now(), -log_prior, 2.0)"),
        ("surely_below(limit_now(), -log_prior)", "-np.inf"),
    ],
    ("state_space/faults.py", TOLD): [
        ("if made.model.log_bound is None:", "if True:"),
    ],
    ("ratios/carried.py", PATHS): [
        ("is_number = self.correlation is None and not self.evaluate.has_path", "is_number = self.correlation is None"),
    ],
    ("engine/compiled.py", SAME): [
        ("    kernel = stopping_early(kernel)\n", ""),
    ],
    ("engine/ahead.py", "state_space/test_hopeless.py::test_updates_ahead_stop_too"): [
        ("    kernel = stopping_early(kernel)\n", ""),
    ],
    ("engine/early.py", BOXES): [
        ("return can_stop or any", "return any"),
    ],
    ("host/compiled.py", ALONE): [
        ("    with stopping_below(NO_LIMIT):  # which", "    if True:  # which"),
    ],
    ("workers/engine.py", "workers/test_ahead.py::test_a_worker_waits_for_an_update_that_is_nearly_there"): [
        ("typical - (1 - probability) * typical < seconds", "typical - probability * typical < seconds"),
        ("return asked.made.done() or", "return"),
        (" < seconds < LATE * typical", " < seconds"),
    ],
    ("workers/engine.py", "workers/test_ahead.py::test_nobody_waits_for_an_update_that_is_late"): [
        ("for guess in held if waiting else ():", "for guess in ():"),
    ],
    ("workers/lines.py", ANSWERS): [
        ("self.idle.pop(), self.waiting.popleft()", "self.idle.pop(), self.waiting.pop()[:1] + self.waiting[0][1:]"),
    ],
    ("workers/lines.py", ERRORS): [
        (
            "            except Exception as error:\n                answer =",
            "            except KeyError as error:\n                answer =",
        ),
        ("if answer.startswith(DONE):", "if True:"),
    ],
    ("workers/lines.py", FREE): [
        ("                _say(line, END)\n\n", "                pass\n\n"),
    ],
    ("workers/lines.py", ONCE): [
        (
            "self.executor is not self.pool.executor or not self.lines:\n                self._open()",
            "True:\n                self._open()",
        ),
    ],
    ("workers/lines.py", "workers/test_lines.py::test_jobs_that_wait_for_workers_which_never_come_are_told"): [
        ("            if line in self.lines:\n", "            if False:\n"),
    ],
    ("workers/lines.py", LOST): [
        ("            answer.set_exception(error)", "            pass"),
        ("if self.executor is not self.pool.executor or not self.lines:", "if self.executor is None:"),
    ],
}
