"""The run directory: what it refuses, and that it loads what was trained."""

import errno
import json
import os
import shutil
import subprocess
import sys
from types import SimpleNamespace

import pytest

from kbert.config import DistillationConfig, OptimizerConfig
from kbert.files.safetensors_file import read_safetensors
from kbert.runs import checkpoint
from kbert.runs.resume import differing_keys
from kbert.runs.run_directory import RunDirectory, require_run_folder
from kbert.tokenization.vocabulary import Vocabulary
from tests.conftest import tiny_encoder_config, tiny_finetuning_config, tiny_pretraining_config
from tests.places import REPOSITORY

DETAILS = {"task": "pretraining", "task_config": {}, "max_seq_length": 24}


@pytest.fixture
def run(tmp_path, vocabulary):
    return RunDirectory.create_or_resume(tmp_path / "run", tiny_pretraining_config(), DETAILS, vocabulary)


def test_the_same_run_is_taken_up_again(run, vocabulary):
    free = tiny_pretraining_config(
        description="renamed", log_every_steps=7, save_checkpoints_steps=70, keep_checkpoints=9
    )
    again = RunDirectory.create_or_resume(run.path, free, DETAILS, vocabulary)
    assert again.config == run.config and again.details == run.details
    assert again.vocabulary().tokens == vocabulary.tokens


def test_a_run_is_made_in_the_home_folder(vocabulary, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    run = RunDirectory.create_or_resume("~/run", tiny_pretraining_config(), DETAILS, vocabulary)
    assert run.path == tmp_path / "run" and (tmp_path / "run" / "run.json").is_file()


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("eval_batch_size", "evaluated in other batches"),
        ("gradient_accumulation_steps", "by rounding and by"),
    ],
)
def test_what_a_changed_setting_changes_is_said(run, vocabulary, caplog, setting, sentence):
    changed = tiny_pretraining_config(**{setting: 4})
    RunDirectory.create_or_resume(run.path, changed, DETAILS, vocabulary)
    (said,) = [record.getMessage() for record in caplog.records if setting in record.getMessage()]
    assert sentence in said and f"{setting} (was " in said


