"""Found from the content; there and back without losing a bit; nothing left behind when it fails."""

import dataclasses
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from export import export_tflite
from kbert.checkpoints.bert_checkpoint import RecordedTask
from kbert.checkpoints.conversion.resizing import as_bert
from kbert.checkpoints.formats import (
    detect_format,
    holds_model,
    kept_files,
    read_checkpoint,
    write_checkpoint,
)
from kbert.checkpoints.model_loading import initialize
from kbert.checkpoints.model_variables import part_name
from kbert.config import DatasetConfig
from kbert.encoder import BertEncoder
from kbert.files.stored_tensor import stored_array
from kbert.inference.loading import load
from kbert.runs import checkpoint as training_checkpoint
from kbert.runs.run_directory import RunDirectory, trained_weights
from kbert.scripts.convert_checkpoint import convert_checkpoint
from kbert.tasks import TASKS
from kbert.tasks.pretraining.objectives import Pretraining
from kbert.tasks.sequences.sequence_classification import SequenceClassification
from kbert.tasks.token_classification.token_classification import TokenClassification
from tests.conftest import tiny_encoder_config, tiny_pretraining_config
from tests.kbert.checkpoints import foreign_files
from tests.kbert.checkpoints.random_checkpoint import MODERNBERT, numbers, random_checkpoint

STORED = Path(__file__).with_name("stored")
STORED_NAMES = sorted(path.name for path in STORED.iterdir())
USUAL = {  # format -> the models that `make test` takes there and back: other files and heads
    "google": ("BertForPreTraining", "BertForSequenceClassification", "BertForTokenClassification"),
    "hugging_face": ("BertForMultipleChoice", "BertModel_old_bin", "DistilBertForMaskedLM"),
}
THERE_AND_BACK = [
    *(
        pytest.param(format, name, marks=[pytest.mark.long] * (name not in USUAL[format]))
        for format in USUAL
        for name in STORED_NAMES
    ),
    ("kbert", "BertForTokenClassification"),
    ("keras_hub", "BertModel"),
    pytest.param("keras_hub", "BertForMaskedLM_bin", marks=pytest.mark.long),
    ("keras_hub", "BertForPreTraining"),
]
# Settings that others' code has not, and the tasks whose heads it has not.
OTHER_SETTINGS = ["hidden_act", "masked_lm_settings"]
LACKING = {
    ("google", "token_classification"),
    ("google", "multiple_choice"),
    ("keras_hub", "pretraining"),
}


def same(first, second):
    assert (first.encoder, first.task, first.labels) == (second.encoder, second.task, second.labels)
    assert first.vocabulary.fingerprint == second.vocabulary.fingerprint
    assert numbers(first) == numbers(second)


@pytest.mark.parametrize(("format", "name"), THERE_AND_BACK)
def test_from_a_run_to_any_format_and_back_no_bit_is_lost(tmp_path, name, format):
    convert_checkpoint(STORED / name, tmp_path / "run", "kbert")
    run = read_checkpoint(tmp_path / "run")
    assert run.first_format == detect_format(STORED / name)
    if (format, run.task) in LACKING:
        with pytest.raises(ValueError, match="has no variable for .*/dense/kernel"):
            convert_checkpoint(tmp_path / "run", tmp_path / "out", format, OTHER_SETTINGS)
        assert not (tmp_path / "out").exists()
        return
    convert_checkpoint(tmp_path / "run", tmp_path / "out", format, OTHER_SETTINGS)
    assert detect_format(tmp_path / "out") == format
    expected = run if format == "hugging_face" else as_bert(run)
    same(read_checkpoint(tmp_path / "out"), expected)
    if format == "keras_hub" or expected is not run:
        return
    convert_checkpoint(tmp_path / "out", tmp_path / "again", "kbert")
    weights = "checkpoints/step-00000000/model.safetensors"
    assert (tmp_path / "again" / weights).read_bytes() == (tmp_path / "run" / weights).read_bytes()


