"""The tables are whole: every variable of every model has its name, its shape, and one row in each house."""

import keras
import numpy as np
import pytest

from kbert.checkpoints.conversion import names
from kbert.checkpoints.model_variables import (
    fresh_value,
    model_shapes,
    part_shapes,
    require_parts,
    task_parts,
)
from kbert.encoder import BertEncoder
from kbert.runs.run_directory import trained_weights
from kbert.tasks import TASKS
from tests.conftest import mostly_long, tiny_encoder_config
from tests.kbert.test_encoder import MODERN, MPNET, NO_BIASES

OF_FAMILIES = {id(names.MPNET): MPNET, id(names.DISTILBERT): {"type_vocab_size": 0}}
NARROW = {"type_vocab_size": 3, "embedding_size": 6}


@pytest.mark.parametrize(
    "settings", [pytest.param({}, id="BERT"), pytest.param(MODERN, id="ModernBERT", marks=pytest.mark.long)]
)
@pytest.mark.parametrize("task", mostly_long(TASKS, ("token_classification",)))
def test_shapes_are_those_of_the_real_model_whose_weights_stay_as_they_were(task, settings):
    own = TASKS[task].from_labels(("a", "b", "c", "d"))
    is_masked_lm = "masked_lm" in task_parts(own)  # its head shares the table of words
    config = tiny_encoder_config(**settings or (MPNET if is_masked_lm else NARROW))
    keras.utils.set_random_seed(3)
    real = trained_weights(own.build_model(BertEncoder(config)))
    keras.utils.set_random_seed(3)
    shapes = model_shapes(config, own)
    again = trained_weights(own.build_model(BertEncoder(config)))
    assert shapes == {name: tuple(variable.shape) for name, variable in real.items()}
    require_parts(own, real)
    for name, variable in real.items():
        np.testing.assert_array_equal(variable, again[name])


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


@pytest.mark.long
@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_each_variable_has_one_row_and_each_outside_name_one_meaning(table):
    settings = {"num_hidden_layers": 3, "embedding_size": 6 if table is names.ELECTRA else None}
    if table is names.MODERNBERT:  # the table has biases too, for those that have them
        settings |= MODERN | dict.fromkeys(NO_BIASES, True)
    config = tiny_encoder_config(**settings | OF_FAMILIES.get(id(table), {}))
    shapes: dict[str, tuple[int, ...]] = {}
    for task in TASKS:
        shapes |= model_shapes(config, TASKS[task].from_labels(("a", "b", "c")), table)
    for part in table:
        rows = names.rows({part: table[part]}, () if part == "body" else (part,), 3)
        expected = set(part_shapes(shapes, part))
        if table is names.MODERNBERT:  # the first layer's input is normed already
            rows = [row for row in rows if not row.kbert.startswith("layer_0/attention_layer_norm")]
        assert {row.kbert for row in rows} == expected
        assert len({row.outside for row in rows}) == len(rows) == len(expected)
        # Only matrices of dense layers lie transposed, never a table.
        assert all(row.kbert.endswith("kernel") for row in rows if row.transposed)


def test_fresh_numbers_are_those_of_a_fresh_model_and_the_same_each_time():
    kernel = fresh_value("pooler/dense/kernel", (60, 70), 0.02)
    assert kernel.dtype == np.float32 and np.abs(kernel).max() <= 0.04 + 1e-7
    assert kernel.std() == pytest.approx(0.02 * 0.8796, rel=0.05)  # a normal cut at two deviations
    np.testing.assert_array_equal(kernel, fresh_value("pooler/dense/kernel", (60, 70), 0.02))
    assert np.any(kernel != fresh_value("next_sentence/dense/kernel", (60, 70), 0.02))
    assert not fresh_value("pooler/dense/bias", (5,), 0.02).any()
    assert (fresh_value("masked_lm/layer_norm/gamma", (5,), 0.02) == 1.0).all()
