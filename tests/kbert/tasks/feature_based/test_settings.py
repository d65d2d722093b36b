"""Which layers each row of the paper's table 7 reads, and settings that are refused."""

import pytest

from kbert.reports.feature_table_report import PAPER
from kbert.tasks import TASKS
from kbert.tasks.feature_based import FeatureBasedTagging
from kbert.tasks.feature_based.settings import READS, FeatureBasedSettings, layers_of
from tests.conftest import tiny_encoder_config


def test_the_rows_of_the_paper_for_its_encoder():
    assert {name: layers_of(name, 12) for name in READS} == {
        "embeddings": (0,),
        "second_to_last": (11,),
        "last": (12,),
        "weighted_sum_last_four": (9, 10, 11, 12),
        "concat_last_four": (9, 10, 11, 12),
        "weighted_sum_all": (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12),
    }
    assert set(PAPER) == {*READS, "finetuned"}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"reads": "first"}, "reads='first' is not known; choose one of embeddings, second_to_last, last"),
        ({"stored": "int8"}, "stored='int8' is not known; choose one of float32, float16, bfloat16"),
        ({"lstm_size": 7}, "lstm_size=7 is the width of two directions together: give a positive even"),
        ({"num_hidden_layers": 3}, "num_hidden_layers=3, .* expected an encoder of at least 4 layers"),
        ({"window_length": 2}, "window_length=2 must be at least 4"),
    ],
)
def test_settings_that_are_refused(values, message):
    with pytest.raises(ValueError, match=message):
        FeatureBasedSettings(**values)


def test_settings_are_completed_from_the_encoder():
    encoder = tiny_encoder_config(num_hidden_layers=4)
    task_class = TASKS["feature_based_tagging"]
    values = task_class.complete_settings({"reads": "last"}, encoder, "float16")
    assert values == {"reads": "last", "num_hidden_layers": 4, "hidden_size": 16, "stored": "float16"}
    with pytest.raises(
        ValueError, match="task_settings.hidden_size=768 of the config, but the features have 16"
    ):
        task_class.complete_settings({"hidden_size": 768}, encoder, "float16")
    task = FeatureBasedTagging(("O", "B-X"), **values | {"window_length": 33})
    with pytest.raises(
        ValueError, match="window_length=33 is more than the encoder's max_position_embeddings"
    ):
        task.check_encoder(encoder)
    with pytest.raises(ValueError, match="task_settings.num_hidden_layers=4, but the encoder has 6"):
        task.check_encoder(tiny_encoder_config(num_hidden_layers=6))
