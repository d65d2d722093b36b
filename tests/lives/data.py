"""The files of a world: odd texts that carry their label, in the columns, labels and format that it has."""

import csv
import json
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from kbert.config import DatasetConfig
from kbert.tokenization.sentencepiece.sentencepiece_vocabulary import SentencePieceVocabulary
from kbert.tokenization.vocabulary import SPECIAL_TOKENS, Vocabulary
from tests.kbert.tokenization.small_vocabularies import bpe_vocabulary, sentencepiece_model

WORDS = (
    "house", "houses", "doctor", "walks", "Haus", "Häuser", "zwei", "the", "The", "of", "to", "naïve",
    "İstanbul", "straße", "日本", "한국어", "हिन्दी", "ไทย", "x" * 30, "3,141.59", "don't", "a-b", "U.S.",
    "😀", "ﬁn", "e\u0301t", "[MASK]",
)  # fmt: skip
NUM_TRAIN, NUM_DEV = 12, 7
CHOICES = 3


def make_vocabulary(kind: str):
    """A small tokenizer of a kind, with odd pieces."""
    if kind == "bpe":
        return bpe_vocabulary([("h", "o"), ("ho", "u"), ("d", "o"), ("t", "h"), ("th", "e"), ("Ġ", "the")])
    if kind == "sentencepiece":
        return SentencePieceVocabulary(sentencepiece_model())
    lower = kind == "wordpiece"
    words = ["house", "doctor", "walk", "the", "of", "to", "a", "-", ".", ",", "日", "本", "??", "##??"]
    words += ["naive", "et", "haus", "zwei"] if lower else ["Haus", "The", "naïve", "한국", "##어", "हिन्दी"]
    letters = "bcdefghijklmnopqrstuvwxyz0123456789"
    return Vocabulary(
        [*SPECIAL_TOKENS, *words, *letters, *(f"##{letter}" for letter in letters)], do_lower_case=lower
    )


class Rows:
    """The labelled rows of a world, and how its config reads them."""

    def __init__(self, world: dict, folder: Path):
        self._world, self._folder = world, folder
        self._rng = random.Random(world["seed"])

    def write(self, split: str, number: int) -> Path:
        """A labelled file of one split."""
        task, rng = self._world["task"], self._rng
        if task == "question_answering":
            return self._json(split, [_question(n, rng) for n in range(number)])
        if task == "token_classification":
            return self._tagged(split, [_sentence(rng) for _ in range(number)])
        rows = [getattr(self, f"_{task}")(n) for n in range(number)]
        return _WRITERS[self._world["format"]](self._folder / f"{split}.{self._world['format']}", rows)

    def dataset(self) -> DatasetConfig:
        """The `DatasetConfig` of the files."""
        world, (text, other, label) = self._world, self._world["columns"]
        task = world["task"]
        if task == "question_answering":
            return DatasetConfig()
        if task == "token_classification":
            return (
                DatasetConfig(text="text", label="label") if world["format"] == "jsonl" else DatasetConfig()
            )
        values: dict = {"text": text, "label": label}
        if world["pairs"] or task in ("cosine_similarity", "multiple_negatives_ranking"):
            values["text_pair"] = other
        if task == "multiple_choice":
            values = {"text": text, "label": label, "choices": tuple(f"c{n}" for n in range(CHOICES))}
        if task == "multi_label_classification" and world["format"] in ("tsv", "csv"):
            values["label_separator"] = "|"
        return DatasetConfig(**values)

    def examples(self, number: int) -> list:
        """What `predict` is asked, as the task's signature takes it."""
        world, rng = self._world, random.Random(self._world["seed"] + 1)
        task, texts = world["task"], [_text(rng) for _ in range(2 * number)]
        pairs = list(zip(texts[:number], texts[number:], strict=True))
        if task == "question_answering":
            return [(question, context) for question, context in pairs if context.strip()]
        if task == "multiple_choice":
            return [{"text": a, "choices": [b, "the house", a[::-1]]} for a, b in pairs]
        if task in ("masked_lm", "pretraining", "sentence_order"):
            return [f"the {self.mask} of {text.replace('[MASK]', '')}" for text in texts[:number]]
        if task == "cosine_similarity" or (world["pairs"] and task.startswith(("sequence", "multi_label"))):
            return pairs
        return texts[:number]

    mask = "[MASK]"

    def _texts(self, number):
        text, other, label = self._world["columns"]
        sign = self._world["labels"][number % len(self._world["labels"])]
        first = f"{WORDS[number % 4]} {_text(self._rng)}"
        return {text: first, other: _text(self._rng)}, label, sign

    def _sequence_classification(self, number):
        texts, label, sign = self._texts(number)
        return texts | {label: sign}

    def _sequence_regression(self, number):
        texts, label, _ = self._texts(number)
        return texts | {label: round(self._rng.uniform(-3, 5), 2)}

    def _multi_label_classification(self, number):
        texts, label, _ = self._texts(number)
        names = [name for n, name in enumerate(self._world["labels"]) if number >> n & 1]
        return texts | {label: "|".join(names) if self._world["format"] in ("tsv", "csv") else names}

    def _multiple_choice(self, number):
        texts, label, _ = self._texts(number)
        choices = {f"c{n}": f"{_text(self._rng)} {n}" for n in range(CHOICES)}
        return texts | choices | {label: number % CHOICES}

    def _cosine_similarity(self, number):
        texts, label, _ = self._texts(number)
        return texts | {label: number % 2}

    def _multiple_negatives_ranking(self, number):
        texts, _, _ = self._texts(number)
        text, other, _ = self._world["columns"]
        return {text: f"{number // 2} {texts[text]}", other: f"{texts[other]} {number}"}

    def _json(self, split, paragraphs):
        path = self._folder / f"{split}.json"
        path.write_text(
            json.dumps({"version": "1", "data": [{"title": "t", "paragraphs": paragraphs}]}), "utf-8"
        )
        return path

    def _tagged(self, split, sentences):
        if self._world["format"] == "jsonl":
            rows = [{"text": " ".join(words), "label": _spans(words, tags)} for words, tags in sentences]
            return _write_jsonl(self._folder / f"{split}.jsonl", rows)
        path = self._folder / f"{split}.conll"
        blocks = ("\n".join(f"{word} {tag}" for word, tag in zip(*pair, strict=True)) for pair in sentences)
        path.write_text("\n\n".join(blocks) + "\n", encoding="utf-8")
        return path


