"""Teachers of random weights, without files."""

import keras

from kbert.checkpoints.bert_checkpoint import BertCheckpoint
from kbert.checkpoints.report import Report
from kbert.config import DistillationConfig
from kbert.distillation.distillation import Distillation
from kbert.distillation.teacher import Teacher
from kbert.encoder import BertEncoder
from kbert.files.stored_tensor import stored_array
from tests.conftest import tiny_encoder_config
from tests.kbert.test_encoder import randomize
from tests.tfrecords_tools import small_corpus

ALL_LOSSES = DistillationConfig(
    teacher="random",
    temperature=2.0,
    label_weight=0.5,
    soft_label_weight=2.0,
    hidden_weight=0.3,
    cosine_weight=0.7,
)


def calm(**changes):
    """A tiny encoder without dropout."""
    return tiny_encoder_config(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, **changes)


def random_teacher(task, encoder, seed=5, labels=None) -> Teacher:
    """A teacher for a task, as if it had been read from a checkpoint."""
    keras.utils.set_random_seed(seed)
    model = task.build_model(BertEncoder(encoder))
    tensors = {name: stored_array(value) for name, value in randomize(model, seed).items()}
    checkpoint = BertCheckpoint(
        source="random",
        encoder=encoder,
        task=task.name,
        labels=tuple(labels or getattr(task, "labels", ())),
        vocabulary=small_corpus.vocabulary(),
        tensors=tensors,
        max_seq_length=encoder.max_position_embeddings,
        report=Report("kbert", "random"),
        takes_pairs=getattr(task, "takes_pairs", None),
        activation=getattr(task, "activation", None),
    )
    return Teacher(checkpoint)


def taught(task, student, teacher_encoder, config=ALL_LOSSES, seed=1, **settings):
    """(the `Distillation` of a task, its `DistillationModel`) with a random teacher.

    Args:
      settings: further arguments of the student's `BertEncoder`.
    """
    distillation = Distillation(task, config, random_teacher(task, teacher_encoder))
    keras.utils.set_random_seed(seed)
    return distillation, distillation.build_model(BertEncoder(student, **settings))
