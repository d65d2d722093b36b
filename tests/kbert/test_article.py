"""The article before a name."""

import pytest

from kbert.article import with_article


@pytest.mark.parametrize(
    ("noun", "expected"),
    [
        ("encoder", "an encoder"),
        ("pretraining", "a pretraining"),
        ("AlbertModel", "an AlbertModel"),
        ("'GemmaBackbone'", "a 'GemmaBackbone'"),
        ("'ElectraModel'", "an 'ElectraModel'"),
        ("", "a "),
    ],
)
def test_a_vowel_takes_an(noun, expected):
    assert with_article(noun) == expected
