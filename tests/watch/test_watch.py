"""The page and the terminal that show runs while they go."""

import http.client
import io
import json
import os
import re
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from browser import CHROMIUM, Browser
from rich.console import Console
from typer.testing import CliRunner

import lockstep as ls
from lockstep import cli
from lockstep.watch import numbers, terminal
from lockstep.watch.numbers import Watch
from lockstep.watch.server import Page

HOSTILE = "<img src=x onerror=document.title='hacked'>"
READY = "document.body !== null && document.body.dataset.ready === 'true'"


def slow(theta):
    time.sleep(float(os.environ.get("LOCKSTEP_TEST_NAP", "0")))
    return -0.5 * sum(float(np.sum(np.square(part))) for part in theta.values())


kernel = ls.standard(ls.blackbox(slow), ls.RandomWalk(1.2))
initial = {"a": np.zeros(2), HOSTILE: np.asarray(0.0)}


def sample(path, draws=200, **settings):
    return ls.sample(kernel, initial, draws=draws, chains=2, directory=path, **settings)


@pytest.fixture
def runs(tmp_path):
    """Two runs, of which one has begun a second time with more draws."""
    sample(tmp_path / "runs" / "first")
    sample(tmp_path / "runs" / "sweep" / "seed=1", 100, seed=1)
    return tmp_path / "runs"


@pytest.fixture
def served(runs):
    with Page(Watch(runs)) as page:
        thread = threading.Thread(target=page.serve_forever, daemon=True)
        thread.start()
        yield page
        page.shutdown()
        thread.join(10)


def ask(page, path, host=None, method="GET", **headers):
    connection = http.client.HTTPConnection("127.0.0.1", page.server_port, timeout=30)
    connection.putrequest(method, path, skip_host=True)
    connection.putheader("Host", host or f"127.0.0.1:{page.server_port}")
    for name, value in headers.items():
        connection.putheader(name.replace("_", "-"), value)
    connection.endheaders()
    answer = connection.getresponse()
    return answer.status, answer.read().decode(), answer.headers


def test_the_page_tells_where_all_runs_stand(served):
    rows = json.loads(ask(served, "/runs.json")[1])
    assert [(row["name"], row["state"], row["draws"]) for row in rows] == [
        ("first", "complete", 200),
        ("sweep/seed=1", "complete", 100),
    ]
    assert all(row["rate"] > 0 and 0 < row["acceptance"] < 1 and row["ess"] > 5 and row["rhat"] > 0.9 for row in rows)
    report = json.loads(ask(served, f"/run/{rows[0]['number']}.json")[1])
    assert report["data"]["draws"] == 200 and "Exact kernel" in report["findings"]
    assert report["data"]["history"]["draws"] == [32, 48, 64, 96, 128, 192, 200]
    assert HOSTILE not in report["table"] and "&lt;img" in report["table"]
    assert "RandomWalk(scale=1.2)" in report["facts"]  # as the directory tells: the kernel itself is not kept
    assert ask(served, "/")[0] == ask(served, "/run/0")[0] == 200


