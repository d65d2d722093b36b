"""Exported SavedModels answer, through the server's own road, as Keras does."""

import html
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import export.export_savedmodel as exporter
import export.gate.answer_check as answer_check
from export.closing_tables import savedmodel_values
from export.deployment.warmup_requests import read_warmup_requests
from export.export_savedmodel import export_savedmodel
from export.gate.session_check import load_session, run_loaded, run_signature
from kbert.inference.attention import attention_of
from kbert.inference.loaded_model import LoadedModel
from kbert.inference.mask_filler import MaskFiller
from kbert.runs.checkpoint import step_of
from kbert.runs.run_directory import RunDirectory
from kbert.scripts.convert_checkpoint import convert_checkpoint
from kbert.tokenization.text_inputs import TextInputs
from tests.html_checks import read_page

pytestmark = pytest.mark.usefixtures("compiled_kernels")
REPOSITORY = Path(__file__).resolve().parents[2]
TEXTS = ["jump the a", "Walks, and JUMPED.", "", "an unknown word", "play " * 40]
PAIRS = ["and", "a", "looks", "", "open " * 40]


@pytest.fixture(scope="module", params=["single", pytest.param("pair", marks=pytest.mark.long)])
def exported(request, tmp_path_factory):
    """(run, report, inputs of the text signature) for a run on single texts and one on pairs."""
    run = request.getfixturevalue({"single": "finetuned_run", "pair": "pair_run"}[request.param])
    is_measured = request.param == "single"  # in another process, once
    report = export_savedmodel(run, tmp_path_factory.mktemp("served") / "sst2", measure=is_measured)
    inputs = {"text": np.array(TEXTS, object)}
    if request.param == "pair":
        inputs["text_pair"] = np.array(PAIRS, object)
    return run, report, inputs


def unchecked(*unused, **also):
    """In the place of the check of answers, where that is not what is tested."""
    return answer_check.Differences(0.0, 0.0, None, 0)


def keras_outputs(run, inputs):
    """Of the Keras model itself, and not of what answers in its place in Python too."""
    task, model = run.load_model()
    packed = TextInputs(run.vocabulary(), run.config.max_seq_length)(
        *(tf.constant(list(texts)) for texts in inputs.values())
    )
    return {name: model(packed, training=False)[name].numpy() for name in ("probabilities", "logits")}


@pytest.mark.slow
def test_both_signatures_answer_as_keras_does(exported):
    run, report, inputs = exported
    expected = keras_outputs(run, inputs)
    assert np.ptp(expected["probabilities"][:, 0]) > 1e-3  # the texts tell

    model = load_session(report["path"])
    by_text = run_loaded(model, "serving_default", inputs)
    packed = TextInputs(run.vocabulary(), run.config.max_seq_length)(
        *(tf.constant(list(texts)) for texts in inputs.values())
    )
    by_ids = run_loaded(model, "ids", {name: value.numpy() for name, value in packed.items()})
    labels = [run.config.dataset.labels[i] for i in expected["logits"].argmax(axis=-1)]
    for answer in (by_text, by_ids):
        assert answer.keys() - {"truncated"} == {"probabilities", "logits", "label"}
        for name in ("probabilities", "logits"):
            np.testing.assert_allclose(answer[name], expected[name], atol=1e-5)
            assert answer[name].dtype == np.float32
        assert [label.decode() for label in answer["label"]] == labels


@pytest.mark.slow
@pytest.mark.long
def test_bfloat16_is_told_and_near(finetuned_run, tmp_path, monkeypatch):
    report = export_savedmodel(finetuned_run, tmp_path / "served", precision="bfloat16")
    assert report["precision"] == "bfloat16" and 1e-5 < report["max_difference"] < 0.1
    inputs = {"text": np.array(TEXTS, object)}
    answer = run_loaded(load_session(report["path"]), "serving_default", inputs)
    expected = keras_outputs(finetuned_run, inputs)
    assert answer["probabilities"].dtype == np.float32
    np.testing.assert_allclose(answer["probabilities"], expected["probabilities"], atol=0.02)
    monkeypatch.setattr(exporter, "TOLERANCES", {"bfloat16": 1e-6})
    with pytest.raises(ValueError, match="answers differently from the Keras model"):
        export_savedmodel(finetuned_run, tmp_path / "served", precision="bfloat16")


@pytest.mark.slow
def test_every_weight_is_stored_once(exported):
    run, report, _ = exported
    _, model = run.load_model()
    parameters = sum(4 * int(np.prod(v.shape)) for v in model.trainable_variables)
    path = Path(report["path"])
    reader = tf.train.load_checkpoint(str(path / "variables" / "variables"))
    types = reader.get_variable_to_dtype_map()
    shapes = reader.get_variable_to_shape_map()
    stored = sum(4 * int(np.prod(shapes[name])) for name in shapes if types[name] == tf.float32)
    assert stored == parameters
    # And nothing large comes on top: for a real model the rest (names, a few kB) is below 5 per cent.
    size = sum(f.stat().st_size for f in (path / "variables").iterdir())
    assert size <= 1.05 * parameters + 16_384
    assert report["bytes"] == sum(f.stat().st_size for f in path.rglob("*") if f.is_file())


