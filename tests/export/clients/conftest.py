"""Runs a script in the Python of the clients."""

import json
import os
import subprocess
from pathlib import Path

import pytest

CLIENTS_PYTHON = "KBERT_CLIENTS_PYTHON"


@pytest.fixture(scope="session")
def answers_of():
    """What the last line of a script beside this file says, read as JSON: answers_of(script, *arguments)."""
    python = os.environ.get(CLIENTS_PYTHON)
    if not python:
        pytest.skip(f"NO CLIENT OF OTHERS HAS ASKED: {CLIENTS_PYTHON} is not set; run `make test-clients`")

    def ask(script: str, *arguments: str):
        command = [python, str(Path(__file__).parent / script), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr[-3000:]
        return json.loads(done.stdout.splitlines()[-1])

    return ask