@pytest.mark.parametrize(
    "format", ["google", "hugging_face", pytest.param("keras_hub", marks=pytest.mark.long)]
)
def test_an_encoder_without_segments_is_a_bert_whose_segments_add_nothing(tmp_path, format):
    made = random_checkpoint("encoder", type_vocab_size=0)
    write_checkpoint(made, tmp_path / "out", format)
    written = read_checkpoint(tmp_path / "out")
    same(written, as_bert(made))
    assert written.encoder.type_vocab_size == 2
    assert not written.tensors["embeddings/token_type_embeddings"].read().any()
    if format == "google":  # beside which somebody trained on in transformers
        (tmp_path / "out" / "model.safetensors").touch()
        report = read_checkpoint(tmp_path / "out").report
        assert [note for note in report.notes if "model.safetensors is not read, because" in note]


def test_a_run_of_a_training_goes_out_and_comes_back(tmp_path, vocabulary):
    config = tiny_pretraining_config(encoder=tiny_encoder_config(vocab_size=50))  # more rows than pieces
    details = {"task": "pretraining", "task_config": {}, "max_seq_length": 24}
    training = RunDirectory.create_or_resume(tmp_path / "run", config, details, vocabulary)
    model = Pretraining().build_model(BertEncoder(config.encoder))
    weights = trained_weights(model)
    training_checkpoint.save_checkpoint(training.checkpoints, 12, weights, {}, {}, keep=1)

    run = read_checkpoint(tmp_path / "run")
    assert not run.missing and run.max_seq_length == 24
    assert numbers(run) == {name: variable.numpy().tobytes() for name, variable in weights.items()}
    for format in ("google", "hugging_face"):
        convert_checkpoint(tmp_path / "run", tmp_path / format, format)
        same(read_checkpoint(tmp_path / format), run)

    # No report may replace what was written, whatever format it has.
    for path in ("run", "google", "google/bert_model.ckpt", "hugging_face"):
        kept = kept_files(tmp_path / path)
        written = [file for file in (tmp_path / path.partition("/")[0]).rglob("*") if file.is_file()]
        lost = [file.name for file in written if not any(file.is_relative_to(name) for name in kept)]
        assert len(written) > 4 and {*lost} <= {".lock", "conversion_report.html"}
    for path in ("run/page.html", "google/page.html", "hugging_face/answers.jsonl.gz"):
        (tmp_path / path).touch()
        assert tmp_path / path not in kept_files((tmp_path / path).parent)
    assert kept_files(tmp_path / "bm25") == []
    (tmp_path / "litert").mkdir()
    for name in {*export_tflite._FILES, "answers.jsonl"}:
        (tmp_path / "litert" / name).touch()
    kept = {file.name for file in kept_files(tmp_path / "litert" / "model_float32.tflite")}
    assert kept == {*export_tflite._FILES} - {"report.html"}


def test_the_report_lies_beside_the_numbers_and_names_everything(tmp_path):
    read, written = convert_checkpoint(STORED / "DistilBertModel", tmp_path / "run", "kbert")
    values = json.loads((tmp_path / "run" / "conversion_report.json").read_text())
    taken = {kbert for _, kbert, _ in values["read"]["taken"]}
    fresh = {name for name, _ in values["written"]["not_in_file"]}
    _, _, model = RunDirectory(tmp_path / "run").load_checkpoint()
    assert taken | fresh == {variable.path for variable in model.trainable_variables}
    assert fresh == {"pooler/dense/kernel", "pooler/dense/bias"}
    run = RunDirectory(tmp_path / "run")
    assert set(run.details["converted"]["initialised"]) == fresh


