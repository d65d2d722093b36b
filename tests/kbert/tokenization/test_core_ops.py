"""Ops of TensorFlow's core tokenize as TF-Text's do: all characters, marks in any order, long words."""

import random

import pytest
import tensorflow as tf

from kbert.tokenization.core_ops.wordpiece_automaton import END, INNER, START, build_automaton
from kbert.tokenization.text_ops import core_ops, import_tf_text, sentencepiece_ops
from kbert.tokenization.vocabulary import Vocabulary
from kbert.tokenization.word_splitter import split_words
from kbert.tokenization.wordpiece_tokenizer import WordPieceTokenizer
from tests.kbert.tokenization.texts import vocabulary_tokens

needs_tf_text = pytest.mark.skipif(import_tf_text() is None, reason="TF-Text cannot be imported")
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
# Marks that lower-casing keeps (musical, Hangul's tones), characters that decompose to some, and accents.
MARKS = "\U0001d165\U0001d16d\U0001d166\u302e\u302f\U00016ff0\U0001d160\U0001d1bb\u0301\u0323\u0345\u034f"
LETTERS = "aéßΣσσ 한각ệ\u0958\u0b94,"


def assert_same_words(texts):
    batch = tf.constant([text.encode("utf-8") for text in texts])
    expected = joined_words(batch)
    with core_ops():
        words = joined_words(batch)
    assert [text for text, *pair in zip(texts, expected, words, strict=True) if pair[0] != pair[1]] == []


def joined_words(batch):
    """A string for each text: its words with a space between, which no word has in it."""
    words = split_words(batch, do_lower_case=True)
    return tf.strings.reduce_join(words, axis=-1, separator=" ").numpy().tolist()


@needs_tf_text
@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("company", ["{}", "a{}b", "{}Σ", "\U0001d16d{}\U0001d165", "{}\u0301\u302e\u0323x"])
def test_every_character_in_company_decomposes_alike(company):
    company = [company.replace("{}", chr(code)) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    assert_same_words([" ".join(company[start : start + 500]) for start in range(0, len(company), 500)])


@needs_tf_text
def test_marks_in_any_order_are_sorted_alike_and_not_across_texts():
    rng = random.Random(3)
    texts = ["".join(rng.choices(MARKS + LETTERS, k=rng.randint(0, 12))) for _ in range(20_000)]
    assert_same_words(texts)
    assert_same_words(["a\U0001d16d", "\U0001d165b"])


@needs_tf_text
def test_words_of_random_pieces_have_the_same_ids_and_offsets():
    """Most of them are no pieces, so the automaton reads them; some have a character that no piece has."""
    rng = random.Random(5)
    pieces = {"".join(rng.choices("abcd", k=rng.randint(1, 6))) for _ in range(120)}
    tokens = [*SPECIAL, *sorted(pieces), *(f"##{piece}" for piece in rng.sample(sorted(pieces), 60))]
    tokenizer = WordPieceTokenizer(Vocabulary(tokens, do_lower_case=False))
    words = ["".join(rng.choices("abcde", (40, 40, 40, 40, 1), k=rng.randint(1, 210))) for _ in range(3000)]
    texts = tf.constant([" ".join(words[start : start + 7]) for start in range(0, len(words), 7)])
    expected = tokenizer.with_offsets(texts)
    with core_ops():
        received = tokenizer.with_offsets(texts)
    assert len(set(expected.ids.flat_values.numpy())) > 100
    assert [field.to_list() for field in received] == [field.to_list() for field in expected]


def test_the_automaton_is_that_of_the_papers_example():
    """Song et al., figure 1 and table 1: a, abcdx, ##b, ##c, ##cdy, ##dz."""
    tokens = ["[UNK]", "a", "abcdx", "##b", "##c", "##cdy", "##dz"]
    automaton = build_automaton(tokens, unknown_id=0)

    def follow(node, text):
        for character in text:
            (edge,) = (automaton.edges == (node << 21 | ord(character))).nonzero()[0]
            node = int(edge) + 2
        return node

    def pops(node):
        return [tokens[i] for i in automaton.pops[slice(*automaton.pop_splits[[node, node + 1]])]]

    expected = {  # node -> failure link, failure pops
        (START, "a"): ((INNER, ""), ["a"]),
        (START, "ab"): ((INNER, "b"), ["a"]),
        (START, "abc"): ((INNER, "c"), ["a", "##b"]),
        (START, "abcd"): ((INNER, "cd"), ["a", "##b"]),
        (START, "abcdx"): ((INNER, ""), ["abcdx"]),
        (INNER, "b"): ((INNER, ""), ["##b"]),
        (INNER, "c"): ((INNER, ""), ["##c"]),
        (INNER, "cd"): ((INNER, "d"), ["##c"]),
        (INNER, "cdy"): ((INNER, ""), ["##cdy"]),
        (INNER, "dz"): ((INNER, ""), ["##dz"]),
    }
    for (root, text), (link, popped) in expected.items():
        node = follow(root, text)
        assert automaton.failures[node] == follow(*link) and pops(node) == popped, text
    for node in (START, INNER, follow(INNER, "d")):
        assert automaton.failures[node] == END and pops(node) == ["[UNK]"]


@pytest.mark.usefixtures("both_text_ops")
def test_no_words_and_words_that_are_all_pieces():
    tokenizer = WordPieceTokenizer(Vocabulary(vocabulary_tokens(), do_lower_case=True))
    assert tokenizer(tf.constant([], tf.string)).to_list() == []
    assert tokenizer(tf.constant(["", " "])).to_list() == [[], []]
    assert tokenizer.tokens(tokenizer(tf.constant(["a , a"])).to_list()[0]) == ["a", ",", "a"]


def test_a_sentencepiece_model_is_refused_without_tf_text():
    with (
        core_ops(),
        pytest.raises(ValueError, match="needs the ops of TF-Text: .* leave --text_ops=core out"),
    ):
        sentencepiece_ops()
