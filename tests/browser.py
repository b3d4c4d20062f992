"""A headless Chromium over a pipe: no driver to install, and no network."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--proxy-server=127.0.0.1:9",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--remote-debugging-pipe",
)
DEADLINE = 60


class Browser:
    """One page; what it writes to its console is kept in ``console``."""

    def __init__(self, profile: Path) -> None:
        to_read, self.out = os.pipe()
        self.into, to_write = os.pipe()
        # The browser listens on descriptor 3 and answers on 4.
        command = 'exec 3<&"$0" 4>&"$1"; shift; exec "$@"'
        arguments = [str(to_read), str(to_write), CHROMIUM, *OPTIONS, f"--user-data-dir={profile}", "about:blank"]
        self.process = subprocess.Popen(
            ["bash", "-c", command, *arguments], pass_fds=(to_read, to_write), stderr=subprocess.DEVNULL
        )
        os.close(to_read)
        os.close(to_write)
        self.number, self.buffer, self.session = 0, b"", None
        self.console: list[str] = []
        pages = [t for t in self.send("Target.getTargets")["targetInfos"] if t["type"] == "page"]
        attached = self.send("Target.attachToTarget", targetId=pages[0]["targetId"], flatten=True)
        self.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **parameters: Any) -> Any:
        self.number += 1
        message: dict[str, Any] = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self.number:
                assert "error" not in answer, answer
                return answer["result"]
            self._note(answer)

    def _receive(self) -> Any:
        while b"\0" not in self.buffer:
            piece = os.read(self.into, 1 << 16)
            assert piece, "the browser has gone"
            self.buffer += piece
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def _note(self, event: Any) -> None:
        if event.get("method") in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"):
            self.console.append(json.dumps(event["params"]))

    def size(self, width: int, height: int = 900, is_dark: bool = False) -> None:
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}
        self.send("Emulation.setEmulatedMedia", features=[scheme])

    def open(self, address: str, ready: str) -> None:
        """Open a page and wait until an expression holds."""
        self.send("Page.navigate", url=address)
        end = time.monotonic() + DEADLINE
        while not self.run(ready):
            assert time.monotonic() < end, f"{ready} did not become true"
            time.sleep(0.05)

    def run(self, expression: str) -> Any:
        answer = self.send("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def press(self, key: str) -> None:
        for kind in ("keyDown", "keyUp"):
            text = {"text": key} if len(key) == 1 and kind == "keyDown" else {}
            self.send("Input.dispatchKeyEvent", type=kind, key=key, **text)

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        steps = (("mousePressed", start), ("mouseMoved", end), ("mouseReleased", end))
        for kind, (x, y) in steps:
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=1, clickCount=1)

    def screenshot(self, path: Path) -> None:
        shot = self.send("Page.captureScreenshot", captureBeyondViewport=True, format="png")
        path.write_bytes(base64.b64decode(shot["data"]))

    def close(self) -> None:
        self.session = None
        os.write(self.out, json.dumps({"id": 0, "method": "Browser.close"}).encode() + b"\0")
        self.process.wait(timeout=30)
        os.close(self.out)
        os.close(self.into)
