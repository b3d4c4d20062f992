"""The HTML report: what it says, and how it behaves in a browser without a network."""

import json
import re
import shutil
from types import SimpleNamespace

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from browser import CHROMIUM, Browser
from typer.testing import CliRunner

import lockstep as ls
from lockstep import cli
from lockstep.results.report import write_report
from lockstep.results.report.content import _extremes, _ranks, _spells, plots

READY = "document.body !== null && document.body.dataset.ready === 'true'"


def log_density(theta):
    return -0.5 * jnp.sum(theta**2)


@pytest.fixture(scope="module")
def coupled():
    def sample(noise, position, candidate):
        return log_density(candidate) - log_density(position) + noise

    noisy = ls.estimators.mean(sample, 8, draw=lambda key, count: jr.normal(key, (count,)))
    proposal = ls.IndependentNormal(0.0, 1.5)
    exact = ls.penalty(ls.estimators.known_variance(noisy, 1 / 8), proposal)
    return ls.sample(ls.Coupled(exact, ls.naive(noisy, proposal)), np.zeros(2), draws=600, chains=3, seed=1)


@pytest.fixture(scope="module")
def single():
    """A run of numbers that are known, so that nothing is compiled: a level, a drifting and a discrete component."""
    rng = np.random.default_rng(0)
    shape = (2, 500)
    positions = {
        "<b>level": rng.normal(size=shape),
        "drift": rng.normal(size=(*shape, 1)) + np.arange(2)[:, None, None],
        "state": rng.integers(0, 4, size=shape),
    }
    info = ls.Info(rng.random(shape) < 0.4, rng.normal(size=shape), np.ones(shape, bool))
    return ls.Run(positions, info, None, seed=0, warmup=0, thin=1, seconds=1.0)


@pytest.fixture(scope="module")
def lagged():
    start = lambda key: ls.Pair(*jr.normal(key, (2, 2)))  # noqa: E731
    kernel = ls.Lagged(ls.standard(log_density, ls.RandomWalk(1.0)), 5)
    return ls.sample(kernel, start, draws=200, chains=2, seed=1)


@pytest.fixture(scope="module")
def pages(coupled, single, lagged, tmp_path_factory):
    directory = tmp_path_factory.mktemp("reports")
    runs = {"coupled": coupled, "single": single, "lagged": lagged}
    return {name: run.report(directory / f"{name}.html") for name, run in runs.items()}


def findings(page):
    return re.findall(r"<li>(.*?)</li>", page.read_text(encoding="utf-8"))


def test_findings_come_first_in_plain_words(pages, coupled):
    found = findings(pages["coupled"])
    marks = int(coupled.info.marks.sum())
    separated = (
        rf"The two coupled chains separated \(naive from penalty\) {marks} times in [\d,]+ updates at which they"
    )
    assert re.match(separated, found[0])
    assert any(text.startswith("R-hat is") for text in found)
    assert any("identical" in text for text in found)
    others = findings(pages["single"])
    assert any("the chains do not agree" in text and "longer" in text and "drift[0]" in text for text in others)


def test_the_title_says_what_kind_of_run_it_is(pages):
    titles = {name: re.findall(r"<h1>(.*?)</h1>", page.read_text(encoding="utf-8")) for name, page in pages.items()}
    assert titles == {
        "coupled": ["Two coupled chains in Lockstep"],
        "single": ["A run in Lockstep"],
        "lagged": ["Lagged pairs of chains in Lockstep"],
    }
    leads = {name: re.search(r'<p class="lead">(.*?)<', page.read_text())[1] for name, page in pages.items()}
    assert leads["coupled"].startswith("3 pairs of chains × 600 draws")
    assert leads["single"].startswith("2 chains × 500 draws")
    assert leads["lagged"].startswith("2 pairs of chains × 200 draws")


def test_a_page_has_nothing_to_load_and_escapes_names(pages):
    for page in pages.values():
        text = page.read_text(encoding="utf-8")
        assert not re.search(r"""(?:src|href|url)\s*[=(]\s*["']?\s*(?:https?:)?//""", text)
        assert "<b>level" not in text.split('id="data"')[0]
        json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])
    assert 'class="far"' in pages["single"].read_text(encoding="utf-8")


def test_long_traces_keep_their_extremes_and_pages_stay_small():
    values = np.zeros(10_001)
    values[[777, 10_000]] = 5.0, -3.0
    kept = _extremes(values, 100)
    assert len(kept) == 202 and kept.max() == 5 and kept.min() == -3
    shape = (4, 200_000)
    info = ls.Info(np.ones(shape, bool), np.zeros(shape), np.ones(shape, bool))
    run = SimpleNamespace(positions=np.zeros((*shape, 5)), shown=None, info=info, chains=4, draws=shape[1], thin=1)
    assert len(json.dumps(plots(run))) < 5e6


def test_ranks_and_spells():
    ranks = _ranks(np.stack([np.arange(100.0), np.arange(100.0) + 0.5]))
    np.testing.assert_allclose(ranks, 0.05)
    apart = _ranks(np.stack([np.arange(100.0), np.arange(100.0) + 1000]))
    assert apart[0, 10:].sum() == 0 and apart[1, :10].sum() == 0
    assert _spells(np.array([1, 1, 0, 0, 1, 0, 1], bool)) == [[0, 1], [4, 4], [6, 6]]


