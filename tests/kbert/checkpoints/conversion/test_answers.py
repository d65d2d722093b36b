"""What is written in a format of others gives the same answers there, or is refused by name."""

import dataclasses
import random

import numpy as np
import pytest

import kbert
from kbert.checkpoints import FORMATS, GOOGLE, HUGGING_FACE, KBERT
from kbert.checkpoints.bert_checkpoint import RecordedTask
from kbert.checkpoints.conversion.answers import for_other_code
from kbert.checkpoints.formats import read_checkpoint, write_checkpoint
from kbert.checkpoints.hugging_face.tokenizer_wordpiece import MPNET_TOKENS
from kbert.checkpoints.model_loading import task_from_checkpoint
from kbert.checkpoints.report import Report
from kbert.config import DatasetConfig
from kbert.runs.chosen_settings import Chosen
from kbert.tasks import TASKS
from kbert.tokenization.vocabulary import Vocabulary
from tests.kbert.checkpoints import random_checkpoint as families
from tests.kbert.checkpoints.random_checkpoint import numbers, random_checkpoint
from tests.lives.compare import same
from tests.lives.space import other_values

pytestmark = pytest.mark.usefixtures("eager")

LABELS = ("a", "b")
QUESTION = "who walks"
LONG = f"[MASK] jump over {'a house the jump over ' * 30}"  # longer than MAX_SEQ_LENGTH
MAX_SEQ_LENGTH = 96  # with room for a context behind a question
SHAPE = {"max_position_embeddings": 128, "num_hidden_layers": 1}
TABLES = {"class_weights": [{"a": 2.0, "b": 1.0}]}  # beside the texts that this setting may be
LATER = ("DISTILBERT", "ROBERTA", "MPNET")  # families that make test-long has
# By Hugging Face's format.
CARRIED = {"temperature", "pooling", "normalize", "activation", "query_length", "document_length"}
OTHERS = [
    pytest.param(format, marks=() if format == HUGGING_FACE else pytest.mark.long)  # fewer settings there
    for format in FORMATS
    if format != KBERT
]


def made(task_class, values=None):
    """The task with these settings."""
    labels = LABELS if task_class.checkpoint.has_labels else ()
    settings = task_class.read_settings(values or {})
    return task_class.from_dataset(DatasetConfig(labels=labels), settings)


def cases():
    """(task, settings): each setting with another value, and a second setting where it needs one; those that
    no answer depends on all at once."""
    for name in TASKS:
        if name == "late_interaction":  # has weights beside its encoder; see its folder of tests
            continue
        plain, at_once = made(TASKS[name]), {}
        for key, settings in tries(name):
            if key in plain.not_in_answers and made(TASKS[name], settings).parts == plain.parts:
                at_once |= settings
            else:
                yield name, settings
        yield name, at_once


def tries(name):
    """(setting, settings): what is allowed of a task."""
    owner = TASKS[name].settings_class
    choices = {field.name: choices_of(owner, field) for field in dataclasses.fields(owner)}
    others = [{}, *({key: value} for key, lists in choices.items() for values in lists for value in values)]
    for key, lists in choices.items():
        for values in lists:
            ways = (other | {key: value} for value in values for other in others)
            first = next((way for way in ways if allowed(name, way)), None)
            if first is not None:
                yield key, first


def choices_of(owner, field):
    """Lists of values, of each of which the first one that is allowed is tried: every text, or one value."""
    values = other_values(owner, field, list(LABELS), random.Random(1)) or TABLES[field.name]
    each = isinstance(values[0], str) and field.name not in CARRIED
    return [[value] for value in values] if each else [values[::-1] if values[0] is not False else values]


def allowed(name, values):
    try:
        made(TASKS[name], values)
    except ValueError:
        return False
    return True


