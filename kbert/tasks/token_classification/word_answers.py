"""What a model says of the words of texts: as tensors that a graph returns, and in words for people."""

from kbert.late_tensorflow import tf
from kbert.tasks.signatures.signature import TRUNCATED
from kbert.tasks.token_classification.entity_scores import find_entities
from kbert.tasks.token_classification.word_windows import WordWindows
from kbert.tokenization import text_words


class WordLabels:
    """Words -> their labels, windows of long texts included; in the graph.

    Windows hold all words, so `TRUNCATED` is always false.

    Args:
      model: encoder inputs -> `logits` and `probabilities`, (batch, seq_length, labels).
      windows: the `WordWindows`.
      labels: the names of the labels.
    """

    def __init__(self, model, windows: WordWindows, labels):
        self._model = model
        self._windows = windows
        self._labels = labels

    def label_text(self, text) -> dict:
        """string [batch] -> `words`, `starts`, `ends` and what `of_words` gives; (batch, words of the longest
        text), filled up with "" and 0."""
        words = text_words.find_words(text)
        return (
            {
                "words": words.words.to_tensor(""),
                "starts": words.starts.to_tensor(),
                "ends": words.ends.to_tensor(),
            }
            | self._predict(words.words)
            | _nothing_cut(text)
        )

    def label_words(self, words) -> dict:
        """string [batch, words] of words, "" in the place of those that a text has less -> `labels` (string)
        and `probabilities` (float32) of the same shape, "" and 0 at such positions."""
        is_word = tf.not_equal(words, "")
        predicted = self._predict(tf.ragged.boolean_mask(words, is_word))
        positions, shape = tf.where(is_word), tf.shape(words, tf.int64)
        filled = tf.ragged.boolean_mask(tf.ones_like(words, tf.int32), is_word)
        inside = tf.cast(filled.to_tensor(), tf.bool)
        names = tf.tensor_scatter_nd_update(
            tf.fill(shape, ""), positions, tf.boolean_mask(predicted["labels"], inside)
        )
        numbers = tf.scatter_nd(positions, tf.boolean_mask(predicted["probabilities"], inside), shape)
        return {"labels": names, "probabilities": numbers} | _nothing_cut(words)

    def _predict(self, words):
        """`labels` and `probabilities`, (batch, words of the longest text), of a RaggedTensor of words."""
        windows, positions = self._windows.pack_texts(words)
        outputs = self._model(windows.features, training=False)
        logits = tf.gather_nd(outputs["logits"], positions)  # (words, labels)
        best = tf.argmax(logits, axis=-1)
        names = tf.gather(tf.constant(self._labels), best)
        numbers = tf.reduce_max(tf.gather_nd(outputs["probabilities"], positions), axis=-1)
        return {
            "labels": words.with_flat_values(names).to_tensor(""),
            "probabilities": words.with_flat_values(numbers).to_tensor(),
        }


def _nothing_cut(texts):
    return {TRUNCATED: tf.zeros(tf.shape(texts)[:1], tf.bool)}


def text_answer(text: str, outputs: dict, tags_by_label: dict[str, str] | None) -> dict:
    """The words of a text with their labels, and its entities.

    Args:
      text: the text.
      outputs: of `WordLabels.label_text`, for this text; strings are bytes.
      tags_by_label: label -> tag with BIOES's letters; None where labels are no tags: no entities then.

    Returns:
      dict: `words`, each with word, start, end, label and probability; `entities`, each with type, text,
      start, end and probability, the mean of its words'.
    """
    number = int((outputs["ends"] > 0).sum())  # no word ends at 0
    columns = ("starts", "ends", "labels", "probabilities")
    words = [
        {
            "word": text[start:end],
            "start": int(start),
            "end": int(end),
            "label": label.decode("utf-8"),
            "probability": float(probability),
        }
        for start, end, label, probability in zip(*(outputs[name][:number] for name in columns), strict=True)
    ]
    tags = [tags_by_label[word["label"]] for word in words] if tags_by_label else []
    entities = [_entity(text, kind, words[start:end]) for kind, start, end in find_entities(tags)]
    return {"words": words, "entities": entities}


def _entity(text, kind, words):
    start, end = words[0]["start"], words[-1]["end"]
    return {
        "type": kind,
        "text": text[start:end],
        "start": start,
        "end": end,
        "probability": sum(word["probability"] for word in words) / len(words),
    }
