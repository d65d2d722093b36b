"""The files of a world: odd texts that carry their label, in the columns, labels and format that it has."""

import csv
import functools
import io
import itertools
import json
import random
from pathlib import Path

import pyarrow as pa

from kbert.files.compression import find_opener
from kbert.files.file_format import TABLES
from tests.kbert.input_pipelines.tables.written_tables import (
    with_features,
    write_arrow_file,
    write_folder,
    write_parquet,
    write_shards,
)
from tests.lives.space import VECTORS

WORDS = (
    "house", "houses", "doctor", "walks", "Haus", "Häuser", "zwei", "the", "The", "of", "to", "naïve",
    "İstanbul", "straße", "日本", "한국어", "हिन्दी", "ไทย", "x" * 30, "3,141.59", "don't", "a-b", "U.S.",
    "😀", "ﬁn", "e\u0301t", "각", "\u1100\u1161\u11a8", "ệ", "a\u1b44\u302e", "a\u302e\u1b44", "[MASK]",
)  # fmt: skip
_SIZES = {"train": 12, "dev": 7}
CHOICES = 3
_OF_TEXT_OR_PAIR = ("sequence", "multi_label", "cosine_similarity", "late_interaction")


class Rows:
    """The labelled rows of a world, and how its config reads them."""

    def __init__(self, world: dict, folder: Path):
        self._world, self._folder = world, folder
        self._rng = random.Random(f"rows of {world['seed']}")
        self._chosen = {name[8:]: value for name, value in world.items() if name.startswith("dataset.")}
        if world["format"] == "tsv" and self._chosen.get("delimiter") in (";", "|"):
            del self._chosen["delimiter"]  # stands in a label, and a TSV has no quotes
        self._scale = tuple(world.get("scale", (0, 1)))
        self._joined = self._chosen.get("label_separator", "|") if world["format"] in ("tsv", "csv") else None

    @functools.cached_property
    def splits(self) -> dict:
        """split -> its rows as dicts; for questions and for words, paragraphs and sentences."""
        question = functools.partial(_question, all_answered="settings.unanswerable" not in self._world)
        others = {"question_answering": question, "token_classification": _sentence}
        make = others.get(self._world["task"], self._row)
        return {split: [make(n, self._rng) for n in range(number)] for split, number in _SIZES.items()}

    def write(self, split: str) -> Path:
        """A labelled file of one split."""
        return self._write(split, self.splits[split])

    def write_parts(self, split: str) -> str:
        """A pattern of two tables with the same rows; the columns of the second stand in reverse."""
        rows, half = self.splits[split], len(self.splits[split]) // 2
        self._write(f"part_{split}-1", [dict(reversed(row.items())) for row in rows[half:]])
        return str(self._write(f"part_{split}-0", rows[:half])).replace("-0", "-*")

    def _write(self, split, rows) -> Path:
        task, format = self._world["task"], self._world["format"]
        if task == "question_answering":
            data = json.dumps({"version": "1", "data": [{"title": "t", "paragraphs": rows}]})
            return self._packed(f"{split}.json", data)
        if task == "token_classification" and format == "jsonl":
            rows = [{"text": " ".join(words), "label": _spans(words, tags)} for words, tags in rows]
        elif task == "token_classification":
            blocks = ("\n".join(f"{word} {tag}" for word, tag in zip(*pair, strict=True)) for pair in rows)
            return self._packed(f"{split}.conll", "\n\n".join(blocks) + "\n")
        path = self._folder / f"{split}{self._world.get('ending') or f'.{format}'}"
        if format in TABLES:
            write = _WRITERS[format][bool(self._world.get("packing"))]
            return write(path, self._table(rows))
        return self._packed(path.name, self._lines(rows))

    def _table(self, rows) -> pa.Table:
        """The rows; classes as the numbers of a `ClassLabel`, where the world says it."""
        names, label = self._world["labels"], self._world["columns"][2]
        if self._world["task"] != "sequence_classification" or not self._world.get("class_label"):
            return pa.Table.from_pylist(rows)
        rows = [row | {label: row[label] and names.index(row[label])} for row in rows]
        return with_features(pa.Table.from_pylist(rows), {label: {"names": names, "_type": "ClassLabel"}})

    def _lines(self, rows) -> str:
        if self._world["format"] == "jsonl":
            return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        tsv = self._world["format"] == "tsv"
        quoting = {"quoting": csv.QUOTE_NONE, "quotechar": None} if tsv else {}
        delimiter, file = self._chosen.get("delimiter", "\t" if tsv else ","), io.StringIO()
        writer = csv.writer(file, lineterminator="\n", delimiter=delimiter, **quoting)
        header = [] if "column_names" in self._chosen else [list(rows[0])]
        writer.writerows([*header, *(row.values() for row in rows)])
        return file.getvalue()

    def _packed(self, name, text) -> Path:
        path = self._folder / f"{name}{self._world.get('packing', '')}"
        with find_opener(path)(path, "wb") as file:
            file.write(text.encode(self._chosen.get("encoding", "utf-8")))
        return path

    def dataset(self) -> dict:
        """The settings of a `DatasetConfig` for the files."""
        world, (text, other, label) = self._world, self._world["columns"]
        task, values = world["task"], dict(self._chosen)
        if task in ("question_answering", "token_classification"):
            return values
        values |= {"text": text, "label": label}
        if '"' in "".join(world["labels"]) and "classification" in task:  # marks of a label, not of the file
            values["labels"] = world["labels"]
        if world.get("ending"):
            values["file_format"] = world["format"]
        if task == "multiple_choice":
            values["choices"] = [f"c{n}" for n in range(CHOICES)]
        if world["pairs"] or task in VECTORS:
            values["text_pair"] = other
        if task == "multi_label_classification" and self._joined:
            values["label_separator"] = self._joined
        if "column_names" in values:
            values["column_names"] = list(self.splits["train"][0])
        return values

    def examples(self, number: int, mask: str) -> list:
        """What `predict` is asked, as the task's signature takes it."""
        world, rng = self._world, random.Random(f"examples of {self._world['seed']}")
        task, texts = world["task"], [_text(rng) for _ in range(2 * number)]
        pairs = list(zip(texts[:number], texts[number:], strict=True))
        if task == "question_answering":
            return [(question, context) for question, context in pairs if context.strip()]
        if task == "multiple_choice":
            return [{"text": a, "choices": [b, "the house", a[::-1]]} for a, b in pairs]
        if task in ("masked_lm", "pretraining", "sentence_order"):
            return [f"the {mask} of {text}" for text in texts[:number]]
        if world["pairs"] and task.startswith(_OF_TEXT_OR_PAIR):
            return pairs
        return texts[:number]

    def asked(self, split: str, dataset) -> list:
        """The rows of a split, as `predict` takes them: texts, pairs, or a text with choices."""
        text, other, choices = dataset.text, dataset.text_pair, dataset.choices
        if choices:
            return [
                {
                    "text": row[text],
                    "choices": [f"{row[other]} {row[name]}" if other else row[name] for name in choices],
                }
                for row in self.splits[split]
            ]
        return [row[text] if other is None else (row[text], row[other]) for row in self.splits[split]]

    def _row(self, number, rng) -> dict:
        """One labelled row of texts."""
        task, names = self._world["task"], self._world["labels"]
        text, other, label = self._world["columns"]
        row = {text: f"{number // 2} {WORDS[number % 4]} {_text(rng)}", other: f"{_text(rng)} {number}"}
        if task == "multiple_choice":
            row |= {f"c{n}": f"{_text(rng)} {n}" for n in range(CHOICES)}
        negatives = self._chosen.get("negatives", ())
        row |= {name: "" if name == "fewer" and number % 2 else _text(rng) for name in negatives}
        if "scores" in self._chosen:
            taught = [name for name in (other, *negatives) if row[name]]
            row["scores"] = [round(rng.uniform(-1, 1), 2) for _ in taught]
        is_binary = "binary_cross_entropy" == self._world.get("settings.loss") or "negatives" in self._chosen
        several, scale = [name for n, name in enumerate(names) if number >> n & 1], self._scale
        labels = {
            "sequence_classification": names[number % len(names)],
            "sequence_regression": round(rng.uniform(*((0, 1) if is_binary else (-3, 5))), 2),
            "multi_label_classification": self._joined.join(several) if self._joined else several,
            "multiple_choice": number % CHOICES,
            "cosine_similarity": number % 2 if scale == (0, 1) else round(rng.uniform(*scale), 2),
        }
        if self._chosen.get("skip_unlabelled") and number % 5 == 4:
            labels = dict.fromkeys(labels)
        return row | ({label: labels[task]} if task in labels else {})