def _text(rng):
    """A text of nothing, of one word or of many."""
    words = [rng.choice(WORDS) for _ in range(rng.choice((1, 2, 5, 9, 30)))]
    return (rng.choice((" ", " ", " \u00a0", ", ")).join(words) + rng.choice(("", ".", " ?"))).replace(
        "[MASK]", "mask"
    )


def _sentence(rng):
    words = [word for word in _text(rng).split()]
    tags = ["B-PER" if "o" in word.lower() else "B-ORG" if "日" in word else "O" for word in words]
    return words, tags


def _spans(words, tags):
    """Character spans of the tagged words."""
    spans, start = [], 0
    for word, tag in zip(words, tags, strict=True):
        if tag != "O":
            spans.append([start, start + len(word), tag[2:]])
        start += len(word) + 1
    return spans


def _question(number, rng):
    words = [rng.choice(WORDS) for _ in range(rng.choice((3, 12, 40)))]
    place = rng.randrange(len(words))
    words[place] = "doctor"
    start = len(" ".join([*words[:place], ""]))
    answers = [{"text": "doctor", "answer_start": start}]
    return {
        "context": " ".join(words),
        "qas": [{"id": f"q{number}", "question": _text(rng), "answers": answers}],
    }


def _write_jsonl(path, rows):
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def _write_lines(path, rows, **dialect):
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n", **dialect)
        writer.writerows([list(rows[0]), *(row.values() for row in rows)])
    return path


def _write_tsv(path, rows):
    return _write_lines(path, rows, delimiter="\t", quoting=csv.QUOTE_NONE, quotechar=None)


def _write_arrow(path, rows):
    table = pa.Table.from_pylist(rows)
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    return path


def _write_parquet(path, rows):
    pq.write_table(pa.Table.from_pylist(rows), path)
    return path


_WRITERS = {
    "tsv": _write_tsv,
    "csv": _write_lines,
    "jsonl": _write_jsonl,
    "arrow": _write_arrow,
    "parquet": _write_parquet,
}
