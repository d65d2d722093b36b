"""The Dockerfile copies what the package is built from, and installs the pinned uv. No container is built."""

import re

from tests.packaging.test_wheel import FILES
from tests.places import REPOSITORY

DOCKERFILE = (REPOSITORY / "Dockerfile").read_text(encoding="utf-8")


def copied():
    lines = re.findall(r"^COPY (.+) /source/\S*$", DOCKERFILE, re.MULTILINE)
    return [name for line in lines for name in line.split()]


def test_what_is_copied_is_there_and_is_what_the_package_needs():
    assert all((REPOSITORY / name).exists() for name in copied())
    folders = {"configs", "export", "kbert", "tfrecords_tools"}
    assert set(copied()) == {*FILES, *folders, "requirements.lock"}