def test_the_command_writes_a_report(monkeypatch, single, tmp_path):
    monkeypatch.setattr(ls, "load", lambda directory: single, raising=False)
    done = CliRunner().invoke(cli.app, ["report", str(tmp_path)])
    assert done.exit_code == 0 and (tmp_path / "report.html").exists(), done.output
    done = CliRunner().invoke(cli.app, ["report", str(tmp_path), "--out", str(tmp_path / "new" / "page.html")])
    assert done.exit_code == 0 and (tmp_path / "new" / "page.html").exists()


def test_what_is_no_run_is_refused(tmp_path):
    with pytest.raises(TypeError, match=r"run must be what ls\.sample or ls\.load returned"):
        write_report(3, tmp_path)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed")
    profile = tmp_path_factory.mktemp("profile")
    browser = Browser(profile)
    yield browser
    browser.close()
    shutil.rmtree(profile, ignore_errors=True)


def drawn(browser):
    """How many plots there are, and how many of them have lines or marks in them."""
    return browser.run(
        """(() => { const all = [...document.querySelectorAll('figure.plot svg')];
        const isFull = (svg) => [...svg.querySelectorAll('.line')].some((p) => p.getAttribute('d').length > 20)
          || svg.querySelectorAll('.mark').length > 0;
        return [all.length, all.filter(isFull).length]; })()"""
    )


@pytest.mark.browser
@pytest.mark.parametrize("name, count", [("coupled", 2 * 3 + 2 + 1), ("single", 3 * 3 + 1), ("lagged", 2 * 3 + 1)])
@pytest.mark.parametrize("width, is_dark", [(1400, False), (400, True)])
def test_all_plots_are_drawn_and_the_console_is_silent(browser, pages, name, count, width, is_dark):
    browser.console.clear()
    browser.size(width, is_dark=is_dark)
    browser.open(pages[name].as_uri(), READY)
    assert drawn(browser) == [count, count]
    assert browser.run("document.documentElement.scrollWidth") <= width
    assert browser.console == []
    ink = browser.run("getComputedStyle(document.body).color")
    assert (ink == "rgb(233, 233, 233)") is is_dark


@pytest.mark.browser
def test_zoom_by_mouse_keyboard_buttons_and_address(browser, pages):
    browser.console.clear()
    browser.size(1400)
    browser.open(pages["coupled"].as_uri(), READY)
    labels = (
        "[...document.querySelectorAll('svg.zooms')].map((svg) => svg.getAttribute('aria-label').match(/draws.*/)[0])"
    )

    def ranges():
        found = browser.run(labels)
        assert len(found) == 5 and len(set(found)) == 1  # linked: every plot along the draws shows the same range
        return tuple(map(int, re.findall(r"\d+", found[0])))

    def path():
        return browser.run("document.querySelector('svg.zooms .line').getAttribute('d')")

    whole = path()
    assert ranges() == (0, 600)
    bounds = "(() => {{ const b = document.querySelector('{}').getBoundingClientRect(); return {}; }})()"
    box = browser.run(bounds.format("svg.zooms", "[b.left, b.top, b.width, b.height]"))
    middle = box[1] + box[3] / 2
    browser.drag((box[0] + box[2] * 0.4, middle), (box[0] + box[2] * 0.6, middle))
    first, last = ranges()
    assert 150 < first < last < 450 and path() != whole
    browser.run("document.querySelector('svg.zooms').focus()")
    browser.press("+")
    assert ranges()[1] - ranges()[0] == pytest.approx((last - first) / 2, abs=2)
    before = ranges()
    browser.press("ArrowRight")
    assert ranges()[0] > before[0]
    browser.press("0")
    assert ranges() == (0, 600) and path() == whole
    browser.run("document.querySelector('[data-zoom=in]').click()")
    assert ranges() == (150, 450) and browser.run("location.hash") == "#draws=150-450"
    browser.open("about:blank", "true")
    browser.open(pages["coupled"].as_uri() + "#draws=100-200", READY)
    assert ranges() == (100, 200)
    assert browser.console == []


@pytest.mark.browser
def test_moments_of_one_pair_are_marked_in_its_traces(browser, pages, coupled):
    browser.size(1400)
    browser.open("about:blank", "true")
    browser.open(pages["coupled"].as_uri(), READY)
    count = "document.querySelector('#components svg').querySelectorAll('.{}').length"
    found = coupled.info
    assert browser.run(count.format("mark")) == int(found.marks[0].sum()) > 0
    equal = found.is_equal[0]
    assert browser.run(count.format("meet")) == int((~equal[:-1] & equal[1:]).sum()) > 0
    browser.run("document.querySelectorAll('#chains input')[1].click()")
    assert browser.run(count.format("mark")) == 0  # marks of two pairs in one trace would mislead
    assert browser.run("document.querySelectorAll('#components svg')[0].querySelectorAll('.line').length") == 4
