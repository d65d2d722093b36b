"""`python -m MODULE` in a process of its own, without the seconds in which TensorFlow loads.

A server, one for each worker of the suite, has loaded TensorFlow, and each process is a fork of it.
Everything else is as in a new process: command line, environment, streams, signals, exit code. Tests of what
happens before TensorFlow is loaded, or while it loads, need an ordinary process.
"""

import atexit
import functools
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.places import REPOSITORY


class WarmProcess:
    """A running script, with the methods of `subprocess.Popen`.

    Args:
      module: what `python -m` would run.
      *arguments: its command line.
      stdin: the text on its standard input.
      environment: its variables; those of this process by default.
    """

    def __init__(self, module: str, *arguments: str, stdin: str = "", environment: dict | None = None):
        server, folder = _server()
        self._folder = Path(tempfile.mkdtemp(dir=folder))
        (self._folder / "stdin").write_text(stdin, encoding="utf-8")
        for name in ("stdout", "stderr"):
            (self._folder / name).touch()
        order = {
            "module": module,
            "arguments": [str(argument) for argument in arguments],
            "environment": dict(os.environ if environment is None else environment),
            "folder": str(self._folder),
        }
        server.stdin.write(json.dumps(order) + "\n")
        server.stdin.flush()
        self.pid = self._number("pid", server)
        self.returncode = None

    def _number(self, name, server):
        while not (self._folder / name).exists():
            if server.poll() is not None:
                raise RuntimeError(f"the server of warm processes ended with {server.returncode}")
            time.sleep(0.001)
        return int((self._folder / name).read_text())

    def poll(self) -> int | None:
        """The exit code, or None while it runs."""
        if self.returncode is None and (self._folder / "exit_code").exists():
            self.returncode = int((self._folder / "exit_code").read_text())
        return self.returncode

    def wait(self, timeout: float = 300) -> int:
        """The exit code, once it has ended."""
        deadline = time.monotonic() + timeout
        while self.poll() is None:
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired(f"process {self.pid}", timeout)
            time.sleep(0.005)
        return self.returncode

    def lines(self) -> list[str]:
        """The whole lines of its standard output so far."""
        return (self._folder / "stdout").read_text(encoding="utf-8").split("\n")[:-1]

    def errors(self) -> str:
        """Its standard error so far."""
        return (self._folder / "stderr").read_text(encoding="utf-8")

    def communicate(self, timeout: float = 300) -> tuple[str, str]:
        """All of its standard output and error, once it has ended."""
        self.wait(timeout)
        return tuple((self._folder / name).read_text(encoding="utf-8") for name in ("stdout", "stderr"))

    def send_signal(self, number: int):
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self):
        self.send_signal(9)


def run_script(module: str, *arguments: str, stdin: str = "", environment: dict | None = None, timeout=300):
    """What `subprocess.run` gives for `python -m MODULE ARGUMENTS`: exit code, standard output and error."""
    process = WarmProcess(module, *arguments, stdin=stdin, environment=environment)
    try:
        stdout, stderr = process.communicate(timeout)
    finally:
        process.kill()
    return subprocess.CompletedProcess([module, *arguments], process.returncode, stdout, stderr)


@functools.cache
def _server():
    folder = tempfile.TemporaryDirectory(prefix="warm_processes_")
    server = subprocess.Popen(
        [sys.executable, "-m", f"{__name__}.server"], cwd=REPOSITORY, stdin=subprocess.PIPE, text=True
    )
    atexit.register(folder.cleanup)
    atexit.register(server.wait)
    atexit.register(server.stdin.close)  # the last to be registered is the first to be called
    return server, folder.name
