"""Python and Kotlin beside the graph: the same words for every character, the same rows."""

import functools

import numpy as np
import pytest
import tensorflow as tf

from export.tokenizers.exported_vocabulary import exported_vocabulary
from kbert.checkpoints.hugging_face.tokenizer_wordpiece import MPNET_TOKENS
from kbert.tokenization.python.text_inputs import TextInputs
from kbert.tokenization.text_inputs import TextInputs as GraphTextInputs
from kbert.tokenization.vocabulary import Vocabulary
from tests.export.tokenizers import graph_answers
from tests.export.tokenizers.languages import LANGUAGES, Language, write_export
from tests.kbert.tokenization.sample_texts import TEXTS
from tests.kbert.tokenization.test_golden_ids import sample_vocabulary
from tests.kbert.tokenization.test_word_splitter import OTHER_RULES

each_language = pytest.mark.parametrize("language", LANGUAGES)
each_casing = pytest.mark.parametrize("do_lower_case", [True, False], ids=["uncased", "cased"])
SURROGATES = ["a\ud800b \udfff", "Σ\ud83d", "\udc00"]


@functools.cache
def characters(every: int) -> list[str]:
    """All of the small scripts of the first plane, and every so many of the rest."""
    codes = (c for c in range(0x110000) if c < 0x3400 or c % every == 0)
    return [chr(code) for code in codes if not 0xD800 <= code < 0xE000]


@functools.cache
def graph_words(template, do_lower_case, every):
    """The texts of all characters, and the graph's words."""
    texts = graph_answers.character_texts(characters(every), template)
    return texts, graph_answers.words(texts, do_lower_case)


@pytest.fixture
def ask(language, do_lower_case, tmp_path):
    vocab_txt = "".join(f"{token}\n" for token in sample_vocabulary())
    return Language(language, write_export(vocab_txt, do_lower_case, tmp_path))


def check_characters(ask, do_lower_case, every, most_templates):
    all_templates = graph_answers.UNCASED_TEMPLATES if do_lower_case else graph_answers.CASED_TEMPLATES
    templates = all_templates[:most_templates]
    texts, expected = [], []
    for template in templates:
        some, words = graph_words(template, do_lower_case, every)
        texts += some
        expected += words
    assert sum(map(len, texts)) > 3 * len(characters(every)) * len(templates)
    require_equal(ask.words(texts), expected)


def require_equal(received, expected):
    """As assert, but names the first difference alone: pytest would compare megabytes."""
    for row, (got, wanted) in enumerate(zip(received, expected, strict=True)):
        if got != wanted:
            pairs = zip(got.split(), wanted.split(), strict=False)
            first = next((pair for pair in pairs if pair[0] != pair[1]), (got[-40:], wanted[-40:]))
            pytest.fail(f"text {row}: {ascii(first[0])}, the graph has {ascii(first[1])}")


@each_casing
@each_language
def test_a_sample_of_characters_splits_as_in_the_graph(ask, do_lower_case):
    check_characters(ask, do_lower_case, every=499, most_templates=7)


@pytest.mark.slow
@pytest.mark.long
@each_casing
@pytest.mark.parametrize("language", ["kotlin"])
def test_every_character_splits_as_in_the_graph(ask, do_lower_case):
    """Python's splitter knows characters by the tables alone, which test_tables.py compares whole."""
    check_characters(ask, do_lower_case, every=1, most_templates=3)


@each_casing
@each_language
def test_random_texts_split_as_in_the_graph(ask, do_lower_case):
    texts = [*TEXTS, *SURROGATES, *graph_answers.random_texts(2000, seed=5)]
    require_equal(ask.words(texts), graph_answers.words(texts, do_lower_case))


@pytest.mark.parametrize("rules", OTHER_RULES.values(), ids=OTHER_RULES)
@each_language
def test_texts_split_by_other_rules_as_in_the_graph(language, rules, tmp_path):
    """A sample of characters, random texts, and words around the limit."""
    rules = rules | {"max_input_chars_per_word": 100}
    vocabulary = Vocabulary([*sample_vocabulary()], **rules)
    ask = Language(
        language, write_export("".join(f"{t}\n" for t in sample_vocabulary()), folder=tmp_path, **rules)
    )
    texts = [*TEXTS, *SURROGATES, *graph_answers.random_texts(500, seed=7)]
    texts += graph_answers.character_texts(characters(499), graph_answers.UNCASED_TEMPLATES[0])
    require_equal(ask.words(texts), graph_answers.words(texts, **vocabulary.rules.splitting))
    texts = [*(f"{letter * number} b" for letter in "aé的" for number in (99, 100, 101, 200, 201)), *TEXTS]
    assert ask.rows(texts) == graph_answers.rows(vocabulary, texts)


@each_casing
@each_language
def test_rows_are_the_graphs(ask, do_lower_case):
    """Texts and pairs of all lengths, cut and not, in the signature that has room."""
    vocabulary = Vocabulary(sample_vocabulary(), do_lower_case)
    texts = [*TEXTS, *graph_answers.random_texts(300, seed=6), *("a " * n for n in range(36))]
    pairs = [*texts[7:], *texts[:7]]
    expected = graph_answers.rows(vocabulary, texts)
    assert ask.rows(texts) == expected
    assert {len(ids) for ids, _, _ in expected} == {8, 16, 32}
    assert sum(id != vocabulary.unk_id for ids, _, _ in expected for id in ids) > 3000
    assert ask.rows(texts, pairs) == graph_answers.rows(vocabulary, texts, pairs)


def test_rows_of_mpnet_are_the_graphs_in_python(tmp_path):
    """Its vocabulary holds BERT's special tokens too, as words that nothing uses."""
    tokens = [*MPNET_TOKENS, *(token for token in sample_vocabulary() if token not in MPNET_TOKENS)]
    vocabulary = Vocabulary(tokens, True, special_tokens=MPNET_TOKENS)
    folder = write_export("".join(f"{token}\n" for token in tokens), True, tmp_path, MPNET_TOKENS)
    texts = [*TEXTS, "a " * 40]
    pairs = [*texts[3:], *texts[:3]]
    mine, theirs = TextInputs(exported_vocabulary(folder), 16), GraphTextInputs(vocabulary, 16)
    for second in (None, pairs):
        expected, expected_cut = theirs.rows(
            tf.constant(texts), None if second is None else tf.constant(second)
        )
        rows, cut = mine.rows(texts, second)
        for name, values in rows.items():
            np.testing.assert_array_equal(values, expected[name], err_msg=name)
        np.testing.assert_array_equal(cut, expected_cut)
        assert cut.any() and not cut.all()
    for make in (TextInputs, GraphTextInputs):
        with pytest.raises(ValueError, match="max_seq_length=4 is too short; it must be at least 5"):
            make(vocabulary, 4)