def test_the_report_and_what_lies_beside_the_model(exported):
    run, report, _ = exported
    assert report["version"] == 1 and report["path"].endswith("/1")
    assert report["max_difference"] <= 1e-5 and report["num_ops"] > 20
    assert set(report["text_ops"]) <= {
        "TFText>FastWordpieceTokenizeWithOffsets", "FastWordpieceTokenizeWithOffsets",
        "NormalizeUTF8", "TFText>NormalizeUTF8",
    } and report["text_ops"]  # fmt: skip
    extra = Path(report["path"]) / "assets.extra"
    about = json.loads((extra / "kbert.json").read_text(encoding="utf-8"))
    assert about["labels"] == list(run.config.dataset.labels)
    assert about["vocabulary"] == run.details["vocabulary"]
    assert (extra / "vocab.txt").read_bytes() == (run.path / "vocab.txt").read_bytes()


@pytest.mark.slow
def test_the_card_tells_people_and_programs_what_was_measured(exported):
    run, report, inputs = exported
    extra = Path(report["path"]) / "assets.extra"
    card = json.loads((extra / "model_card.json").read_text(encoding="utf-8"))
    page = read_page(extra / "model_card.html")
    assert "<h1>sst2, version 1</h1>" in page and f"{report['parameters']:,}" in page
    assert report["docker"] in html.unescape(page) and "readonly tensorflow/serving:2.19" in report["docker"]
    assert card["oldest_server"] == report["oldest_server"] == "2.12"
    assert card["signatures"]["serving_default"]["inputs"] == dict.fromkeys(inputs, "string [?]")
    assert card["signatures"]["serving_default"]["outputs"]["probabilities"] == "float32 [?, 2]"
    assert card["training"]["num_train_examples"] == 40 and 0 <= card["metrics"]["accuracy"] <= 1
    assert card["compared_on"] == "40 examples of the run's training data, and fixed texts"
    assert card["answers_compared"] == 40 + len(answer_check.CHECK_TEXTS) and card["answers_agree"] == 1
    measured = card["measured"]
    if measured is None:
        assert "Time and memory were not measured" in page
    else:
        assert set(measured["milliseconds"]) == {"1", "8", "32"} and measured["num_tokens"] == 24
        assert measured["resident_bytes"] > measured["resident_bytes_without"] > 10**7


def test_a_server_finds_requests_to_warm_up_with(exported):
    _, report, _ = exported
    folder = Path(report["path"])
    requests = list(read_warmup_requests(folder / "assets.extra"))
    model = load_session(str(folder))
    assert len(requests) == 3 * len([name for name in model.signatures if not name.startswith("__")])
    for signature, given in requests:
        assert run_loaded(model, signature, given)


def test_an_older_server_than_any_list_is_refused_at_once(finetuned_run, tmp_path):
    with pytest.raises(ValueError, match="the oldest server whose ops are known is 2.12"):
        export_savedmodel(finetuned_run, tmp_path / "served", min_server_version="2.5")
    assert not (tmp_path / "served").exists()


def test_versions_count_up_and_an_existing_one_is_refused(finetuned_run, tmp_path, monkeypatch):
    monkeypatch.setattr(answer_check, "check_answers", unchecked)
    (tmp_path / "9").mkdir()
    (tmp_path / "notes").mkdir()
    with pytest.raises(ValueError, match=r"9 exists; choose another --version, or leave it out"):
        export_savedmodel(finetuned_run, tmp_path, version=9)
    assert export_savedmodel(finetuned_run, tmp_path)["version"] == 10


@pytest.mark.slow
def test_a_failing_check_leaves_nothing(finetuned_run, tmp_path, monkeypatch):
    monkeypatch.setattr(exporter, "TOLERANCES", {"float32": -1.0})
    with pytest.raises(ValueError, match=r"answers differently .* Nothing was exported\."):
        export_savedmodel(finetuned_run, tmp_path / "served")
    assert not (tmp_path / "served").exists()


def test_weights_that_are_no_numbers_are_not_exported(run_with_nan, tmp_path):
    with pytest.raises(ValueError, match="holds numbers that are not finite .* take another checkpoint"):
        export_savedmodel(run_with_nan, tmp_path / "served")
    assert not (tmp_path / "served").exists()


