"""Answers from a signature of a model, which is also what an export serves; and two short ways to ask it."""

from collections.abc import Sequence

import numpy as np
import tensorflow as tf
from absl import logging

from kbert.forked import require_own_tensorflow
from kbert.inference.answers import require_top_k
from kbert.inference.finite_numbers import require_finite_answers
from kbert.inference.loading import open_model
from kbert.inference.texts import text_batch
from kbert.input_pipelines.data_in_memory import plain_values, shown
from kbert.tasks.signatures.signature import TRUNCATED


class Predictor:
    """Calls a signature of a model, which is also what an export serves.

    Args:
      loaded: a `LoadedModel`, a `RunDirectory`, or a path or name as for `kbert.load`.
      signature: its name; see the signatures of the task.

    Attributes:
      loaded: the `LoadedModel`.
      inputs: the names of the inputs that each example has, for example ("text", "text_pair").
      settings: the names of the inputs that are given once for all examples, for example ("top_k",).

    Call arguments:
      The inputs by name, each a list with one entry per example, and the settings by name.

    Returns:
      A list of answers, as `Serving.answer` returns them.

    Raises:
      ValueError: when the task does not answer texts, an input is missing or unexpected, or the answer is
        not finite.

    Examples:
      >>> import kbert
      >>> predict = kbert.Predictor(kbert.load(run_dir))
      >>> (answer,) = predict(text=["jump the a"])
      >>> sorted(answer)
      ['label', 'probabilities']
    """

    def __init__(self, loaded, signature: str = "serving_default"):
        self.loaded = open_model(loaded)
        signatures = self.loaded.signatures
        if signature not in signatures:
            raise ValueError(
                f"signature={signature!r}: {self.loaded.source} has {', '.join(signatures)}; choose one of "
                "these."
            )
        self._signature = signatures[signature]
        shapes = {name: shape for name, (_, shape) in self._signature.inputs.items()}
        self.inputs = tuple(name for name, shape in shapes.items() if shape)
        self.settings = tuple(name for name, shape in shapes.items() if not shape)
        self._run = self.loaded.graph(signature, self._signature.as_graph)
        self._has_warned = False

    def __call__(self, **inputs) -> list[dict]:
        return self.answers(inputs)

    def answers(self, inputs: dict, positions: Sequence[int] | None = None, name="texts[{}]") -> list[dict]:
        """The same for inputs in a dict; `positions` and `name` are those of `require_finite_answers`."""
        self._require_names(inputs)
        inputs = inputs | {name: _column(name, inputs[name]) for name in self.inputs}
        columns = [inputs[name] for name in self.inputs]
        if len({len(column) for column in columns}) > 1:
            sizes = ", ".join(f"{len(inputs[name])} {name}" for name in self.inputs)
            raise ValueError(f"received {sizes}; give as many of each, one for each example.")
        serving = self.loaded.task.serving
        examples = [dict(zip(self.inputs, row, strict=True)) for row in zip(*columns, strict=True)]
        for example in examples:
            serving.check_inputs(example)
        if not examples:
            return []
        outputs = self.outputs(**inputs)
        floats = [value for value in outputs.values() if value.dtype.kind == "f"]
        numbers = [np.concatenate([np.ravel(value[row]) for value in floats]) for row in range(len(examples))]
        require_finite_answers(numbers, self.loaded.source, positions, name)
        cut = np.flatnonzero(outputs.get(TRUNCATED, False))
        if cut.size and not self._has_warned:
            self._has_warned = True
            logging.warning(
                "%s is longer than the %d tokens that %s reads: what does not fit was left out, here and in "
                "all longer texts.",
                name.format(positions[cut[0]] if positions else cut[0]),
                self.loaded.text_inputs.max_seq_length,
                self.loaded.source,
            )
        return [
            serving.answer({name: value[row] for name, value in outputs.items()}, example)
            for row, example in enumerate(examples)
        ]

    def outputs(self, **inputs) -> dict[str, np.ndarray]:
        """The outputs of the signature, finite or not: name -> array with one row for each example."""
        require_own_tensorflow()
        self._require_names(inputs)
        tensors = [
            tf.constant(inputs[name], dtype=dtype) for name, (dtype, _) in self._signature.inputs.items()
        ]
        return {name: value.numpy() for name, value in self._run(*tensors).items()}

    def _require_names(self, inputs):
        expected = {*self.inputs, *self.settings}
        received = {name for name, value in inputs.items() if value is not None}
        if received != expected:
            raise ValueError(
                f"{self.loaded.source} expects {', '.join(sorted(expected))}, but received "
                f"{', '.join(sorted(received)) or 'nothing'}."
            )


