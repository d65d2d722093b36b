"""The text, the vocabulary, the labelled files and the configs on which the pins are taken."""

import json
import random
from pathlib import Path

_NAMES = ("Anna", "Ünal", "O'Brien", "漢字", "Jean-Luc")
_VERBS = ("walks", "walked", "looks", "is looking", "don't stop", "re-opened")
_THINGS = (
    "the river",
    "a dark, cold night",
    "naïve cafés",
    "3.14 miles",
    "unbelievable stories",
    "an old road",
)
_ODD = (
    "\u00a0.",
    "x" * 300,
    "\u200b\u00adsoft and \ufffdlost",
    "ﬁ İ ΑΣ ǆ",
    "[MASK] [SEP]",
    "مرحبا हिन्दी ไทย 한국어 🙂",
)
_PIECES = (
    *(
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        ".",
        "anna",
        "the",
        "a",
        "an",
        "is",
        "walk",
        "look",
        "river",
    ),
    *("dark", "cold", "night", "old", "road", "open", "##s", "##ed", "##ing", "##able", "##ver", "##ore"),
)
_CONFIGS = {
    "pretraining.json": {
        "train_batch_size": 8,
        "eval_batch_size": 8,
        "num_train_steps": 12,
        "num_warmup_steps": 3,
        "log_every_steps": 2,
        "save_checkpoints_steps": 6,
        "eval_every_steps": 12,
        "gradient_accumulation_steps": 2,
        "encoder": {
            "hidden_size": 16,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "intermediate_size": 32,
            "max_position_embeddings": 48,
            "initializer_range": 0.1,
        },
        "optimizer": {"name": "adamw", "learning_rate": 2e-3},
    },
    "finetuning.json": {
        "max_seq_length": 32,
        "train_batch_size": 8,
        "eval_batch_size": 8,
        "num_train_epochs": 2.0,
        "log_every_steps": 4,
        "dataset": {"text": "sentence", "text_pair": "other", "label": "label"},
        "optimizer": {"name": "adam_weight_decay", "learning_rate": 2e-3},
    },
    "squad.json": {
        "task": "question_answering",
        "max_seq_length": 32,
        "task_settings": {"doc_stride": 8, "max_query_length": 12},
    },
    "tags.json": {
        "task": "token_classification",
        "max_seq_length": 32,
        "dataset": {"column_names": ["word", "tag"], "text": "word", "label": "tag"},
    },
}


def write_inputs(folder: Path):
    """Writes them all; the same bytes on every machine."""
    rng = random.Random(7)

    def sentence():
        things = [rng.choice(_THINGS) for _ in range(rng.randint(1, 3))]
        return f"{rng.choice(_NAMES)} {rng.choice(_VERBS)} to {' and '.join(things)}."

    def paragraph():
        context = " ".join(sentence() for _ in range(4))
        answer = {"text": context.split(" to ")[0], "answer_start": 0}
        return {"context": context, "qas": [{"id": context, "question": "Who walks?", "answers": [answer]}]}

    rows = [(sentence(), sentence()) for _ in range(64)] + [(odd, odd[::-1]) for odd in _ODD]
    labelled = [f"{one}\t{other}\t{'dark' if 'dark' in one else 'light'}" for one, other in rows]
    letters = sorted(set("".join((*_NAMES, *_VERBS, *_THINGS)).lower()) - set(" üéï"))
    documents = ("\n".join(sentence() for _ in range(rng.randint(2, 14))) for _ in range(30))
    words = (sentence().split() for _ in range(30))
    texts = {
        "vocab.txt": "\n".join(
            dict.fromkeys((*_PIECES, *letters, *(f"##{c}" for c in letters if c.isalnum())))
        ),
        "corpus.txt": "\n\n".join(documents),
        "train.tsv": "\n".join(("sentence\tother\tlabel", *labelled)),
        "dev.tsv": "\n".join(("sentence\tother\tlabel", *labelled[:16])),
        "texts.tsv": "\n".join(("sentence\tother", *map("\t".join, rows[:8]))),
        "questions.json": json.dumps(
            {"data": [{"title": "t", "paragraphs": [paragraph() for _ in range(8)]}]}
        ),
        "tags.conll": "\n\n".join(
            "\n".join(f"{w} {'B-PER' if w in _NAMES else 'O'}" for w in ws) for ws in words
        ),
    }
    for name, text in (texts | {name: json.dumps(values) for name, values in _CONFIGS.items()}).items():
        (folder / name).write_text(f"{text}\n", encoding="utf-8")
