"""An export to LiteRT: files with their reports, or one sentence and nothing left behind."""

import dataclasses
import json
import shutil

import numpy as np
import pytest

import kbert
from export.export_tflite import export_tflite
from export.litert import measured_export
from export.litert.from_text.mediapipe_tokenizer import MediaPipeTokenizer
from export.litert.litert_model import LiteRTModel
from kbert.experiments.evaluation import evaluate
from kbert.runs.run_directory import RunDirectory
from kbert.scripts.convert_checkpoint import convert_checkpoint
from tests.conftest import MAX_SEQ_LENGTH
from tests.export.without_tensorflow import asked_alone
from tests.html_checks import read_page

pytestmark = pytest.mark.slow  # a conversion for every kind of file

TEXTS = ["jump the a", "Walks, and JUMPED.", "", "an unknown word", "play " * 40]
LENGTHS = (8, MAX_SEQ_LENGTH)
TOLERANCES = {"float32": 1e-5, "dynamic_int8": 0.1}


@pytest.fixture(scope="module")
def exported(finetuned_run, labelled_files, tmp_path_factory):
    output_dir = tmp_path_factory.mktemp("litert") / "model"
    options = {"eval_file": labelled_files[1], "min_agreement": 0.8}  # two of 13 may be near ties
    report = export_tflite(finetuned_run, output_dir, list(TOLERANCES), LENGTHS, **options)
    assert report.pop("path") == str(output_dir)
    return finetuned_run, output_dir, report


@pytest.mark.long
def test_a_text_that_is_cut_is_named_as_by_the_run(exported, caplog):
    run, output_dir, _ = exported
    file = output_dir / "model_float32.tflite"
    for asked in (TEXTS[:-1], TEXTS, [*TEXTS, TEXTS[-1]]):
        said = []
        for loaded in map(kbert.load, (file, run.path)):  # each says it once
            caplog.clear()
            loaded.predict(asked)
            sentences = [record.getMessage().replace(loaded.source, "it") for record in caplog.records]
            said.append([sentence for sentence in sentences if " is longer " in sentence])
        assert said[0] == said[1]
        assert len(said[0]) == (len(asked) > len(TEXTS[:-1])) and all(
            "[4] is longer" in one for one in said[0]
        )


def test_a_classifiers_file_compares_vectors_as_its_run(exported):
    vectors = np.array([[1.0, 2.0], [3.0, -1.0]], np.float32)
    file, run = kbert.load(exported[1] / "model_float32.tflite"), kbert.load(exported[0].path)
    np.testing.assert_allclose(file.similarity(vectors, vectors), run.similarity(vectors, vectors), atol=1e-6)


def test_a_text_whose_answer_is_not_finite_has_the_number_of_its_example(exported, monkeypatch):
    """Texts are asked by their lengths."""
    file = kbert.load(exported[1] / "model_float32.tflite")
    run, calls = file._model.run, []

    def broken_for_the_longest(inputs, length):
        calls.append(int(inputs["input_mask"].sum()))
        return {name: value * (np.nan if calls[-1] > 4 else 1) for name, value in run(inputs, length).items()}

    monkeypatch.setattr(file._model, "run", broken_for_the_longest)
    with pytest.raises(ValueError, match=r"not finite .* for examples\[1\]:"):
        file.predict(["walk", "jump the a", "jump", "a"])


def test_a_file_is_no_model_of_keras(exported):
    file = kbert.load(exported[1] / "model_float32.tflite")
    for ask in (kbert.FeatureExtractor, kbert.Predictor, lambda model: kbert.evaluate(model, "dev.tsv")):
        with pytest.raises(ValueError, match="is a LiteRT file, which answers texts"):
            ask(file)
    with pytest.raises(ValueError, match="answers by serving_default.*, not by 'ids'"):
        file.predictor("ids")


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("mediapipe_float32.tflite", "is asked with texts, by MediaPipe or with TF-Text's ops"),
        ("text_float32.tflite", "is asked with texts, by MediaPipe or with TF-Text's ops"),
        ("empty.tflite", "is no LiteRT file, or damaged"),
        ("other.tflite", "is no LiteRT file, or damaged"),
    ],
)
def test_files_that_are_not_asked_with_ids_are_refused(exported, name, sentence):
    file = exported[1] / name
    file.write_bytes(b"" if name == "empty.tflite" else b"other")
    with pytest.raises(ValueError, match=f"{name} {sentence}"):
        kbert.load(file)
    file.unlink()


