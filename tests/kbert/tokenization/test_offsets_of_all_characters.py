"""Every character of Unicode, alone and in company: places in the graph are those of the reference.

But for the characters that the tables of Python and TensorFlow see differently (unicode_residue.py).
"""

import pytest
import tensorflow as tf

from tests.kbert.tokenization.test_offsets import (
    both_casings,
    expected_pieces,
    make_rows,
    tensor_of,
    tokenizers,
)
from tests.kbert.tokenization.unicode_residue import all_characters, residue

pytestmark = pytest.mark.slow

TEMPLATES = ["{}", "a{}B", "e{}", "{}b", "的{} 한{}", "e\u0301{}\u200d\u0323{}"]
ROWS_PER_BATCH = 20_000


def known_characters():
    return [character for character in all_characters() if character not in residue().uncased]


def a_sample():
    """All of the first plane's small scripts, and a part of the rest."""
    return [
        character for character in known_characters() if ord(character) < 0x3400 or ord(character) % 61 == 0
    ]


def texts_with_other_places(texts, do_lower_case):
    """The texts of which the graph and the reference do not say the same, of pieces or of words."""
    different = []
    for first in range(0, len(texts), ROWS_PER_BATCH):
        batch = texts[first : first + ROWS_PER_BATCH]
        pieces = make_rows(tokenizers[do_lower_case].with_offsets(tensor_of(batch)))
        different += differing(batch, pieces, expected_pieces(batch, do_lower_case))
    return different


def differing(texts, received, expected):
    return [ascii(text) for text, a, b in zip(texts, received, expected, strict=True) if a != b]


@both_casings
@pytest.mark.parametrize("template", TEMPLATES[1::2], ids=ascii)
def test_a_sample_of_characters_has_the_places_of_the_reference(template, do_lower_case):
    texts = [template.replace("{}", character) for character in a_sample()]
    assert texts_with_other_places(texts[::3], do_lower_case) == []


@pytest.mark.exhaustive
@both_casings
@pytest.mark.parametrize("template", TEMPLATES, ids=ascii)
def test_every_character_has_the_places_of_the_reference(template, do_lower_case):
    texts = [template.replace("{}", character) for character in known_characters()]
    assert len(texts) > 1_100_000
    assert texts_with_other_places(texts, do_lower_case) == []


@both_casings
def test_characters_that_the_tables_see_differently_have_places_as_well(do_lower_case):
    """Which they are is open, but the ids are those of a plain call and no count goes wrong."""
    for template in TEMPLATES:
        texts = tensor_of([template.replace("{}", character) for character in sorted(residue().uncased)])
        pieces = tokenizers[do_lower_case].with_offsets(texts)
        assert pieces.ids.to_list() == tokenizers[do_lower_case](texts).to_list()
        lengths = tf.gather(tf.strings.length(texts, unit="UTF8_CHAR"), pieces.ids.value_rowids())
        assert tf.reduce_all((0 <= pieces.starts.values) & (pieces.starts.values < pieces.ends.values))
        assert tf.reduce_all(pieces.ends.values <= lengths)
