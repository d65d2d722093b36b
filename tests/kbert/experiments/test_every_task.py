"""Every task is evaluated on a file and on records as its training evaluated it, and exported."""

import contextlib
import dataclasses
import io
import json

import numpy as np
import pytest

from export.export_savedmodel import export_savedmodel
from kbert.checkpoints.formats import write_checkpoint
from kbert.config import to_dict
from kbert.experiments.evaluation import evaluate
from kbert.runs.run_directory import RunDirectory
from kbert.tasks import TASKS
from kbert.tokenization.sentencepiece.sentencepiece_vocabulary import SentencePieceVocabulary
from tests.html_checks import read_page
from tests.kbert.checkpoints.random_checkpoint import ROBERTA, random_checkpoint
from tests.kbert.experiments.every_training import (
    NOT_TRAINED,
    NUM_DEV_EXAMPLES,
    PAIRINGS,
    make_training,
)
from tests.kbert.inference.answering import answers
from tests.kbert.tokenization.small_vocabularies import bpe_vocabulary, sentencepiece_model
from tfrecords_tools.create_finetuning_data import create_finetuning_data
from tfrecords_tools.show_records import show_records

pytestmark = pytest.mark.long

# Random lives draw the other pairs of a task and a kind of vocabulary.
KINDS = {
    "questions": "sentencepiece",
    "words": "wordpiece",
    "regression": "sentencepiece",
    "pairs": "bpe",
    "windows": "bpe",
    "several labels": "wordpiece",
    "choices": "sentencepiece",
    "frozen encoder": "bpe",
    "cosines": "bpe",
    "in-batch negatives": "sentencepiece",
    "token vectors": "wordpiece",
    "sparse vectors": "wordpiece",
    **dict.fromkeys([task.replace("_", " ") for task in PAIRINGS], "wordpiece"),
}


@pytest.fixture(scope="module", params=KINDS)
def trained(request, pretraining_run, tmp_path_factory):
    """(its `Training`, `RunDirectory`, the metrics of its last evaluation); nobody may change the folder."""
    folder = tmp_path_factory.mktemp("trained")
    name, kind = request.param, KINDS[request.param]
    start = pretraining_run.path if kind == "wordpiece" else write_encoder(kind, folder / "start")
    training = make_training(name, folder / "data", start)
    metrics = training.train(folder / "run")
    return training, RunDirectory(folder / "run"), metrics


def write_encoder(kind, folder):
    """A folder of transformers' RobertaModel or XLMRobertaModel."""
    if kind == "bpe":
        vocabulary = bpe_vocabulary([("Ġ", "t"), ("h", "e"), ("Ġt", "he"), ("u", "m"), ("um", "p")])
    else:
        vocabulary = SentencePieceVocabulary(sentencepiece_model())
    settings = ROBERTA | {"max_position_embeddings": 512}
    model = random_checkpoint("encoder", vocabulary=vocabulary, **settings)
    write_checkpoint(dataclasses.replace(model, max_seq_length=32), folder, "hugging_face")
    return folder


def assert_near(metrics, expected):
    """Equal but for rounding. Ranks are left out: rounding breaks their ties."""
    for name in (metrics.keys() & expected.keys()) - {"spearman"}:
        np.testing.assert_allclose(metrics[name], expected[name], rtol=1e-3, atol=1e-5, err_msg=name)


def test_all_tasks_are_trained_here(tmp_path):
    tasks = {make_training(name, tmp_path / name, "none").config.task for name in KINDS}
    assert tasks == set(TASKS) - NOT_TRAINED


def test_an_evaluation_gives_the_numbers_of_the_training(trained, tmp_path):
    training, run, metrics = trained
    data = training.evaluated | {"keep_chosen": False}
    task, judged = evaluate(run, **data, html_file=tmp_path / "page.html", html_examples=3)
    assert task.get_config() == run.task().get_config() and task.best_metric in metrics
    assert judged.keys() >= metrics.keys()
    assert_near(judged, metrics)
    page = read_page(tmp_path / "page.html")
    assert "<h2>" in page and page.count("<article") <= 3


def test_records_are_judged_as_the_file_and_the_export_answers(trained, tmp_path):
    training, run, metrics = trained
    if training.name == "pretraining":
        pytest.skip("Its data are records.")
    dev, records, config = training.data["dev_file"], tmp_path / "records", tmp_path / "config.json"
    config.write_text(json.dumps(to_dict(run.config)), encoding="utf-8")
    if training.config.task in ("multiple_negatives_ranking", "sparse_embedding", "late_interaction"):
        unrecorded = "no number for targets, which records must hold|late_interaction has no records"
        with pytest.raises(ValueError, match=unrecorded):
            create_finetuning_data(config, dev, records, init_checkpoint=run.path)
        return
    create_finetuning_data(config, dev, records, init_checkpoint=run.path)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        show_records(records)
    assert run.vocabulary().special_tokens.cls in printed.getvalue() and "WRONG" not in printed.getvalue()
    _, judged = evaluate(run, input_dir=records, batch_size=5)
    assert judged["num_examples"] == NUM_DEV_EXAMPLES and "loss" in judged
    assert_near(judged, metrics)

    assert export_savedmodel(run, tmp_path / "served")["max_difference"] <= 1e-5
    (answer,) = answers(run, [example_of(run)])
    assert set(run.task().serving.answers) <= set(answer) and json.dumps(answer, allow_nan=False)


def example_of(run):
    """An example with every input that the task takes."""
    texts = {"text": "the jump a", "text_pair": "walk", "question": "jump", "context": "the jump a"}
    return {name: texts.get(name, ["look", "jump and ask", "open"]) for name in run.task().serving.inputs}
