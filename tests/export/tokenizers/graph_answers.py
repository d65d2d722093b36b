"""What the tokenizer in the graph answers, in the form of languages.py, and the texts to ask it."""

import random

import tensorflow as tf

from kbert.tokenization.text_inputs import TextInputs
from kbert.tokenization.word_splitter import split_words
from tests.export.tokenizers.languages import LENGTHS
from tests.kbert.tokenization import texts as kinds

# Each character in company: between letters; what makes a sigma final or not; marks around it that NFD
# puts into another order. The first three meet every rule.
CASED_TEMPLATES = ("a{}B",)
UNCASED_TEMPLATES = (
    "A{}Σ",
    "AΣ{}b",
    "a\U0001d16d{}\U0001d165",
    "A{}B",
    "{}Σ",
    "AΣ{}",
    "a\U0001d165\u1715{}\u302e\u0301",
)
_CHUNKS_PER_TEXT = 500


def words(texts, do_lower_case, **rules) -> list[str]:
    """The words of each text, joined by spaces."""
    split = split_words(_tensor(texts), do_lower_case, **rules)
    joined = tf.strings.reduce_join(split, axis=-1, separator=" ")
    return [text.decode("utf-8") for text in joined.numpy().tolist()]


def rows(vocabulary, texts, pairs=None) -> list[list[list[int]]]:
    """input_ids, input_mask and segment_ids of each, in the shortest of LENGTHS that has room."""
    second = None if pairs is None else _tensor(pairs)
    inputs = TextInputs(vocabulary, LENGTHS[-1])(_tensor(texts), second)
    found = []
    for ids, mask, segments in zip(*(value.numpy().tolist() for value in inputs.values()), strict=True):
        length = next(n for n in LENGTHS if n >= sum(mask))
        found.append([ids[:length], mask[:length], segments[:length]])
    return found


def character_texts(characters, template) -> list[str]:
    """The template for each character, with spaces between: no rule joins text across them."""
    chunks = [template.replace("{}", character) for character in characters]
    return [
        " ".join(chunks[start : start + _CHUNKS_PER_TEXT])
        for start in range(0, len(chunks), _CHUNKS_PER_TEXT)
    ]


def random_texts(number, seed) -> list[str]:
    """Texts of characters on which tokenizers disagree, of any others, and of words around the longest."""
    rng = random.Random(seed)
    groups = (
        "abc ",
        kinds.LETTERS,
        kinds.BREAKS + kinds.INVISIBLE,
        kinds.MARKS + kinds.PUNCTUATION,
        kinds.EDGES,
    )

    def part():
        if rng.random() < 0.05:
            return rng.choice([*kinds.LITERALS, *kinds.LONG_WORDS])
        group = rng.choice([*groups, None])
        return chr(_any_code(rng)) if group is None else rng.choice(group)

    return ["".join(part() for _ in range(rng.randrange(24))) for _ in range(number)]


def _any_code(rng):
    code = rng.choice([rng.randrange(0x3000), rng.randrange(0x20000), rng.randrange(0x110000)])
    return code if not 0xD800 <= code < 0xE000 else 0x3A3


def _tensor(texts):
    return tf.constant([text.encode("utf-8", "surrogatepass") for text in texts], tf.string)
