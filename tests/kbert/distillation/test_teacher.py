"""A teacher is compared with its student before any heavy work, and known again by its content."""

import dataclasses

import numpy as np
import pytest

from kbert.checkpoints import HUGGING_FACE, KBERT
from kbert.checkpoints.conversion.resizing import with_layers
from kbert.checkpoints.report import Report
from kbert.config import DistillationConfig
from kbert.config.pooling_config import PoolingConfig
from kbert.distillation.teacher import Teacher, layer_map
from kbert.files.stored_tensor import stored_array
from kbert.tasks import TASKS
from kbert.tasks.sequences.sequence_regression import SequenceRegression
from kbert.tasks.task import Task
from kbert.tokenization.vocabulary import Vocabulary
from tests.kbert.distillation.small_teacher import calm, random_teacher
from tests.kbert.tasks.test_task_model import make_task
from tests.tfrecords_tools import small_corpus

CLASSIFIER = make_task("sequence_classification")
SOFT = DistillationConfig(teacher="random")


@pytest.fixture(scope="module")
def teacher():
    return random_teacher(CLASSIFIER, calm(num_hidden_layers=3))


def check(teacher, task=CLASSIFIER, config=SOFT, student=None, vocabulary=None, max_length=32):
    teacher.check_with(task, config, student or calm(), vocabulary or small_corpus.vocabulary(), max_length)


