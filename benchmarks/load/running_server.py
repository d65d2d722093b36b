"""Runs the development server in its own process, as a user would start it."""

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from kbert.export_package import export_package


class RunningServer:
    """A development server that runs during a `with` block.

    Args:
      model_base_path: the folder of the SavedModel's versions.
      name: the model's name.
      logs: the folder for the server's log.
      flags: more flags of the server.

    Attributes:
      grpc, rest: the addresses of the server, as host:port.
      process: the `subprocess.Popen`.

    Raises:
      ValueError: at the start of the block, when the server does not start; the message names its log.
    """

    def __init__(self, model_base_path: Path, name: str, logs: Path, flags: Iterable[str] = ()):
        self._command = [
            *(sys.executable, "-m", f"{export_package()}.development_server"),
            *(
                f"--model_base_path={model_base_path}",
                f"--model_name={name}",
                "--port=0",
                "--rest_api_port=0",
                *flags,
            ),
        ]
        self._log = logs / "development_server.log"

    def __enter__(self):
        self._file = self._log.open("w", encoding="utf-8")
        self.process = subprocess.Popen(self._command, stdout=subprocess.PIPE, stderr=self._file, text=True)
        for line in self.process.stdout:
            self._file.write(line)
            if line.startswith("serving "):
                words = line.replace(",", " ").split()
                self.grpc = words[words.index("gRPC") + 1]
                self.rest = words[words.index("REST") + 1].removeprefix("http://")
                return self
        self.__exit__()
        raise ValueError(f"the development server did not start; see {self._log}.")

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()
        self._file.close()
