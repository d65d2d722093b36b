"""A command loads TensorFlow without what only Keras's plots and wrappers import; they load later."""

import os
import subprocess
import sys

import pytest

from tests.places import REPOSITORY

PROGRAM = """
import gc, sys
from kbert.cli import quiet_tensorflow
quiet_tensorflow.load_less()
import {first}
import tensorflow, tensorflow_text
missing = [name for name in ("sklearn", "matplotlib") if name in sys.modules]
import matplotlib.pyplot
print(missing, gc.isenabled(), matplotlib.pyplot.__name__, sys.modules["keras"].backend.backend())
"""


@pytest.mark.long
@pytest.mark.parametrize("first", ["keras", "tensorflow"])
def test_commands_load_tensorflow_without_what_only_keras_imports(first):
    command = [sys.executable, "-c", PROGRAM.format(first=first)]
    result = subprocess.run(
        command, cwd=REPOSITORY, capture_output=True, text=True, timeout=120, check=True,
        # Which the shell has for other programs.
        env=os.environ | {"KERAS_BACKEND": "jax", "TF_USE_LEGACY_KERAS": "1"},
    )  # fmt: skip
    assert (result.stdout, result.stderr) == ("[] True matplotlib.pyplot tensorflow\n", "")
