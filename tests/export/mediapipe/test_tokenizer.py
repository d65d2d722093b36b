"""MediaPipe's ids, all of them, beside those of the rules in Python.

MediaPipe shows no ids. A model whose vector is its inputs does.
"""

import itertools
import random
import unicodedata

import numpy as np
import pytest
import tensorflow as tf

from export.litert.from_text.mediapipe_file import mediapipe_content
from export.litert.from_text.mediapipe_tokenizer import MediaPipeTokenizer
from kbert.features import ENCODER_INPUTS
from kbert.tokenization.vocabulary import Vocabulary
from tests.export.mediapipe.asking import ask_mediapipe, needs_mediapipe
from tests.kbert.tokenization import texts as fuzzed
from tests.kbert.tokenization.sample_texts import TEXTS
from tests.kbert.tokenization.test_golden_ids import sample_vocabulary
from tests.kbert.tokenization.test_wordpiece_tokenizer import TRICKY

pytestmark = [needs_mediapipe, pytest.mark.long]

LENGTH = 512
CHARACTERS_PER_TEXT = 160  # each makes at most 3 pieces
LENGTHS = [
    "a" * 100,
    "a" * 101,
    "é" * 50,
    "é" * 51,
    "aé" * 33 + "b",
    "aé" * 33 + "bb",
    "a " * 600,
    "a" * 9999,
]
ENDS = ["", " ", "\0", "a\0b", "ab \0 ab", "a\x0bb a\x0cb", "\r\n a\tb"]
POOL = fuzzed.BREAKS + fuzzed.INVISIBLE + fuzzed.LETTERS + fuzzed.MARKS + fuzzed.PUNCTUATION + fuzzed.EDGES


@pytest.fixture(scope="module")
def inputs_as_vector(tmp_path_factory):
    """(a MediaPipe file that answers with what `in_one` makes of its inputs, its vocab.txt)."""
    folder = tmp_path_factory.mktemp("echo")
    vocab_file = folder / "vocab.txt"
    Vocabulary([*dict.fromkeys([*sample_vocabulary(), "##b", "##bb", "\u2028"])], True).write(vocab_file)
    specs = [tf.TensorSpec((1, LENGTH), tf.int32, name=name) for name in ENCODER_INPUTS]

    @tf.function(input_signature=specs)
    def echo(input_ids, input_mask, segment_ids):
        return {"embedding": tf.cast(in_one(input_ids, input_mask, segment_ids), tf.float32)}

    module = tf.Module()
    module.echo = echo
    tf.saved_model.save(module, folder / "model", signatures={"serving_default": echo})
    content = tf.lite.TFLiteConverter.from_saved_model(str(folder / "model")).convert()
    file = folder / "echo.tflite"
    file.write_bytes(mediapipe_content(content, "echo", "embedding", {"vocab.txt": vocab_file.read_bytes()}))
    return file, vocab_file


def in_one(input_ids, input_mask, segment_ids):
    """The three inputs as one number for each place; the vocabulary has fewer than 1,000 pieces."""
    return input_ids + 1000 * input_mask + 2000 * segment_ids


def ids_of(file, texts, folder):
    """MediaPipe's inputs of each text, int32 (texts, LENGTH), see `in_one`."""
    ((_, numbers),) = ask_mediapipe([(file, "TextEmbedder", texts)], folder)
    return numbers.astype(np.int32)


def by_the_rules(vocab_file, texts):
    return in_one(**MediaPipeTokenizer(Vocabulary.from_file(vocab_file, True), LENGTH)(texts))


def test_texts_of_every_kind(inputs_as_vector, tmp_path):
    file, vocab_file = inputs_as_vector
    rng = random.Random(7)
    drawn = ["".join(rng.choices(POOL + "abc  ", k=rng.randrange(24))) for _ in range(1500)]
    texts = [*TEXTS, *(row[0] for row in TRICKY), *LENGTHS, *ENDS, *fuzzed.LITERALS, *drawn]
    found, expected = ids_of(file, texts, tmp_path), by_the_rules(vocab_file, texts)
    differing = np.flatnonzero((found != expected).any(axis=1))
    assert [ascii(texts[row]) for row in differing] == []
    assert (expected % 1000 > 4).sum() > 2000, "pieces are found, too"


def test_every_character_between_two_letters(inputs_as_vector, tmp_path):
    """`a?b` is one unknown word, three words, two words, or shorter, as the character stands to words."""
    file, vocab_file = inputs_as_vector
    words = (f"a{chr(code)}b" for code in range(1, 0x110000) if _is_asked(code))
    parts = iter(lambda: list(itertools.islice(words, CHARACTERS_PER_TEXT)), [])
    texts = [" ".join(part) for part in parts]
    found, expected = ids_of(file, texts, tmp_path), by_the_rules(vocab_file, texts)
    differing = np.flatnonzero((found != expected).any(axis=1))
    alone = [word for row in differing for word in texts[row].split(" ")]
    one_each = ids_of(file, alone, tmp_path), by_the_rules(vocab_file, alone)
    others = [word[1:-1] for word, *ids in zip(alone, *one_each, strict=True) if (ids[0] != ids[1]).any()]
    assert {unicodedata.category(one) for one in others} <= {"Cn"}, "not assigned in this Python's Unicode"
    assert len(others) < 100


def _is_asked(code):
    """All that this Python knows; of private and of unassigned ones every tenth."""
    category = unicodedata.category(chr(code))
    return category != "Cs" and (category not in ("Cn", "Co") or code % 10 == 0)
