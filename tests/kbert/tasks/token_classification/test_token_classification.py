"""Token classification from files to answers: trained, judged, asked, recorded, resumed and served alike."""

import contextlib
import io
import json
import shutil

import numpy as np
import pytest
import tensorflow as tf

from kbert.config import DatasetConfig, OptimizerConfig, to_dict
from kbert.encoder import BertEncoder
from kbert.experiments.evaluation import evaluate
from kbert.experiments.finetuning import finetune
from kbert.inference.loaded_model import LoadedModel
from kbert.runs.run_directory import RunDirectory
from kbert.tasks.task import Predictions
from kbert.tasks.token_classification import TokenClassification
from kbert.tasks.token_classification.tagged_sentences import read_tagged_sentences
from tests.conftest import tiny_encoder_config, tiny_finetuning_config
from tests.kbert.inference.answering import answers
from tests.kbert.tasks.token_classification.small_conll import write_conll
from tests.kbert.test_encoder import randomize
from tests.made_once import made_once
from tests.tfrecords_tools import small_corpus
from tfrecords_tools.create_finetuning_data import create_finetuning_data
from tfrecords_tools.show_records import show_records

LONGEST = 16  # positions of a window: shorter than the longest sentences


def config_of(**changes):
    values = {
        "task": "token_classification",
        "dataset": DatasetConfig(),
        "optimizer": OptimizerConfig(name="adamw", learning_rate=1e-2),
        "max_seq_length": LONGEST,
        "num_train_epochs": 12.0,
        "save_checkpoints_steps": 20,
    }
    return tiny_finetuning_config(**values | changes)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    def make(folder):
        write_conll(folder / "train.conll", 48, 1)
        write_conll(folder / "dev.conll", 21, 2)

    folder = made_once(tmp_path_factory, "tagged_words", make)
    return folder / "train.conll", folder / "dev.conll"


@pytest.fixture(scope="module")
def trained(files, pretraining_run, tmp_path_factory):
    """(run, metrics of its training); the checkpoint that it started from is gone."""

    def make(folder):
        start = shutil.copytree(pretraining_run.path, folder / "start")
        _, metrics = finetune(config_of(), folder / "run", *files, init_checkpoint=start)
        (folder / "metrics.json").write_text(json.dumps(metrics), encoding="utf-8")
        shutil.rmtree(start)

    folder = made_once(tmp_path_factory, "tagger", make)
    return RunDirectory(folder / "run"), json.loads((folder / "metrics.json").read_text(encoding="utf-8"))


@pytest.mark.slow
def test_a_tiny_model_learns_its_entities(trained, files):
    run, metrics = trained
    assert metrics["f1"] > 0.95 and metrics["strict_f1"] > 0.9 and metrics["token_accuracy"] > 0.95
    task, judged = evaluate(run, files[1], batch_size=4)
    assert judged["num_examples"] == 21
    assert judged["entity_counts"] == metrics["entity_counts"]
    numbers = {name: value for name, value in metrics.items() if name != "entity_counts"}
    assert {name: judged[name] for name in numbers} == pytest.approx(numbers, abs=1e-5)
    assert 0.5 < judged["baseline_token_accuracy"] < 0.95 and judged["baseline_f1"] == 0.0
    assert task.types == ("ORG", "PER")
    lines = task.report(judged).splitlines()
    assert [line.split()[0] for line in lines] == ["entities", "ORG", "PER", "all"]


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("document_context", [pytest.param(False, marks=pytest.mark.exhaustive), True])
def test_records_are_judged_as_the_file_is(document_context, pretraining_run, files, tmp_path):
    settings = {"document_context": document_context}
    config = config_of(task_settings=settings, num_train_epochs=2.0)
    start = pretraining_run.path
    _, metrics = finetune(config, tmp_path / "run", *files, init_checkpoint=start)
    run = RunDirectory(tmp_path / "run")
    config = config_of(task_settings=settings, dataset=run.config.dataset)
    config_file = tmp_path / "config.json"
    config_file.write_text(json.dumps(to_dict(config) | {"encoder": None}), encoding="utf-8")
    manifest = create_finetuning_data(config_file, files[1], tmp_path / "records", init_checkpoint=run.path)
    assert manifest.num_examples > 21  # windows of long sentences
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        show_records(tmp_path / "records", num_records=3)
    assert "[CLS]" in printed.getvalue() and "WRONG" not in printed.getvalue()
    assert "labels of tokens (" in printed.getvalue() and "=B-PER" in printed.getvalue()
    _, judged = evaluate(run, files[1], batch_size=4)
    _, recorded = evaluate(run, input_dir=tmp_path / "records", batch_size=5)
    assert recorded["num_examples"] == judged["num_examples"] == 21
    assert 0.5 < judged["token_accuracy"] < 1.0  # there is something to differ in
    assert recorded.pop("entity_counts") == judged.pop("entity_counts")
    assert recorded == pytest.approx(judged, abs=1e-5)
    assert {name: judged[name] for name in ("f1", "loss")} == pytest.approx(
        {name: metrics[name] for name in ("f1", "loss")}, abs=1e-5
    )


