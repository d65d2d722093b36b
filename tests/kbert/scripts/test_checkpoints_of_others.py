"""Evaluation and exporters take any checkpoint with its head: it answers as the run that it was made of."""

import dataclasses
import json
import shutil

import pytest

from export.source_flags import exported_model
from kbert.config import DatasetConfig, to_dict
from kbert.encoder import BertEncoder
from kbert.experiments.evaluation import evaluate
from kbert.inference.loaded_model import LoadedModel
from kbert.inference.loading import open_model
from kbert.runs.metrics_file import json_ready
from kbert.scripts.convert_checkpoint import convert_checkpoint
from kbert.tasks.question_answering.question_answering import QuestionAnswering
from kbert.tasks.token_classification.token_classification import TokenClassification
from tests.conftest import (
    LABELS,
    MAX_SEQ_LENGTH,
    mostly_long,
    tiny_encoder_config,
    tiny_finetuning_config,
)
from tests.kbert.runs.written_run import written_run
from tests.kbert.scripts.test_command_lines import run_script
from tfrecords_tools.create_finetuning_data import create_finetuning_data


@pytest.fixture(scope="module")
def folder(finetuned_run, tmp_path_factory):
    """The classifier as a Hugging Face folder."""
    folder = tmp_path_factory.mktemp("others") / "classifier"
    convert_checkpoint(finetuned_run.path, folder, "hugging_face")
    return folder


