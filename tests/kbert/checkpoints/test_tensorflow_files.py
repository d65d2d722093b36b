"""Files of TensorFlow users: transformers' TF classes, Model Garden, TF Hub. Equal numbers, clear errors."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.kbert.checkpoints.answers import answers, largest_difference

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
