"""Lines to workers: jobs and answers, errors, lost workers, and workers that are free again."""

import os
import time
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor

import pytest

from lockstep.workers.lines import Lines, Submissions, sending
from lockstep.workers.pool import Workers, spawn_pool, workers


def work(job: tuple[bytes, bytes]) -> bytes:
    """Turn a job round, with the model before it; some jobs go wrong."""
    model, asked = job
    if asked == b"raise":
        raise ZeroDivisionError("on purpose")
    if asked == b"end":
        os._exit(1)
    return model + asked[::-1]


@pytest.fixture(scope="module")
def pool():
    """Two processes that have started, and are ended whatever they do."""
    executor = spawn_pool(2)
    list(executor.map(abs, range(4)))
    yield executor
    Workers(executor, is_own=True).end()
    executor.shutdown()


@pytest.fixture
def lines(pool):
    made = sending(Workers(pool, is_own=False), work, b"model ")
    yield made
    made.close()


def test_answers_belong_to_their_jobs(lines):
    jobs = [str(i).encode() * 3 for i in range(40)]
    answers = [lines.send(job) for job in jobs]
    assert [answer.result(60) for answer in answers] == [b"model " + job[::-1] for job in jobs]


def test_the_model_is_handed_to_each_worker_once(lines, monkeypatch):
    submitted = []
    monkeypatch.setattr(lines.pool, "submit", lambda *job: submitted.append(job) or Workers.submit(lines.pool, *job))
    for _ in range(10):
        assert lines.send(b"ab").result(60) == b"model ba"
    assert len(submitted) == 2


def test_an_error_arrives_and_the_line_lives_on(lines):
    for _ in range(5):
        with pytest.raises(ZeroDivisionError, match="on purpose"):
            lines.send(b"raise").result(60)
    assert lines.send(b"ab").result(60) == b"model ba"


def test_large_jobs_and_answers(lines):
    job = bytes(range(256)) * 40_000
    assert all(lines.send(job).result(60) == b"model " + job[::-1] for _ in range(3))


def test_workers_are_free_when_lines_are_closed(pool):
    lines = sending(Workers(pool, is_own=False), work, b"")
    assert lines.send(b"ab").result(60) == b"ba"
    while len(lines.idle) < 2:  # until both listen
        time.sleep(0.01)
    lines.close()
    assert list(pool.map(abs, range(-4, 0), timeout=60)) == [4, 3, 2, 1]


def test_what_a_lost_worker_was_asked_for_is_told_and_others_take_its_place():
    with workers(2) as pool:
        lines = sending(pool, work, b"")
        assert lines.send(b"ab").result(60) == b"ba"
        with pytest.raises(BrokenExecutor) as told:
            lines.send(b"end").result(60)
        pool.renew(told.value)
        assert [lines.send(b"ab").result(60) for _ in range(4)] == [b"ba"] * 4
        lines.close()


def test_jobs_that_wait_for_workers_which_never_come_are_told():
    with workers(1) as pool:
        lines = sending(pool, work, b"")
        answers = [lines.send(b"end"), lines.send(b"ab")]
        for answer in answers:
            with pytest.raises(BrokenExecutor):
                answer.result(60)
        pool.renew(answers[0].exception())


def test_other_executors_hand_on_the_model_with_each_job():
    with ThreadPoolExecutor(1) as threads:
        made = sending(Workers(threads, is_own=False), work, b"model ")
        assert isinstance(made, Submissions) and not isinstance(made, Lines)
        answer = made.send(b"ab")
        assert isinstance(answer, Future) and answer.result(60) == b"model ba"
        made.close()
