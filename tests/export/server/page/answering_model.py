"""A tiny SavedModel with a signature for each view of the page; its answers follow from the texts."""

import json

import tensorflow as tf

from kbert.tasks import TASKS
from kbert.tokenization.base_vocabulary import BERT_TOKENS
from kbert.tokenization.vocabulary import Vocabulary

MODEL = "a.model"
LABELS = ["O", "B-<b>long</b>", "L-<b>long</b>"]  # BILOU's; two look like HTML, and must not become it
THRESHOLDS = {"O": 0.25}
TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "<mask>", "play", "##ing", "a", "day", "<", "b", ">", ","]
WORDS = ["sunny", "##ny", "<i>dull</i>", "long"]
_TEXT = tf.TensorSpec([None], tf.string, name="text")
_TEXT_PAIR = tf.TensorSpec([None], tf.string, name="text_pair")


class AnsweringModel(tf.Module):
    @tf.function(input_signature=[_TEXT])
    def classify(self, text):
        probabilities = tf.nn.softmax(_closeness(text))
        label = tf.gather(LABELS, tf.argmax(probabilities, axis=-1))
        truncated = tf.strings.length(text, "UTF8_CHAR") > 100
        return {"probabilities": probabilities, "label": label, "truncated": truncated}

    @tf.function(input_signature=[_TEXT])
    def several(self, text):
        probabilities = tf.sigmoid(_closeness(text))
        thresholds = [THRESHOLDS.get(label, 0.5) for label in LABELS]
        given = tf.where(probabilities >= thresholds, LABELS, "")
        return {
            "probabilities": probabilities,
            "labels": given,
            "truncated": tf.zeros(tf.shape(text), tf.bool),
        }

    @tf.function(
        input_signature=[
            tf.TensorSpec([None], tf.string, name="question"),
            tf.TensorSpec([None], tf.string, name="context"),
        ]
    )
    def ask(self, question, context):
        """The characters from 2 to 2 more than the question has; none where that is behind the context."""
        start = tf.fill(tf.shape(question), 2)
        end = start + tf.strings.length(question, "UTF8_CHAR")
        found = end <= tf.strings.length(context, "UTF8_CHAR")
        start, end = tf.where(found, start, 0), tf.where(found, end, 0)
        answer = tf.strings.substr(context, start, end - start, "UTF8_CHAR")
        score = tf.cast(end, tf.float32) / 4
        return {"answer": answer, "start": start, "end": end, "score": score, "null_odds": 1.0 - score}

    @tf.function(input_signature=[_TEXT])
    def tag(self, text):
        """Words between single spaces. Those with a capital are entities; a second behind one is its last."""
        words = tf.strings.split(text, " ")
        lengths = tf.ragged.map_flat_values(lambda flat: tf.strings.length(flat, "UTF8_CHAR"), words)
        ends = tf.cumsum(lengths.to_tensor() + 1, axis=1) - 1
        starts, is_word = ends - lengths.to_tensor(), lengths.to_tensor() > 0
        capital = tf.strings.regex_full_match(words.to_tensor(""), r"[A-Z<].*")
        behind = tf.pad(capital, [[0, 0], [1, 0]])[:, :-1]
        labels = tf.where(capital, tf.where(behind, LABELS[2], LABELS[1]), tf.where(is_word, LABELS[0], ""))
        sure = 1.0 / (1.0 + tf.cast(lengths.to_tensor(), tf.float32))
        return {
            "words": words.to_tensor(""),
            "starts": tf.where(is_word, starts, 0),
            "ends": tf.where(is_word, ends, 0),
            "labels": labels,
            "probabilities": tf.where(is_word, sure, 0.0),
        }

    @tf.function(
        input_signature=[
            _TEXT,
            tf.TensorSpec([], tf.int32, name="top_k"),
            tf.TensorSpec([], tf.bool, name="whole_words"),
        ]
    )
    def fill(self, text, top_k, whole_words):
        masks = _num_masks(text)
        most = tf.reduce_max(masks)
        words = tf.where(whole_words, tf.constant(WORDS)[::-1], tf.constant(WORDS))[:top_k]
        shape = [tf.size(text), most, tf.size(words)]
        odds = tf.range(tf.size(words), 0, -1, tf.int32) / 10
        probabilities = tf.broadcast_to(tf.cast(odds, tf.float32), shape)
        return {"tokens": tf.broadcast_to(words, shape), "probabilities": probabilities, "num_masks": masks}

    @tf.function(input_signature=[_TEXT, tf.TensorSpec([None, None], tf.string, name="candidates")])
    def weigh(self, text, candidates):
        """Candidates of one letter have no token."""
        num_tokens = tf.where(tf.strings.length(candidates) > 1, 1, 0)
        num_masks = tf.broadcast_to(_num_masks(text)[:, tf.newaxis], tf.shape(candidates))
        probabilities = tf.where((num_tokens > 0) & (num_masks == num_tokens), 0.5, 0.0)
        return {"probabilities": probabilities, "num_tokens": num_tokens, "num_masks": num_masks}

    @tf.function(input_signature=[_TEXT, _TEXT_PAIR])
    def similar(self, text, text_pair):
        first, second = (tf.math.l2_normalize(_letters(each), axis=-1) for each in (text, text_pair))
        return {"cosine": tf.reduce_sum(first * second, axis=-1)}

    @tf.function(input_signature=[_TEXT, tf.TensorSpec([None, None], tf.string, name="choices")])
    def choose(self, text, choices):
        lengths = tf.cast(tf.strings.length(choices), tf.float32) + 0.0 * _closeness(text)[:, :1]
        best = tf.argmax(lengths, axis=-1)
        return {"probabilities": tf.nn.softmax(lengths / 8), "choice": best}

    @tf.function(
        input_signature=[
            tf.TensorSpec([None, None], tf.int32, name=name)
            for name in ("input_ids", "input_mask", "segment_ids")
        ]
    )
    def ids(self, input_ids, input_mask, segment_ids):
        """How often each token stands in a row."""
        return {"embedding": tf.reduce_sum(tf.one_hot(input_ids, len(TOKENS)), axis=1)}

    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.int32, name="input_ids")])
    def first(self, input_ids):
        return {"embedding": tf.cast(input_ids[0], tf.float32)[tf.newaxis], "first": input_ids[:, 0]}


