"""Headless Chromium, driven over its debugging pipe: no package needed.

The protocol: https://chromedevtools.github.io/devtools-protocol/. Messages are JSON with a NUL behind each;
the browser reads them from its file 3 and writes to its file 4.
"""

import fcntl
import json
import os
import select
import shutil
import subprocess
import sys
import time

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
_FLAGS = ("--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--no-first-run",
          "--disable-extensions", "--disable-background-networking", "--force-color-profile=srgb",
          "--disable-dev-shm-usage")  # fmt: skip
_AS_FILES_3_AND_4 = (
    "import os, sys; r, w, *c = sys.argv[1:]; os.dup2(int(r), 3); os.dup2(int(w), 4); os.execv(c[0], c)"
)


def find_browser() -> str | None:
    """The path of a Chromium, if this machine has one."""
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


class Browser:
    """One page of one browser, until `close`.

    Attributes:
      troubles: what the page wrote to the console as a warning or an error, and its uncaught exceptions.
    """

    def __init__(self, program: str, profile):
        self.troubles: list[str] = []
        self._number, self._session, self._unread = 0, None, b""
        theirs_in, self._out = _pipe()
        self._in, theirs_out = _pipe()
        launch = [sys.executable, "-c", _AS_FILES_3_AND_4, str(theirs_in), str(theirs_out), program, *_FLAGS]
        self._process = subprocess.Popen(
            [*launch, f"--user-data-dir={profile}"],
            pass_fds=(theirs_in, theirs_out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def close(self) -> None:
        self._session = None
        self.call("Browser.close")
        self._process.wait(120)
        os.close(self._in)
        os.close(self._out)

    def call(self, method: str, **parameters) -> dict:
        """Runs a command of the protocol and returns its result."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while (answer := self._next()).get("id") != self._number:
            self._note(answer)
        assert "error" not in answer, (method, answer["error"])
        return answer["result"]

    def open(self, url: str, width: int) -> None:
        """Opens a URL in a window of this width."""
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        self.call("Page.navigate", url=url)

    def run(self, script: str):
        """The value of an expression in the page, a promise's too."""
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def wait(self, condition: str, seconds: float = 120.0):
        """Waits until an expression is true in the page, and returns its value."""
        end = time.monotonic() + seconds
        while not (
            value := self.run(f"(() => {{ try {{ return {condition} }} catch {{ return null }} }})()")
        ):
            assert time.monotonic() < end, (condition, self.run("document.body.innerText"), self.troubles)
            time.sleep(0.03)
        return value

    def write(self, text: str) -> None:
        """Types a text where the focus is."""
        self.call("Input.insertText", text=text)

    def press(self, key: str, code: int, modifiers: int = 0, text: str | None = None) -> None:
        """Presses a key. `modifiers`: 2 Ctrl, 8 Shift; `text`: what the key writes."""
        press = {"key": key, "code": key, "windowsVirtualKeyCode": code, "modifiers": modifiers}
        self.call("Input.dispatchKeyEvent", type="keyDown", **press, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **press)

    def _next(self) -> dict:
        while b"\0" not in self._unread:
            readable, _, _ = select.select([self._in], [], [], 60)
            assert readable, "the browser does not answer"
            part = os.read(self._in, 1 << 20)
            assert part, "the browser has ended"
            self._unread += part
        message, _, self._unread = self._unread.partition(b"\0")
        return json.loads(message)

    def _note(self, event: dict) -> None:
        parameters = event.get("params", {})
        if event.get("method") == "Runtime.exceptionThrown":
            self.troubles.append(str(parameters["exceptionDetails"]))
        elif event.get("method") == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning"):
            self.troubles.append(str(parameters["args"]))
        elif event.get("method") == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            self.troubles.append(str(parameters["entry"]))


def _pipe() -> tuple[int, int]:
    """The two ends of a pipe, neither of them file 3 or 4."""
    ends = os.pipe()
    high = tuple(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends)
    for end in ends:
        os.close(end)
    return high
