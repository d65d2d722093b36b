"""Labels and probabilities for texts."""

import tensorflow as tf

from kbert.inference.finite_numbers import require_finite_answers
from kbert.inference.loaded_model import LoadedModel, load_for
from kbert.inference.texts import text_batch
from kbert.runs.run_directory import RunDirectory
from kbert.tokenization.text_inputs import TextInputs


class TextClassifier:
    """Answers texts with a fine-tuned classification run.

    Args:
      run: the `RunDirectory` of a sequence classification run, or a `LoadedModel` with such a head.

    Call arguments:
      texts: a text or a list of texts.
      text_pairs: the second texts in the same form, for a run trained on pairs; else None. A checkpoint that
        does not say what it was trained on takes both.

    Returns:
      `{"label": str, "probabilities": {label: float}}` for one text, a list of these for a list.

    Raises:
      ValueError: when the run is of another task, pairs are missing or not expected, something is no text,
        or the model's answer is no finite number.

    Example:
      >>> import kbert
      >>> classify = kbert.TextClassifier(kbert.load(run_dir))
      >>> (answer,) = classify(["jump the a"])
      >>> sorted(answer), sorted(answer["probabilities"])
      (['label', 'probabilities'], ['loud', 'quiet'])
    """

    def __init__(self, run: RunDirectory | LoadedModel):
        need = "classifying texts needs a sequence_classification run (run_finetuning)"
        loaded = load_for(run, "sequence_classification", need)
        self.takes_pairs = loaded.takes_pairs
        self.task, self._model, self._source = loaded.task, loaded.model, loaded.source
        self._inputs = TextInputs(loaded.vocabulary, loaded.max_seq_length)
        self._run = tf.function(self._outputs, reduce_retracing=True)

    def __call__(self, texts, text_pairs=None):
        batch = text_batch(texts, text_pairs)
        probabilities = self._outputs_of(batch)["probabilities"].numpy()
        require_finite_answers(probabilities, self._source)
        return batch.answer([self.task.answer(row) for row in probabilities])

    def outputs(self, texts, text_pairs=None) -> dict:
        """The model's own outputs: float32 tensors `logits` and `probabilities`, (batch, labels).

        One text is a batch of one. They are what the model gives, finite or not.
        """
        return self._outputs_of(text_batch(texts, text_pairs))

    def _outputs_of(self, batch):
        if self.takes_pairs is not None and (batch.pairs is not None) != self.takes_pairs:
            expected = "pairs of texts" if self.takes_pairs else "single texts"
            raise ValueError(f"this run was trained on {expected}, and answers only those.")
        pairs = None if batch.pairs is None else tf.constant(batch.pairs, tf.string)
        return self._run(tf.constant(batch.texts, tf.string), pairs)

    def _outputs(self, texts, text_pairs):
        inputs = self._inputs(texts, text_pairs, pad_to_longest=True)
        return self._model(inputs, training=False)
