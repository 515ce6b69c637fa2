# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium for tests of pages, driven over the DevTools protocol."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


def missing() -> str:
    """Return the reason why no page can be opened here, or nothing."""
    if not any(map(shutil.which, _NAMES)):
        return "no browser: none of " + ", ".join(_NAMES) + " is on the PATH (apt install chromium)"
    try:
        import websocket  # noqa: F401
    except ImportError:
        return "no package websocket-client"
    return ""


needed = pytest.mark.skipif(bool(missing()), reason=missing() or "a browser is here")


class Browser:
    """One window of 1280 × 800. Collects what a page asks the network for, and its errors."""

    def __init__(self, profile: Path) -> None:
        import websocket

        self.requests: list[str] = []
        self.errors: list[str] = []
        self._number = 0
        command = [next(filter(None, map(shutil.which, _NAMES))), "--headless=new", "--no-sandbox"]
        command += [
            "--disable-gpu",
            "--remote-debugging-port=0",
            "--window-size=1280,800",
            "--hide-scrollbars",
        ]
        command += ["--no-first-run", "--disable-background-networking", f"--user-data-dir={profile}"]
        self._process = subprocess.Popen([*command, "about:blank"], stderr=subprocess.DEVNULL)
        port = self._port(profile / "DevToolsActivePort")
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json", timeout=20) as answer:
            address = next(one for one in json.load(answer) if one["type"] == "page")["webSocketDebuggerUrl"]
        self._socket = websocket.create_connection(address, timeout=60, suppress_origin=True)
        for domain in ("Page", "Runtime", "Network"):
            self.send(f"{domain}.enable")
        size = {"width": 1280, "height": 800, "deviceScaleFactor": 1, "mobile": False}
        self.send("Emulation.setDeviceMetricsOverride", **size)

    def _port(self, file: Path) -> int:
        for _ in range(300):
            if file.exists() and (text := file.read_text()):
                return int(text.split()[0])
            time.sleep(0.1)
        self._process.kill()
        raise RuntimeError("Chromium has not opened its port within 30 s")

    def send(self, method: str, **parameters: Any) -> Any:
        self._number += 1
        self._socket.send(json.dumps({"id": self._number, "method": method, "params": parameters}))
        while True:
            told = json.loads(self._socket.recv())
            if told.get("id") == self._number:
                assert "error" not in told, told
                return told["result"]
            self._note(told)

    def _note(self, told: dict[str, Any]) -> None:
        if told.get("method") == "Network.requestWillBeSent":
            self.requests.append(told["params"]["request"]["url"])
        elif told.get("method") == "Runtime.exceptionThrown":
            details = told["params"]["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description", details["text"]))

    def open(self, page: Path) -> None:
        """Show a page once its script has drawn it."""
        self.requests.clear()
        self.errors.clear()
        self.send("Page.navigate", url=page.as_uri())
        for _ in range(600):
            if self.ask("window.hemiola?.ready === true"):
                return
            assert not self.errors, self.errors
            time.sleep(0.05)
        raise AssertionError(f"{page} has drawn nothing within 30 s: {self.errors}")

    def ask(self, expression: str) -> Any:
        """Return the value of an expression in the page; `h` is window.hemiola."""
        text = f"(async () => {{ const h = window.hemiola; return {expression}; }})()"
        told = self.send("Runtime.evaluate", expression=text, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in told, told["exceptionDetails"]
        return told["result"].get("value")

    def colour(self, canvas: str, x: float, y: float) -> tuple[int, int, int, int]:
        """Return a pixel of a canvas: red, green, blue, opacity."""
        place = (
            f"document.getElementById('{canvas}').getContext('2d').getImageData({round(x)}, {round(y)}, 1, 1)"
        )
        return tuple(self.ask(f"[...{place}.data]"))

    def key(self, name: str, text: str = "") -> None:
        self.send("Input.dispatchKeyEvent", type="keyDown", key=name, **({"text": text} if text else {}))
        self.send("Input.dispatchKeyEvent", type="keyUp", key=name)

    def picture(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self.send("Page.captureScreenshot")["data"]))

    def close(self) -> None:
        self._socket.close()
        self._process.terminate()
        self._process.wait(30)
