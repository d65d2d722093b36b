"""What transformers and sentence-transformers answer from a folder: kbert's side of folder_peer.py."""

import functools
import json
import os
import subprocess
from pathlib import Path

import numpy as np

from tests.peers.conftest import PEERS_PYTHON


@functools.cache
def _peer(python):
    file, pipe = Path(__file__).with_name("folder_peer.py"), subprocess.PIPE
    return subprocess.Popen([python, file], stdin=pipe, stdout=pipe, text=True)


def folder_answers(folder, task, texts) -> list | None:
    """One array for each text, see folder_peer.py; None where no Python of the peers is named."""
    if not os.environ.get(PEERS_PYTHON):
        return None
    peer = _peer(os.environ[PEERS_PYTHON])
    print(json.dumps({"folder": str(folder), "task": task, "texts": texts}), file=peer.stdin, flush=True)
    answers = json.loads(peer.stdout.readline())
    assert not isinstance(answers, str), answers
    return [np.array(answer) for answer in answers]
