"""Files that make no tokenizer are refused in every language, in a sentence that says what is missing."""

import json
import re

import pytest

from kbert.checkpoints.hugging_face.tokenizer_wordpiece import MPNET_TOKENS
from kbert.tokenization.base_vocabulary import SpecialTokens
from tests.export.tokenizers.languages import LANGUAGES, Language, refusal, write_export

TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "play", "##ing"]

each_language = pytest.mark.parametrize("language", LANGUAGES)


def text_of(tokens):
    return "".join(f"{token}\n" for token in tokens)


@each_language
def test_files_that_make_no_tokenizer_are_refused(language, tmp_path):
    cases = {
        text_of(TOKENS[:3] + TOKENS[4:]): r"lacks the special tokens \[SEP\]; a BERT vocabulary has",
        text_of(["play"]): r"lacks the special tokens \[PAD\], \[UNK\], \[CLS\], \[SEP\]",
        text_of([*TOKENS, "play"]): "line 6 and again on line 8; each token|is not the vocabulary",
        text_of([*TOKENS, " \r", "a"]): "line 8 is empty; expected one WordPiece a line",
    }
    for number, (vocab_txt, sentence) in enumerate(cases.items()):
        said = refusal(language, write_export(vocab_txt, True, tmp_path / str(number)))
        assert re.search(sentence, said), said


@each_language
def test_lines_of_a_vocabulary_end_and_are_stripped_as_in_the_original(language, tmp_path):
    """A byte order mark, Windows's line ends, spaces, a token of white space, no end of the last line."""
    vocab_txt = "\ufeff[PAD]\r\n[UNK]\n [CLS]\t\n[SEP]\n[MASK]\n\u2028\nplay\x85\n##\u00a0ing\n\u3000##ed"
    ask = Language(language, write_export(vocab_txt, True, tmp_path))
    assert ask.ids(["Played", "play ing ##ed", "\u2028"]) == [[6, 8], [6, 1, 1, 1, 1], []]


@each_language
def test_a_casing_that_is_not_there_is_not_guessed(language, tmp_path):
    folder = write_export(text_of(TOKENS), True, tmp_path)
    for about in ({"task": "x"}, {"vocabulary": {"do_lower_case": "true"}}, {"vocabulary": {}}):
        (folder / "kbert.json").write_text(json.dumps(about))
        assert "kbert.json does not say the casing" in refusal(language, folder)


@each_language
def test_a_list_of_one_special_token_is_refused(language, tmp_path):
    folder = write_export(text_of(TOKENS), True, tmp_path)
    (folder / "kbert.json").write_text('{"vocabulary": {"do_lower_case": true, "special_tokens": ["a"]}}')
    assert "special" in refusal(language, folder)


@each_language
def test_a_vocabulary_of_another_export_is_refused(language, tmp_path):
    folder = write_export(text_of(TOKENS), True, tmp_path)
    (folder / "vocab.txt").write_text(text_of([*TOKENS, "more"]), encoding="utf-8")
    said = refusal(language, folder)
    assert re.search("is not the vocabulary that was written|has 8 tokens, but .* describes 7", said), said


def test_a_vocabulary_in_another_order_is_refused(tmp_path):
    folder = write_export(text_of(TOKENS), True, tmp_path)
    (folder / "vocab.txt").write_text(text_of([*TOKENS[:5], *TOKENS[:4:-1]]), encoding="utf-8")
    assert "is not the vocabulary that was written there" in refusal("python", folder)


@pytest.mark.parametrize("language", ["kotlin"])
def test_the_special_tokens_of_mpnet_are_refused(language, tmp_path):
    """With brackets, quotes and backslashes in them the list still ends where it ends."""
    for number, tokens in enumerate([MPNET_TOKENS, ['[PAD]"]', "[UNK]\\", "[CLS]", "[SEP]", "[MASK]"]]):
        special = SpecialTokens(*tokens)
        folder = write_export(text_of([*special, *TOKENS]), True, tmp_path / str(number), special)
        said = refusal(language, folder)
        assert "kbert.json names other special tokens than BERT's" in said
        assert json.dumps(special[-1]) in said