def test_what_a_killed_export_left_goes_away_with_the_next(finetuned_run, tmp_path, monkeypatch):
    monkeypatch.setattr(answer_check, "check_answers", unchecked)
    left = tmp_path / "1.4194303.0123abcd.tmp"  # no process has so high a number
    left.mkdir()
    (left / "saved_model.pb").write_bytes(b"half")
    (tmp_path / "\u00b2").mkdir()  # a digit, but no number
    assert export_savedmodel(finetuned_run, tmp_path)["version"] == 1
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == ["1", "\u00b2"]


def test_a_file_in_the_place_of_the_folder_is_refused(finetuned_run, tmp_path):
    (tmp_path / "served").write_text("a file")
    with pytest.raises(ValueError, match="served is a file; give the folder of the model's versions"):
        export_savedmodel(finetuned_run, tmp_path / "served")


def test_an_export_of_a_run_in_training_tells_the_checkpoint_that_it_holds(
    finetuned_run, tmp_path, monkeypatch
):
    run = RunDirectory(shutil.copytree(finetuned_run.path, tmp_path / "run"))
    read = run.checkpoint()

    def while_the_training_goes_on(*unused, **also):
        read.rename(read.with_name("step-00000099"))  # a new one, and the old one deleted
        return unchecked()

    monkeypatch.setattr(answer_check, "check_answers", while_the_training_goes_on)
    path = Path(export_savedmodel(run, tmp_path / "served")["path"])
    card = json.loads((path / "assets.extra" / "model_card.json").read_text())
    assert card["checkpoint"] == str(read) and card["training"]["step"] == step_of(read) != 99


@pytest.mark.slow
@pytest.mark.long
def test_attention_is_served_as_python_shows_it(pretraining_run, tmp_path):
    # The export compares it with Keras's too, for texts of several lengths.
    export_savedmodel(pretraining_run, tmp_path / "a", attention=True)
    session = load_session(str(tmp_path / "a" / "1"))
    text = "jump the [MASK] a"
    served = run_loaded(session, "attention", {"text": np.array([text, "a"], object)})
    shown = attention_of(LoadedModel.from_run(pretraining_run), text)
    assert [token.decode() for token in served["tokens"][0]] == shown.tokens
    np.testing.assert_allclose(served["attention"][0], shown.probabilities, atol=1e-6)
    assert not served["attention"][1, :, :, 3:].any() and served["tokens"][1, 3:].tolist() == [b""] * 3


@pytest.mark.slow
@pytest.mark.long
def test_a_pretraining_run_fills_masks_where_it_is_served(pretraining_run, tmp_path):
    """By the same signature that Python asks: nothing in the exporter knows the task."""
    report = export_savedmodel(pretraining_run, tmp_path / "served")
    assert report["compared_on"] == "fixed texts alone: the run does not record where its training data are"
    texts = ["the [MASK] a", "walk [MASK] and [MASK]"]
    inputs = {"text": np.array(texts, object), "top_k": np.array(3, np.int32), "whole_words": np.array(False)}
    served = run_signature(str(tmp_path / "served" / "1"), "serving_default", inputs)
    expected = MaskFiller(pretraining_run)(texts, top_k=3)
    assert served["num_masks"].tolist() == [1, 2]
    for row, masks in enumerate(expected):
        for mask, candidates in enumerate(masks):
            tokens = [token.decode() for token in served["tokens"][row, mask]]
            assert tokens == [candidate["token"] for candidate in candidates]
            np.testing.assert_allclose(
                served["probabilities"][row, mask], [c["probability"] for c in candidates], atol=1e-5
            )


def test_a_run_that_answers_nobody_is_refused(pretraining_run, tmp_path):
    convert_checkpoint(pretraining_run.path, tmp_path / "encoder", "kbert", encoder_only=True)
    with pytest.raises(ValueError, match="is a run of encoder, which does not answer texts; a servi"):
        export_savedmodel(RunDirectory(tmp_path / "encoder"), tmp_path / "served")
    assert not (tmp_path / "served").exists()


def test_the_closing_table_names_files_that_are_there(exported):
    _, report, _ = exported
    values = savedmodel_values(report)
    assert values["same answers as Keras"] == f"100.00% of {report['answers_compared']}"
    assert all(values[name].exists() for name in ("SavedModel", "page", "the same as JSON"))
    assert values["to serve it"] == report["docker"]


@pytest.mark.slow
def test_the_script_ends_with_one_sentence(tmp_path):
    command = [sys.executable, "-m", "export.export_savedmodel", f"--run_dir={tmp_path}/none"]
    command.append(f"--model_base_path={tmp_path}/served")
    result = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=120)
    assert result.returncode == 1
    sentence = result.stderr
    assert sentence.startswith(f"error: checkpoint {tmp_path}/none does not exist; give a run ")
    assert sentence.count("\n") == 1
    assert not (tmp_path / "served").exists()
