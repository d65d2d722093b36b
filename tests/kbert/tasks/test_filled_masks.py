"""Masks of byte-level BPE and SentencePiece, whose tokens say whether a blank stands before them."""

import numpy as np
import tensorflow as tf

from kbert.tasks.pretraining.filled_masks import best_tokens, candidate_probabilities
from kbert.tokenization.base_vocabulary import BERT_TOKENS
from kbert.tokenization.sentencepiece.sentencepiece_vocabulary import SentencePieceVocabulary
from kbert.tokenization.text_inputs import TextInputs
from kbert.tokenization.vocabulary import Vocabulary
from tests.kbert.tokenization.small_vocabularies import bpe_vocabulary, sentencepiece_model

VOCABULARY = bpe_vocabulary([("h", "e"), ("Ġ", "t"), ("Ġt", "he"), ("t", "he"), ("i", "n")])
TEXT_INPUTS = TextInputs(VOCABULARY, 24)
LOGITS = np.arange(len(VOCABULARY), dtype=np.float32) / 20
LOG_PROBABILITIES = LOGITS - np.logaddexp.reduce(LOGITS)


def model(inputs, training):
    """Says the same at each mask, and something else of each token: the larger its id, the more probable."""
    batch, masks = tf.unstack(tf.shape(inputs["masked_lm_positions"]))
    return {"masked_lm_logits": tf.tile(tf.constant(LOGITS)[None, None], [batch, masks, 1])}


def test_a_candidate_has_the_tokens_of_the_filled_text():
    texts = ["<mask> in", "the <mask>.", "(<mask>)", "in\u3000<mask>", "in-<mask> in"]
    words = ["the", "he", "hin", "thein"]
    answer = candidate_probabilities(
        model, TEXT_INPUTS, tf.constant(texts), tf.constant([words] * len(texts))
    )
    masked = TEXT_INPUTS.tokenizer.tokenize_with_masks(tf.constant(texts)).to_list()
    for row, (text, with_mask) in enumerate(zip(texts, masked, strict=True)):
        before = with_mask.index(VOCABULARY.mask_id)
        filled = [text.replace("\u3000", " ").replace("<mask>", word) for word in words]
        for index, tokens in enumerate(TEXT_INPUTS.tokenizer(tf.constant(filled)).to_list()):
            pieces = tokens[before : before + len(tokens) - len(with_mask) + 1]
            assert answer["num_tokens"][row, index] == len(pieces)
            expected = np.exp(LOG_PROBABILITIES[pieces].mean())
            np.testing.assert_allclose(answer["probabilities"][row, index], expected, rtol=1e-5)


def test_whole_words_where_a_text_begins_have_no_blank():
    rows, _ = TEXT_INPUTS.rows(tf.constant(["<mask> in <mask>", "in"]), with_masks=True)
    answer = best_tokens(model, VOCABULARY, rows, 1, tf.constant(True))
    assert answer["tokens"][0].numpy().tolist() == [[b"the"], [b"the"]]
    # "in" is no word anywhere, as there is no token "Ġin".
    expected = np.exp(LOG_PROBABILITIES[[VOCABULARY.ids["the"], VOCABULARY.ids["Ġthe"]]])
    np.testing.assert_allclose(answer["probabilities"][0, :, 0], expected, rtol=1e-5)


def test_a_candidate_may_be_a_token_that_continues_a_word():
    """As `best_tokens` writes it."""
    tokens = [*BERT_TOKENS, "#", "walk", "##ing", "ing", "##ed"]
    words = ["##ing", "ing", "", "##ed", "#", "##zz", "walking"]
    pieces = [["##ing"], ["ing"], [], ["##ed"], ["#"], [], ["walk", "##ing"]]
    inputs = TextInputs(Vocabulary(tokens, do_lower_case=True), 24)
    answer = candidate_probabilities(model, inputs, tf.constant(["walk[MASK]"] * 2), tf.constant([words] * 2))
    logits = LOGITS[: len(tokens)]
    for row in range(2):
        assert answer["num_tokens"][row].numpy().tolist() == [*map(len, pieces)]
        for probability, own in zip(answer["probabilities"][row].numpy(), pieces, strict=True):
            mean = np.mean([logits[tokens.index(piece)] for piece in own]) if own else -np.inf
            expected = np.exp(mean - np.logaddexp.reduce(logits))
            np.testing.assert_allclose(probability, expected, rtol=1e-5)


CHINESE = ("我在北京工作。", "北京很大。", "北京 在 上海 很大", "他们在上海工作 (the house)", "the house")
PIECES = SentencePieceVocabulary(sentencepiece_model(texts=CHINESE))


def test_a_candidate_of_sentencepiece_has_the_mark_of_a_space_where_a_text_has_one():
    texts = ["<mask>很大", "我在<mask>工作。", "(<mask>)", "在 <mask>", "在\u3000<mask>"]
    words = ["北京", "house", "\ue000house", ""]
    answer = candidate_probabilities(
        model, TextInputs(PIECES, 24), tf.constant(texts), tf.constant([words] * len(texts))
    )
    logits = LOGITS[: len(PIECES)]
    for row, behind_space in enumerate([True, False, False, True, True]):
        expected = [["▁北京"], ["▁house"]] if behind_space else [["北京"], [*"house"]]
        assert answer["num_tokens"][row].numpy().tolist() == [*map(len, expected), 0, 0]  # unknown, empty
        for found, pieces in zip(answer["probabilities"][row].numpy(), expected, strict=False):
            mean = logits[[PIECES.ids[piece] for piece in pieces]].mean() - np.logaddexp.reduce(logits)
            np.testing.assert_allclose(found, np.exp(mean), rtol=1e-5)


def test_pieces_of_scripts_without_blanks_are_whole_words():
    rows, _ = TextInputs(PIECES, 24).rows(tf.constant(["我在<mask>工作。"]), with_masks=True)
    answer = best_tokens(model, PIECES, rows, 6, tf.constant(True))
    expected = [token for token in PIECES.tokens if token[0] in "▁他们我在上海工作很大北京"][:-7:-1]
    assert expected[:3] == ["我", "们", "他"]
    assert [token.decode() for token in answer["tokens"][0, 0].numpy()] == [
        PIECES.as_text(token) for token in expected
    ]