def test_a_loaded_file_predicts_as_its_run(exported):
    run, output_dir, _ = exported
    loaded = kbert.load(output_dir / "model_float32.tflite")
    predictions, expected = loaded.predict(TEXTS), kbert.load(run.path).predict(TEXTS)
    for prediction, wanted in zip(predictions, expected, strict=True):
        assert prediction["probabilities"] == pytest.approx(wanted["probabilities"], abs=1e-5)
        assert prediction["label"] == wanted["label"]
    assert loaded.predict(TEXTS[0]) == predictions[0]


def test_kbert_predict_takes_a_file_without_tensorflow(exported):
    file = exported[1] / "model_float32.tflite"
    predict = (
        "from kbert.cli.commands import main; main(['kbert', 'predict', '--run_dir=' + path, '--text=walk'])"
    )
    assert asked_alone(file, predict) == {"text": "walk"} | kbert.load(file).predict("walk")


def test_the_reports_of_the_files(exported, labelled_files):
    run, output_dir, reports = exported
    _, metrics = evaluate(run, labelled_files[1])
    for kind, report in reports.items():
        path = output_dir / report["file"]
        assert json.loads(path.with_suffix(".json").read_text()) == report
        assert report["bytes"] == path.stat().st_size and report["lengths"] == list(LENGTHS)
        assert not any("CUSTOM" in op for op in report["ops"]) and report["ops"]["BATCH_MATMUL"] > 0
        assert b"Flex" not in path.read_bytes()
        times = {n: set(one) for n, one in report["latency_ms"].items()}
        assert times == {str(n): {"1", "2"} for n in LENGTHS}
        assert report["compared_on"] == str(labelled_files[1]) and report["num_answers"] == 13
        assert report["differences"]["probabilities"]["max"] <= TOLERANCES[kind]
        for name, value in report["keras_metrics"].items():
            assert value == pytest.approx(metrics[name], abs=1e-5), name
        assert report["metrics"].keys() == report["keras_metrics"].keys() >= {"loss", "accuracy", "f1"}
        assert report["metrics"]["loss"] == pytest.approx(metrics["loss"], abs=TOLERANCES[kind])


def test_what_lies_beside_the_files(exported):
    run, output_dir, _ = exported
    beside = {"kbert.json", "labels.txt", "vocab.txt", "report.html"}
    files = {f"model_{kind}.{ending}" for kind in TOLERANCES for ending in ("tflite", "json")}
    assert {path.name for path in output_dir.iterdir()} == beside | files
    about = json.loads((output_dir / "kbert.json").read_text())
    assert about["task_config"] == run.task().get_config()  # a threshold, where one was chosen
    assert about["max_seq_length"] == LENGTHS[-1] and about["lengths"] == list(LENGTHS)
    assert about["vocabulary"] == run.details["vocabulary"] and about["files"].keys() == TOLERANCES.keys()
    assert (output_dir / "labels.txt").read_text() == "quiet\nloud\n"
    assert (output_dir / "vocab.txt").read_bytes() == (run.path / "vocab.txt").read_bytes()


def test_a_file_of_another_export_is_refused(exported, tmp_path):
    for name in ("kbert.json", "vocab.txt"):
        shutil.copy(exported[1] / name, tmp_path)
    shutil.copy(exported[1] / "model_float32.tflite", tmp_path / "renamed.tflite")
    assert kbert.load(tmp_path / "renamed.tflite").predict("walk")
    about = json.loads((tmp_path / "kbert.json").read_text())
    for file in about["files"].values():
        file["crc32"] = "0" * 8
    for size in (None, 5):  # of earlier exports, which have no sum
        for file in about["files"].values() if size else ():
            file.pop("crc32")
            file["bytes"] = size
        (tmp_path / "kbert.json").write_text(json.dumps(about))
        with pytest.raises(
            ValueError, match="renamed.tflite is none of the files .* it is of another export"
        ):
            kbert.load(tmp_path / "renamed.tflite")


