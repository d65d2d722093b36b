"""The line for Docker, which reads a mount as a line of CSV."""

import csv
import re
import shlex

import pytest

from export.deployment.docker_line import docker_command, served_name


@pytest.mark.parametrize("name", ["sst2", "a,b", 'a"b', "my model's", "отзывы"])
def test_docker_mounts_the_folder_whatever_it_is_called(tmp_path, name):
    served = served_name(tmp_path / name)
    assert re.fullmatch(r"[\w.-]+", served, re.ASCII)  # its image splits MODEL_NAME at blanks
    words = shlex.split(docker_command(tmp_path / name, served, None))
    (fields,) = csv.reader([words[words.index("--mount") + 1]])
    assert fields == ["type=bind", f"source={tmp_path / name}", f"target=/models/{served}", "readonly"]


def test_a_link_has_its_own_name_and_is_mounted_by_what_it_leads_to(tmp_path):
    (tmp_path / "reviews").symlink_to("2026-11-30")
    served = served_name(tmp_path / "reviews")
    assert served == "reviews"
    assert f"source={tmp_path / '2026-11-30'},target=/models/reviews" in docker_command(
        tmp_path / "reviews", served, None
    )
