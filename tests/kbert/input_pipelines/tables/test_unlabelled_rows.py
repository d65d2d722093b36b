"""What is to be answered, from tables."""

import pyarrow as pa
import pytest

from kbert.input_pipelines.tables.table_paths import find_table
from kbert.input_pipelines.tables.unlabelled_rows import examples_of_table, rows_of_table
from tests.kbert.input_pipelines.tables.written_tables import every_kind, write_parquet

INPUTS = (("text",), ("text", "text_pair"))


def test_inputs_and_id_are_read_and_cells_without_a_value_left_out(tmp_path):
    table = pa.table(
        {"id": [7, 8, 9], "text": ["a", "b", "c"], "text_pair": ["x", None, "z"], "label": [0, 1, 0]}
    )
    for kind, path in every_kind(tmp_path, table).items():
        found = find_table(path)
        assert rows_of_table(found) == 3, kind
        assert list(examples_of_table(found, INPUTS)) == [
            {"text": "a", "text_pair": "x", "id": 7},
            {"text": "b", "id": 8},
            {"text": "c", "text_pair": "z", "id": 9},
        ]


def test_a_table_without_the_inputs_says_which_are_expected(tmp_path):
    path = write_parquet(tmp_path / "a.parquet", pa.table({"sentence": ["a"], "label": [1]}))
    with pytest.raises(
        ValueError, match="has the columns sentence, label; expected text, or text and text_pair"
    ):
        list(examples_of_table(find_table(path), INPUTS))
