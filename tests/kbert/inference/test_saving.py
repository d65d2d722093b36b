"""`LoadedModel.save`, and the tensors that a loaded model says it has."""

import dataclasses

import numpy as np
import pytest

from kbert.checkpoints.formats import read_checkpoint, write_checkpoint
from kbert.checkpoints.model_variables import fresh_value
from kbert.config import DatasetConfig
from kbert.config.dense_config import DenseConfig
from kbert.config.pooling_config import PoolingConfig
from kbert.files.stored_tensor import stored_array
from kbert.inference.loading import open_model
from kbert.tasks import TASKS
from tests.conftest import tiny_finetuning_config
from tests.kbert.checkpoints.random_checkpoint import DISTILBERT, random_checkpoint
from tests.kbert.inference.random_model import TEXTS, random_task_model

pytestmark = pytest.mark.usefixtures("eager")

POOLER = {"pooler/dense/kernel", "pooler/dense/bias"}


def without_pooler(**settings):
    checkpoint = random_checkpoint("encoder", **settings)
    tensors = {name: tensor for name, tensor in checkpoint.tensors.items() if name not in POOLER}
    return dataclasses.replace(checkpoint, tensors=tensors)


@pytest.mark.parametrize(
    ("source", "format"),
    [
        ("kbert", "kbert"),
        ("hugging_face", "hugging_face"),
        ("hugging_face", "google"),
        pytest.param("hugging_face", "keras_hub", marks=pytest.mark.long),
    ],
)
def test_what_was_never_trained_is_not_saved_as_trained(tmp_path, source, format):
    write_checkpoint(without_pooler(), tmp_path / "there", source)
    loaded = open_model(tmp_path / "there").with_max_seq_length(12)
    for number in range(2):  # before and after its weights are read
        loaded.save(tmp_path / str(number), format)
        assert set(read_checkpoint(tmp_path / str(number)).missing) == POOLER
        assert len(loaded.model.weights)
    kernel = next(variable for variable in loaded.model.weights if variable.path in POOLER)
    kernel.assign_add(np.ones(kernel.shape))
    loaded.save(tmp_path / "trained", format)
    assert set(read_checkpoint(tmp_path / "trained").missing) == POOLER - {kernel.path}


def test_a_model_without_segments_is_saved_where_a_conversion_is(tmp_path):
    write_checkpoint(
        without_pooler(**DISTILBERT | {"hidden_act": "gelu"}), tmp_path / "there", "hugging_face"
    )
    loaded = open_model(tmp_path / "there")
    for format in ("google", "keras_hub"):
        loaded.save(tmp_path / format, format)
        assert set(read_checkpoint(tmp_path / format).missing) == POOLER


@pytest.mark.parametrize(
    "format", ["hugging_face", "google", "kbert", pytest.param("keras_hub", marks=pytest.mark.long)]
)
def test_weights_that_are_no_numbers_replace_nothing(tmp_path, format):
    write_checkpoint(random_checkpoint("encoder"), tmp_path / "there", format)
    loaded = open_model(tmp_path / "there")
    variable = loaded.model.weights[-1]
    variable.assign(np.full(variable.shape, np.inf))
    with pytest.raises(ValueError, match=f"{variable.path} is inf at .* must be a finite float32 number"):
        loaded.save(tmp_path / "there", format, overwrite=True)
    read_checkpoint(tmp_path / "there").tensors[variable.path].read()
    assert [path.name for path in tmp_path.iterdir()] == ["there"]


@pytest.mark.filterwarnings("ignore:Layer .* does not have a `quantize` method")
def test_adapters_and_quantized_weights_of_keras_are_not_left_out(tmp_path):
    adapted, quantized = (random_task_model(TASKS["sequence_classification"](["a", "b"])) for _ in range(2))
    adapted.model.get_layer("classification").dense.enable_lora(2)
    expected = quantized.model(quantized.inputs(TEXTS))["probabilities"]
    quantized.model.quantize("int8")
    assert quantized.model.encoder.pooler.dense.kernel.dtype == "int8"
    found = quantized.model(quantized.inputs(TEXTS))["probabilities"]
    np.testing.assert_allclose(found, expected, atol=0.05)
    for loaded, name in ((adapted, "classification/dense/lora_kernel_a"), (quantized, "pooler/dense/kernel")):
        with pytest.raises(ValueError, match=f"{name} .* is no weight of kbert's sequence_classification"):
            loaded.save(tmp_path / "run")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("task", ["encoder", "cosine_similarity"])
def test_a_model_for_files_has_the_weights_that_were_read(tmp_path, task):
    """Also of another length, and of a task that reads pairs of texts."""
    vectors = PoolingConfig(dense=(DenseConfig(3),))
    bare = dataclasses.replace(random_checkpoint("encoder"), pooling=vectors)
    weights = {name: stored_array(fresh_value(name, shape, 0.3)) for name, shape in bare.shapes.items()}
    write_checkpoint(dataclasses.replace(bare, tensors=weights), tmp_path / "there", "hugging_face")
    loaded = open_model(tmp_path / "there")
    expected = loaded.embed(TEXTS)
    config = (
        tiny_finetuning_config(task=task, dataset=DatasetConfig(), max_seq_length=16)
        if task != "encoder"
        else None
    )
    changed = loaded.with_max_seq_length(loaded.max_seq_length).for_files(config)
    assert changed.task.name == task
    np.testing.assert_array_equal(changed.embed(TEXTS), expected)
    np.testing.assert_array_equal(loaded.for_files(config).embed(TEXTS), expected)
