"""What is asked of a file for a run, and of which runs nothing is asked."""

import shutil

import pytest

from kbert.runs.columns_of_run import count_inputs_of_run, require_columns_of_model


@pytest.fixture
def run_dir(pair_run, tmp_path):
    """A copy of run.json and config.json of a run on pairs."""
    folder = tmp_path / "run"
    folder.mkdir()
    for name in ("run.json", "config.json"):
        shutil.copy(pair_run.path / name, folder)
    return folder


def test_files_of_the_run_pass_and_others_do_not(run_dir, labelled_files, tmp_path):
    other = tmp_path / "other.csv"
    other.write_text("sentence,label\nHot soup.,good\n")
    for require in (require_columns_of_model, count_inputs_of_run):
        require(labelled_files[0], run_dir)
        with pytest.raises(ValueError, match="sentence"):
            require(other, run_dir)