def test_other_sites_and_other_addresses_are_refused(served, runs):
    for host in (
        "evil.example",
        f"evil.example:{served.server_port}",
        "127.0.0.1",
        "",
        f"127.0.0.1:{served.server_port}.x",
    ):
        assert ask(served, "/runs.json", host or " ")[0] == 403
    assert ask(served, "/runs.json", f"localhost:{served.server_port}")[0] == 200
    assert ask(served, "/runs.json", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="cors")[0] == 403
    status, _, headers = ask(served, "/", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate")
    assert status == 200 and "Access-Control-Allow-Origin" not in headers
    assert (
        headers["Cross-Origin-Resource-Policy"] == "same-origin"
        and "default-src 'none'" in headers["Content-Security-Policy"]
    )
    paths = (
        "/run/7",
        "/run/7.json",
        "/run/..%2f..%2fetc",
        "/../run.json",
        "//etc/passwd",
        "/run/0/../1",
        "/runs.json?x=1",
    )
    assert {ask(served, path)[0] for path in paths} == {404}
    assert {ask(served, "/runs.json", method=method)[0] for method in ("POST", "PUT", "DELETE", "OPTIONS")} == {501}
    assert served.server_address[0] == "127.0.0.1"


def test_nothing_is_written(served, runs):
    def listing():
        return {path: path.stat().st_mtime_ns for path in runs.rglob("*")}

    before = listing()
    served.watch.look()
    for path in ("/", "/run/0", "/run/0.json", "/run/1.json", "/runs.json"):
        assert ask(served, path)[0] == 200
    assert listing() == before


def test_a_damaged_run_is_said_and_the_page_goes_on(served, runs):
    whole = (runs / "first" / "run.json").read_bytes()
    (runs / "first" / "run.json").write_bytes(b"{")
    served.watch.look()
    rows = json.loads(ask(served, "/runs.json")[1])
    assert [row["state"] for row in rows] == ["damaged", "complete"] and "run.json" in rows[0]["reason"]
    assert "run.json" in json.loads(ask(served, "/run/0.json")[1])["reason"]
    (runs / "first" / "run.json").write_bytes(whole)
    segment = sorted((runs / "first").glob("segment-*"))[0]
    data = segment.read_bytes()
    segment.write_bytes(data[: len(data) // 2])
    served.watch.look()
    assert json.loads(ask(served, "/runs.json")[1])[0]["state"] == "damaged"
    segment.write_bytes(data)
    sample(runs / "first", 300)
    served.watch.look()
    rows = json.loads(ask(served, "/runs.json")[1])
    assert rows[0]["state"] == "complete" and rows[0]["draws"] == 300
    assert json.loads(ask(served, "/run/0.json")[1])["data"]["draws"] == 300


@pytest.mark.study
def test_a_thousand_requests_leave_nothing_behind(served):
    def serve(count):
        for _ in range(count):
            assert ask(served, "/runs.json")[0] == 200
            assert ask(served, "/run/0.json")[0] == 200
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    before, threads = serve(100), threading.active_count()
    after = serve(400)
    assert after - before < 5_000  # kilobytes; the reports that were sent have 30 megabytes
    time.sleep(0.2)
    assert threading.active_count() <= threads + 1


def test_reports_are_kept_for_a_few_runs_only(served, monkeypatch):
    monkeypatch.setattr("lockstep.watch.server.MOST_KEPT", 1)
    for number in (0, 1, 0):
        served.report(served.watch.run(number))
        assert list(served.reports) == [number]


def test_the_terminal_shows_the_same_numbers(runs):
    (runs / "broken").mkdir()
    (runs / "broken" / "run.json").write_text("{}")
    watch = Watch(runs)
    watch.look()
    console = Console(width=160, record=True, file=io.StringIO())
    console.print(terminal.table_of(watch))
    text = console.export_text()
    row = {row["name"]: row for row in watch.rows()}["first"]
    line = next(line for line in text.splitlines() if line.startswith("first"))
    assert "200/200" in line and f"{row['rhat']:.3f}" in line and f"{row['ess']:,.0f}" in line
    assert "damaged" in text and "no description of a run" in text.replace("\n", " ")


def test_the_command_shows_a_table_once_where_there_is_no_terminal(runs, tmp_path):
    found = CliRunner().invoke(cli.app, ["watch", str(runs), "--terminal"])
    assert found.exit_code == 0 and "200/200" in found.output
    (tmp_path / "empty").mkdir()
    empty = CliRunner().invoke(cli.app, ["watch", str(tmp_path / "empty"), "--terminal"])
    assert "holds no run yet" in " ".join(empty.output.split())
    assert "no directory" in str(CliRunner().invoke(cli.app, ["watch", str(tmp_path / "none")]).exception)


def test_what_never_moved_has_no_diagnostics():
    info = ls.Info(np.ones((2, 50), bool), np.zeros((2, 50)), np.ones((2, 50), bool))
    run = ls.Run({"a": np.zeros((2, 50))}, info, None, seed=0, warmup=0, thin=1, seconds=1.0)
    assert np.isnan(numbers.diagnosis(run, 40).ess) and np.isnan(numbers.diagnosis(run, 4).rhat)


CHILD = """
import sys
from test_watch import sample
sample(sys.argv[1], 100_000)
"""


needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")


@pytest.mark.browser
@needs_chromium
def test_the_page_shows_draws_that_come_while_it_is_open(served, runs, tmp_path):
    """Without a reload; what was zoomed and hidden stays so, a hostile name is text, and damage is said."""
    browser = Browser(tmp_path / "profile")
    try:
        browser.size(1000)
        browser.open(served.address, READY)
        assert browser.run("document.body.dataset.draws") == "200"
        assert browser.run("document.querySelectorAll('#history svg').length") == 2
        assert browser.run("document.querySelector('.component h3').textContent") == HOSTILE
        assert browser.run("document.images.length") == 0 and "hacked" not in browser.run("document.title")
        browser.run("document.querySelector('[data-zoom=in]').click()")
        browser.run("document.querySelector('#chains input').click()")
        sample(runs / "first", 300)
        wait(lambda: browser.run("document.body.dataset.draws") == "300")
        assert browser.run("document.getElementById('range').textContent") == "draws 50 to 150"
        assert not browser.run("document.querySelector('#chains input').checked")
        assert browser.run("document.querySelectorAll('.component').length") == 3
        assert "300 of 300" in browser.run("document.getElementById('runs').textContent")
        (runs / "first" / "run.json").write_bytes(b"{")
        wait(lambda: "run.json" in browser.run("document.getElementById('note').textContent"))
        assert browser.console == []
    finally:
        browser.close()


@pytest.mark.study
@pytest.mark.browser
@needs_chromium
def test_the_page_follows_a_run_that_is_killed_and_resumed(tmp_path):
    """Open it, see the number of draws change, kill the run, see that it stopped, resume it, see it go on."""
    here = str(Path(__file__).parent)
    environment = {**os.environ, "LOCKSTEP_TEST_NAP": "0.001"}
    environment["PYTHONPATH"] = os.pathsep.join(
        filter(None, (here, str(Path(here).parent), os.environ.get("PYTHONPATH")))
    )
    begin = lambda: subprocess.Popen([sys.executable, "-c", CHILD, str(tmp_path / "run")], env=environment)  # noqa: E731
    (tmp_path / "run").mkdir()
    command = [sys.executable, "-c", "from lockstep.cli import main; main()", "watch", str(tmp_path / "run")]
    child = begin()
    watcher = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    browser = None
    try:
        address = re.search(r"http://127\.0\.0\.1:\d+/", watcher.stdout.readline())[0]
        browser = Browser(tmp_path / "profile")
        browser.open(address, READY)
        first = int(browser.run("document.body.dataset.draws"))
        wait(lambda: int(browser.run("document.body.dataset.draws")) > first)
        assert browser.run("document.querySelector('#runs td').textContent") == "running"
        assert browser.run("document.querySelectorAll('.component h3').length") == 3
        assert browser.run("document.querySelector('.component h3').textContent") == HOSTILE
        assert browser.run("document.images.length") == 0 and "hacked" not in browser.run("document.title")
        child.kill()
        child.wait()
        wait(lambda: browser.run("document.querySelector('#runs td').textContent") == "stopped")
        child = begin()
        wait(lambda: browser.run("document.querySelector('#runs td').textContent") == "running")
        last = int(browser.run("document.body.dataset.draws"))
        wait(lambda: int(browser.run("document.body.dataset.draws")) > last)
        assert browser.console == []
        watcher.send_signal(signal.SIGINT)
        assert watcher.wait(20) == 0
        wait(lambda: "does not answer" in browser.run("document.getElementById('note').textContent"))
    finally:
        for process in (child, watcher):
            process.kill()
            process.wait()
        watcher.stdout.close()
        if browser is not None:
            browser.close()


def wait(is_so):
    end = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.1)
