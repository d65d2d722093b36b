"""A run that is converted to a run keeps the settings of its task, its columns and what was chosen for it."""

import dataclasses
import json

import pytest

from kbert.checkpoints.file_settings import with_file_settings
from kbert.checkpoints.formats import read_checkpoint
from kbert.checkpoints.model_loading import build_model
from kbert.config import DatasetConfig, FinetuningConfig
from kbert.encoder import BertEncoder
from kbert.runs.run_directory import RunDirectory
from kbert.scripts.convert_checkpoint import convert_checkpoint
from kbert.tasks import TASKS
from kbert.tasks.question_answering.question_answering import QuestionAnswering
from tests.conftest import tiny_encoder_config
from tests.kbert.checkpoints.random_checkpoint import random_checkpoint
from tests.kbert.runs.written_run import written_run

COLUMNS = DatasetConfig(text="sentence", label="mark")
NAMES = DatasetConfig(text="sentence", label="mark", labels=("a", "b"))
# task -> (its columns, settings that are not the defaults, what an evaluation may choose)
RECORDED = {
    "sequence_classification": (
        DatasetConfig(text="one", text_pair="two", labels=("a", "b"), positive_label="a"),
        {"long_texts": "windows", "temperature": 2.0},
        {"threshold": 0.25},
    ),
    "multi_label_classification": (
        DatasetConfig(text="sentence", labels=("a", "b"), label_separator=";"),
        {"temperature": 3.0},
        {"thresholds": {"a": 0.25, "b": 0.75}},
    ),
    "sequence_regression": (COLUMNS, {"long_texts": "windows"}, None),
    "multiple_choice": (
        DatasetConfig(text="sentence", choices=("c0", "c1", "c2")),
        {"temperature": 0.5},
        {"temperature": 4.0},
    ),
    "token_classification": (NAMES, {"document_context": True}, None),
    "question_answering": (
        COLUMNS,
        {"unanswerable": True, "doc_stride": 5, "max_query_length": 5},
        {"null_score_diff_threshold": -2.5},
    ),
    "cosine_similarity": (DatasetConfig(text="one", text_pair="two"), {"highest_score": 5.0}, None),
    "multiple_negatives_ranking": (DatasetConfig(text="one", text_pair="two"), {"scale": 7.0}, None),
    "pretraining": (None, {}, None),
}


def recorded_run(name, folder, vocabulary, num_hidden_layers=1):
    """A run of random weights with the settings of `RECORDED`."""
    dataset, settings, chosen = RECORDED[name]
    task_class, of_config = TASKS[name], {}
    if dataset is None:
        task = task_class()
    else:
        task = task_class.from_dataset(dataset, task_class.read_settings(settings)).with_pooling(None)
        of_config = {"dataset": dataset, "task_settings": settings, "best_metric": "loss"}
        of_config |= {"eval_batch_size": 4}
    model = task.build_model(BertEncoder(tiny_encoder_config(num_hidden_layers=num_hidden_layers)))
    run = written_run(folder, task, model, vocabulary, **of_config)
    if chosen:
        run.keep_chosen(0, chosen, "dev.tsv")
    return run


@pytest.mark.parametrize("name", RECORDED)
def test_a_run_stays_what_it_is(name, vocabulary, tmp_path):
    run = recorded_run(name, tmp_path / "run", vocabulary)
    convert_checkpoint(run.path, tmp_path / "again", "kbert", max_position_embeddings=40)
    again = RunDirectory(tmp_path / "again")
    assert again.task().get_config() == run.task().get_config()
    assert again.details["max_seq_length"] == run.details["max_seq_length"]
    files = [(one.path / "chosen.json") for one in (run, again)]
    assert files[0].exists() == files[1].exists() == bool(RECORDED[name][2])
    if files[0].exists():
        assert json.loads(files[1].read_text()) == json.loads(files[0].read_text())
        assert again.load_checkpoint()[1].get_config() == run.task().get_config() | RECORDED[name][2]
    if RECORDED[name][0] is not None:
        for key in ("dataset", "task_settings", "best_metric", "eval_batch_size", "max_seq_length"):
            assert getattr(again.config, key) == getattr(run.config, key)


def test_a_checkpoint_answers_by_what_was_chosen(vocabulary, tmp_path):
    run = recorded_run("multiple_choice", tmp_path / "run", vocabulary)
    tasks = [build_model(read_checkpoint(run.path))[0], run.load_checkpoint()[1]]
    assert [task.settings.temperature for task in tasks] == [4.0, 4.0]


