"""What is asked of a file for a run, and of which runs nothing is asked."""

import shutil

import pytest

from kbert.runs.columns_of_run import require_columns_of_run, require_inputs_of_run


@pytest.fixture
def run_dir(pair_run, tmp_path):
    """A copy of run.json and config.json of a run on pairs."""
    folder = tmp_path / "run"
    folder.mkdir()
    for name in ("run.json", "config.json"):
        shutil.copy(pair_run.path / name, folder)
    return folder


@pytest.fixture
def other_file(tmp_path):
    path = tmp_path / "other.csv"
    path.write_text("review,stars\nHot soup.,good\n")
    return path


def test_the_files_of_the_run_pass(run_dir, labelled_files):
    for path in labelled_files:
        require_columns_of_run(path, run_dir)
        require_inputs_of_run(path, run_dir)


def test_a_run_on_pairs_wants_both_texts(run_dir, other_file):
    other_file.write_text("sentence,label\nHot soup.,good\n")
    with pytest.raises(ValueError, match=r"expected sentence and other\."):
        require_inputs_of_run(other_file, run_dir)


@pytest.mark.parametrize("file", ["config.json", "run.json"])
def test_what_opens_the_run_says_what_is_wrong(run_dir, other_file, file):
    """Here nothing is asked of a run that is broken."""
    for require in (require_columns_of_run, require_inputs_of_run):
        with pytest.raises(ValueError, match="review"):
            require(other_file, run_dir)
    (run_dir / file).write_text("{")
    require_columns_of_run(other_file, run_dir)
    require_inputs_of_run(other_file, run_dir)