@pytest.mark.long
def test_files_that_take_texts_and_what_they_read_otherwise(finetuned_run, tmp_path):
    """tests/export/mediapipe asks MediaPipe itself."""
    lines = [
        "sentence\tother\tlabel",
        "jump the a\tx\tloud",
        "jumpéd <b>\tx\tquiet",
        "walk\u00a0the\tx\tloud",
    ]
    (tmp_path / "dev.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    export, options = (
        tmp_path / "model",
        {"eval_file": tmp_path / "dev.tsv", "mediapipe": True, "tokenizer_inside": True},
    )
    report = export_tflite(finetuned_run, export, ["float32"], (16,), **options)["float32"]
    found = report["mediapipe"]
    assert (found["file"], found["task"]) == ("mediapipe_float32.tflite", "TextClassifier")
    assert found["bytes"] == (export / found["file"]).stat().st_size
    assert (found["num_texts"], found["read_alike"]) == (3, 1) and found["agreement"] <= 1.0 == report[
        "agreement"
    ]
    assert [(one["place"], one["read"]) for one in found["read_otherwise"]] == [(1, "[UNK]"), (2, "[UNK]")]
    assert list(found["reasons"].values()) == [1, 1]
    rows = MediaPipeTokenizer(finetuned_run.vocabulary(), 16)(["jump the a", "jumpéd <b>", "walk\u00a0the"])
    model = LiteRTModel(export / "model_float32.tflite", finetuned_run.vocabulary())
    given = finetuned_run.task().predict_ids(model.answer_ids(rows))
    assert found["metrics"]["accuracy"] == pytest.approx(np.mean(np.asarray(given) == [1, 0, 1]))
    inside = report["tokenizer_inside"]
    assert (inside["num_texts"], inside["read_alike"], inside["inputs"]) == (3, 3, ["text"])
    assert inside["agreement"] == 1.0 and inside["metrics"]["accuracy"] == report["metrics"]["accuracy"]
    assert [op for op in inside["ops"] if "CUSTOM" in op] == [f"CUSTOM {op}" for op in inside["custom_ops"]]
    page = read_page(export / "report.html")
    assert all(
        text in page
        for text in (
            "reads 3 of 3",
            "must link FastBertNormalize",
            "reads 1 of 3 texts",
            "jumpéd &lt;b&gt;",
            "accents, which stay",
        )
    )


@pytest.mark.parametrize(
    ("num_answers", "min_agreement", "expected"),
    [(60, 0.99, 1), (100, 0.99, 1), (101, 0.99, 2), (60, 1.0, 0), (13, 0.8, 3)],
)
def test_how_many_answers_may_differ(num_answers, min_agreement, expected):
    assert measured_export.most_different(num_answers, min_agreement) == expected


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        ("float32", "the float32 file differs from Keras by .*; nothing was exported."),
        (
            "float16",
            r"float16.tflite does not predict as Keras does for 1[0-3] of 13 .*agreement 0(\.[012]|,)",
        ),
    ],
)
def test_a_file_with_other_answers_is_not_left_behind(
    exported, finetuned_run, labelled_files, tmp_path, monkeypatch, kind, sentence
):
    class WithSwappedLabels(LiteRTModel):
        def answer_ids(self, inputs):
            return {name: values[:, ::-1] for name, values in super().answer_ids(inputs).items()}

    content = (exported[1] / "model_float32.tflite").read_bytes()
    monkeypatch.setattr(measured_export, "convert_to_litert", lambda *_: content)
    monkeypatch.setattr(measured_export, "LiteRTModel", WithSwappedLabels)
    with pytest.raises(ValueError, match=sentence):
        export_tflite(finetuned_run, tmp_path / "model", [kind], eval_file=labelled_files[1])
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("flag", "file"), [("mediapipe", "mediapipe"), ("tokenizer_inside", "text")])
def test_a_file_that_reads_texts_otherwise_is_not_left_behind(
    finetuned_run, tmp_path, monkeypatch, flag, file
):
    """The file of ids beside it answers as Keras does."""
    monkeypatch.setattr(measured_export, "reading_quality", lambda *_: {"num_answers": 12, "agreement": 0.75})
    with pytest.raises(ValueError, match=f"{file}_float32.tflite does not predict as Keras does for 3 of 12"):
        export_tflite(finetuned_run, tmp_path / "model", ["float32"], (16,), **{flag: True})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", ["float32", "dynamic_int8"])
