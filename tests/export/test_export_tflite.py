"""LiteRT files answer as Keras does, with built-in ops alone."""

import json
import random

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter

from export.export_tflite import export_tflite
from export.litert_model import LiteRTClassifier, convert_to_litert
from kbert.inference.text_classifier import TextClassifier
from tests.kbert.inference.test_texts import odd_texts

pytestmark = pytest.mark.slow  # a conversion for every kind of file

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


@pytest.mark.slow
@pytest.mark.long
def test_a_pair_run_and_a_length_of_its_own(pair_run, tmp_path):
    report = export_tflite(pair_run, tmp_path / "model", ["float32"], max_seq_length=12)
    assert report["float32"]["max_difference"] <= 1e-5
    about = json.loads((tmp_path / "model" / "kbert.json").read_text())
    assert about["task_config"] == pair_run.task().get_config()  # a threshold, where one was chosen
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
    with pytest.raises(ValueError, match="is a pretraining run; LiteRT export needs a run that gives"):
        export_tflite(pretraining_run, tmp_path / "model", ["float32"])


def test_overwriting_replaces_an_earlier_export_and_nothing_else(finetuned_run, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "letter.txt").write_text("dear")
    (tmp_path / "file").write_text("a file")
    run, overwrite = finetuned_run, {"overwrite": True}
    for output_dir, sentence in (
        (other, "holds no earlier export, and --overwrite replaces nothing else"),
        (tmp_path / "file", "holds no earlier export"),
        (run.path, "lies in the output folder .*, which is replaced as a whole"),
        (run.path.parent, "lies in the output folder"),
        (run.path / "checkpoints", "is the input .* itself"),
        (run.path / "checkpoints" / "litert", "lies in the input folder"),
    ):
        with pytest.raises(ValueError, match=sentence):
            export_tflite(run, output_dir, ["float32"], **overwrite)
    assert (other / "letter.txt").read_text() == "dear" and run.checkpoint().is_dir()

    export = tmp_path / "model"
    export.mkdir()
    for name in ("kbert.json", "model_float32.tflite", "model_float16.tflite"):
        (export / name).write_text("old")
    left = tmp_path / "model.4194303.tmp"  # of an export that was killed: no process has so high a number
    left.mkdir()
    export_tflite(run, export, ["dynamic_int8"], **overwrite)
    assert {path.name for path in export.iterdir()} == {
        "kbert.json", "labels.txt", "vocab.txt", "model_dynamic_int8.tflite"
    }  # fmt: skip
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "model", "other"]


def test_a_text_a_list_and_none(exported):
    run, output_dir, _ = exported
    classify = LiteRTClassifier(output_dir / "model_float32.tflite", run.vocabulary())
    (listed,) = classify(["jump the a"])
    np.testing.assert_array_equal(classify("jump the a"), listed)
    assert classify([]).shape == (0, 2) and classify([]).dtype == np.float32
    for texts, sentence in (
        (None, "texts is NoneType"),
        ([b"a"], r"texts\[0\] is bytes"),
        (["\ud800"], "UTF-8"),
    ):
        with pytest.raises(ValueError, match=sentence):
            classify(texts)


def test_odd_texts_get_finite_answers_or_one_sentence(exported):
    run, output_dir, _ = exported
    classify = LiteRTClassifier(output_dir / "model_dynamic_int8.tflite", run.vocabulary())
    rng, answered = random.Random(11), 0
    for _ in range(50):
        texts = odd_texts(rng, rng.randrange(1, 4))
        try:
            answers = classify(texts)
        except ValueError as error:
            assert "\n" not in str(error) and 20 < len(str(error)) < 400, repr(texts)
            continue
        answered += 1
        assert answers.shape == (len(texts), 2)
        np.testing.assert_allclose(answers.sum(axis=1), 1.0, atol=1e-3)
    assert 10 < answered < 45, "texts of both kinds were tried"


@pytest.mark.parametrize("quantization", ["float32", "dynamic_int8"])
def test_weights_that_are_no_numbers_are_not_exported(run_with_nan, tmp_path, quantization):
    with pytest.raises(ValueError, match="holds numbers that are not finite .* take another checkpoint"):
        export_tflite(run_with_nan, tmp_path / "model", [quantization])
    assert not list(tmp_path.iterdir())


def test_an_unknown_quantization_of_the_converter():
    with pytest.raises(ValueError, match="quantization='int4' is not known; choose one of float32"):
        convert_to_litert(None, 8, "int4")
