"""The page of ``lockstep watch``, served on this machine alone.

It answers to GET, with a fixed set of addresses: what a page asks for is a number in a list, never a path. Nothing is
written. A page of another site cannot read it: its name must be that of this machine (which a name that was made to
point here is not), and no other origin is allowed in.
"""

from __future__ import annotations

import json
import math
import re
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from string import Template
from typing import Any, NamedTuple

from lockstep.results.report.content import plots
from lockstep.results.report.html import resource
from lockstep.results.report.write import main_of, report_style, texts
from lockstep.sampling.load import load
from lockstep.storage.errors import RunDirectoryError
from lockstep.watch.numbers import PATIENCE, Watch, Watched

ADDRESS = "127.0.0.1"
RUN = re.compile(r"/run/(\d{1,6})")
PARTS = re.compile(r"/run/(\d{1,6})\.json")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; img-src data:; "
    "frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
MOST_KEPT = 4  # reports
EMPTY = {"findings": "", "table": "", "facts": ""}


class Kept(NamedTuple):
    """A report as it was sent, of how many draws, and when it may be made anew."""

    draws: int
    body: bytes
    until: float


class Page(ThreadingHTTPServer):
    """The server, and what it serves: the numbers of a watch, and reports that are made when they are asked for."""

    daemon_threads = True

    def __init__(self, watch: Watch, port: int = 0) -> None:
        super().__init__((ADDRESS, port), Answer)
        self.watch = watch
        self.names = {f"{name}:{self.server_port}" for name in (ADDRESS, "localhost")}
        self.reports: dict[int, Kept] = {}
        self.lock = threading.Lock()  # one report at a time
        self.is_over = threading.Event()
        self.files = {
            "/style.css": ("text/css", report_style() + _resource("live.css")),
            "/plots.js": ("text/javascript", resource("plots.js")),
            "/live.js": ("text/javascript", _resource("live.js")),
        }

    @property
    def address(self) -> str:
        return f"http://{ADDRESS}:{self.server_port}/"

    def keep_looking(self) -> None:
        """Look at the runs now and then until the server ends; whatever goes wrong in one look, there is a next one."""
        while not self.is_over.wait(self.watch.pause):
            try:
                self.watch.look()
            except Exception as error:
                print(f"lockstep watch: {type(error).__name__}: {error}")

    def report(self, run: Watched) -> bytes:
        """What the page shows of a run beside its numbers, as JSON; made anew when there are more draws."""
        with self.lock:
            draws = run.history[-1].draws if run.history else 0
            kept, now = self.reports.get(run.number), time.monotonic()
            if kept is not None and run.reason is None and (kept.draws == draws or now < kept.until):
                return kept.body
            body = json.dumps(_report(run), allow_nan=False).encode()
            took = time.monotonic() - now
            self.reports.pop(run.number, None)
            if run.reason is None:
                self.reports[run.number] = Kept(draws, body, now + took + PATIENCE * took)
            for number in list(self.reports)[:-MOST_KEPT]:
                del self.reports[number]
            return body

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that goes away in the middle of an answer is no error."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)

    def __enter__(self) -> Page:
        self.watch.look()
        threading.Thread(target=self.keep_looking, name="lockstep-watch", daemon=True).start()
        return self

    def __exit__(self, *error: Any) -> None:
        self.is_over.set()
        self.server_close()


def _report(run: Watched) -> dict[str, Any]:
    try:
        loaded = load(run.path)
        shown: dict[str, Any] = dict(texts(loaded))
        data = plots(loaded)
    except RunDirectoryError as error:
        return {"reason": str(error)}
    except Exception as error:  # of a directory that somebody else has written
        return {"reason": f"{run.path} cannot be shown ({type(error).__name__}: {error})"}
    values = {name: [_finite(getattr(one, name)) for one in run.history] for name in ("draws", "rhat", "ess")}
    return shown | {"data": data | {"history": values}, "reason": None}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _resource(name: str) -> str:
    return resources.files("lockstep.watch").joinpath(name).read_text(encoding="utf-8")


class Answer(BaseHTTPRequestHandler):
    """One request; the connection ends with it."""

    server: Page
    server_version = "lockstep"
    sys_version = ""
    timeout = 20.0

    def do_GET(self) -> None:
        if self.headers.get("Host") not in self.server.names:
            return self._send(403, "text/plain", b"This page is served to this machine alone, by its own name.\n")
        is_foreign = self.headers.get("Sec-Fetch-Site") in ("cross-site", "same-site")
        if is_foreign and self.headers.get("Sec-Fetch-Mode") != "navigate":
            return self._send(403, "text/plain", b"Pages of other sites are not answered.\n")
        if (found := self.server.files.get(self.path)) is not None:
            return self._send(200, found[0], found[1].encode())
        if self.path == "/runs.json":
            return self._send(200, "application/json", json.dumps(self.server.watch.rows(), allow_nan=False).encode())
        if self.path == "/":
            return self._page("")
        if (match := RUN.fullmatch(self.path)) and self.server.watch.run(int(match[1])) is not None:
            return self._page(match[1])
        if (match := PARTS.fullmatch(self.path)) and (run := self.server.watch.run(int(match[1]))) is not None:
            return self._send(200, "application/json", self.server.report(run))
        return self._send(404, "text/plain", b"There is nothing here.\n")

    def _page(self, number: str) -> None:
        page = Template(_resource("live.html")).substitute(number=number, main=main_of(EMPTY))
        self._send(200, "text/html", page.encode())

    def _send(self, code: int, kind: str, body: bytes) -> None:
        self.send_response(code)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        for name, value in HEADERS.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words: Any) -> None:
        """Say nothing: the terminal is the user's."""
