"""LiteRT files answer as Keras does, with built-in ops alone."""

import json

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter

from export.export_tflite import export_tflite
from export.litert_model import LiteRTClassifier, convert_to_litert
from kbert.inference.text_classifier import TextClassifier

TEXTS = ["jump the a", "Walks, and JUMPED.", "", "an unknown word", "play " * 40]


@pytest.fixture(scope="module")
def exported(finetuned_run, tmp_path_factory):
    output_dir = tmp_path_factory.mktemp("litert") / "model"
    report = export_tflite(finetuned_run, output_dir, ["float32", "float16", "dynamic_int8"])
    return finetuned_run, output_dir, report


def answers(run, path):
    expected = TextClassifier(run).outputs(TEXTS)["probabilities"].numpy()
    return LiteRTClassifier(path, run.vocabulary(), num_threads=1)(TEXTS), expected


@pytest.mark.parametrize(("kind", "tolerance"), [("float32", 1e-5), ("float16", 5e-3), ("dynamic_int8", 0.1)])
def test_answers_are_those_of_keras(exported, kind, tolerance):
    run, output_dir, report = exported
    path = output_dir / f"model_{kind}.tflite"
    answered, expected = answers(run, path)
    assert answered.dtype == np.float32 and answered.shape == (len(TEXTS), 2)
    np.testing.assert_allclose(answered, expected, atol=tolerance)
    assert report[kind]["bytes"] == path.stat().st_size
    assert report[kind]["max_difference"] <= tolerance


def test_only_built_in_ops(exported):
    _, output_dir, _ = exported
    for path in output_dir.glob("*.tflite"):
        content = path.read_bytes()
        assert b"Flex" not in content, f"{path.name} needs the Select-TF-Ops delegate"
        interpreter = Interpreter(model_content=content)
        names = {op["op_name"] for op in interpreter._get_ops_details()}
        assert "CUSTOM" not in names and len(names) > 5


def test_a_pair_run_and_a_length_of_its_own(pair_run, tmp_path):
    report = export_tflite(pair_run, tmp_path / "model", ["float32"], max_seq_length=12)
    assert report["float32"]["max_difference"] <= 1e-5
    about = json.loads((tmp_path / "model" / "kbert.json").read_text())
    assert about["max_seq_length"] == 12 and about["vocabulary"] == pair_run.details["vocabulary"]
    assert (tmp_path / "model" / "labels.txt").read_text() == "quiet\nloud\n"
    assert (tmp_path / "model" / "vocab.txt").read_bytes() == (pair_run.path / "vocab.txt").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((["int4"],), "--quantization=['int4'] is not known; choose from float32, float16, dynamic_int8."),
        ((["float32"], 99), "max_seq_length=99 is more than the encoder's max_position_embeddings=32."),
    ],
)
def test_refusals_leave_nothing(finetuned_run, tmp_path, arguments, sentence):
    with pytest.raises(ValueError) as error:
        export_tflite(finetuned_run, tmp_path / "model", *arguments)
    assert str(error.value) == sentence
    assert not list(tmp_path.iterdir())


def test_an_occupied_folder_and_another_task_are_refused(exported, pretraining_run, tmp_path):
    run, output_dir, _ = exported
    before = {path: path.read_bytes() for path in output_dir.iterdir()}
    with pytest.raises(ValueError, match="exists; choose another, or give --overwrite"):
        export_tflite(run, output_dir, ["float32"])
    assert before == {path: path.read_bytes() for path in output_dir.iterdir()}
    with pytest.raises(ValueError, match="is a pretraining run; LiteRT export takes classification runs"):
        export_tflite(pretraining_run, tmp_path / "model", ["float32"])


def test_an_unknown_quantization_of_the_converter():
    with pytest.raises(ValueError, match="quantization='int4' is not known; choose one of float32"):
        convert_to_litert(None, 8, "int4")
