"""A missing package of an extra is named, with the line that installs it, before anything heavy is loaded."""

import os
import subprocess
import sys

import pytest

from kbert.extras import EXTRAS, require
from tests.places import REPOSITORY

# A process in which the module cannot be imported, and neither can what takes long to load.
PROGRAM = """
import sys
sys.modules |= dict.fromkeys((sys.argv[1], "tensorflow", "keras"))
from kbert.cli.commands import main
sys.exit(main(["kbert", *sys.argv[2:]]))
"""


@pytest.mark.parametrize(("extra", "module"), [(extra, one) for extra in EXTRAS for one in EXTRAS[extra][0]])
def test_each_package_is_looked_for(monkeypatch, extra, module):
    require(extra, "this")
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ValueError, match=f"^this needs {module}, not installed: pip install ") as error:
        require(extra, "this")
    assert all(package in str(error.value) for package in EXTRAS[extra][1])


@pytest.mark.parametrize(
    ("module", "command"),
    [
        ("uvicorn", ["serve", "--model_name=a", "--model_base_path=a"]),
        ("ai_edge_litert", ["export-litert", "--run_dir=a", "--output_dir=b"]),
        ("httptools", ["quickstart"]),
        ("flatbuffers", ["quickstart"]),
    ],
)
def test_a_command_says_it_first(module, command, tmp_path):
    run = [sys.executable, "-c", PROGRAM, module, *command]
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY)}
    result = subprocess.run(run, capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert result.returncode == 1 and not list(tmp_path.iterdir())
    assert result.stderr.startswith(f"error: kbert {command[0]} needs {module}, not installed: pip install ")
