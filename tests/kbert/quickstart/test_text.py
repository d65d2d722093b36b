"""The text of the quickstart: whole, as its README counts it, and without leaks between its parts."""

import re
from collections import Counter

from kbert.config import DatasetConfig
from kbert.files.text_file import read_lines
from kbert.input_pipelines.labelled_files import read_rows
from kbert.shipped_configs import configs_directory

TEXT = configs_directory() / "quickstart" / "text"
README = {
    cells[0]: [int(cell.replace(",", "")) for cell in cells[1:]]
    for line in (TEXT / "README.md").read_text(encoding="utf-8").splitlines()
    if re.search(r"\| [\d,]+ \|$", line) and (cells := line.strip("| ").split(" | "))
}


def test_documents_sentences_and_words():
    sentences = {}
    for name in ("train.txt.xz", "heldout.txt.xz"):
        lines = list(read_lines(TEXT / name))
        sentences[name] = list(filter(None, lines))
        words = sum(len(line.split()) for line in lines)
        assert README[name] == [lines.count(""), len(sentences[name]), words]
    assert not set(sentences["train.txt.xz"]) & set(sentences["heldout.txt.xz"])


def test_labels_and_modules():
    dataset = DatasetConfig(text="sentence", text_pair="module", label="label")
    rows = [read_rows(TEXT / f"{split}.tsv", dataset) for split in ("train", "dev", "test")]
    modules = [{row.text_pair for row in split} for split in rows]
    counts = [Counter(row.label for row in split) for split in rows]
    labels = {name: numbers for name, numbers in README.items() if name in counts[0]}
    assert labels == {label: [count[label] for count in counts] for label in counts[0]} and len(labels) == 7
    assert README["rows"] == [len(split) for split in rows]
    assert README["modules"] == [len(names) for names in modules]
    assert sum(README["modules"]) == len(set.union(*modules))