def _column(name, values):
    """The values of an input; a text alone would be taken apart into its characters."""
    if (listed := plain_values(values)) is not None:
        return listed
    raise ValueError(
        f"{name} is {shown(values)}; expected a list with one entry for each example. "
        "kbert.load(...).predict(...) takes a single text too."
    )


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

    Examples:
      >>> import kbert
      >>> classify = kbert.TextClassifier(kbert.load(run_dir))
      >>> (answer,) = classify(["jump the a"])
      >>> sorted(answer), sorted(answer["probabilities"])
      (['label', 'probabilities'], ['loud', 'quiet'])
    """

    def __init__(self, run):
        from kbert.inference.loaded_model import load_answering  # which asks with this module

        need = "classifying texts needs a run that was fine-tuned on texts and labels (kbert finetune)"
        self._loaded = load_answering(run, ("label", "labels"), need)
        self.task, self.takes_pairs = self._loaded.task, self._loaded.takes_pairs

    def __call__(self, texts, text_pairs=None):
        batch, predict = self._batch(texts, text_pairs)
        return batch.answer_each(lambda texts, positions: predict.answers(texts.columns, positions))

    def outputs(self, texts, text_pairs=None) -> dict[str, np.ndarray]:
        """The outputs of the model: float32 arrays `logits` and `probabilities`, both (batch, labels).

        All texts are one batch, a single text is a batch of one. It is not checked whether the outputs are
        finite.
        """
        batch, predict = self._batch(texts, text_pairs)
        outputs = predict.outputs(**batch.columns)
        return {name: outputs[name] for name in ("logits", "probabilities")}

    def _batch(self, texts, text_pairs):
        """(the `TextBatch`, the `Predictor` for it)."""
        batch = text_batch(texts, text_pairs)
        if self.takes_pairs is not None and (batch.pairs is not None) != self.takes_pairs:
            expected = "pairs of texts" if self.takes_pairs else "single texts"
            raise ValueError(f"this run was trained on {expected}, and predicts for nothing else.")
        return batch, Predictor(self._loaded, self.task.serving.signature_for(batch.columns))


class MaskFiller:
    """Fills the `[MASK]`s of texts with a pretraining run.

    Args:
      run: a model with a masked-LM head, such as a pretraining run: a `LoadedModel`, a `RunDirectory`, or a
        path or name as for `kbert.load`.

    Call arguments:
      texts: a text or a list of texts, each with at least one `[MASK]`.
      top_k: how many tokens to give for each mask, at least one.
      whole_words: leave out tokens that continue a word (`##ing`), special tokens and unused ones.
        Probabilities are over the whole vocabulary all the same.
      candidates: words that may stand in the place of the mask; each text must then have one `[MASK]`. A
        candidate of several tokens is asked for with as many masks, and its probability is the geometric mean
        of those of its tokens.

    Returns:
      A list with one entry for each text; for a single text (not in a list) its entry. An entry has, for each
      mask of the text in order, a list of `{"token": str, "probability": float}`, the most probable first;
      with `candidates` these are the tokens, all of them.

    Raises:
      ValueError: for a run of another task, an input that is not a text, a text without `[MASK]`, a `[MASK]`
        beyond the maximum length, a candidate that the vocabulary cannot spell, or an answer that is not
        finite.

    Examples:
      >>> import kbert
      >>> fill = kbert.MaskFiller(kbert.load(pretraining_run_dir))
      >>> ((candidates,),) = fill(["the [MASK] a"], top_k=2)
      >>> [sorted(candidate) for candidate in candidates]
      [['probability', 'token'], ['probability', 'token']]
    """

    def __init__(self, run):
        from kbert.inference.loaded_model import load_answering  # which asks with this module

        self._loaded = load_answering(run, ("masks",), "filling masks needs a pretraining run")

    def __call__(self, texts, top_k: int = 5, whole_words: bool = False, candidates=None):
        batch = text_batch(texts)
        require_top_k(top_k)
        words = None if candidates is None else text_batch(candidates).texts
        for text in batch.texts:  # before any is answered
            inputs = {"text": text} | ({} if words is None else {"candidates": words})
            self._loaded.task.serving.check_inputs(inputs)
        predict = Predictor(self._loaded, "serving_default" if words is None else "candidates")

        def fill(texts, positions):
            settings = {"top_k": top_k, "whole_words": whole_words}
            if words is not None:
                settings = {"candidates": [words] * len(positions)}
            return [answer["masks"] for answer in predict.answers(texts.columns | settings, positions)]

        return batch.answer_each(fill)