def test_a_hugging_face_folder_may_hold_a_tf1_file_beside(tmp_path):
    folder = tmp_path / "m"
    shutil.copytree(STORED / "BertModel", folder)
    (folder / "model.ckpt.index").write_bytes(b"")
    assert detect_format(folder) == "hugging_face"
    with pytest.raises(ValueError, match="It is a file of the model .*: give that folder"):
        detect_format(folder / "model.safetensors")
    (folder / "bert_config.json").write_text("{}")
    assert detect_format(folder) == "hugging_face"  # an index of another program, such as faiss
    (folder / "model.ckpt.data-00000-of-00001").write_bytes(b"")
    assert detect_format(folder) == "google"


def test_the_index_of_a_search_is_no_checkpoint(tmp_path):
    (tmp_path / "texts.index").write_bytes(b"IxFI")
    assert not holds_model(tmp_path)


@pytest.mark.parametrize(
    ("format", "sentence"),
    [
        ("hugging_face", "the encoder's tensors begin with deberta., but those of the family in config.json"),
        ("google", "gives the encoder none of its tensors .*deberta.*random"),
    ],
)
def test_a_checkpoint_of_which_nothing_is_taken_is_never_read(tmp_path, format, sentence):
    """Not even a head's tensors make it one: all numbers of the encoder would be random."""
    weights = foreign_files.random_weights(("pooler", "classification"))
    source = tmp_path / "source"
    if format == "google":
        names = foreign_files.google_names(weights)
        foreign_files.write_google(source, {n.replace("bert/", "deberta/"): v for n, v in names.items()})
    else:
        names = foreign_files.hugging_face_names(weights)
        names = {n.replace("bert.", "deberta."): v for n, v in names.items()}
        foreign_files.write_hugging_face(source, names, "BertForSequenceClassification")
    for act in (
        lambda: convert_checkpoint(source, tmp_path / "out", "kbert", ["*"]),
        lambda: load(source, allow_unmatched=["*"]),
    ):
        with pytest.raises(ValueError, match=sentence) as error:
            act()
        assert str(source) in str(error.value) and str(error.value).isprintable()
    assert not (tmp_path / "out").exists()


# ------------------------------------------------------------------- runs that others take


# ------------------------------------------------------------------------- initialization


def fresh_classifier(labels):
    config = read_checkpoint(STORED / "BertForSequenceClassification").encoder
    return SequenceClassification(labels).build_model(BertEncoder(config))


@pytest.mark.parametrize(
    ("labels", "takes_head", "columns"),
    [
        (("red", "green", "blue"), True, [0, 1, 2]),
        (("red", "blue", "green"), True, [0, 2, 1]),  # matched by name
        (("red", "blue", "yellow"), False, None),
        (("red", "blue"), False, None),
    ],
)
def test_a_head_is_taken_only_when_its_labels_fit(labels, takes_head, columns, caplog):
    checkpoint = read_checkpoint(STORED / "BertForSequenceClassification")
    model = fresh_classifier(labels)
    before = {variable.path: variable.numpy() for variable in model.trainable_variables}
    head = {"classification/dense/kernel", "classification/dense/bias"}
    outcome = initialize(model, checkpoint, labels)
    for variable in model.trainable_variables:
        taken = variable.path in outcome["taken"]
        expected = checkpoint.tensors[variable.path].read() if taken else before[variable.path]
        if taken and variable.path in head:
            expected = expected[..., columns]
        np.testing.assert_array_equal(variable.numpy(), expected)
    assert set(outcome["fresh"]) == (set() if takes_head else head)
    assert ("classification is freshly initialised" in caplog.text) is not takes_head