def run_of(task, pooling=None, chosen=None, **encoder):
    """A model of random weights as the run of a task holds it."""
    task, labels = task.with_pooling(pooling), getattr(task, "labels", ())
    task_config, dataset = task.get_config(), DatasetConfig(labels=labels)
    return dataclasses.replace(
        random_checkpoint(task.name, labels, **SHAPE | encoder),
        recorded=RecordedTask(task_config, dataset, chosen=chosen and Chosen(chosen, "dev.tsv")),
        pooling=task.pooling,
        max_seq_length=MAX_SEQ_LENGTH,
    )


def require_same_answers(run, folder, format):
    write_checkpoint(run, folder / "there", format)
    write_checkpoint(run, folder / "run", KBERT)
    same(answers(folder / "there", run), answers(folder / "run", run), 2e-5)


def answers(folder, run):
    loaded = kbert.load(folder)
    if run.pooling is not None or loaded.task.serving is None:
        vectors = loaded.embed([QUESTION, LONG])
        return vectors.toarray() if hasattr(vectors, "toarray") else vectors
    assert loaded.task.name == run.task
    texts = {"choices": ["a house", LONG], "context": LONG, "text": LONG}
    return loaded.predict({name: texts.get(name, QUESTION) for name in loaded.task.serving.inputs})


@pytest.mark.parametrize("format", OTHERS)
@pytest.mark.parametrize("positive", LABELS[:2])
def test_another_positive_label_is_noted(positive, format, tmp_path):
    task = TASKS["sequence_classification"](LABELS[:2], positive_label=positive)
    notes = write_checkpoint(run_of(task), tmp_path / "there", format).notes
    found = [note for note in notes if f"the F1 of the label '{LABELS[0]}'" in note and LABELS[1] in note]
    assert len(found) == (positive == LABELS[0])


@pytest.mark.parametrize("format", OTHERS)
def test_positions_that_no_text_has_trained_are_said_where_nothing_can_hold_it(format, tmp_path, caplog):
    run = random_checkpoint("encoder", **SHAPE)
    rotary = random_checkpoint("encoder", **SHAPE | families.MODERNBERT)
    for checkpoint, trained in ((run, None), (run, 128), (rotary, 24)):
        for_other_code(dataclasses.replace(checkpoint, trained_positions=trained), Report(format, "out"))
    assert not caplog.text
    for_other_code(dataclasses.replace(run, trained_positions=24), Report(format, "out"))
    assert f"more than 24 tokens has trained there, and {format} has no place for it" in caplog.text
    assert "kbert convert --max_position_embeddings=24 leaves the other positions out." in caplog.text


@pytest.mark.long
@pytest.mark.parametrize("format", OTHERS)
@pytest.mark.parametrize(("name", "values"), list(cases()))
def test_a_setting_is_carried_or_refused_by_name(name, values, format, tmp_path):
    task = made(TASKS[name], values)
    lost = values.keys() - {*task.not_in_answers, *CARRIED}
    settings = {"num_hidden_layers": 4} if "layers" in values else {}
    try:
        require_same_answers(run_of(task, **settings), tmp_path, format)
    except ValueError as error:
        refusal = str(error)
        if "=task_settings" in refusal:
            assert lost and all(f"{key}=" in refusal for key in lost)
        else:
            elsewhere = format != HUGGING_FACE and "allow_unmatched=" in refusal
            assert elsewhere or "has no class" in refusal or "allow_unmatched=task." in refusal
    else:
        assert not lost


