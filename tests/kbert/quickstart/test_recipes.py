"""The recipes: commands of kbert with flags that it has, the same typed by hand; and how they are run."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from kbert.config import FinetuningConfig, load_config
from kbert.files.folder_lock import lock_folder
from kbert.quickstart import recipe
from kbert.quickstart.recipe import parse_recipe, run_recipe, text_folder
from kbert.scripts.quickstart import encoder_and_data, run_quickstart
from tests.docs.command_checks import faults

RECIPES = ["from_text.sh", "from_pretrained.sh"]


def words_of(name, **values):
    return [shlex.split(command.replace("\\\n", "")) for _, command in parse_recipe(name, **values)]


@pytest.mark.parametrize("name", RECIPES)
def test_every_command_has_its_flags_and_files(name):
    for words in words_of(name, text=shlex.quote(str(text_folder()))):
        assert faults(words, True) == []
        paths = [word.rpartition("=")[2] for word in words if str(text_folder()) in word]
        assert all(Path(path).is_file() for path in paths)


@pytest.mark.parametrize("name", RECIPES)
def test_a_shell_runs_the_same(name, tmp_path):
    program = tmp_path / "kbert"
    program.write_text("#!/bin/sh\nprintf '%s\\0' kbert \"$@\"\necho\n")
    program.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    ran = subprocess.run(
        ["sh", recipe.FOLDER / name], env={"PATH": path}, capture_output=True, text=True, check=True
    )
    assert [line.split("\0")[:-1] for line in ran.stdout.splitlines()] == words_of(name)


def test_a_file_of_ones_own_is_trained_and_evaluated_in_two_parts():
    values = encoder_and_data("my encoder", "my file.csv")
    training, evaluation, _ = words_of("from_pretrained.sh", **values)
    assert faults(training, True) == faults(evaluation, True) == []
    assert {"--init_checkpoint=my encoder", "--override=dev_split=0.2"} < set(training)
    assert "--train_file=my file.csv" in training
    assert {"--eval_file=my file.csv", "--split=dev"} < set(evaluation)


def test_a_file_that_cannot_be_read_costs_no_earlier_quickstart(tmp_path, monkeypatch):
    monkeypatch.setattr("kbert.scripts.quickstart.formats.require_checkpoint", lambda name: None)
    made = tmp_path / "made"
    (made / "classifier").mkdir(parents=True)
    (made / ".kbert_quickstart").touch()
    (tmp_path / "rows.csv").write_text("review,stars\ngood,5\n")
    with pytest.raises(ValueError, match=r"has no column 'text'(.|\n)*Rename its columns to text and label"):
        run_quickstart(made, "encoder", str(tmp_path / "rows.csv"))
    assert (made / "classifier").is_dir()


def test_pretraining_sees_every_position_of_the_classifier():
    """Positions that pretraining never saw once made the pretrained classifier lose to its control."""
    classifier = load_config(FinetuningConfig, "configs/finetuning/smoke.toml")
    for words in words_of("from_text.sh"):
        if words[1] == "pretraining-data":
            (length,) = [word for word in words if word.startswith("--max_seq_length=")]
            assert int(length.partition("=")[2]) >= classifier.max_seq_length


@pytest.fixture
def short_recipe(tmp_path, monkeypatch):
    """A recipe of two commands, of which the second fails where $file is missing."""
    monkeypatch.setattr(recipe, "FOLDER", tmp_path)
    (tmp_path / "short.sh").write_text(
        "run=a\n\n# What it has\nkbert configs\n\n# An aside.\n# Look\nkbert show-records \\\n"
        "    --input_dir=$run/vocab.txt\n"
    )
    return tmp_path / "run"


def test_a_step_that_outlives_its_quickstart_holds_the_folder(tmp_path):
    with lock_folder(tmp_path) as lock:
        code = f"import os; print(os.readlink('/proc/self/fd/{lock.fileno()}'))"
        assert recipe._run([sys.executable, "-c", code], tmp_path / "log", lock) == 0
    assert (tmp_path / "log").read_text() == f"{tmp_path / '.lock'}\n"


def test_other_files_are_left_alone_and_an_earlier_quickstart_is_removed(short_recipe, monkeypatch):
    monkeypatch.setattr(recipe, "_run", lambda command, log, lock: 0)
    for _ in range(2):
        run_recipe("short.sh", short_recipe)
        assert sorted(path.name for path in short_recipe.iterdir()) == [".kbert_quickstart", ".lock", "logs"]
        (short_recipe / "vocab.txt").write_text("of the run before")
        (short_recipe / "litert.1234.abcd1234.tmp").mkdir()  # of a step that was killed
    (short_recipe / "mine.csv").write_text("of a user")
    for inputs, lost in (
        ((), "mine.csv"),
        (["records/.."], "mine.csv"),
        ([short_recipe / "vocab.txt"], "vocab"),
    ):
        with pytest.raises(ValueError, match=f"and .*{lost}.* in it would be lost; move that"):
            run_recipe("short.sh", short_recipe, map(Path, inputs))
    (short_recipe / "mine.csv").unlink()
    with lock_folder(short_recipe), pytest.raises(BlockingIOError, match="is working in"):
        run_recipe("short.sh", short_recipe)
    begun = short_recipe.with_name("begun")  # killed before it wrote anything
    begun.mkdir()
    (begun / "lost+found").mkdir()  # of a new volume of ext4
    lock_folder(begun).close()
    assert len(run_recipe("short.sh", begun)) == 2
    (short_recipe / ".kbert_quickstart").unlink()
    (short_recipe / "litert.1234.abcd1234.tmp").rmdir()
    with pytest.raises(ValueError, match=r"holds other files, such as \['logs', 'vocab.txt'\]; choose a"):
        run_recipe("short.sh", short_recipe)
    assert (short_recipe / "vocab.txt").is_file()
