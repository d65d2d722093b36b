"""The Dockerfile copies what the package is built from, and installs the pinned uv. No container is built."""

import re
from pathlib import Path

from tests.packaging.test_wheel import FILES

REPOSITORY = Path(__file__).resolve().parents[2]
DOCKERFILE = (REPOSITORY / "Dockerfile").read_text(encoding="utf-8")


def copied():
    lines = re.findall(r"^COPY (.+) /source/\S*$", DOCKERFILE, re.MULTILINE)
    return [name for line in lines for name in line.split()]


def test_what_is_copied_is_there_and_is_what_the_package_needs():
    assert all((REPOSITORY / name).exists() for name in copied())
    folders = {"configs", "export", "kbert", "tfrecords_tools"}
    assert set(copied()) == {*FILES, *folders, "requirements.lock"}
