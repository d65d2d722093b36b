"""The labelled sets of benchmarks/finetuning.py: their files, how they are trained on, and scores."""

import csv
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.workers.adamw import adamw


class LabelledSet(NamedTuple):
    """A labelled set: its files in --data_dir, the columns of texts and label, and how it is trained on.

    `columns` are numbers, from 0, where a table has no header; CoNLL's files and SQuAD's JSON have none to
    name. `labels` are for classes of texts. `max_rows` are the most rows to use of the training file.
    """

    train_file: str
    dev_file: str
    columns: tuple[str | int, ...]
    epochs: float
    max_seq_length: int
    task: str = "sequence_classification"
    labels: tuple[str, ...] = ()
    scores: tuple[str, ...] = ("accuracy",)
    batch_size: int = 32
    max_rows: int | None = None


_BINARY = {"labels": ("0", "1"), "scores": ("accuracy", "f1")}
SETS = {
    "SST-2": LabelledSet(
        "sst2/train.tsv", "sst2/dev.tsv", ("sentence", "label"), 1.0, 128, max_rows=16_000, **_BINARY
    ),
    "MRPC": LabelledSet(
        "mrpc/train.tsv", "mrpc/dev.tsv", ("#1 String", "#2 String", "Quality"), 3.0, 128, **_BINARY
    ),
    "CoLA": LabelledSet(
        "cola/train.tsv", "cola/dev.tsv", (3, 1), 3.0, 64, labels=("0", "1"), scores=("matthews", "accuracy")
    ),
    "RTE": LabelledSet(
        "rte/train.tsv",
        "rte/dev.tsv",
        ("sentence1", "sentence2", "label"),
        3.0,
        256,
        labels=("entailment", "not_entailment"),
    ),
    "SICK": LabelledSet(
        "sick/SICK_train.txt",
        "sick/SICK_dev.txt",
        ("sentence_A", "sentence_B", "entailment_judgment"),
        3.0,
        64,
        labels=("CONTRADICTION", "ENTAILMENT", "NEUTRAL"),
    ),
    "STS-B": LabelledSet(
        "stsb/train.tsv",
        "stsb/dev.tsv",
        ("sentence1", "sentence2", "score"),
        3.0,
        128,
        task="sequence_regression",
        scores=("pearson", "spearman"),
    ),
    "SMS": LabelledSet(
        "sms_spam/SMSSpamCollection",
        "sms_spam/SMSSpamCollection.dev",
        (1, 0),
        2.0,
        96,
        labels=("ham", "spam"),
        scores=("accuracy", "f1"),
    ),
    "CODAH": LabelledSet(
        "codah/train.tsv",
        "codah/dev.tsv",
        (1, 2, 3, 4, 5, 6),
        3.0,
        128,
        task="multiple_choice",
        batch_size=8,
    ),
    "CoNLL": LabelledSet(
        "conll2003/eng.train",
        "conll2003/eng.testa",
        (),
        3.0,
        128,
        task="token_classification",
        scores=("f1",),
    ),
    "SQuAD": LabelledSet(
        "squad_v1/train-v1.1.json",
        "squad_v1/dev-v1.1.json",
        (),
        2.0,
        384,
        task="question_answering",
        scores=("exact_match", "f1"),
        batch_size=16,
        max_rows=6_000,
    ),
}
# The columns of the rows that are written, by the number of columns of the file.
_NAMES = {
    2: ("text", "label"),
    3: ("text", "text_pair", "label"),
    6: ("text", "choice0", "choice1", "choice2", "choice3", "label"),
}


