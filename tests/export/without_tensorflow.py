"""Asks a LiteRT file in a process in which an import of TensorFlow or Keras fails."""

import json
import subprocess
import sys

from tests.places import REPOSITORY

_ALONE = """
import json, sys
sys.modules |= dict.fromkeys(("tensorflow", "tensorflow_text", "keras"))
import kbert
path, program = sys.argv[1:]
exec(program)
"""


def asked_alone(path, program: str):
    """What a program prints, as JSON; it has the file as `path`."""
    command = [sys.executable, "-c", _ALONE, str(path), program]
    return json.loads(subprocess.run(command, cwd=REPOSITORY, stdout=subprocess.PIPE, check=True).stdout)
