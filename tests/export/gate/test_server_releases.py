import re
from pathlib import Path

import pytest

from export.gate import server_releases
from export.gate.server_releases import RELEASES, oldest_server_with, releases_from
from tests.places import REPOSITORY

LISTS = sorted(Path(server_releases.__file__).with_name("server_ops").iterdir())


def test_every_list_is_a_release_with_the_pins_it_was_made_with():
    assert [path.stem for path in LISTS] == [release.name for release in RELEASES]
    for path, release in zip(LISTS, RELEASES, strict=True):
        lock = (REPOSITORY / f"tests/export/servers/{release.name}.lock").read_text(encoding="utf-8")
        head = path.read_text(encoding="utf-8").splitlines()[0]
        core, text = re.search(r"TensorFlow (\S+) and TF-Text (\S+),", head).groups()
        assert f"tensorflow-cpu=={core} " in lock and f"tensorflow-text=={text} " in lock
        assert core.startswith(release.name + ".") and text == release.text


def test_the_oldest_server_is_one_from_which_on_all_know_the_ops():
    assert oldest_server_with(["MatMul"]) == "2.12"
    assert oldest_server_with(["MatMul", "TFText>RoundRobinTrim"]) == "2.20"
    assert oldest_server_with(["MatMul", "EagerPyFunc"]) is None
    assert oldest_server_with(["TfLiteSubgraphExecute"]) is None  # 2.12 had it, 2.20 has not


@pytest.mark.parametrize(
    ("version", "names"),
    [(None, ["2.12", "2.20"]), ("2.12", ["2.12", "2.20"]), ("2.19.1", ["2.12", "2.20"]), ("2.20", ["2.20"])]
    + [("2.21.0", ["2.20"]), ("3.0", ["2.20"])],
)
def test_the_releases_of_a_server_and_of_all_newer_ones(version, names):
    assert [release.name for release in releases_from(version)] == names


@pytest.mark.parametrize(
    ("version", "sentence"),
    [
        ("2", "is not a version"),
        ("two.12", "is not a version"),
        (2.2, "is not a version .* as a text"),
        ("2.11", "the oldest server whose ops are known"),
    ],
)
def test_what_is_no_version_or_too_old_is_told(version, sentence):
    with pytest.raises(ValueError, match=sentence):
        releases_from(version)
