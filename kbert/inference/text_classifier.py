"""Labels and probabilities for texts."""

import tensorflow as tf

from kbert.inference.finite_numbers import require_finite_answers
from kbert.inference.loaded_model import load_answering
from kbert.inference.texts import text_batch

_NEED = "classifying texts needs a run that was fine-tuned on texts and labels (kbert finetune)"


class TextClassifier:
    """Classifies texts with a fine-tuned run.

    Args:
      run: a model whose task gives each text, or pair of texts, one label or several: a `LoadedModel`, a
        `RunDirectory`, or a path or name as for `kbert.load`.

    Call arguments:
      texts: a text or a list of texts.
      text_pairs: the second texts in the same form, for a run trained on pairs; otherwise None. A checkpoint
        that does not record what it was trained on accepts both.

    Returns:
      `{"label": str, "probabilities": {label: float}}` for a single text, a list of these for a list. If a
      text can have several labels, there is `"labels"` instead of `"label"`.

    Raises:
      ValueError: when the run has another task, pairs are missing or unexpected, an input is not a text, or
        the answer is not finite.

    Example:
      >>> import kbert
      >>> classify = kbert.TextClassifier(kbert.load(run_dir))
      >>> (answer,) = classify(["jump the a"])
      >>> sorted(answer), sorted(answer["probabilities"])
      (['label', 'probabilities'], ['loud', 'quiet'])
    """

    def __init__(self, run):
        loaded = load_answering(run, ("label", "labels"), _NEED)
        self.takes_pairs = loaded.takes_pairs
        self.task, self._loaded = loaded.task, loaded

    def __call__(self, texts, text_pairs=None):
        batch = text_batch(texts, text_pairs)
        self._require_pairs(batch)
        answers: list = [None] * len(batch.texts)
        for places in batch.places_of_like_length():
            outputs = {name: value.numpy() for name, value in self._outputs_of(batch.part(places)).items()}
            require_finite_answers(outputs["probabilities"], self._loaded.source, places)
            for row, place in enumerate(places):
                of_text = {name: value[row] for name, value in outputs.items()}
                answers[place] = self.task.serving.answer(of_text, {"text": batch.texts[place]})
        return batch.answer(answers)

    def outputs(self, texts, text_pairs=None) -> dict:
        """The outputs of the model: float32 tensors `logits` and `probabilities`, both (batch, labels).

        All texts are one batch, a single text is a batch of one. It is not checked whether the outputs are
        finite.
        """
        batch = text_batch(texts, text_pairs)
        self._require_pairs(batch)
        outputs = self._outputs_of(batch)
        return {name: outputs[name] for name in ("logits", "probabilities")}

    def _require_pairs(self, batch):
        if self.takes_pairs is not None and (batch.pairs is not None) != self.takes_pairs:
            expected = "pairs of texts" if self.takes_pairs else "single texts"
            raise ValueError(f"this run was trained on {expected}, and answers only those.")

    def _outputs_of(self, batch):
        columns = {"text": batch.texts} | ({} if batch.pairs is None else {"text_pair": batch.pairs})
        name = self.task.serving.signature_for(columns)
        run = self._loaded.graph(name, self._loaded.signatures[name].as_graph)
        return run(*(tf.constant(column, tf.string) for column in columns.values()))