def test_a_checkpoint_under_another_spelling_is_the_same(tmp_path, vocabulary, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    config, details = tiny_pretraining_config(), DETAILS | {"init_checkpoint": f"{tmp_path}/start/"}
    run = RunDirectory.create_or_resume(tmp_path / "run", config, details, vocabulary)
    for same in (f"{tmp_path}/start", "~/start", f"{tmp_path}/./start"):
        RunDirectory.create_or_resume(run.path, config, details | {"init_checkpoint": same}, vocabulary)
    with pytest.raises(ValueError, match="differs in init_checkpoint"):
        RunDirectory.create_or_resume(run.path, config, details | {"init_checkpoint": "~/other"}, vocabulary)


def test_another_config_is_refused_with_every_difference(run, vocabulary):
    other = tiny_pretraining_config(
        encoder=tiny_encoder_config(num_hidden_layers=3),
        optimizer=OptimizerConfig(learning_rate=1e-3),
        seed=3,
    )
    with pytest.raises(ValueError) as error:
        RunDirectory.create_or_resume(run.path, other, DETAILS | {"max_seq_length": 30}, vocabulary)
    assert str(error.value) == (
        f"run_dir={run.path} holds another run; it differs in "
        "encoder.num_hidden_layers (was 1, now 3); max_seq_length (was 24, now 30); "
        "optimizer.learning_rate (was 0.002, now 0.001); seed (was 12345, now 3). "
        "Repeat its settings to resume it, or choose a new folder. It has saved nothing so far: if no "
        "process trains in it, you may delete it."
    )


def test_a_label_with_the_name_of_a_setting_is_compared_and_settings_of_phases_are_free():
    def settings(number, weight=1.0):
        free = {"description": number, "distillation": {"teacher": number}, "phases": [{"padding": number}]}
        return free | {"task_settings": {"class_weights": {"description": weight, "padding": 1.0}}}

    assert differing_keys(settings(1), settings(2)) == []
    assert differing_keys(settings(1), settings(1, weight=50.0)) == [
        "task_settings.class_weights.description (was 1.0, now 50.0)"
    ]


def student_of(teacher):
    settings = DistillationConfig(teacher=teacher, init_layers=(0,))
    details = DETAILS | {"teacher_digest": "1234", "init_checkpoint": teacher, "from_scratch": False}
    return tiny_pretraining_config(distillation=settings), details


def test_a_student_that_starts_from_its_teachers_layers_goes_on_when_the_teacher_has_moved(
    tmp_path, vocabulary
):
    RunDirectory.create_or_resume(tmp_path / "run", *student_of("here"), vocabulary)
    RunDirectory.create_or_resume(tmp_path / "run", *student_of("elsewhere"), vocabulary)
    config, details = student_of("here")
    for changed in ({"teacher_digest": "5678"}, {"from_scratch": True}):
        with pytest.raises(ValueError, match=f"it differs in {next(iter(changed))} "):
            RunDirectory.create_or_resume(tmp_path / "run", config, details | changed, vocabulary)


def test_a_run_knows_what_it_began_from_wherever_that_lies(tmp_path, vocabulary):
    config, path = tiny_pretraining_config(), tmp_path / "run"

    def resume(init, digest):
        return RunDirectory.create_or_resume(
            path, config, DETAILS | {"init_checkpoint": init, "init_digest": digest}, vocabulary
        )

    run = resume("here", "1234")
    resume("elsewhere", "1234")
    resume("here", None)  # it lies there no more
    for init, digest, key in (("here", "5678", "the content of its init_"), ("elsewhere", None, "init_")):
        with pytest.raises(ValueError, match=f"it differs in {key}checkpoint"):
            resume(init, digest)
    checkpoint.save_checkpoint(run.checkpoints, 1, {}, {}, {}, keep=1)
    resume("here", "5678")  # it goes on from its own weights
    with pytest.raises(ValueError, match="it differs in init_checkpoint"):
        resume("elsewhere", "5678")


def test_a_swapped_vocabulary_file_is_refused(run, vocabulary):
    Vocabulary(vocabulary.tokens[::-1], do_lower_case=True).write(run.path / "vocab.txt")
    with pytest.raises(ValueError, match="vocab.txt .*is not the vocabulary"):
        RunDirectory(run.path).vocabulary()


# ------------------------------------------------------------------- which checkpoint, what may change


def test_best_last_or_a_step(pretraining_run):
    run = pretraining_run
    assert [run.checkpoint(which).name for which in ("last", "best", "6", 12, None)] == [
        "step-00000012", "step-00000012", "step-00000006", "step-00000012", "step-00000012",
    ]  # fmt: skip
    for wrong in (7, "newest", "-6"):
        with pytest.raises(ValueError, match=f"no checkpoint {wrong!r}; choose last, best or one of the st"):
            run.checkpoint(wrong)


def test_an_early_stop_without_its_best_is_said(pretraining_run, tmp_path, monkeypatch, caplog):
    shutil.copytree(pretraining_run.path, tmp_path / "run")
    (tmp_path / "run" / "checkpoints" / "best.json").unlink()
    run = RunDirectory(tmp_path / "run")
    monkeypatch.setattr(run, "config", SimpleNamespace(early_stopping_patience=2))
    assert run.checkpoint().name == "step-00000012"
    assert "does not say which checkpoint was best; the last one is taken" in caplog.text


def test_a_checkpoint_that_the_training_deletes_while_it_is_read_is_not_missed(
    pretraining_run, tmp_path, monkeypatch
):
    """Here the other way round than in a training: step 12 goes, and then step 6 is the last."""
    run = RunDirectory(shutil.copytree(pretraining_run.path, tmp_path / "run"))
    last, verify = run.checkpoint("last"), checkpoint.verify

    def delete_afterwards(path, *names):
        verify(path, *names)
        if path == last:
            shutil.rmtree(last)

    monkeypatch.setattr(checkpoint, "verify", delete_afterwards)
    folder, _, model = run.load_checkpoint()
    assert folder == checkpoint.step_folder(run.checkpoints, 6) != last
    stored = read_safetensors(folder / checkpoint.WEIGHTS_FILE)
    assert all((stored[one.path].read() == one.numpy()).all() for one in model.trainable_variables)
    with pytest.raises(ValueError, match="has no checkpoint 12; choose last, best or one of the steps 6"):
        run.load_checkpoint(12)


# ----------------------------------------------------------------------------- the data it was trained on


def of_data(train, evaluation=None, path="train.tsv"):
    return DETAILS | {"train_file": path, "data": {"train": train, "eval": evaluation}}


def test_other_training_data_are_refused_and_the_same_under_another_name_taken(tmp_path, vocabulary, caplog):
    arguments = (tmp_path / "run", tiny_pretraining_config())
    RunDirectory.create_or_resume(*arguments, of_data("a", "e"), vocabulary)
    RunDirectory.create_or_resume(*arguments, of_data("a", "e", "moved/train.tsv"), vocabulary)
    assert not caplog.text
    with pytest.raises(
        ValueError, match="was trained on other data: the content of its training data has ch"
    ):
        RunDirectory.create_or_resume(*arguments, of_data("b", "e"), vocabulary)
    fewer = tiny_pretraining_config(max_eval_steps=1)
    with pytest.raises(ValueError, match=r"in max_eval_steps .was .*; the content of its training data\. "):
        RunDirectory.create_or_resume(tmp_path / "run", fewer, of_data("b", "e"), vocabulary)
    RunDirectory.create_or_resume(*arguments, of_data("a", "f"), vocabulary)
    assert "was evaluated on other data so far" in caplog.text


def records_of(path, dynamic=False):
    settings = {"input_files": path, "vocab_file": [path], "dynamic": dynamic}
    return of_data(["a"]) | {"records": settings, "records_of_phases": [{"records": settings}]}


def test_the_same_records_that_were_made_of_other_paths_are_taken(tmp_path, vocabulary):
    arguments = (tmp_path / "run", tiny_pretraining_config())
    RunDirectory.create_or_resume(*arguments, records_of("here"), vocabulary)
    again = RunDirectory.create_or_resume(*arguments, records_of("elsewhere"), vocabulary)
    assert again.details["records"]["input_files"] == "here", "the run keeps what it began with"
    with pytest.raises(ValueError, match=r"differs in records\.dynamic .*; records_of_phases\.0\.records"):
        RunDirectory.create_or_resume(*arguments, records_of("here", dynamic=True), vocabulary)


@pytest.mark.parametrize("data", ["e", ["e", {"masks": 3}]], ids=["finetuning", "pretraining"])
def test_a_run_that_is_evaluated_only_before_or_only_from_now_on_says_so(tmp_path, vocabulary, caplog, data):
    nothing = None if data == "e" else []
    for name, before, now in (
        ("without", data, nothing),
        ("with", nothing, data),
        ("never", nothing, nothing),
    ):
        arguments = (tmp_path / name, tiny_pretraining_config())
        for evaluated in (before, now):
            RunDirectory.create_or_resume(*arguments, of_data("a", evaluated), vocabulary)
    before, after = (record.getMessage() for record in caplog.records)
    assert before.startswith(f"{tmp_path / 'without'} was evaluated so far, and is not from now on")
    assert after.startswith(f"{tmp_path / 'with'} began without evaluation data")


def test_other_evaluation_data_are_refused_where_they_stop_the_run_early(tmp_path, vocabulary):
    early = {"early_stopping_patience": 2, "eval_every_steps": 4}
    config = tiny_finetuning_config(encoder=tiny_encoder_config(), **early)
    details = {"task": "sequence_classification", "task_config": {"labels": ["a", "b"]}, "max_seq_length": 24}
    arguments = (tmp_path / "run", config)
    for data in ("e+m+n", "e+m+n", "e+n", "e"):
        RunDirectory.create_or_resume(*arguments, of_data("a", data) | details, vocabulary)
    for data in ("f", "m+e", "e+o", "e+m+n+o", "f+m+n"):
        with pytest.raises(ValueError, match="by early stopping they choose its end and its scores. Res"):
            RunDirectory.create_or_resume(*arguments, of_data("a", data) | details, vocabulary)


@pytest.mark.parametrize(
    ("file", "length", "sentence"),
    [
        ("config.json", 16, "run.json has max_seq_length=24, config.json 16; restore what was edited"),
        ("run.json", 16, "run.json has max_seq_length=16, config.json 24; restore"),
        ("run.json", "24", "run.json: max_seq_length should be a number, received '24'"),
    ],
)
def test_a_length_that_somebody_edited_is_refused(tmp_path, vocabulary, file, length, sentence):
    details = {"task": "sequence_classification", "task_config": {"labels": ["a", "b"]}, "max_seq_length": 24}
    config = tiny_finetuning_config(encoder=tiny_encoder_config())
    run = RunDirectory.create_or_resume(tmp_path / "run", config, details, vocabulary)
    path = run.path / file
    path.write_text(json.dumps(json.loads(path.read_text()) | {"max_seq_length": length}))
    with pytest.raises(ValueError, match=sentence):
        RunDirectory(run.path)


def test_a_start_that_failed_half_way_is_taken_up_and_a_stranger_s_folder_is_not(tmp_path, vocabulary):
    begun, foreign = tmp_path / "begun", tmp_path / "foreign"
    for folder in (begun, foreign):
        folder.mkdir()
        (folder / "vocab.txt").write_text("half")
        (folder / "config.json").write_text("{}")
    (begun / ".lock").touch()
    (begun / "lost+found").mkdir()  # of a new volume of ext4
    arguments = (tiny_pretraining_config(), DETAILS, vocabulary)
    assert RunDirectory.create_or_resume(begun, *arguments).vocabulary().tokens == vocabulary.tokens
    with pytest.raises(ValueError, match=r"new or empty folder, without \['config.json', 'vocab.txt'\]\."):
        RunDirectory.create_or_resume(foreign, *arguments)
    assert (foreign / "vocab.txt").read_text() == "half"
    with pytest.raises(ValueError, match="vocab.txt is a file; choose a new or empty folder"):
        require_run_folder(foreign / "vocab.txt")
    (tmp_path / "link").symlink_to(tmp_path / "unmounted")
    with pytest.raises(ValueError, match="link is a link to .*unmounted, which does not exist"):
        require_run_folder(tmp_path / "link")


def test_a_file_system_that_renames_no_folders_is_refused_before_any_work(tmp_path, monkeypatch):
    """gcsfuse: files were written, and no checkpoint in all the hours."""

    def failing(old, new):
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(os, "rename", failing)
    (tmp_path / "empty").mkdir()
    for name in ("empty", "new"):
        with pytest.raises(
            ValueError, match="be written: Too many open files, when a folder is renamed .gcsfuse"
        ):
            require_run_folder(tmp_path / name)
    assert list(tmp_path.rglob("*")) == [tmp_path / "empty"]


def test_a_folder_without_a_run_is_refused_before_keras_loads(tmp_path):
    """So are broken ones; what only reads names, arrays and states of checkpoints loads no Keras either."""
    code = f"""
import sys
import kbert.checkpoints.formats, kbert.checkpoints.model_loading, kbert.runs.base_weights
from kbert.runs.run_directory import RunDirectory, require_run_folder
try:
    RunDirectory({str(tmp_path)!r})
except ValueError as error:
    print(error)
assert not {{"keras", "tensorflow"}} & set(sys.modules), "heavy imports"
"""
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith(f"{tmp_path} holds no kbert run (no run.json); give the folder of a run")
