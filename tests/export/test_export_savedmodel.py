"""Exported SavedModels answer, through the server's own road, as Keras does."""

import html
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import export.export_savedmodel as exporter
import export.gate.answer_check as answer_check
import kbert
from export.export_savedmodel import _new_version, export_savedmodel
from export.gate.saved_model_session import SavedModelSession
from export.serving_model import ServingModel
from kbert.runs.checkpoint import parse_step
from kbert.runs.run_directory import RunDirectory
from kbert.scripts.convert_checkpoint import convert_checkpoint
from kbert.tasks.encoding import Encoding
from kbert.tokenization.text_inputs import TextInputs
from tests import warm_processes
from tests.html_checks import read_page
from tests.kbert.inference.random_model import random_task_model

pytestmark = pytest.mark.usefixtures("compiled_kernels")
TEXTS = ["jump the a", "Walks, and JUMPED.", "", "an unknown word", "play " * 40]


@pytest.fixture(scope="module")
def exported(finetuned_run, tmp_path_factory):
    """(run, report, inputs of the text signature)."""

    def in_a_warm_process(command, env, **_):
        return warm_processes.run_script(*command[2:], environment=env)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("export.deployment.measurements.subprocess.run", in_a_warm_process)
        loaded = kbert.load(finetuned_run.path)
        report = loaded.export(tmp_path_factory.mktemp("served") / "sst2", measure=True)
    return finetuned_run, report, {"text": np.array(TEXTS, object)}


@pytest.fixture
def written_before(exported, monkeypatch):
    """The graph is not traced again: it is that of the export above."""

    def write(self, folder):
        shutil.copytree(
            exported[1]["path"], folder, ignore=shutil.ignore_patterns("assets.extra"), dirs_exist_ok=True
        )

    monkeypatch.setattr(ServingModel, "write", write)


def unchecked(*unused, **also):
    """In the place of the check of answers, where that is not what is tested."""
    return dict.fromkeys(("max_difference", "mean_difference", "answers_compared"), 0) | {
        "answers_agree": None
    }


def keras_outputs(run, inputs):
    """Of the Keras model itself, and not of what answers in its place in Python too."""
    _, task, model = run.load_checkpoint()
    packed = TextInputs(run.vocabulary(), run.config.max_seq_length)(
        *(tf.constant(list(texts)) for texts in inputs.values())
    )
    return {name: model(packed, training=False)[name].numpy() for name in ("probabilities", "logits")}


@pytest.mark.slow
def test_both_signatures_answer_as_keras_does(exported):
    run, report, inputs = exported
    expected = keras_outputs(run, inputs)
    assert np.ptp(expected["probabilities"][:, 0]) > 1e-3  # the texts tell

    model = SavedModelSession(report["path"])
    by_text = model.run("serving_default", inputs)
    packed = TextInputs(run.vocabulary(), run.config.max_seq_length)(
        *(tf.constant(list(texts)) for texts in inputs.values())
    )
    by_ids = model.run("ids", {name: value.numpy() for name, value in packed.items()})
    labels = [run.config.dataset.labels[i] for i in expected["logits"].argmax(axis=-1)]
    for answer in (by_text, by_ids):
        assert answer.keys() - {"truncated"} == {"probabilities", "logits", "label"}
        for name in ("probabilities", "logits"):
            np.testing.assert_allclose(answer[name], expected[name], atol=1e-5)
            assert answer[name].dtype == np.float32
        assert [label.decode() for label in answer["label"]] == labels


