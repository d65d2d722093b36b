"""A SavedModel that answers with offsets: stock TensorFlow Serving knows its ops, and a session runs it."""

import pytest
import tensorflow as tf

from export.gate.op_gate import check_servable
from export.gate.session_check import run_signature
from kbert.tokenization.vocabulary import Vocabulary
from kbert.tokenization.word_offsets import split_words_with_offsets
from kbert.tokenization.wordpiece_tokenizer import WordPieceTokenizer
from tests.kbert.tokenization.texts import vocabulary_tokens

TEXT = tf.TensorSpec([None], tf.string, name="text")
TEXTS = ["Cafe\u0301 of 한국\u200b", "", " \u0301", "的\U000e0100 x\xad\xady İ", "A" * 201]


class Offsets(tf.Module):
    """Text -> pieces and words with their places, padded with -1 and empty words."""

    def __init__(self, do_lower_case):
        super().__init__()
        self.tokenizer = WordPieceTokenizer(Vocabulary(vocabulary_tokens(), do_lower_case))

    @tf.function(input_signature=[TEXT])
    def pieces(self, text):
        pieces = self.tokenizer.with_offsets(text)
        return {name: field.to_tensor(-1) for name, field in pieces._asdict().items()}

    @tf.function(input_signature=[TEXT])
    def words(self, text):
        words = split_words_with_offsets(text, self.tokenizer.vocabulary.do_lower_case)
        return {name: field.to_tensor() for name, field in words._asdict().items()}


@pytest.mark.slow
def test_signatures_with_offsets_pass_the_gate_and_answer_in_a_session(tmp_path):
    module = Offsets(do_lower_case=True)
    folder = str(tmp_path / "1")
    tf.saved_model.save(module, folder, {"pieces": module.pieces, "words": module.words})

    assert check_servable(folder)["text_ops"] == ["FastWordpieceTokenizeWithOffsets", "NormalizeUTF8"]
    texts = [text.encode("utf-8") for text in TEXTS]
    for name in ("pieces", "words"):
        answer = run_signature(folder, name, {"text": texts})
        expected = getattr(module, name)(tf.constant(texts))
        assert {key: value.tolist() for key, value in answer.items()} == {
            key: value.numpy().tolist() for key, value in expected.items()
        }
    empty = run_signature(folder, "pieces", {"text": []})
    assert {value.shape for value in empty.values()} == {(0, 0)}
