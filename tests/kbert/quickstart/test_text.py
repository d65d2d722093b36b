"""The text of the quickstart: there, and without leaks between its parts."""

import pytest

from kbert.config import DatasetConfig
from kbert.files.text_file import read_lines
from kbert.input_pipelines.labelled_files import read_rows
from kbert.shipped_configs import configs_directory

TEXT = configs_directory() / "quickstart" / "text"


@pytest.mark.long
def test_the_parts_share_no_sentence_and_no_module():
    train, heldout = (set(filter(None, read_lines(TEXT / f"{name}.txt.xz"))) for name in ("train", "heldout"))
    assert len(train) > len(heldout) > 1000 and not train & heldout
    dataset = DatasetConfig(text="sentence", text_pair="module", label="label")
    parts = [read_rows(TEXT / f"{split}.tsv", dataset) for split in ("train", "dev", "test")]
    assert [len({row.label for row in rows}) for rows in parts] == [7, 7, 7]
    modules = [{row.text_pair for row in rows} for rows in parts]
    assert sum(map(len, modules)) == len(set.union(*modules))