OTHER = Vocabulary([*small_corpus.TOKENS, "new"], do_lower_case=True)
REFUSED = {
    "vocabulary": ({"vocabulary": OTHER}, "the student's vocabulary (23 tokens, "),
    "length": ({"max_length": 33}, "max_seq_length=33 is more than the max_position_embeddings=32 of the"),
    "labels": (
        {"task": type(CLASSIFIER)(("a", "b", "d"))},
        "the teacher random has the labels ['a', 'b', 'c'], the student ['a', 'b', 'd']; both need the same",
    ),
    "what labels mean": (
        {"task": make_task("multi_label_classification")},
        "the teacher random is trained for sequence_classification, the student for multi_label_class",
    ),
    "head": (
        {"task": make_task("token_classification")},
        "the teacher random has no trained token_classification as the task token_classification needs it",
    ),
    "no logits": ({"task": Task()}, "has no soft labels: set distillation.soft_label_weight = 0."),
    "tokens that are drawn": (
        {"task": TASKS["replaced_token_detection"]()},
        "the task replaced_token_detection draws tokens, and a teacher would read others than its student",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_student_that_cannot_learn_from_it_is_refused(teacher, case, monkeypatch):
    monkeypatch.setattr(Task, "name", "nothing", raising=False)
    changes, sentence = REFUSED[case]
    with pytest.raises(ValueError) as error:
        check(teacher, **changes)
    assert sentence in str(error.value)


@pytest.mark.parametrize("activations", [("sigmoid", None), ("identity", "sigmoid"), (None, "sigmoid")])
def test_a_teacher_with_another_activation_is_refused(activations):
    """Its soft labels would be its output before a sigmoid, or behind one that it has not."""
    theirs, own = map(SequenceRegression().with_activation, activations)
    teacher = random_teacher(theirs, calm())
    with pytest.raises(ValueError, match="gives its number behind the activation"):
        check(teacher, own)
    check(teacher, own, DistillationConfig(soft_label_weight=0, hidden_weight=1))
    check(teacher, theirs)


@pytest.mark.parametrize("pairs", [(True, False), (False, True)])
def test_a_teacher_of_another_number_of_texts_is_refused(pairs):
    """It would answer texts that it has never seen so; one that does not say what it takes is no other."""
    theirs, own = (type(CLASSIFIER)(CLASSIFIER.labels, takes_pairs=each) for each in pairs)
    teacher = random_teacher(theirs, calm())
    with pytest.raises(ValueError, match="is trained on (pairs|single).*, the student reads (single|pairs)"):
        check(teacher, own)
    check(teacher, own, DistillationConfig(soft_label_weight=0, hidden_weight=1))
    for known, unknown in ((theirs, CLASSIFIER), (CLASSIFIER, own), (own, own)):
        check(random_teacher(known, calm()), unknown)


@pytest.mark.parametrize("names", [("sentence_order", "pretraining"), ("pretraining", "sentence_order")])
def test_a_teacher_of_another_question_about_two_texts_is_refused(names):
    theirs, own = (TASKS[name]() for name in names)
    teacher = random_teacher(theirs, calm())
    with pytest.raises(ValueError, match=f"is trained for {names[0]}, the student for {names[1]}"):
        check(teacher, own)
    check(teacher, TASKS["masked_lm"]())
    files = Report("google", "albert")  # ALBERT's swapped sentences are called next ones there
    check(Teacher(dataclasses.replace(teacher.checkpoint, report=files)), own)


def test_a_teacher_of_sparse_vectors_is_told_nothing_of_numbers():
    """Its `activation` makes weights of words; a student of its masked LM has another head beside it."""
    sparse = TASKS["sparse_embedding"]().with_pooling(None)
    check(random_teacher(sparse, calm()), TASKS["masked_lm"]())


def test_prompts_of_a_teacher_that_the_student_does_not_have_are_said(caplog):
    ranking, config = (
        TASKS["multiple_negatives_ranking"],
        DistillationConfig(soft_label_weight=0, hidden_weight=1),
    )
    without, prompted = PoolingConfig(prompts={"query": ""}), PoolingConfig(prompts={"query": "query: "})
    alike = PoolingConfig(prompts={"query": "query: ", "document": "", "clustering": "c: "})
    teacher = random_teacher(ranking().with_pooling(None), calm())
    for theirs, own, number in (
        (None, None, 0),
        (prompted, prompted, 0),
        (alike, prompted, 0),
        (prompted, without, 1),
        (None, prompted, 2),
    ):
        own_teacher = Teacher(dataclasses.replace(teacher.checkpoint, pooling=theirs))
        check(own_teacher, ranking().with_pooling(own), config)
        assert len(caplog.messages) == number
    assert "has the prompts {'query': 'query: '}, the student {}" in caplog.messages[0]


def test_without_soft_labels_a_teacher_needs_no_head(teacher):
    check(
        teacher, make_task("token_classification"), DistillationConfig(soft_label_weight=0, hidden_weight=1)
    )


def test_the_digest_tells_content_and_nothing_else(teacher):
    one = teacher.checkpoint
    moved = dataclasses.replace(one, source="elsewhere", max_seq_length=7)
    assert Teacher(moved).digest == teacher.digest
    for name in one.tensors:
        values = one.tensors[name].read().copy()
        values.flat[-1] = np.nextafter(values.flat[-1], np.float32(9))
        touched = dataclasses.replace(one, tensors=one.tensors | {name: stored_array(values)})
        assert Teacher(touched).digest != teacher.digest, name
    assert Teacher(dataclasses.replace(one, labels=("b", "a", "c"))).digest != teacher.digest
    for encoder in (calm(num_hidden_layers=2), calm(num_hidden_layers=3, hidden_act="relu")):
        assert Teacher(dataclasses.replace(one, encoder=encoder)).digest != teacher.digest


def test_a_setting_that_a_later_version_adds_does_not_change_the_digest(teacher):
    encoder = teacher.checkpoint.encoder
    later = dataclasses.make_dataclass("Later", [("new", int, 7)], bases=(type(encoder),), frozen=True)
    later_encoder = later(**dataclasses.asdict(encoder))
    assert Teacher(dataclasses.replace(teacher.checkpoint, encoder=later_encoder)).digest == teacher.digest


def test_a_teacher_that_only_numbers_its_classes_is_refused_with_what_names_them(teacher):
    own = dataclasses.replace(teacher.checkpoint, labels=("LABEL_0", "LABEL_1", "LABEL_2"))
    for format, is_told in ((HUGGING_FACE, True), (KBERT, False)):  # of a run the config is its own
        numbered = Teacher(dataclasses.replace(own, report=Report(format, "there")))
        with pytest.raises(ValueError, match="both need the same, in any order") as error:
            check(numbered)
        assert ("kbert convert --config names them" in str(error.value)) is is_told


@pytest.mark.parametrize(
    ("student", "teacher", "layers"),
    [(4, 12, (2, 5, 8, 11)), (3, 3, (0, 1, 2)), (1, 6, (5,)), (2, 3, (1, 2)), (6, 12, (1, 3, 5, 7, 9, 11))],
)
def test_layers_are_spread_evenly_and_end_with_the_last(student, teacher, layers):
    assert layer_map(student, teacher) == layers


def test_a_student_takes_layers_and_all_that_is_around_them(teacher):
    one = teacher.checkpoint
    student = with_layers(one, (2, 0))
    assert student.encoder == dataclasses.replace(one.encoder, num_hidden_layers=2)
    assert student.tensors.keys() == student.shapes.keys()
    for name, tensor in student.tensors.items():
        of_teacher = name.replace("layer_1/", "layer_0/") if "layer_1/" in name else name
        of_teacher = name.replace("layer_0/", "layer_2/") if "layer_0/" in name else of_teacher
        np.testing.assert_array_equal(tensor.read(), one.tensors[of_teacher].read(), err_msg=name)
