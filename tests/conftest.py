"""What several test files need."""

import gc
import signal

import compilation
import pytest

# Before any test imports JAX.
compilation.choose()
COMPILED = compilation.share()


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
