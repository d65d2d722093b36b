"""What tokens prove of their casing: real vocabularies, scripts without capitals, a few and many tokens."""

import pytest

from kbert.checkpoints.google_vocabulary import read_vocab_file
from kbert.tokenization.base_vocabulary import BERT_TOKENS
from kbert.tokenization.casing import casing_contradiction, casing_shown, cut_by_others
from kbert.tokenization.vocabulary import Vocabulary, read_pieces
from kbert.tokenization.wordpiece_rules import WordPieceRules
from tests.places import SHARED_DATA

CHINESE, ARABIC, THAI = "的 是 在 中 国 。", "في من على هذا ، ##ال", "การ ##กา ครบ ##มา และ"
WORDS = "the of and play ##ing ##s house . , 1 2"
# Tokens -> do_lower_case as they prove it, None for nothing.
PROOFS = {
    "capitals": ("The the of and A Paris ##ing", False),
    "no capital in many words": (WORDS, True),
    "Cyrillic": ("дом и не на ##ого", True),
    "Greek": ("και το ##ος", True),
    "Hangul syllables": ("가 나 한국 ##어 .", False),
    "Hangul, decomposed": ("\u1112\u1161\u11ab ##\u1100\u116e\u11a8 .", None),
    "kana with marks": ("が か 東京 。", False),
    "kana without marks": ("か た 東京 。", None),
    "Devanagari": ("अपने में पर ##ोस्ट .", False),
    "Vietnamese": ("của và không Việt ##ng", False),
    "Thai with vowels above": ("กิ ที่ ##มี", False),
    "Thai without": (THAI, None),
    "Chinese": (CHINESE, None),
    "Chinese and a few small letters": (f"{CHINESE} cm kg www", None),
    "Arabic": (ARABIC, None),
    "Arabic and a few cased words": (f"{ARABIC} Google iPhone pm", False),
    "Hebrew": ("של את על ##ים", None),
    "Georgian, whose capitals begin no word": ("და რომ ##ის", None),
    "digits": ("0 1 2 . , [unused0] <s>", None),
    "one word of somebody among many": (f"{WORDS} {' '.join(f'x{n}y' for n in range(90))} COVID", None),
    "Vietnamese without capitals": ("của và không một được nhà ##ng", None),
    "Greek with accents, without capitals": ("και ή είναι από ##ός", None),
    "accents and no capital": ("für über das und haus ist ein der die schön", None),
}


@pytest.mark.parametrize(("tokens", "expected"), PROOFS.values(), ids=PROOFS)
def test_what_tokens_prove(tokens, expected):
    tokens = [*BERT_TOKENS, *tokens.split()]
    assert casing_shown(tokens) is expected
    for declared in (True, False):
        contradiction = casing_contradiction(tokens, WordPieceRules(declared))
        is_certain = contradiction is not None and contradiction.is_certain
        assert is_certain is (expected is (not declared))
        if expected is None and not declared:
            assert contradiction is None


@pytest.mark.parametrize(
    ("name", "expected"),
    [("bert_cased", False), ("bert_multi_cased", False), ("bert_uncased", True), ("bert_chinese", True)],
)
def test_published_vocabularies(name, expected):
    path = SHARED_DATA / "vocab" / name / "vocab.txt"
    if not path.is_file():
        pytest.skip(f"FIDELITY NOT CHECKED: {path} is not here")
    tokens = read_pieces(path)
    assert casing_shown(tokens) is expected
    assert not cut_by_others(tokens, WordPieceRules(expected))


def test_a_cased_chinese_vocabulary_without_capitals_is_said_and_no_proof():
    """bert-base-chinese: do_lower_case=false on the hub, with the tokens that Google's code made uncased."""
    tokens = [*(chr(code) for code in range(0x4E00, 0x4E00 + 900)), *(f"w{n}" for n in range(150))]
    assert casing_shown(tokens) is True
    contradiction = casing_contradiction(tokens, WordPieceRules(do_lower_case=False))
    assert "looks like an uncased vocabulary" in contradiction.sentence and not contradiction.is_certain


def test_accents_without_capitals_are_said_and_no_proof():
    tokens = PROOFS["accents and no capital"][0].split()
    contradiction = casing_contradiction(tokens, WordPieceRules(do_lower_case=True))
    assert "strip_accents=false" in contradiction.sentence and not contradiction.is_certain
    assert casing_contradiction(tokens, WordPieceRules(True, strip_accents=False)) is None
    sentence = casing_contradiction(tokens, WordPieceRules(False, strip_accents=True)).sentence
    assert "do_lower_case=false with strip_accents=true" in sentence


def test_a_vocabulary_alone_is_lower_casing_unless_it_proves_otherwise(tmp_path):
    path = tmp_path / "vocab.txt"
    for tokens, expected in ((WORDS, True), (CHINESE, True), ("가 나 한국", None), ("The A Paris", None)):
        Vocabulary([*BERT_TOKENS, *tokens.split()], False).write(path)
        if expected is None:
            with pytest.raises(ValueError, match="looks like a cased vocabulary; try --nodo_lower_case"):
                read_vocab_file(path, None)
        else:
            assert read_vocab_file(path, None).do_lower_case is expected
        for declared in (True, False):
            assert read_vocab_file(path, declared).do_lower_case is declared


def test_words_that_another_program_cut_are_said(tmp_path, caplog):
    """WoBERT's, by jieba, and those of Japanese BERTs, by MeCab."""
    path = tmp_path / "vocab.txt"
    path.write_text("\n".join([*BERT_TOKENS, *CHINESE.split(), "北京", "##大学"]), encoding="utf-8")
    vocabulary = read_vocab_file(path, True)
    assert "2 of 13 tokens, such as '##大学', are never found" in caplog.text
    assert not cut_by_others(vocabulary.tokens, WordPieceRules(True, tokenize_chinese_chars=False))
    assert not cut_by_others([*vocabulary.tokens, *map(str, range(200))], vocabulary.rules)  # somebody's own