def test_each_length_is_asked_with_texts_that_need_it(
    exported, finetuned_run, labelled_files, tmp_path, monkeypatch, kind
):
    """Each is a graph of its own: short texts do not show that a long one is wrong."""

    class WrongWhereItIsFull(LiteRTModel):
        def run(self, inputs, length):
            is_wrong = length == MAX_SEQ_LENGTH and inputs["input_mask"].all()
            return {
                name: values[:, ::-1] if is_wrong else values
                for name, values in super().run(inputs, length).items()
            }

    content = (exported[1] / f"model_{kind}.tflite").read_bytes()
    monkeypatch.setattr(measured_export, "convert_to_litert", lambda *_: content)
    monkeypatch.setattr(measured_export, "LiteRTModel", WrongWhereItIsFull)
    options = {"eval_file": labelled_files[1], "min_agreement": 0.8}
    with pytest.raises(ValueError, match=f"12 fixed texts, repeated to {MAX_SEQ_LENGTH} tokens"):
        export_tflite(finetuned_run, tmp_path / "model", [kind], LENGTHS, **options)
    assert not list(tmp_path.iterdir())


def test_refusals_leave_nothing(finetuned_run, run_with_nan, pretraining_run, tmp_path, monkeypatch):
    shutil.copytree(finetuned_run.path, tmp_path / "run", ignore=shutil.ignore_patterns("step-*"))
    empty = tmp_path / "empty.tsv"
    empty.write_text("sentence\tother\tlabel\n")
    for run, options, fact in (
        (finetuned_run, {"quantizations": ["int3"]}, "int3 .* float32, float16, dynamic_int8"),
        (finetuned_run, {"max_seq_lengths": (99,)}, "=99 is more than the 32"),
        (finetuned_run, {"min_agreement": 99}, "=99 .* at most 1"),
        (finetuned_run, {"config": finetuned_run.config}, "config is for checkpoints of other"),
        (pretraining_run, {}, "has the task pretraining"),
        (run_with_nan, {}, "not finite .* another checkpoint"),
        (RunDirectory(tmp_path / "run"), {}, "no checkpoint: none is saved yet"),
        (finetuned_run, {"eval_file": empty}, "empty.tsv"),
        (finetuned_run, {"eval_file": tmp_path / "nowhere.tsv"}, "nowhere.tsv does not exist"),
        (None, {}, "does not say which answers are the same"),
    ):
        if run is None:
            run = finetuned_run
            monkeypatch.delattr(type(run.task().serving), "same_answers")
        with pytest.raises(ValueError, match=fact):
            export_tflite(run, tmp_path / "model", **{"quantizations": ["float32"]} | options)
        assert {path.name for path in tmp_path.iterdir()} == {"run", "empty.tsv"}


def test_an_earlier_export_is_replaced_and_nothing_else(exported, finetuned_run, tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(exported[1], folder)
    for name in ("text_float32.tflite", "mediapipe_float16.tflite"):
        (folder / name).touch()
    options = {"overwrite": True, "max_seq_lengths": (99,)}
    with pytest.raises(ValueError, match="=99 is more than the 32"):  # after the folder was looked at
        export_tflite(finetuned_run, folder, ["float32"], **options)
    for name in ("README.md", "app/model_float32.tflite", "mine.tflite"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("mine")
        with pytest.raises(
            ValueError, match=rf"holds what is not an export, such as \['{name}'\].* move these"
        ):
            export_tflite(finetuned_run, folder, ["float32"], **options)
        (folder / name).unlink()
    (folder / "kbert.json").unlink()
    with pytest.raises(ValueError, match="what is not an export, such as .*'labels.txt'"):
        export_tflite(finetuned_run, folder, ["float32"], **options)
    with pytest.raises(ValueError, match="model exists and is not empty; .* or replace an export"):
        export_tflite(finetuned_run, folder, ["float32"])


@pytest.mark.long
def test_a_checkpoint_with_its_head_is_exported_as_the_run_is(exported, labelled_files, tmp_path):
    """From a Hugging Face folder; a config says how the labelled file is read."""
    run, output_dir, reports = exported
    convert_checkpoint(run.path, tmp_path / "folder", "hugging_face")
    loaded, options = kbert.load(tmp_path / "folder"), {"eval_file": labelled_files[1]}
    config = dataclasses.replace(run.config, encoder=None)
    report = export_tflite(loaded, tmp_path / "model", ["float32"], LENGTHS, config=config, **options)
    about = [json.loads((folder / "kbert.json").read_text()) for folder in (output_dir, tmp_path / "model")]
    assert about[0]["vocabulary"] == about[1]["vocabulary"]
    found, expected = report["float32"], reports["float32"]
    assert found["metrics"] == pytest.approx(expected["metrics"], abs=1e-5)
