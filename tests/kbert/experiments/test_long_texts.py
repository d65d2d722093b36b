"""A training on windows: texts are judged, from a file and from records; asked in Python and as served."""

import dataclasses
import json
import random

import numpy as np
import pytest

from export.export_tflite import export_tflite
from kbert.config import to_dict
from kbert.experiments.evaluation import evaluate
from kbert.experiments.finetuning import finetune
from kbert.input_pipelines.records.record_folders import LabelledRecords
from kbert.runs.run_directory import RunDirectory
from kbert.tasks import TASKS
from tests.conftest import LABELS, tiny_finetuning_config
from tests.html_checks import read_page
from tests.kbert.experiments.served_answers import assert_served
from tests.kbert.inference.answering import answers
from tests.tfrecords_tools import small_corpus
from tfrecords_tools.create_finetuning_data import create_finetuning_data

pytestmark = pytest.mark.slow

WINDOWS = {"long_texts": "windows", "doc_stride": 5, "window_pooling": "vote"}


def write_texts(path, number, seed):
    """Texts of one to four sentences; the loud ones have the word "jump" at their end."""
    rng = random.Random(seed)
    lines = ["sentence\tlabel"]
    for index in range(number):
        text = " ".join(small_corpus.sentences(1 + index % 4, rng)).replace("jump", "walk")
        lines.append(f"{text}{' jump' * (index // 2 % 2)}\t{LABELS[index // 2 % 2]}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def config_of(**changes):
    return tiny_finetuning_config(max_seq_length=10, train_batch_size=8, task_settings=WINDOWS, **changes)


@pytest.fixture(scope="module")
def trained(pretraining_run, tmp_path_factory):
    """(run, file of development data, metrics at the end of the training)."""
    folder = tmp_path_factory.mktemp("windows")
    train, dev = write_texts(folder / "train.tsv", 24, 1), write_texts(folder / "dev.tsv", 12, 2)
    arguments = (folder / "run", train, dev, pretraining_run.path)
    _, metrics = finetune(config_of(num_train_epochs=1.0, padding="pack"), *arguments)
    return RunDirectory(folder / "run"), dev, metrics


def records_of(run, file, folder):
    config = folder / "config.json"
    config.write_text(json.dumps(to_dict(run.config)), encoding="utf-8")
    create_finetuning_data(config, file, folder / "records", init_checkpoint=run.path)
    return folder / "records"


@pytest.mark.long
def test_scores_count_texts_from_a_file_and_from_records(trained, tmp_path):
    run, dev, metrics = trained
    assert run.details["num_train_examples"] == 24
    task, judged = evaluate(run, dev, batch_size=5, html_file=tmp_path / "dev.html")
    assert judged["num_examples"] == np.sum(judged["confusion"]) == 12
    assert judged["baseline_accuracy"] == 0.5 == task.baseline(_batches(run, dev), None)["baseline_accuracy"]
    assert judged["accuracy"] == np.trace(judged["confusion"]) / 12
    assert "examples of <b>dev.tsv</b>" in read_page(tmp_path / "dev.html")

    records = records_of(run, dev, tmp_path)
    _, recorded = evaluate(run, input_dir=records, batch_size=7)
    assert recorded["num_examples"] == 12
    for other in (metrics, recorded):
        assert other["confusion"] == judged["confusion"]
        assert other.keys() | {"num_examples"} == judged.keys()
        for name in ("loss", "calibration_error", "chosen_temperature", "best_f1"):
            assert other[name] == pytest.approx(judged[name], rel=1e-4, abs=1e-5)
    settings = dataclasses.replace(run.task().settings, doc_stride=4)
    with pytest.raises(ValueError, match=r"made with task_settings.doc_stride=5, but this run has 4"):
        LabelledRecords(records, TASKS["sequence_classification"], 10, settings)


def _batches(run, dev):
    from kbert.experiments.labelled_file import LabelledFile
    from kbert.tokenization.text_inputs import TextInputs

    data = LabelledFile(dev, type(run.task()), run.config.dataset)
    data.tokenize_with(run.task(), TextInputs(run.vocabulary(), 10))
    assert len(data.evaluated_examples()[1]) > 20  # windows
    return data.evaluation_batches(6, False).as_numpy_iterator()


@pytest.mark.long
def test_what_is_served_is_what_python_answers_whatever_the_length(trained, tmp_path, caplog):
    run, dev, _ = trained
    texts = [line.split("\t")[0] for line in dev.read_text(encoding="utf-8").splitlines()[1:]] + [""]
    given = list(answers(run, [{"text": text} for text in texts]))
    (alone,) = answers(run, [{"text": texts[3]}])  # beside shorter ones and by itself
    assert alone["probabilities"] == pytest.approx(given[3]["probabilities"], abs=1e-6)
    assert_served(run, texts, given, tmp_path / "served")
    with pytest.raises(ValueError, match="MediaPipe"):
        export_tflite(run, tmp_path / "litert", ["float32"], mediapipe=True)
    assert "the files answer one row of at most 10" in caplog.text