def save_answering_model(folder) -> str:
    """Writes the model as an export does, with kbert.json beside it."""
    module = AnsweringModel()
    signatures = {
        "serving_default": module.classify,
        "several": module.several,
        "ask": module.ask,
        "tag": module.tag,
        "fill": module.fill,
        "weigh": module.weigh,
        "similar": module.similar,
        "choose": module.choose,
        "vectors": module.ids,
        "ids": module.first,
    }
    tf.saved_model.save(module, str(folder), signatures)
    extra = folder / "assets.extra"
    extra.mkdir()
    task = TASKS["multi_label_classification"](tuple(LABELS), thresholds=THRESHOLDS)
    vocabulary = Vocabulary(TOKENS, do_lower_case=True, special_tokens=BERT_TOKENS._replace(mask="<mask>"))
    vocabulary.write(extra / "vocab.txt")
    about = TASKS.to_record(task) | {"labels": LABELS, "run": "/somewhere/private"}
    about |= {"vocabulary": vocabulary.describe(), "max_seq_length": 64}
    (extra / "kbert.json").write_text(json.dumps(about))
    return str(folder)


def _closeness(text):
    """float32 (batch, labels): how near a text's length is to 8, 24 and 72 characters."""
    length = tf.cast(tf.strings.length(text, "UTF8_CHAR"), tf.float32)[:, tf.newaxis]
    return 2.0 - tf.abs(length - [8.0, 24.0, 72.0]) / 8.0


def _num_masks(text):
    """int32 (batch,)"""
    parts = tf.strings.split(tf.strings.regex_replace(text, "<mask>", "\n"), "\n")
    return tf.cast(parts.row_lengths(), tf.int32) - 1


def _letters(text):
    """float32 (batch, 26): how often a text has each letter."""
    letters = tf.strings.unicode_decode(tf.strings.lower(text), "UTF-8") - ord("a")
    return tf.reduce_sum(tf.one_hot(letters.to_tensor(-1), 26), axis=1)
