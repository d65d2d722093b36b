"""`make lint` catches a wrong argument and a missing attribute."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]

# Each line marked with what must be said of it; a line without a mark must pass.
FAULTY = """
from kbert.files.json_file import read_json
from kbert.files.text_file import read_line  # attr-defined
from kbert.tokenization.vocabulary import Vocabulary

def sum_of(first, second):
    return first + second

def faults(name: str | None, vocabulary: Vocabulary):
    read_json(3)  # arg-type
    read_json(name)  # arg-type
    Vocabulary(["a"], do_lower=True)  # call-arg
    sum_of(1, 2, 3)  # call-arg
    sum_of(1, 2)
    return vocabulary.piece_count  # attr-defined

def promised(vocabulary: Vocabulary) -> int:
    return None if vocabulary else 3  # return-value
"""


@pytest.mark.slow
def test_faults_of_every_kind_are_caught(tmp_path):
    file = tmp_path / "faulty.py"
    file.write_text(FAULTY)
    flags = ["--config-file=pyproject.toml", f"--cache-dir={tmp_path}/cache", "--no-pretty"]
    result = subprocess.run(
        [sys.executable, "-m", "mypy", *flags, str(file)], cwd=REPOSITORY, capture_output=True, text=True
    )
    found = re.findall(r"faulty\.py:(\d+): error: .*\[([a-z-]+)\]", result.stdout)
    marked = [
        (str(number), line.partition("  # ")[2])
        for number, line in enumerate(FAULTY.splitlines(), start=1)
        if "  # " in line
    ]
    assert found == marked, result.stdout + result.stderr
