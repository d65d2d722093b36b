"""A batch that does not fit into memory is one sentence with the settings that help, whoever finds it."""

import numpy as np
import pytest
import tensorflow as tf

from kbert.cli.script import error_sentence
from kbert.full_memory import naming_full_memory
from kbert.inference.loading import open_model
from kbert.training.evaluation_step import EvaluationStep
from kbert.training.train_step import TrainStep
from tests.kbert.training import one_weight

DEVICE = "/job:localhost/replica:0/task:0/device:GPU:1"
OOM = f"OOM when allocating tensor with shape[8,24] and type float on {DEVICE} by allocator GPU_1_bfc"


def exhausted(message=OOM):
    return tf.errors.ResourceExhaustedError(None, None, message)


def raises(error):
    def function(*args, **kwargs):
        raise error

    return function


@pytest.mark.parametrize(
    "error",
    [
        exhausted("Out of memory while trying to allocate 17179869184 bytes."),
        exhausted("failed to allocate memory [Op:Mul]"),
        tf.errors.InternalError(None, None, "Dst tensor is not initialized."),
        tf.errors.InternalError(None, None, "CUDA_ERROR_OUT_OF_MEMORY: out of memory"),
    ],
    ids=str,
)
def test_the_words_of_tensorflow_and_xla_are_known(error):
    with pytest.raises(MemoryError, match="^a batch does not fit into memory: take less.$"):
        naming_full_memory("a batch", "take less")(raises(error))()


@pytest.mark.parametrize(
    "words",
    [
        "Attempting to perform BLAS operation using StreamExecutor without BLAS support",
        "Blas GEMM launch failed : a.shape=(9, 9), b.shape=(9, 9)",
        "DNN library initialization failed. Look at the errors above for more details.",
    ],
)
def test_a_card_that_another_process_holds_is_said(words):
    with pytest.raises(MemoryError, match="another process holds its memory .*ALLOW_GROWTH=true"):
        naming_full_memory("a batch", "take less")(raises(tf.errors.InternalError(None, None, words)))()


def test_a_processor_says_so_too():
    """Its own error, by an array of 256 TiB."""
    with pytest.raises(MemoryError) as error, naming_full_memory("it", "take less"):
        tf.function(lambda rows: tf.zeros([rows, rows]))(tf.constant(2**23))
    assert str(error.value) == "it does not fit into the memory of CPU:0: take less."
    assert error_sentence(error.value) == str(error.value)


@pytest.mark.parametrize("error", [exhausted("/data/x; No space left on device"), KeyError("OOM")], ids=str)
def test_other_errors_stay(error):
    with pytest.raises(type(error)), naming_full_memory("it", "take less"):
        raise error


def test_python_says_which_array_does_not_fit():
    with pytest.raises(MemoryError) as error:
        np.zeros((2**23, 2**23))
    assert error_sentence(error.value).startswith("Unable to allocate 512. TiB for an array with shape")
    assert error_sentence(MemoryError()) == "MemoryError()"


@pytest.mark.slow
def test_a_training_goes_on_with_the_settings_that_it_names(tmp_path, monkeypatch):
    one_weight.register(monkeypatch)
    with monkeypatch.context() as full:
        full.setattr(TrainStep, "run", raises(exhausted()))
        with pytest.raises(MemoryError) as error:
            one_weight.train_one_weight(tmp_path / "run")
    assert str(error.value).startswith(
        "the training does not fit into the memory of GPU:1, or what other processes leave of it "
        "(nvidia-smi): the same run goes on with more gradient_accumulation_steps or "
        "recompute_activations=true (--override); another one may have "
    )
    assert not (tmp_path / "run").exists()
    with monkeypatch.context() as full:
        full.setattr(EvaluationStep, "run", raises(exhausted()))
        full.setattr(EvaluationStep, "trace", lambda *spec: None)
        with pytest.raises(MemoryError, match="a batch of the evaluation .* during training eval_batch_size"):
            one_weight.train_one_weight(tmp_path / "run", eval_batch_size=8)
    one_weight.train_one_weight(tmp_path / "run", gradient_accumulation_steps=2, eval_batch_size=2)


def test_every_answer_of_a_model_says_so(finetuned_run):
    loaded = open_model(finetuned_run.path)
    with pytest.raises(MemoryError, match="a batch of texts .* give fewer texts at a time"):
        loaded.graph("too large", lambda: raises(exhausted()))()
