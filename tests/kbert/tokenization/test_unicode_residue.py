"""Every character of Unicode: the graph splits it as the original does, but for a residue that is computed.

The residue is what this Python's and TensorFlow's own tables disagree on. Nothing here says how large it is:
another Python or TensorFlow has another one.
"""

import json
import os
import unicodedata

import pytest
import tensorflow as tf

from kbert.tokenization.python.word_splitter import split_words as split_in_python
from kbert.tokenization.word_splitter import split_words
from tests import warm_processes
from tests.kbert.tokenization import reference_tokenizer
from tests.kbert.tokenization.unicode_residue import all_characters, residue


def differing_characters(characters, template, do_lower_case):
    """The characters whose texts the graph does not split as the reference does."""
    texts = [template.replace("{}", character) for character in characters]
    words = split_words(tf.constant([text.encode("utf-8") for text in texts]), do_lower_case).to_list()
    rows = zip(characters, texts, words, strict=True)
    return {
        character
        for character, text, got in rows
        if [word.decode("utf-8") for word in got] != reference_tokenizer.split_words(text, do_lower_case)
    }


def a_sample():
    """A third of the first plane's small scripts, all of the residue, and a part of the rest."""
    characters = [c for c in all_characters() if ord(c) % (3 if ord(c) < 0x3400 else 311) == 0]
    return sorted({*characters, *residue().uncased})


def test_a_sample_of_characters_splits_as_in_the_original():
    assert differing_characters(a_sample(), "a{}B", do_lower_case=True) == residue().alone
    assert differing_characters(a_sample(), "a{}B", do_lower_case=False) == residue().cased


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("do_lower_case", [True, False], ids=["uncased", "cased"])
def test_every_character_splits_as_in_the_original(do_lower_case):
    expected = residue().alone if do_lower_case else residue().cased
    assert differing_characters(all_characters(), "a{}B", do_lower_case) == expected


@pytest.mark.parametrize("template", ["AΣ{}", "A{}Σ b", "aΣ{}B", "e\u0323{}\u0301\u0334", "的{}的"])
def test_company_makes_a_difference_for_the_residue_only(template):
    assert differing_characters(a_sample(), template, do_lower_case=True) <= residue().uncased


def test_the_residue_is_as_new_as_the_tables():
    """Characters that have been the same since Unicode 3.2, of 2002, are not in doubt."""
    for character in residue().uncased:
        since_2002 = unicodedata.ucd_3_2_0.category(character)
        assert since_2002 in ("Cn", "Co") or since_2002 != unicodedata.category(character), ascii(character)


def test_the_residue_is_a_thousandth_of_the_assigned_characters_at_most():
    """A mistake in computing it, such as a wrong class, would make it swallow the tests above."""
    assigned = sum(unicodedata.category(character) not in ("Cn", "Co") for character in all_characters())
    in_doubt = sum(unicodedata.category(character) != "Cn" for character in residue().alone)
    assert in_doubt * 1000 < assigned


@pytest.mark.long
@pytest.mark.parametrize("locale", ["tr_TR.UTF-8", "lt_LT.UTF-8"])
def test_lower_case_is_not_that_of_the_machines_language(locale):
    """ICU reads the variable once in a process; the locale need not be installed."""
    lines = ["İstanbul ISPARTA IĞDIR", "Ì Í Ĩ Į J\u0301 Į\u0301", "İ İΣ Éclair İ\u0301"]
    module, environment = "tests.kbert.tokenization.lowered_words", os.environ | {"LC_ALL": locale}
    answered = warm_processes.run_script(module, *lines, environment=environment)
    assert answered.returncode == 0, answered.stderr
    expected = [split_in_python(line, do_lower_case=True, strip_accents=False) for line in lines]
    assert json.loads(answered.stdout) == expected
