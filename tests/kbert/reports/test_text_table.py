"""Tables for a terminal."""

from kbert.reports.text_table import text_table


def test_columns_stand_below_each_other_in_any_script():
    rows = [("label", "f1"), ("日本", "0.5"), ("ที่", "10"), ("e\u0301t", "1")]
    assert text_table(rows).split("\n") == ["label   f1", "日本   0.5", "ที่       10", "e\u0301t       1"]