def test_the_report_and_what_lies_beside_the_model(exported):
    run, report, _ = exported
    assert report["version"] == 1 and report["path"].endswith("/1")
    assert report["compared_on"] == "40 examples of the run's training data, and fixed texts"
    assert report["max_difference"] <= 1e-5 and report["num_ops"] > 20
    _, _, model = run.load_checkpoint()
    parameters = sum(int(np.prod(v.shape)) for v in model.trainable_variables)
    assert (report["parameters"], report["weight_bytes"]) == (parameters, 4 * parameters)
    assert set(report["text_ops"]) <= {
        "TFText>FastWordpieceTokenizeWithOffsets", "FastWordpieceTokenizeWithOffsets",
        "NormalizeUTF8", "TFText>NormalizeUTF8",
    } and report["text_ops"]  # fmt: skip
    extra = Path(report["path"]) / "assets.extra"
    about = json.loads((extra / "kbert.json").read_text(encoding="utf-8"))
    assert about["labels"] == list(run.config.dataset.labels) and about["bytes"] == report["bytes"]
    assert about["vocabulary"] == run.details["vocabulary"]
    assert (extra / "vocab.txt").read_bytes() == (run.path / "vocab.txt").read_bytes()


def test_the_card_tells_people_and_programs_what_was_measured(exported):
    _, report, inputs = exported
    extra = Path(report["path"]) / "assets.extra"
    card = json.loads((extra / "model_card.json").read_text(encoding="utf-8"))
    page = html.unescape(read_page(extra / "model_card.html"))
    assert f"{report['parameters']:,}" in page and report["docker"] in page
    assert "tensorflow/serving:2.19" in report["docker"]
    assert card["oldest_server"] == report["oldest_server"] == "2.12"
    assert card["signatures"]["serving_default"]["inputs"] == dict.fromkeys(inputs, "string [?]")
    assert card["signatures"]["serving_default"]["outputs"]["probabilities"] == "float32 [?, 2]"
    assert card["training"]["num_train_examples"] == 40 and 0 <= card["metrics"]["accuracy"] <= 1
    assert "matthews" in page and "elapsed seconds" not in page
    assert (
        card["changed"] == []
        and card["answers_compared"] == 40 + sum(map(len, answer_check.CHECK_TEXTS))
        and card["answers_agree"] == 1
    )
    measured = card["measured"]
    assert set(measured["milliseconds"]) == {"1", "8", "32"} and measured["num_tokens"] == 24
    assert measured["resident_bytes"] > measured["resident_bytes_without"] > 10**7


def test_the_card_of_a_run_of_0_steps_or_with_chosen_settings_has_no_numbers_of_others(
    finetuned_run, written_before, tmp_path, monkeypatch
):
    """And an export of a run in training tells the checkpoint that it holds."""
    run = RunDirectory(shutil.copytree(finetuned_run.path, tmp_path / "run"))
    read = run.checkpoint()
    step = parse_step(read)

    def while_the_training_goes_on(*unused, **also):
        if read.exists():
            read.rename(read.with_name("step-00000099"))  # a new one, and the old one deleted
        return unchecked()

    monkeypatch.setattr(answer_check, "check_answers", while_the_training_goes_on)
    convert_checkpoint(run.path, tmp_path / "converted", "kbert")
    run.keep_chosen(step, {"temperature": 1.75}, "dev.tsv")
    cards, pages = {}, {}
    for name in ("run", "converted"):
        path = Path(export_savedmodel(RunDirectory(tmp_path / name), tmp_path / f"{name}_served")["path"])
        cards[name] = json.loads((path / "assets.extra" / "model_card.json").read_text(encoding="utf-8"))
        pages[name] = read_page(path / "assets.extra" / "model_card.html")
        assert cards[name]["metrics"] == {}
    assert cards["run"]["checkpoint"] == str(read) and cards["run"]["training"]["step"] == step != 99
    assert cards["run"]["chosen"] == {"temperature": 1.75}
    assert "temperature <code>1.75</code>." in pages["run"] and "recorded no evaluation" not in pages["run"]
    assert cards["converted"]["training"] is None and cards["converted"]["chosen"] == {}
    assert "Unknown: it comes from" in pages["converted"]