def _text(rng):
    """A text of nothing, of one word or of many."""
    words = [rng.choice(WORDS) for _ in range(rng.choice((1, 2, 5, 9, 30)))]
    return (rng.choice((" ", " ", " \u00a0", ", ")).join(words) + rng.choice(("", ".", " ?"))).replace(
        "[MASK]", "mask"
    )


def _sentence(number, rng):
    words = [word for word in _text(rng).split()]
    tags = ["B-PER" if "o" in word.lower() else "B-ORG" if "日" in word else "O" for word in words]
    return words, tags


def _spans(words, tags):
    """Character spans of the tagged words."""
    starts = itertools.accumulate((len(word) + 1 for word in words), initial=0)
    tagged = zip(starts, words, tags)  # noqa: B905  # the last start is the end
    return [[start, start + len(word), tag[2:]] for start, word, tag in tagged if tag != "O"]


def _question(number, rng, all_answered):
    words = [rng.choice(WORDS) for _ in range(rng.choice((3, 12, 40)))]
    place = rng.randrange(len(words))
    words[place] = "doctor"
    start = len(" ".join([*words[:place], ""]))
    answers = [{"text": "doctor", "answer_start": start}] * (all_answered or number % 3 > 0)
    question = {"id": f"q{number}", "question": _text(rng), "answers": answers, "is_impossible": not answers}
    return {"context": " ".join(words), "qas": [question]}


# Format of a table -> how it is written, and how where text would be packed.
_WRITERS = {"arrow": (write_arrow_file, write_folder), "parquet": (write_parquet, write_shards)}
