"""Small files in the forms of GLUE's own, oddities included, with words of the small vocabulary."""

import random
from pathlib import Path

from tests.tfrecords_tools import small_corpus

LABELS = {
    "CoLA": ("0", "1"),
    "SST-2": ("0", "1"),
    "MRPC": ("0", "1"),
    "QQP": ("0", "1"),
    "MNLI": ("contradiction", "entailment", "neutral"),
    "QNLI": ("entailment", "not_entailment"),
    "RTE": ("entailment", "not_entailment"),
    "WNLI": ("0", "1"),
}
NUM_TRAIN, NUM_DEV, NUM_TEST = 24, 10, 7
MNLI_TRAIN = "index promptID pairID genre sentence1_binary_parse sentence2_binary_parse sentence1_parse "
MNLI_TRAIN += "sentence2_parse sentence1 sentence2 label1 gold_label"
MNLI_DEV = MNLI_TRAIN.replace("label1 ", "label1 label2 label3 label4 label5 ")
STSB = "index genre filename year old_index source1 source2 sentence1 sentence2"


def write_glue(folder: Path) -> Path:
    """Writes a folder for each task; returns `folder`."""
    rng = random.Random(5)
    for write in (_cola, _sst2, _mrpc, _qqp, _stsb, _mnli, _pairs_with_index, _diagnostic):
        write(folder, rng)
    return folder


def write_lines(path: Path, lines, bom=False, end="\n"):
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join("\t".join(line) + end for line in lines)
    path.write_bytes(text.encode("utf-8-sig" if bom else "utf-8"))


def _texts(rng, label, number=2):
    """Sentences that begin as their label says; one holds a quote that is never closed."""
    word = ("jump", "walk", "look")[label]
    first, *others = small_corpus.sentences(number, rng)
    return [f'{word} " {first}', *others]


def _rows(rng, name, number, texts=2):
    """(place, texts, label) with the labels in turn."""
    labels = LABELS[name]
    for index in range(number):
        yield index, _texts(rng, index % len(labels), texts), labels[index % len(labels)]


def _cola(folder, rng):
    for split, number in (("train", NUM_TRAIN), ("dev", NUM_DEV)):
        rows = [
            ["gj04", label, "*" if label == "0" else "", text]
            for _, (text,), label in _rows(rng, "CoLA", number, 1)
        ]
        write_lines(folder / "CoLA" / f"{split}.tsv", rows)  # no header line
    tests = [[str(index), text] for index, (text,), _ in _rows(rng, "CoLA", NUM_TEST, 1)]
    write_lines(folder / "CoLA" / "test.tsv", [["index", "sentence"], *tests])  # but here


def _sst2(folder, rng):
    for split, number in (("train", NUM_TRAIN), ("dev", NUM_DEV)):
        rows = [[text + " ", label] for _, (text,), label in _rows(rng, "SST-2", number, 1)]
        write_lines(folder / "SST-2" / f"{split}.tsv", [["sentence", "label"], *rows])
    tests = [[str(index), text] for index, (text,), _ in _rows(rng, "SST-2", NUM_TEST, 1)]
    write_lines(folder / "SST-2" / "test.tsv", [["index", "sentence"], *tests])


MRPC = ["Quality", "#1 ID", "#2 ID", "#1 String", "#2 String"]


def mrpc_rows(rng, number, first_id=100):
    return [
        [label, str(first_id + index), str(900 + index), *texts]
        for index, texts, label in _rows(rng, "MRPC", number)
    ]


def _mrpc(folder, rng):
    for split, number in (("train", NUM_TRAIN), ("dev", NUM_DEV)):
        write_lines(folder / "MRPC" / f"{split}.tsv", [MRPC, *mrpc_rows(rng, number)], bom=True)
    tests = [[str(index), *row[1:]] for index, row in enumerate(mrpc_rows(rng, NUM_TEST))]
    write_lines(folder / "MRPC" / "test.tsv", [["index", *MRPC[1:]], *tests], bom=True)


def _qqp(folder, rng):
    header = ["id", "qid1", "qid2", "question1", "question2", "is_duplicate"]
    for split, number in (("train", NUM_TRAIN), ("dev", NUM_DEV)):
        rows = [
            [str(index), str(7 * index), str(7 * index + 1), *texts, label]
            for index, texts, label in _rows(rng, "QQP", number)
        ]
        if split == "train":
            rows[3:3] = [["97931", "1", "2", "a question that is cut"], ["off?"]]
        write_lines(folder / "QQP" / f"{split}.tsv", [header, *rows])
    tests = [[str(index), *texts] for index, texts, _ in _rows(rng, "QQP", NUM_TEST)]
    write_lines(folder / "QQP" / "test.tsv", [["id", "question1", "question2"], *tests])


def _stsb(folder, rng):
    def row(index):
        texts = _texts(rng, index % 3)
        return [str(index), "main-news", "headlines", "2016", f"{index:04d}", "none", "none", *texts]

    for split, number in (("train", NUM_TRAIN), ("dev", NUM_DEV)):
        rows = [[*row(index), f"{2.5 * (index % 3):.3f}"] for index in range(number)]
        write_lines(folder / "STS-B" / f"{split}.tsv", [[*STSB.split(), "score"], *rows])
    write_lines(folder / "STS-B" / "test.tsv", [STSB.split(), *map(row, range(NUM_TEST))])


def _mnli(folder, rng):
    def rows(number, num_labels):
        for index, texts, label in _rows(rng, "MNLI", number):
            between = [str(index), "31193", "31193n", "fiction", *["( parse )"] * 4]
            yield [*between, *texts, *[label] * num_labels]

    write_lines(folder / "MNLI" / "train.tsv", [MNLI_TRAIN.split(), *rows(NUM_TRAIN, 2)])
    for kind, number in (("matched", NUM_DEV), ("mismatched", NUM_DEV + 2)):
        write_lines(folder / "MNLI" / f"dev_{kind}.tsv", [MNLI_DEV.split(), *rows(number, 6)])
        header = MNLI_TRAIN.split()[:10]
        write_lines(folder / "MNLI" / f"test_{kind}.tsv", [header, *rows(number - 1, 0)])


def _pairs_with_index(folder, rng):
    for name, columns in (
        ("QNLI", ("question", "sentence")),
        ("RTE", ("sentence1", "sentence2")),
        ("WNLI", ("sentence1", "sentence2")),
    ):
        for split, number in (("train", NUM_TRAIN), ("dev", NUM_DEV), ("test", NUM_TEST)):
            rows = [[str(index), *texts, label] for index, texts, label in _rows(rng, name, number)]
            header = ["index", *columns, "label"]
            if split == "test":
                header, rows = header[:-1], [row[:-1] for row in rows]
            write_lines(folder / name / f"{split}.tsv", [header, *rows])


def _diagnostic(folder, rng):
    rows = [[str(index), *texts] for index, texts, _ in _rows(rng, "MNLI", 5)]
    write_lines(folder / "diagnostic" / "diagnostic.tsv", [["index", "sentence1", "sentence2"], *rows])
