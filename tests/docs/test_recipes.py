"""Rows of `kbert hard-negatives` go into the commands that are shown beside it."""

import json
import re

import pytest

from kbert.cli.warn_once import warn_once
from kbert.config import FinetuningConfig, load_config
from kbert.tasks.file_columns import check_file, require_read
from tests.docs.markdown import read
from tests.docs.test_commands import shown_commands
from tests.places import REPOSITORY

CONFIGS = [f"configs/finetuning/{name}.toml" for name in ("splade", "colbert", "reranker")]


@pytest.mark.parametrize("page", ["docs/search.md", *CONFIGS])
@pytest.mark.parametrize("scores", [(), ("dataset.scores=scores",)])
def test_shown_trainings_read_every_negative(page, scores, tmp_path, caplog):
    text = read(page)
    if page in CONFIGS:  # as a block of a page
        text = re.sub("(?m)^#", "  ", re.sub("(?m)^# *$", "", text))
    number = int(re.search(r"--num_negatives=(\d)", text)[1])
    negatives = {f"negative_{n}": f"wrong {n}" for n in range(1, number + 1)}
    path = tmp_path / "rows.jsonl"
    rows = [
        {"text": f"query {n}", "text_pair": f"right {n}", **negatives, "scores": [1.0] * (number + 1)}
        for n in range(9)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    known = ["kbert", "finetune"], "--train_file=rows.jsonl"
    trainings = [words for _, words, _ in shown_commands(text) if words[:2] == known[0] and known[1] in words]
    assert trainings
    for words in trainings:
        flags = [word.removeprefix("--").partition("=")[::2] for word in words[2:]]
        config = REPOSITORY / dict(flags)["config"]
        overrides = [value for name, value in flags if name == "override"]
        if config.stem in ("splade", "colbert"):
            overrides += scores
        config = load_config(FinetuningConfig, config, overrides)
        require_read(config.task, config.dataset, [path])
        assert set(config.dataset.negatives) == set(negatives)
        check_file(config.task, path, config.dataset)
    assert "are not read" not in caplog.text


@pytest.mark.parametrize("column", ["negative_2", "neg", "Hard-Negative1", "score", "IS_DUPLICATE"])
def test_columns_that_a_config_does_not_name_are_said(column, tmp_path, caplog):
    warn_once.cache_clear()
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({"text": "a", "text_pair": "b", "negative_1": "c", column: "d"}) + "\n")
    config = load_config(FinetuningConfig, REPOSITORY / CONFIGS[0])
    check_file(config.task, path, config.dataset)
    named = f"rows.jsonl has '{column}', which dataset.negatives=['negative_1'] does not name"
    if "neg" not in column.lower():
        named = f"rows.jsonl has a column '{column}', which dataset.label='label' does not name"
    assert named in caplog.text