@pytest.mark.parametrize(
    ("source", "target", "begin", "end"),
    [
        ("masked_lm", "sequence_classification", "masked_lm/transform", "pooler/dense"),
        ("masked_lm", "token_classification", "masked_lm/transform", "token_classification/transform"),
        ("masked_lm", "question_answering", "masked_lm/transform", "span/transform"),
        ("question_answering", "masked_lm", "span/transform", "masked_lm/transform"),
        ("question_answering", "sequence_classification", "span/transform", "pooler/dense"),
    ],
)
def test_a_head_of_modernbert_starts_with_the_layers_before_another(source, target, begin, end, caplog):
    caplog.set_level("INFO", logger="absl")
    checkpoint = random_checkpoint(source, **MODERNBERT | {"norm_bias": True, "classifier_bias": True})
    labels = ("a", "b") if "classification" in target else ()
    model = TASKS[target].from_labels(labels).build_model(BertEncoder(checkpoint.encoder))
    expected = {f"{end}/{name}": f"{begin}/{name}" for name in ("kernel", "bias")}
    for name in ("gamma", "beta"):
        expected[f"{end.split('/')[0]}/layer_norm/{name}"] = f"{begin.split('/')[0]}/layer_norm/{name}"
    variables = {variable.path: variable for variable in model.trainable_variables}
    heads = {name for name in variables if part_name(name) != "body"}
    assert set(initialize(model, checkpoint, labels)["fresh"]) == heads - expected.keys()
    for name, source_name in expected.items():
        np.testing.assert_array_equal(variables[name].numpy(), checkpoint.tensors[source_name].read())
    assert f"{part_name(end)} starts with the dense layer and norm of {part_name(begin)}" in caplog.text


@pytest.mark.parametrize(
    ("settings", "head"), [(MODERNBERT, {}), ({}, {"head": "bilstm", "lstm_size": 8})], ids=["modern", "lstm"]
)
def test_only_the_last_layer_of_a_head_is_matched_by_label(settings, head):
    labels = ("O", "A", "B")
    trained, other = (TokenClassification(order, **head) for order in (labels, ("B", "O", "A")))
    encoder = random_checkpoint("encoder", **settings).encoder
    model = trained.build_model(BertEncoder(encoder))
    values = {v.path: v.numpy() + np.arange(v.shape[-1], dtype=np.float32) for v in model.trainable_variables}
    checkpoint = dataclasses.replace(
        random_checkpoint("token_classification", labels, **settings),
        tensors={name: stored_array(array) for name, array in values.items()},
        recorded=RecordedTask(trained.get_config(), DatasetConfig()),
    )
    model = other.build_model(BertEncoder(encoder))
    assert not initialize(model, checkpoint, other.labels)["fresh"]
    for variable in model.trainable_variables:
        name = variable.path
        columns = [2, 0, 1] if name.split("/")[1] == "dense" and part_name(name) != "body" else slice(None)
        np.testing.assert_array_equal(variable.numpy(), values[name][..., columns])


def test_an_encoder_of_another_shape_gives_nothing():
    checkpoint = read_checkpoint(STORED / "BertModel")
    model = BertEncoder(tiny_encoder_config())
    before = [value.copy() for value in model.get_weights()]
    with pytest.raises(ValueError, match="does not fit this encoder: the checkpoint's .* has shape"):
        initialize(model, checkpoint)
    for old, new in zip(before, model.get_weights(), strict=True):
        np.testing.assert_array_equal(old, new)


# ------------------------------------------------------------------------- the command line


@pytest.mark.parametrize("format", ["google", "hugging_face"])
@pytest.mark.parametrize(
    ("task", "labels"), [("cosine_similarity", ()), ("token_classification", ("a", "b"))]
)
def test_an_encoder_that_never_had_a_pooler_is_read_again(format, task, labels, tmp_path):
    model = random_checkpoint(task, labels)
    allowed = ["token_classification/*"] if format == "google" else ()
    write_checkpoint(model, tmp_path / "out", format, allowed)
    read = read_checkpoint(tmp_path / "out")
    written = {name: value for name, value in numbers(model).items() if name in read.tensors}
    assert written == numbers(read) and "layer_0/attention/query/kernel" in written
    assert set(read.missing) <= {"pooler/dense/kernel", "pooler/dense/bias"}
