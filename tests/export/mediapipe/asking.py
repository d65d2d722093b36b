"""Asks a file through MediaPipe's Python, which lives in an environment of its own."""

import json
import os
import subprocess
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

PYTHON = os.environ.get("KBERT_MEDIAPIPE_PYTHON")
needs_mediapipe = pytest.mark.skipif(
    not PYTHON, reason="MEDIAPIPE NOT ASKED: `make test-mediapipe` makes the environment and asks it"
)
_SCRIPT = Path(__file__).with_name("ask_mediapipe.py")


class Asked(NamedTuple):
    """Answers of MediaPipe.

    Args:
      labels: for each text their names, the most probable first; empty for vectors.
      numbers: float32 (texts, labels or hidden size).
    """

    labels: list[list[str]]
    numbers: np.ndarray


def ask_mediapipe(requests: list[tuple], folder: Path) -> list[Asked]:
    """The answers to each (file, name of MediaPipe's task, texts), all in one process."""
    answers = [str(folder / f"answers_{number}.npy") for number in range(len(requests))]
    content = [
        {"file": str(file), "task": task, "texts": texts, "answers": path}
        for (file, task, texts), path in zip(requests, answers, strict=True)
    ]
    (folder / "requests.json").write_text(json.dumps(content), encoding="utf-8")
    done = subprocess.run([PYTHON, _SCRIPT, folder / "requests.json"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return [Asked(json.loads(Path(f"{path}.json").read_text()), np.load(path)) for path in answers]
