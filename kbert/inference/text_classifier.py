"""Labels and probabilities for texts."""

import tensorflow as tf

from kbert.tokenization.text_inputs import TextInputs
from kbert.training.run_directory import RunDirectory


class TextClassifier:
    """Answers texts with a fine-tuned classification run.

    Args:
      run: the `RunDirectory` of a sequence classification run.

    Call arguments:
      texts: a list of strings.
      text_pairs: the second texts, for a run trained on pairs; else None.

    Returns:
      A list of `{"label": str, "probabilities": {label: float}}`, one a text.

    Raises:
      ValueError: when the run is of another task, or pairs are missing or not expected.
    """

    def __init__(self, run: RunDirectory):
        if run.details["task"] != "sequence_classification":
            raise ValueError(
                f"{run.path} is a {run.details['task']} run; classifying texts needs a "
                "sequence_classification run (run_finetuning)."
            )
        self.takes_pairs = run.config.dataset.text_pair is not None
        self.task, self._model = run.load_model()
        self._inputs = TextInputs(run.vocabulary(), run.config.max_seq_length)
        self._run = tf.function(self._outputs, reduce_retracing=True)

    def __call__(self, texts, text_pairs=None):
        probabilities = self.outputs(texts, text_pairs)["probabilities"].numpy()
        return [self.task.answer(row) for row in probabilities]

    def outputs(self, texts, text_pairs=None) -> dict:
        """The model's own outputs: float32 tensors `logits` and `probabilities`, (batch, labels)."""
        if (text_pairs is not None) != self.takes_pairs:
            expected = "pairs of texts" if self.takes_pairs else "single texts"
            raise ValueError(f"this run was trained on {expected}, and answers only those.")
        pairs = None if text_pairs is None else tf.constant(text_pairs, tf.string)
        return self._run(tf.constant(texts, tf.string), pairs)

    def _outputs(self, texts, text_pairs):
        inputs = self._inputs(texts, text_pairs, pad_to_longest=True)
        return self._model(inputs, training=False)