def test_what_was_chosen_for_longer_texts_is_kept_and_said(vocabulary, tmp_path, caplog):
    run = recorded_run("multiple_choice", tmp_path / "run", vocabulary)
    convert_checkpoint(run.path, tmp_path / "short", "kbert", max_position_embeddings=8)
    assert (tmp_path / "short" / "chosen.json").exists()
    assert "is kept; it was chosen for texts of up to" in caplog.text


def test_what_was_chosen_for_all_layers_is_not_kept_for_some(vocabulary, tmp_path):
    run = recorded_run("sequence_classification", tmp_path / "run", vocabulary, num_hidden_layers=2)
    convert_checkpoint(run.path, tmp_path / "one_layer", "kbert", layers=[1])
    again = RunDirectory(tmp_path / "one_layer")
    assert not (again.path / "chosen.json").exists()
    assert again.task().get_config() == run.task().get_config()


def test_another_task_takes_nothing_along_and_other_pairs_how_files_are_read(vocabulary, tmp_path):
    run = recorded_run("sequence_classification", tmp_path / "run", vocabulary)
    convert_checkpoint(run.path, tmp_path / "encoder", "kbert", encoder_only=True)
    encoder = RunDirectory(tmp_path / "encoder")
    assert encoder.task().name == "encoder" and not (encoder.path / "chosen.json").exists()
    convert_checkpoint(run.path, tmp_path / "single", "kbert", takes_pairs=False)
    single = RunDirectory(tmp_path / "single")
    assert single.task().get_config() == run.task().get_config() | {"takes_pairs": False}
    assert single.config.dataset == dataclasses.replace(run.config.dataset, text_pair=None)
    assert single.config.dataset != DatasetConfig(labels=("a", "b"))
    convert_checkpoint(single.path, tmp_path / "pairs", "kbert", takes_pairs=True)
    assert RunDirectory(tmp_path / "pairs").config.dataset == dataclasses.replace(
        run.config.dataset, text_pair="text_pair"
    )
    for said, place in (
        ({"encoder_only": True}, "for classifiers"),
        ({"format": "google"}, "runs of kbert"),
    ):
        with pytest.raises(ValueError, match=f"takes_pairs=True is .*{place}"):
            convert_checkpoint(run.path, tmp_path / "other", takes_pairs=True, **said)


def test_a_model_of_others_gets_the_settings_of_a_config(vocabulary, tmp_path):
    """A published model of SQuAD v2.0 could not be told to answer that there is no answer."""
    task_class = TASKS["question_answering"]
    task = task_class.from_dataset(DatasetConfig(), task_class.read_settings({})).with_pooling(None)
    model = task.build_model(BertEncoder(tiny_encoder_config()))
    run = written_run(tmp_path / "run", task, model, vocabulary)
    convert_checkpoint(run.path, tmp_path / "folder", "hugging_face")
    config = FinetuningConfig(
        encoder=tiny_encoder_config(),
        task="question_answering",
        task_settings={"unanswerable": True, "doc_stride": 5, "max_query_length": 5},
        max_seq_length=20,
    )
    convert_checkpoint(tmp_path / "folder", tmp_path / "again", config=config)
    again = RunDirectory(tmp_path / "again")
    assert again.config.task_settings == config.task_settings and again.details["max_seq_length"] == 20
    assert again.task().settings.unanswerable and not run.task().settings.unanswerable
    for source, format, words in (
        (run.path, "kbert", "the run .* records it"),
        (tmp_path / "folder", "google", "runs of kbert only"),
    ):
        with pytest.raises(ValueError, match=f"config.*{words}"):
            convert_checkpoint(source, tmp_path / "other", format, config=config)
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize("turned_on", [False, True])
def test_a_setting_of_before_hides_no_run(turned_on):
    """Each run, export and .keras file of questions recorded it; answers never depended on it."""
    record = TASKS.to_record(QuestionAnswering(unanswerable=True))
    task_config = record["task_config"] | {"reproduce_run_squad": turned_on}
    assert TASKS.to_record(TASKS.recorded(record | {"task_config": task_config})) == record


@pytest.mark.parametrize("own", [None, "identity", "sigmoid"])
def test_what_makes_a_score_is_said_by_the_checkpoint_not_by_a_config(own):
    """The loss of a training on negatives makes it a sigmoid; a folder that is a regression has none."""
    dataset = DatasetConfig(text_pair="text_pair", negatives=("negative",))
    config = FinetuningConfig(task="sequence_regression", dataset=dataset, max_seq_length=16)
    checkpoint = dataclasses.replace(random_checkpoint("sequence_regression"), activation=own)
    assert with_file_settings(checkpoint, config).model_task.activation == (own or "identity")