@pytest.mark.slow
def test_a_folder_of_others_is_evaluated_as_the_run(finetuned_run, folder, labelled_files, tmp_path):
    config = tmp_path / "config.json"
    config.write_text(json.dumps(to_dict(tiny_finetuning_config())))
    arguments = [f"--run_dir={folder}", f"--config={config}", f"--eval_file={labelled_files[1]}", "--json"]
    result = run_script("run_evaluation", *arguments)
    assert result.returncode == 0, result.stderr
    theirs = json.loads(result.stdout)
    _, ours = evaluate(finetuned_run, labelled_files[1])
    assert theirs.pop("confusion") == json_ready(ours.pop("confusion")) and theirs["num_examples"] == 13
    assert theirs == pytest.approx(ours, abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("source", mostly_long(["standard input", "pairs.txt"], ("pairs.txt",)))
def test_a_line_with_a_tab_is_a_pair_where_a_checkpoint_may_take_pairs(folder, tmp_path, source):
    flags = [f"--run_dir={folder}"]
    lines = "jump\tthe a\njump\na\tthe\tplay\n\tjump\n"
    (tmp_path / source).write_text(lines)
    if source != "standard input":
        flags.append(f"--input_file={tmp_path / source}")
    result = run_script("run_prediction", *flags, stdin=lines)
    assert result.returncode == 0, result.stderr
    assert f"{source}: lines with one tab are read as two texts" in result.stderr
    pair, *texts = map(json.loads, result.stdout.splitlines())
    expected = open_model(folder).predict([("jump", "the a")])[0]
    assert (pair["text"], pair["text_pair"]) == ("jump", "the a")
    assert pair["probabilities"] == pytest.approx(expected["probabilities"], abs=1e-5)
    assert [text["text"] for text in texts] == ["jump", "a\tthe\tplay", "\tjump"]
    assert not any("text_pair" in text for text in texts)


def test_the_pairs_of_a_file_are_read_by_the_run_that_a_checkpoint_becomes_too(folder, tmp_path):
    """Neither says whether its examples are pairs; the columns of the file do."""
    open_model(folder).save(tmp_path / "run")
    rows = [{"text": "jump", "text_pair": "the a", "label": LABELS[n % 2]} for n in range(4)]
    (pairs, ours), (singles, _) = (
        [evaluate(model, data)[1]["loss"] for model in (folder, tmp_path / "run")]
        for data in (rows, [{"text": row["text"], "label": row["label"]} for row in rows])
    )
    assert pairs == pytest.approx(ours, abs=1e-6) and pairs != pytest.approx(singles, abs=1e-4)
    config, file = tmp_path / "config.json", tmp_path / "rows.jsonl"
    dataset = DatasetConfig(text_pair="text_pair", labels=LABELS)
    config.write_text(json.dumps(to_dict(tiny_finetuning_config(dataset=dataset))))
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    create_finetuning_data(config, file, tmp_path / "records", init_checkpoint=folder)
    for model in (folder, tmp_path / "run"):
        metrics = evaluate(model, input_dir=tmp_path / "records")[1]
        assert metrics["loss"] == pytest.approx(pairs, abs=1e-6)


def test_a_config_names_columns_and_the_checkpoint_its_labels(folder):
    def config(labels):
        return tiny_finetuning_config(dataset=DatasetConfig(text="sentence", labels=labels))

    loaded = open_model(folder).for_files(config(LABELS[::-1]))
    assert loaded.task.name == "sequence_classification" and loaded.run is None
    found = loaded.training_config.dataset
    assert (found.text, found.labels) == ("sentence", LABELS)
    with pytest.raises(ValueError, match=r"the config names the labels \['other', 'names'\], but .* has"):
        open_model(folder).for_files(config(("other", "names")))


def test_a_checkpoint_that_only_numbers_its_classes_takes_the_labels_of_a_config(folder, tmp_path):
    numbered = shutil.copytree(folder, tmp_path / "numbered")
    settings = json.loads((numbered / "config.json").read_text())
    names = [f"LABEL_{index}" for index in range(len(LABELS))]
    settings |= {"id2label": dict(enumerate(names)), "label2id": {name: i for i, name in enumerate(names)}}
    (numbered / "config.json").write_text(json.dumps(settings))
    file = tmp_path / "dev.tsv"
    file.write_text("text\tlabel\n" + "".join(f"play\t{label}\n" for label in LABELS))
    config = tiny_finetuning_config(dataset=DatasetConfig(labels=LABELS))
    _, metrics = evaluate(numbered, file, config=config)
    assert metrics == evaluate(folder, file)[1]


def test_a_config_says_settings_and_length_too(vocabulary, tmp_path):
    """SQuAD v2.0 with default settings would be SQuAD v1.1, in windows of another length."""
    model = QuestionAnswering().build_model(BertEncoder(tiny_encoder_config()))
    run = written_run(tmp_path / "run", QuestionAnswering(), model, vocabulary)
    convert_checkpoint(run.path, tmp_path / "squad", "hugging_face")
    settings = {"unanswerable": True, "doc_stride": 5, "null_score_diff_threshold": 1.5}
    config = tiny_finetuning_config(
        task="question_answering", dataset=DatasetConfig(), task_settings=settings, max_seq_length=17
    )
    loaded = open_model(tmp_path / "squad")
    changed = loaded.for_files(config)
    assert changed.task.get_config() == QuestionAnswering(**settings).get_config()
    assert changed.training_config.task_settings == settings
    assert changed.max_seq_length == changed.training_config.max_seq_length == 17
    assert loaded.with_max_seq_length(16).for_files(config).max_seq_length == 16
    assert loaded.task.get_config() == QuestionAnswering().get_config()
    assert loaded.max_seq_length == MAX_SEQ_LENGTH  # which the folder records


def test_settings_of_a_config_change_a_model_that_was_asked_before(folder):
    config = tiny_finetuning_config(task_settings={"temperature": 2.0})
    asked, fresh = open_model(folder), open_model(folder)
    (before,) = asked.predict(["play"])
    (answer,), (expected,) = (loaded.for_files(config).predict(["play"]) for loaded in (asked, fresh))
    assert answer["probabilities"] == expected["probabilities"] != before["probabilities"]
    asked.model.set_weights([0 * weight for weight in asked.model.get_weights()])
    (even,) = asked.for_files(config).predict(["play"])
    assert set(even["probabilities"].values()) == {1 / len(LABELS)}, "weights in memory stay"


def test_an_export_takes_either_from_run_dir(finetuned_run, folder):
    for path, run in ((finetuned_run.path, finetuned_run.path), (folder, None)):
        loaded = exported_model(path)
        assert isinstance(loaded, LoadedModel) and tuple(loaded.task.labels) == LABELS
        assert (loaded.run and loaded.run.path) == run
    with pytest.raises(ValueError, match="do_lower_case=False, but the run .* was made with True"):
        exported_model(finetuned_run.path, do_lower_case=False)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"task": "question_answering"}, r"is for the task question_answering, but .* of sequence_class"),
        ({"task": "sequence_clasification"}, "task='sequence_clasification' is not known. Did you mean"),
        ({"dataset": DatasetConfig(choices=("a", "b"))}, r"would not read dataset.choices=\['a', 'b'\]"),
        ({"max_seq_length": 33}, "max_seq_length=33, but .* has 32 positions; give a config with max_seq_"),
        ({"task_settings": {"doc_strid": 3}}, "doc_strid"),
    ],
)
def test_a_config_that_does_not_fit_is_refused(folder, changes, sentence):
    with pytest.raises(ValueError, match=sentence):
        open_model(folder).for_files(tiny_finetuning_config(**changes))


def test_a_config_of_a_head_that_the_checkpoint_lacks_is_refused(vocabulary, tmp_path):
    """Its weights would be random numbers, and the trained head would be left out."""
    tagger = TokenClassification(["O", "B-PER", "I-PER"])
    model = tagger.build_model(BertEncoder(tiny_encoder_config()))
    run = written_run(tmp_path / "run", tagger, model, vocabulary)
    convert_checkpoint(run.path, tmp_path / "tagger", "hugging_face")
    loaded = open_model(tmp_path / "tagger")
    settings = {"head": "bilstm", "layers": "last", "lstm_size": 8}
    config = tiny_finetuning_config(
        task=tagger.name, dataset=DatasetConfig(), task_settings=settings, best_metric=None
    )
    with pytest.raises(ValueError, match="the config's model has bilstm_tagger, .* random numbers"):
        loaded.for_files(config)
    loaded.for_files(dataclasses.replace(config, task_settings={"document_context": True}))
