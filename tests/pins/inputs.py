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
_WORDS = (
    "anna",
    "the",
    "a",
    "an",
    "is",
    "walk",
    "look",
    "river",
    "dark",
    "cold",
    "night",
    "old",
    "road",
    "open",
)
_ENDINGS = ("##s", "##ed", "##ing", "##able", "##ver", "##ore")
_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")

PRETRAINING = """train_batch_size = 8
eval_batch_size = 8
num_train_steps = 12
num_warmup_steps = 3
steps_per_call = 3
log_every_steps = 2
save_checkpoints_steps = 6
eval_every_steps = 12
gradient_accumulation_steps = 2

[encoder]
hidden_size = 16
num_hidden_layers = 2
num_attention_heads = 2
intermediate_size = 32
max_position_embeddings = 48
initializer_range = 0.1

[optimizer]
name = "adamw"
learning_rate = 2e-3
"""
FINETUNING = """max_seq_length = 32
train_batch_size = 8
eval_batch_size = 8
num_train_epochs = 2
log_every_steps = 4

[dataset]
text = "sentence"
text_pair = "other"
label = "label"

[optimizer]
name = "adam_weight_decay"
learning_rate = 2e-3
"""
QUESTIONS = """task = "question_answering"
max_seq_length = 32

[task_settings]
doc_stride = 8
max_query_length = 12
"""
TAGGING = """task = "token_classification"
max_seq_length = 32

[dataset]
column_names = ["word", "tag"]
text = "word"
label = "tag"
"""


def write_inputs(folder: Path):
    """Writes them all; the same bytes on every machine."""
    rng = random.Random(7)
    characters = sorted(
        {c for c in "".join((*_NAMES, *_VERBS, *_THINGS)).lower() if not c.isspace()} - {"ü", "é", "ï"}
    )
    vocabulary = [
        *_SPECIAL,
        *characters,
        *(f"##{c}" for c in characters if c.isalnum()),
        ".",
        *_WORDS,
        *_ENDINGS,
    ]
    texts = {
        "vocab.txt": "\n".join(dict.fromkeys(vocabulary)),
        "corpus.txt": "\n\n".join(
            "\n".join(_sentence(rng) for _ in range(rng.randint(2, 14))) for _ in range(30)
        ),
        "lines.txt": "\n".join(
            [*(_sentence(rng) for _ in range(40)), "", "x" * 300, "\u200b­ tab\tand ￼ ﬁ İ"]
        ),
        "train.tsv": _labelled(rng, 64),
        "dev.tsv": _labelled(rng, 16),
        "texts.tsv": _labelled(rng, 8, with_labels=False),
        "squad.json": json.dumps(
            {"data": [{"title": "t", "paragraphs": [_paragraph(rng) for _ in range(8)]}]}
        ),
        "tags.conll": "\n\n".join(
            "\n".join(_tagged(word) for word in _sentence(rng).split()) for _ in range(30)
        ),
        "pretraining.toml": PRETRAINING,
        "finetuning.toml": FINETUNING,
        "squad.toml": QUESTIONS,
        "tags.toml": TAGGING,
    }
    for name, text in texts.items():
        (folder / name).write_text(text.rstrip("\n") + "\n", encoding="utf-8")


def _sentence(rng):
    things = [rng.choice(_THINGS) for _ in range(rng.randint(1, 3))]
    return f"{rng.choice(_NAMES)} {rng.choice(_VERBS)} to {' and '.join(things)}."


def _labelled(rng, number, with_labels=True):
    rows = [("sentence", "other", "label")[: 2 + with_labels]]
    for _ in range(number):
        first, second = _sentence(rng), _sentence(rng)
        rows.append((first, second, "dark" if "dark" in first else "light")[: 2 + with_labels])
    return "\n".join("\t".join(row) for row in rows)


def _paragraph(rng):
    sentences = [_sentence(rng) for _ in range(4)]
    context, answer = " ".join(sentences), rng.choice(sentences).split(" to ")[0]
    answers = [{"text": answer, "answer_start": context.index(answer)}]
    return {
        "context": context,
        "qas": [{"id": str(rng.random()), "question": "Who walks?", "answers": answers}],
    }


def _tagged(word):
    return f"{word} {'B-PER' if word in _NAMES else 'O'}"