@pytest.mark.parametrize(
    "family",
    ["ELECTRA", "MODERNBERT", *(pytest.param(name, marks=pytest.mark.long) for name in LATER)],
)
def test_a_chosen_temperature_becomes_a_part_of_the_last_layer(family, tmp_path):
    task = made(TASKS["sequence_classification"], {"temperature": 3.0})
    run = run_of(task, chosen={"temperature": 0.25}, **getattr(families, family))
    require_same_answers(run, tmp_path, HUGGING_FACE)
    there = read_checkpoint(tmp_path / "there")
    changed = {key for key, value in numbers(run).items() if numbers(there).get(key, value) != value}
    (last,) = changed  # the bias of a new layer is 0
    np.testing.assert_array_equal(there.tensors[last].read(), run.tensors[last].read() * 4)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("question_answering", {"max_query_length": 5}),
        ("token_classification", {"doc_stride": 7}),
        ("sequence_classification", {"long_texts": "windows", "doc_stride": 7}),
    ],
)
def test_a_run_that_could_not_answer_at_its_length_is_not_written(name, settings, tmp_path):
    write_checkpoint(run_of(made(TASKS[name], settings)), tmp_path / "run", KBERT)
    with pytest.raises(ValueError, match="max_seq_length=8 "):
        kbert.convert(tmp_path / "run", tmp_path / "there", max_position_embeddings=8)
    with pytest.raises(ValueError, match="max_seq_length=8 "):
        kbert.load(tmp_path / "run").with_max_seq_length(8).save(tmp_path / "there")
    assert not (tmp_path / "there").exists()


def test_a_number_that_is_the_default_at_the_length_is_no_other_setting(tmp_path):
    task = made(TASKS["question_answering"], {"doc_stride": 128})
    write_checkpoint(run_of(task), tmp_path / "there", HUGGING_FACE)
    read = task_from_checkpoint(read_checkpoint(tmp_path / "there"))
    assert read.settings_at(read.settings, MAX_SEQ_LENGTH) == task.settings


@pytest.mark.parametrize("format", [HUGGING_FACE, GOOGLE])
def test_what_is_refused_may_be_allowed_and_is_noted(format, tmp_path):
    task = made(TASKS["sequence_classification"], {"threshold": 0.9, "temperature": 2.0})
    run = run_of(task, chosen={"threshold": 0.75})
    sentence = f"there answers with threshold=0.75, and {format} has no place for it: .* threshold=None"
    with pytest.raises(ValueError, match=f"{sentence}.*a run .* keeps it.*allow_unmatched=task_settings"):
        write_checkpoint(run, tmp_path / "out", format)
    assert not (tmp_path / "out").exists()
    report = write_checkpoint(run, tmp_path / "out", format, "task_settings")
    assert any("threshold=0.75" in note and "allowed" in note for note in report.notes)
    settings = task_from_checkpoint(read_checkpoint(tmp_path / "out")).settings
    assert (settings.threshold, settings.temperature) == (None, 1.0)


@pytest.mark.parametrize(
    ("name", "chosen"),
    [
        ("sequence_classification", {"threshold": 0.5}),
        ("multi_label_classification", {"thresholds": {"a": 0.5, "b": 0.5}}),
    ],
)
def test_a_threshold_that_changes_nothing_is_not_refused(name, chosen, tmp_path):
    require_same_answers(run_of(made(TASKS[name]), chosen=chosen), tmp_path, HUGGING_FACE)


@pytest.mark.parametrize("format", [GOOGLE, "keras_hub"])
def test_other_special_tokens_are_refused_where_they_are_found_by_their_names(tmp_path, format):
    vocabulary = Vocabulary(families.MPNET_TOKENIZER, True, "MPNet", MPNET_TOKENS)
    model = random_checkpoint("encoder", vocabulary=vocabulary)
    with pytest.raises(ValueError, match=r"special tokens \[PAD\], .* this model has <pad>, .* keeps them"):
        write_checkpoint(model, tmp_path / "out", format)


def test_a_head_that_would_mean_something_else_is_refused(tmp_path):
    for name, format, sentence in (
        ("sentence_order", HUGGING_FACE, "hugging_face would make it one of pretraining.*=task"),
        ("sentence_order", GOOGLE, "google would make it one of pretraining.*=task"),
        ("multi_label_classification", GOOGLE, "takes a softmax over all outputs.*=problem_type"),
        ("sequence_regression", GOOGLE, "is a model of regression, .* a softmax over all out.*=problem_type"),
    ):
        with pytest.raises(ValueError, match=sentence):
            write_checkpoint(run_of(made(TASKS[name])), tmp_path / "out", format)
