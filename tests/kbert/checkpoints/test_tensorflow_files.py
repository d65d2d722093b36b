"""Files of TensorFlow users: transformers' TF classes, Model Garden, TF Hub. Equal numbers, clear errors."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from kbert.checkpoints.conversion.names import MODEL_GARDEN, rows
from kbert.checkpoints.formats import read_checkpoint
from tests.kbert.checkpoints.answers import answers, largest_difference
from tests.kbert.checkpoints.random_checkpoint import numbers, random_checkpoint

SHARED = Path(__file__).resolve().parents[4] / "shared" / "data" / "golden" / "tensorflow"
GOLDEN = (
    *(
        f"hf_tf/TF{name}"
        for name in (
            "BertForMaskedLM_h5",
            "BertForMaskedLM_shards",
            "BertForMultipleChoice_h5",
            "BertForPreTraining_safetensors",
            "BertForQuestionAnswering_h5",
            "BertForSequenceClassification_h5",
            "BertForSequenceClassification_safetensors",
            "BertForTokenClassification_h5",
            "BertModel_h5",
            "DistilBertForSequenceClassification_h5",
        )
    ),
    "model_garden/classifier",
    "model_garden/encoder_encoder",
    "model_garden/encoder_model",
    "model_garden/pretrainer",
    "tfhub/encoder",
)
# What the libraries call inputs and outputs -> what the stored answers of transformers are called.
NAMES = {
    "attention_mask": "input_mask",
    "token_type_ids": "segment_ids",
    "out_sequence_output": "last_hidden_state",
    "out_pooled_output": "pooler_output",
    "out_mlm_logits": "logits",
}


def expected_of(folder):
    stored = dict(np.load(folder / "expected.npz"))
    stored.setdefault("token_type_ids", np.zeros_like(stored["input_ids"]))
    return {NAMES.get(name, name.removeprefix("out_")): value for name, value in stored.items()}


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_files_give_the_numbers_of_the_library_that_wrote_them(name, tmp_path):
    folder = SHARED / name
    if not folder.is_dir():
        pytest.skip(f"FIDELITY NOT CHECKED: {folder} is not here (answers of another implementation)")
    expected = expected_of(folder)
    if name == "model_garden/pretrainer":  # its head has no activation, which no file there says
        folder = shutil.copytree(folder, tmp_path / "pretrainer", copy_function=shutil.copyfile)
        config = json.loads((folder / "bert_config.json").read_text())
        (folder / "bert_config.json").write_text(json.dumps(config | {"masked_lm_hidden_act": "linear"}))
    checkpoint, ours = answers(folder, expected)
    if (positions := expected.pop("masked_lm_positions", None)) is not None:
        ours["logits"] = np.take_along_axis(ours["logits"], positions[..., None], axis=1)
    assert largest_difference(ours, expected) < 2e-5
    assert not checkpoint.missing


def write_model_garden(folder, checkpoint, config=None, **heads):
    """The objects of a BertEncoder, whose attention kernels have an axis for two heads."""
    variables = []
    for row in rows(MODEL_GARDEN, checkpoint.parts, checkpoint.encoder.num_hidden_layers):
        if row.kbert not in checkpoint.tensors:
            continue
        value, axes = checkpoint.tensors[row.kbert].read(), (2, checkpoint.encoder.hidden_size // 2)
        if row.outside.endswith("attention_output/kernel"):
            value = value.reshape(*axes, -1)
        elif any(f"/{name}/" in row.outside for name in ("query", "key", "value")):
            value = value.reshape(*value.shape[:-1], *axes)
        variables.append(tf.Variable(value, name=row.outside))
    folder.mkdir()
    tf.train.Checkpoint(encoder=variables, **heads).write(str(folder / "bert_model.ckpt"))
    checkpoint.vocabulary.write(folder / "vocab.txt")
    if config:
        (folder / "bert_config.json").write_text(json.dumps(config))


@pytest.mark.parametrize("with_config", [True, False])
def test_narrow_tables_of_model_garden(tmp_path, with_config):
    model = random_checkpoint("encoder", embedding_size=4)
    settings = vars(model.encoder).items()
    config = {key: value for key, value in settings if value is not None} if with_config else None
    write_model_garden(tmp_path / "m", model, config)
    read = read_checkpoint(tmp_path / "m")
    assert read.encoder == model.encoder and numbers(read) == numbers(model)


def test_a_masked_lm_on_narrow_tables_is_refused(tmp_path):
    kernel = tf.Variable(np.ones((8, 4), np.float32))
    head = tf.train.Checkpoint(dense=tf.train.Checkpoint(kernel=kernel))
    write_model_garden(tmp_path / "m", random_checkpoint("encoder", embedding_size=4), masked_lm=head)
    with pytest.raises(ValueError, match="embedding_size=4 is not hidden_size=8, but the masked-LM head"):
        read_checkpoint(tmp_path / "m")