def config_of(labelled: LabelledSet, seed: int, steps_per_turn: int) -> dict:
    """The config of kbert's fine-tuning, which Hugging Face's worker reads too."""
    dataset: dict = {}
    if labelled.task != "question_answering":
        names = _NAMES.get(len(labelled.columns), ())
        dataset = {"text": "text", "label": "label"}
        dataset |= {"text_pair": "text_pair"} if "text_pair" in names else {}
        dataset |= {"choices": names[1:-1]} if labelled.task == "multiple_choice" else {}
        dataset |= (
            {"labels": [str(index) for index in range(len(labelled.labels))]} if labelled.labels else {}
        )
    return {
        "task": labelled.task,
        "dataset": dataset,
        # The schedule and the epsilon of transformers' Trainer.
        "optimizer": {"name": "adamw", "decay": "linear_after_warmup"} | adamw(5e-5) | {"epsilon": 1e-8},
        "max_seq_length": labelled.max_seq_length,
        "num_train_epochs": labelled.epochs,
        "warmup_proportion": 0.1,
        "train_batch_size": labelled.batch_size,
        "steps_per_execution": steps_per_turn,
        "log_every_steps": steps_per_turn,
        "save_checkpoints_steps": 1_000_000,
        "seed": seed,
    }


def write_rows(rows: list[dict], path):
    """Writes JSON lines, which both systems read."""
    lines = [json.dumps(row, ensure_ascii=False) for row in rows]
    Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")


def read_rows(path: Path, labelled: LabelledSet, max_rows: int | None = None) -> list[dict]:
    """Rows of a file, at most so many: texts and the label's number as a string, words and tags in IOB2, or
    questions in SQuAD's form."""
    readers = {"token_classification": _sentences, "question_answering": _questions}
    read = readers.get(labelled.task, _table_rows)
    return list(itertools.islice(read(path, labelled), max_rows))


def _table_rows(path, labelled) -> Iterator[dict]:
    has_header = isinstance(labelled.columns[0], str)
    with open(path, encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader if has_header else csv.reader
        for row in reader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            *texts, label = (row[column] for column in labelled.columns)
            label = str(labelled.labels.index(label)) if labelled.labels else label
            yield dict(zip(_NAMES[len(labelled.columns)], (*texts, label), strict=True))


def _sentences(path, labelled) -> Iterator[dict]:
    from kbert.config import DatasetConfig
    from kbert.tasks.token_classification.conll_files import read_conll
    from kbert.tasks.token_classification.tag_schemes import find_scheme, to_iob2

    sentences = list(read_conll(path, DatasetConfig()))
    scheme = find_scheme(((sentence.tags, sentence.locations) for sentence in sentences), path)
    for sentence in sentences:
        yield {"text": sentence.words, "label": to_iob2(sentence.tags, scheme)}


def _questions(path, labelled) -> Iterator[dict]:
    from kbert.tasks.question_answering.squad_files import read_questions

    for question in read_questions(path):
        texts, starts = zip(*((answer.text, answer.start) for answer in question.answers), strict=True)
        answers = {"text": texts, "answer_start": starts}
        yield {
            "id": question.id,
            "question": question.question,
            "context": question.context,
            "answers": answers,
        }


def scores(labelled: LabelledSet, rows: list[dict], answers: list) -> dict[str, float]:
    """The scores of a peer's answers: a label, number, list of tags or text for each row.

    F1 of labels is label 1's; Matthews' is Pearson's of two labels.
    """
    if labelled.task == "token_classification":
        from kbert.tasks.token_classification.entity_scores import EntityCounts

        counts = EntityCounts()
        for row, tags in zip(rows, answers, strict=True):
            counts.add(row["label"], tags)
        return {"f1": counts.overall().f1}
    if labelled.task == "question_answering":
        from kbert.tasks.question_answering.squad_scores import scores_v1

        return scores_v1(answers, [row["answers"]["text"] for row in rows])
    predicted, wanted = np.array(answers), np.array([float(row["label"]) for row in rows])
    formulas = {
        "accuracy": lambda: (predicted == wanted).mean(),
        "f1": lambda: 2 * (predicted * wanted).sum() / max(1, predicted.sum() + wanted.sum()),
        "matthews": lambda: np.corrcoef(predicted, wanted)[0, 1],
        "pearson": lambda: np.corrcoef(predicted, wanted)[0, 1],
        "spearman": lambda: np.corrcoef(_ranks(predicted), _ranks(wanted))[0, 1],
    }
    return {name: float(formulas[name]()) for name in labelled.scores}


def _ranks(values):
    """Equal values share the mean of their ranks."""
    ordered = np.sort(values)
    return np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right")