def test_the_card_of_a_changed_model_has_no_scores_of_its_checkpoint(
    exported, written_before, tmp_path, monkeypatch
):
    monkeypatch.setattr(answer_check, "check_answers", unchecked)
    loaded = kbert.load(exported[0].path)
    loaded.model.set_weights([0.5 * weight for weight in loaded.model.get_weights()])
    loaded = loaded.with_max_seq_length(20)
    extra = Path(loaded.export(tmp_path / "served")["path"]) / "assets.extra"
    card = json.loads((extra / "model_card.json").read_text())
    assert card["metrics"] == {} and card["training"]["num_train_examples"] == 40
    weights = set(card["changed"]) - {"max_seq_length"}
    assert len(card["changed"]) > len(weights) > 0 and weights <= {one.path for one in loaded.model.weights}
    page = html.unescape(read_page(extra / "model_card.html"))
    assert f"has another {card['changed'][0]}" in page and "matthews" not in page


def test_versions_count_up_and_what_a_killed_export_left_goes_away(
    finetuned_run, written_before, tmp_path, monkeypatch, caplog
):
    monkeypatch.setattr(answer_check, "check_answers", unchecked)
    left = tmp_path / "10.4194303.0123abcd.tmp"  # no process has so high a number
    for folder in (left, tmp_path / "9", tmp_path / "notes", tmp_path / "\u00b2"):  # a digit, but no number
        folder.mkdir()
    (left / "saved_model.pb").write_bytes(b"half")
    with pytest.raises(ValueError, match=r"9 exists; choose another --version, or leave it out"):
        export_savedmodel(finetuned_run, tmp_path, version=9)
    assert _new_version(tmp_path, 8) == 8
    assert "holds version 9, and servers take the newest: version 8 will not answer" in caplog.text
    caplog.clear()
    assert export_savedmodel(finetuned_run, tmp_path)["version"] == 10
    assert "will not answer" not in caplog.text
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == ["10", "9", "notes", "\u00b2"]


def test_refusals_leave_nothing(finetuned_run, run_with_nan, pretraining_run, tmp_path):
    convert_checkpoint(pretraining_run.path, tmp_path / "encoder", "kbert", encoder_only=True)
    (tmp_path / "a_file").touch()
    (tmp_path / "version" / "assets.extra").mkdir(parents=True)
    for name in ("saved_model.pb", "assets.extra/kbert.json"):
        (tmp_path / "version" / name).touch()
    for run, name, options, facts in (
        (finetuned_run, "served", {"min_server_version": "2.5"}, "oldest server .* 2.12"),
        (finetuned_run, "a_file", {}, "a_file is a file; give the folder"),
        (finetuned_run, "encoder", {}, "encoder is a model itself, .* give a folder for the versions alone"),
        (finetuned_run, "version", {}, "version is a model itself"),
        (finetuned_run, "served", {"version": 2**63}, "more than 9223372036854775807, the last that Tens"),
        (run_with_nan, "served", {}, "not finite .* another checkpoint"),
        (
            RunDirectory(tmp_path / "encoder"),
            "served",
            {},
            "has the task encoder, which has no predictions for texts",
        ),
        (random_task_model(Encoding()), "served", {}, "random .* task encoder, .* pooling"),
    ):
        with pytest.raises(ValueError, match=facts):
            export_savedmodel(run, tmp_path / name, **options)
        assert {path.name for path in tmp_path.iterdir()} == {"encoder", "a_file", "version"}
        assert not list(tmp_path.glob("*/1"))


def test_a_failing_check_leaves_nothing(finetuned_run, written_before, tmp_path, monkeypatch):
    monkeypatch.setattr(exporter, "TOLERANCES", {"float32": -1.0})
    with pytest.raises(
        ValueError, match=r"the exported model and the Keras model differ.* Nothing was exported\."
    ):
        export_savedmodel(finetuned_run, tmp_path / "served")
    assert not (tmp_path / "served").exists()
