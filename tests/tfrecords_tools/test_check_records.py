import subprocess
import sys
from pathlib import Path

import pytest

from tests.kbert.input_pipelines import small_records
from tfrecords_tools.check_records import check_records

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture
def records(tmp_path):
    directory = tmp_path / "records"
    return directory, small_records.write(directory, (6, 5))[0]


def run_tool(directory):
    command = [sys.executable, "-m", "tfrecords_tools.check_records", f"--input_dir={directory}"]
    return subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=100)


def test_whole_records_pass(records):
    directory, _ = records
    result = run_tool(directory)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith(f"{directory}: 11 of 11 records in 2 shards, all whole (0.0 MB in ")


def test_every_damage_is_a_line_and_the_exit_code_is_one(records):
    directory, manifest = records
    path = directory / manifest.shards[1].file
    raw = bytearray(path.read_bytes())
    raw[30] ^= 1
    path.write_bytes(raw)
    result = run_tool(directory)
    assert result.returncode == 1 and result.stderr == ""
    damage, count, summary = result.stdout.splitlines()
    assert damage.startswith(f"{path} is damaged at byte 0: the ") and damage.endswith(")")
    assert count == f"{path} holds 4 whole records, but its manifest says 5"
    assert f"{directory}: 10 of 11 records in 2 shards, 2 problems" in summary


def test_records_missing_from_the_end_and_a_swapped_vocabulary_are_found(records, capsys):
    directory, manifest = records
    (directory / manifest.shards[0].file).write_bytes(b"")
    vocabulary = small_records.VOCABULARY
    type(vocabulary)(vocabulary.tokens[::-1], do_lower_case=True).write(directory / "vocab.txt")
    assert check_records(directory) == 2
    lines = capsys.readouterr().out.splitlines()
    assert "is not the vocabulary the records were made with" in lines[0]
    assert lines[1].endswith("holds 0 whole records, but its manifest says 6")


def test_a_folder_without_records_is_one_sentence(tmp_path):
    result = run_tool(tmp_path)
    assert result.returncode == 1
    assert result.stderr.startswith(f"error: {tmp_path} holds no manifest.json")
