"""The line for Docker, which reads a mount as a line of CSV."""

import csv
import shlex

import pytest

from export.deployment.docker_line import docker_command


@pytest.mark.parametrize("name", ["sst2", "a,b", 'a"b', "my model's"])
def test_docker_mounts_the_folder_whatever_it_is_called(tmp_path, name):
    words = shlex.split(docker_command(tmp_path / name, name, None))
    (fields,) = csv.reader([words[words.index("--mount") + 1]])
    assert fields == ["type=bind", f"source={tmp_path / name}", f"target=/models/{name}", "readonly"]