def said_of_words(loaded, sentences):
    """(labels of each sentence's words, probabilities), as the signature "words" gives them."""
    signature = loaded.task.serving.signatures(loaded.model, loaded.text_inputs)["words"]
    longest = max(len(words) for words in sentences)
    padded = [[*words, *[""] * (longest - len(words))] for words in sentences]
    outputs = signature.function(words=tf.constant(padded))
    labels = [
        [label.decode() for label in row[: len(words)]]
        for row, words in zip(outputs["labels"].numpy(), sentences, strict=True)
    ]
    return labels, outputs["probabilities"].numpy()


@pytest.mark.parametrize("doc_stride", [None, 3])
def test_asked_for_words_a_model_says_what_its_evaluation_counts(doc_stride, files):
    """With random weights, which say something else of every window."""
    examples = list(read_tagged_sentences(files[1], DatasetConfig()))
    dataset = TokenClassification.files.complete_dataset(DatasetConfig(), examples)
    task = TokenClassification(dataset.labels, doc_stride=doc_stride)
    model = task.build_model(BertEncoder(tiny_encoder_config()))
    randomize(model)
    loaded = LoadedModel("random weights", task, model, small_corpus.vocabulary(), LONGEST)
    features, owners = task.examples_to_features(examples, loaded.text_inputs)
    assert len(owners) > len(examples)
    outputs = model({name: features[name] for name in model.input})
    collected, probabilities = task.collect(outputs, features), np.array(outputs["probabilities"])
    said, surely = said_of_words(loaded, [example.words for example in examples])
    assert len({label for row in said for label in row}) > 1
    places = np.argwhere(features["word_ids"] >= 0).tolist()
    assert len(places) == sum(map(len, said))
    for row, position in places:
        owner, word = owners[row], features["word_ids"][row, position]
        assert said[owner][word] == task.labels[int(collected["predicted_ids"][row, position])]
        assert surely[owner, word] == pytest.approx(probabilities[row, position].max(), abs=1e-5)


@pytest.mark.slow
def test_answers_speak_of_words_and_characters(trained):
    run, _ = trained
    text = "The help, calls and (call) walk " + "the walk a jump " * 12 + "help."
    answer, empty = answers(run, [{"text": text}, {"text": " "}])
    assert empty["words"] == [] and empty["entities"] == []
    assert json.dumps(answer, allow_nan=False) and set(run.task().serving.answers) <= set(answer)
    for word in answer["words"]:
        assert text[word["start"] : word["end"]] == word["word"] and 0 < word["probability"] <= 1
    assert len(answer["words"]) == 9 + 48 + 2
    names = [(entity["type"], entity["text"]) for entity in answer["entities"]]
    assert names[0] == ("PER", "help") and names[-1] == ("PER", "help") and ("ORG", "call") in names
    assert answer["entities"][-1]["start"] == len(text) - 5
    for entity in answer["entities"]:
        assert text[entity["start"] : entity["end"]] == entity["text"] and 0 < entity["probability"] <= 1


def test_a_checkpoint_in_bioes_has_the_same_entities():
    task = TokenClassification(["O", "B-X", "I-X", "E-X", "S-X"])
    values = {"predicted_ids": [[0, 1, 3, 4]], "label_ids": [[0, 1, 3, 4]], "word_ids": [[0, 1, 2, 3]]}
    values = {name: np.array(value) for name, value in values.items()}
    scores = task.score(None, Predictions(values, np.zeros(1, int)))
    assert scores["entity_counts"] == [[2, 2, 2]] and scores["strict_f1"] == 1.0


def test_a_lost_window_does_not_join_two_sentences():
    """The second sentence's first window is gone: its word 2 does not go on with word 1 of the first."""
    task = TokenClassification(["O", "B-X", "I-X"])
    words = np.array([[-1, 0, 1], [-1, 2, 3], [-1, 0, -1]])
    said = np.array([[0, 0, 1], [0, 2, 2], [0, 1, 0]])
    values = {
        "predicted_ids": said,
        "label_ids": said,
        "word_ids": np.where(words == 2, 5, np.where(words == 3, 6, words)),
    }
    scores = task.score(None, Predictions(values, np.arange(3)))
    assert scores["entity_counts"] == [[3, 3, 3]]
