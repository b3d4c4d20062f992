"""What several test files need."""

import gc
import importlib
import signal
from pathlib import Path

import compilation
import pytest

# Before any test imports JAX.
compilation.choose()
COMPILED = compilation.share()

# Which sets options of XLA: BlackJAX computes when a test imports it.
importlib.import_module("lockstep")

SLOW = Path(__file__).with_name("slow.txt")


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their markers
def pytest_collection_modifyitems(config, items):
    """Tests that ``slow.txt`` names, with all their parameters or with some, have the marker ``slow``."""
    slow = set(SLOW.read_text(encoding="utf-8").splitlines())
    found = set()
    for item in items:
        names = {item.nodeid, item.nodeid.partition("[")[0]} & slow
        found |= names
        if names:
            item.add_marker(pytest.mark.slow)
    files = {item.nodeid.partition("::")[0] for item in items}
    gone = {name for name in slow - found if name.partition("::")[0] in files}
    is_partial = config.getoption("lf", False) or any("::" in argument for argument in config.args)
    if gone and not is_partial:
        raise pytest.UsageError(f"{SLOW.name} names what is no test: {sorted(gone)}")


def pytest_unconfigure():
    """Compiled programs are for one session."""
    compilation.forget(COMPILED)


def pytest_collection_finish():
    """Modules stay until the end: without looking for garbage among them, and among what compiled programs keep."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


@pytest.fixture
def signals():
    """Signals as a terminal has them, also for programs that a test starts; in the background they may be ignored."""
    defaults = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
    before = {number: signal.signal(number, handler) for number, handler in defaults.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture(scope="session")
def field_book():
    """The page of published numbers beside ours, written when the studies are over."""
    from field_book import Book  # which imports JAX

    book = Book()
    yield book
    book.write()
