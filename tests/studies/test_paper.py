"""`lockstep paper` in a tiny setting: it writes all its files, and the report needs nothing but itself."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

FIGURES = ("trajectories", "densities", "times", "gaps", "bias")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    directory = tmp_path_factory.mktemp("paper") / "results"
    command = [sys.executable, "-c", "from lockstep.cli import main; main()", "paper"]
    options = ["--updates", "6400", "--m", "8", "--out", str(directory)]
    done = subprocess.run([*command, *options], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return directory, done.stdout


def test_writes_all_files(written):
    directory, _ = written
    expected = {f"{name}.{suffix}" for name in FIGURES for suffix in ("png", "svg")} | {"results.json", "report.html"}
    assert {path.name for path in directory.iterdir()} == expected
    assert all((directory / f"{name}.png").read_bytes().startswith(b"\x89PNG") for name in FIGURES)


def test_results_hold_numbers_with_errors(written):
    results = json.loads((written[0] / "results.json").read_text(encoding="utf-8"))
    of = results["results"]["times"]["naive"]["random walk"]["8"]["rho_1"]
    assert abs(of["value"] - 72.19) < 5 * of["se"]
    rows = {(row["section"], row["quantity"]): row for row in results["table"]}
    row = rows["Naive against penalty", "random walk: ρ, m = 8"]
    assert row["paper"] == "about 72" and row["reference"] == {"value": 72.19, "se": 0.09}


def test_says_that_the_proposals_are_not_stated(written):
    directory, printed = written
    assert "The paper does not state its proposals" in " ".join(printed.split())
    assert "The paper does not state its proposals" in (directory / "report.html").read_text(encoding="utf-8")


def test_prints_progress_without_a_terminal(written):
    assert re.search(r"^\[1/\d+\] \d+ s  \S", written[1], re.MULTILINE)


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")
def test_report_renders_without_a_network(written, tmp_path):
    page = (written[0] / "report.html").read_text(encoding="utf-8")
    assert not re.search(r"""(?:src|href|url)\s*[=(]\s*["']?\s*(?:https?:)?//""", page)
    count = """<script>addEventListener("load", () => {
      const drawn = [...document.images].filter(i => i.complete && i.naturalWidth > 100 && i.clientWidth > 100);
      document.title = `${drawn.length} of ${document.images.length} drawn`;
    });</script>"""
    probed = tmp_path / "report.html"
    probed.write_text(page.replace("</body>", count + "</body>"), encoding="utf-8")
    assert f"<title>{len(FIGURES)} of {len(FIGURES)} drawn</title>" in browse(probed, tmp_path / "profile")


def browse(page: Path, profile: Path) -> str:
    """The page as a browser without any network leaves it."""
    options = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--no-first-run",
        "--proxy-server=127.0.0.1:9",
        "--host-resolver-rules=MAP * ~NOTFOUND",
        f"--user-data-dir={profile}",
        "--virtual-time-budget=10000",
        "--dump-dom",
    ]
    done = subprocess.run([CHROMIUM, *options, page.as_uri()], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout
