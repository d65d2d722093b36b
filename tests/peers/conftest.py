"""Comparisons with other implementations, which have a Python of their own: `make test-peers`."""

import os
from pathlib import Path

import pytest

PEERS_PYTHON = "KBERT_PEERS_PYTHON"


@pytest.fixture(scope="session")
def peers_python() -> str:
    """The Python that has torch and transformers, as the environment names it."""
    path = os.environ.get(PEERS_PYTHON)
    if not path:
        pytest.skip(f"PEERS NOT COMPARED: {PEERS_PYTHON} is not set; run `make test-peers`")
    assert Path(path).is_file(), f"{PEERS_PYTHON}={path} is no Python"
    return path
