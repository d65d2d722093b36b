"""The names of what exports write: versions, and the labels that a line can name."""

import pytest

from export.folder_names import write_labels
from kbert.files.version_folders import LAST_VERSION, version_folder, version_number


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("1", 1),
        ("007", 7),
        ("1795876000123456789", 1795876000123456789),  # date +%s%N
        (str(LAST_VERSION), LAST_VERSION),
        (str(LAST_VERSION + 1), None),
        ("9" * 100, None),
        ("-1", None),
        ("\u0663", None),  # a digit that is not of ASCII
        ("1.tmp", None),
    ],
)
def test_a_version_is_a_number_of_64_bits(tmp_path, name, number):
    for folder in ("0", name):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "saved_model.pb").touch()
    assert version_number(tmp_path / name) == number
    assert version_folder(tmp_path) == tmp_path / ("0" if number is None else name), "the newest that is one"


@pytest.mark.parametrize("label", ["Refund\nrequest", "a\u2028b", "a\r"])
def test_labels_with_a_line_break_have_no_file(tmp_path, caplog, label):
    write_labels(("other", "two words"), tmp_path)
    assert (tmp_path / "labels.txt").read_text() == "other\ntwo words\n"
    (tmp_path / "again").mkdir()
    write_labels(("other", label), tmp_path / "again")
    assert not list((tmp_path / "again").iterdir())
    assert f"labels.txt is left out: the label {label!r} has a line break" in caplog.text
