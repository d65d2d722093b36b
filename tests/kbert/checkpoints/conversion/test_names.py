"""The tables are whole: every variable of every model has its name, its shape, and one row in each house."""

import collections
import os
import re
from pathlib import Path

import numpy as np
import pytest

from kbert.checkpoints.conversion import names
from kbert.checkpoints.model_variables import body_shapes, fresh_value, model_shapes, task_parts
from kbert.encoder import BertEncoder
from kbert.runs.run_directory import trained_weights
from kbert.tasks import TASKS
from tests.conftest import tiny_encoder_config
from tests.kbert.test_encoder import MODERN, MPNET, NO_BIASES

NARROW = {"type_vocab_size": 3, "embedding_size": 6}


@pytest.mark.parametrize("settings", [{}, MODERN], ids=["BERT", "ModernBERT"])
@pytest.mark.parametrize("task", TASKS)
def test_the_shapes_are_those_of_the_real_model(task, settings):
    labels = ("a", "b", "c", "d")
    masked_lm = "masked_lm" in task_parts(task, labels)  # its head shares the table of words
    config = tiny_encoder_config(**settings or (MPNET if masked_lm else NARROW))
    model = TASKS[task].from_labels(labels).build_model(BertEncoder(config))
    real = {name: tuple(variable.shape) for name, variable in trained_weights(model).items()}
    assert model_shapes(config, task_parts(task, labels).values()) == real


TABLES = {
    "google": names.GOOGLE_TF1,
    "hugging_face": names.HUGGING_FACE,
    "distilbert": names.DISTILBERT,
    "electra": names.ELECTRA,
    "roberta": names.ROBERTA,
    "mpnet": names.MPNET,
    "modernbert": names.MODERNBERT,
    "keras_hub": names.KERAS_HUB,
}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_each_variable_has_one_row_and_each_outside_name_one_meaning(table):
    settings = {"num_hidden_layers": 3, "embedding_size": 6 if table is names.ELECTRA else None}
    if table is names.MODERNBERT:  # the table has biases too, for those that have them
        settings |= MODERN | dict.fromkeys(NO_BIASES, True)
    config = tiny_encoder_config(**settings | (MPNET if table is names.MPNET else {}))
    known = {name: part for task in TASKS for name, part in task_parts(task, ("a", "b", "c")).items()}
    for part in table:
        shapes = body_shapes(config) if part == "body" else known[part].shapes(config)
        rows = names.rows({part: table[part]}, () if part == "body" else (part,), 3)
        expected = set(shapes)
        if table is names.DISTILBERT:
            expected.discard("embeddings/token_type_embeddings")
        if table is names.MODERNBERT:  # the first layer's input is normed already
            rows = [row for row in rows if not row.kbert.startswith("layer_0/attention_layer_norm")]
        assert {row.kbert for row in rows} == expected
        assert len({row.outside for row in rows}) == len(rows) == len(expected)
        # Only matrices of dense layers lie transposed, never a table.
        assert all(row.kbert.endswith("kernel") for row in rows if row.transposed)


PAGE = Path(__file__).resolve().parents[4] / "docs" / "checkpoints.md"
BESIDE_BERT = {
    "Hugging Face BERT": names.HUGGING_FACE,
    "DistilBERT": names.DISTILBERT,
    "Google TF1": names.GOOGLE_TF1,
    "KerasHub": names.KERAS_HUB,
}
UNLIKE_BERT = {"ELECTRA": names.ELECTRA, "RoBERTa, XLM-R": names.ROBERTA, "MPNet": names.MPNET}


def layer_names(table):
    """What the page calls each layer: the name that its variables share, ᵀ for a transposed kernel."""
    layers = collections.defaultdict(list)
    for row in (row for part in table.values() for row in part):
        layers[re.sub("/(kernel|bias|gamma|beta)$", "", row.kbert)].append(row)
    shared = {layer: os.path.commonprefix([row.outside for row in rows]) for layer, rows in layers.items()}
    return {
        layer: f"`{re.sub('_$', '_*', shared[layer]).rstrip('./')}`" + " ᵀ" * rows[0].transposed
        for layer, rows in layers.items()
    }


def documented_table(tables, usual=None):
    """The lines of a table of the page; with `usual`, only layers of which a table has another name."""
    columns = [layer_names(table) for table in tables.values()]
    usual = layer_names(usual) if usual else {}
    unlike = (layer for column in columns for layer in column if column[layer] != usual.get(layer))
    lines = [f"| kbert | {' | '.join(tables)} |", "|---" * (len(tables) + 1) + "|"]
    for layer in dict.fromkeys(unlike):
        lines.append(f"| `{layer}` | {' | '.join(column.get(layer, '') for column in columns)} |")
    return "\n".join(lines)


OWN_NAMES = {"ModernBERT": names.MODERNBERT}


@pytest.mark.parametrize("arguments", [(BESIDE_BERT,), (UNLIKE_BERT, names.HUGGING_FACE), (OWN_NAMES,)])
def test_the_documentation_has_every_name(arguments):
    """The page holds the tables that the code makes: after a change, copy them from this failure."""
    assert documented_table(*arguments) in PAGE.read_text(encoding="utf-8")


def test_fresh_numbers_are_those_of_a_fresh_model_and_the_same_each_time():
    kernel = fresh_value("pooler/dense/kernel", (60, 70), 0.02)
    assert kernel.dtype == np.float32 and np.abs(kernel).max() <= 0.04 + 1e-7
    assert kernel.std() == pytest.approx(0.02 * 0.8796, rel=0.05)  # a normal cut at two deviations
    np.testing.assert_array_equal(kernel, fresh_value("pooler/dense/kernel", (60, 70), 0.02))
    assert np.any(kernel != fresh_value("next_sentence/dense/kernel", (60, 70), 0.02))
    assert not fresh_value("pooler/dense/bias", (5,), 0.02).any()
    assert (fresh_value("masked_lm/layer_norm/gamma", (5,), 0.02) == 1.0).all()
