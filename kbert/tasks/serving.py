"""How a task answers texts, in Python, in a SavedModel and in a file on a phone: a part of tasks."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from kbert.features import ENCODER_INPUTS
from kbert.tasks.signatures.signature import Signature


class Serving:
    """The signatures of a task and the answers that they give.

    Args:
      task: the task.

    Attributes:
      task: as given.
      inputs: the inputs of "serving_default" for each example.
      other_inputs: the other signatures that answer texts: name -> the inputs for each example. No two have
        the same inputs, so that the inputs tell what is asked.
      settings: what may be said for all examples of a call: name -> the default.
      answers: the keys of the dict that `answer` returns for "serving_default".
      reads_masks: the signatures that read a mask which is written out in a text as one.
      row_texts: the inputs that make one row of the signature "ids", where its outputs answer them by
        themselves; empty where an answer needs more (words, windows, choices).
      one_text_output: the output of the signature "ids" that answers a text by itself with one row of
        numbers, such as the probabilities of its labels, or its vector; None if there is no such output.
      cuts_long_texts: whether a text that is too long is cut at its end. A program that packs token ids by
        itself, as on phones, then packs them as the model was trained.
      in_windows: whether a text that is too long becomes several rows.
      same_answers: method from (outputs, expected, batch) to which answers are the same, bool (answers,): of
        two outputs of the model for a batch of arrays, from `outputs_from_ids`, which may have no labels.
        None for a task whose models are not exported for phones.
    """

    inputs: tuple[str, ...] = ()
    other_inputs: dict[str, tuple[str, ...]] = {}
    settings: dict[str, Any] = {}
    answers: tuple[str, ...] = ()
    reads_masks: tuple[str, ...] = ()
    row_texts: tuple[str, ...] = ()
    one_text_output: str | None = None
    cuts_long_texts: bool = True
    in_windows: bool = False
    same_answers: Callable[[dict, dict, dict], np.ndarray] | None = None

    def __init__(self, task: Any):
        self.task = task

    @property
    def by_signature(self) -> dict[str, tuple[str, ...]]:
        """The signatures that answer texts, "serving_default" first: name -> the inputs for each example."""
        return {"serving_default": self.inputs} | self.other_inputs

    def signatures(self, model, text_inputs) -> dict[str, Signature]:
        """name -> `Signature`: "serving_default" takes texts, "ids" takes texts that are already tokenized.

        Signatures that take texts have an output `TRUNCATED` among theirs. Those for Classify and Regress
        (kbert/tasks/signatures/example_signature.py) have not: a server allows them no other output.

        Args:
          model: the model that `Task.build_model` returned, or its `answering_model`.
          text_inputs: the `TextInputs` of the run.
        """
        raise NotImplementedError

    def longest(self, max_seq_length: int) -> str:
        """Where texts are cut, for a warning: so many tokens, of what."""
        return f"{max_seq_length} tokens"

    def incomplete(self, outputs: dict) -> str | None:
        """A sentence for people where outputs of a signature, or some of them, hold less than the model
        gives, or than its labels promise."""
        return None

    def served(self, outputs: dict) -> dict:
        """What the signatures give: labels, for example, beside the numbers of the model.

        Args:
          outputs: the outputs of the model for a batch.
        """
        return dict(outputs)

    def compared(self, outputs: dict, vocab_size: int) -> dict:
        """What the check of an export compares of the outputs of a signature, as arrays: by default all of
        them. Where an order depends on rounding, it is taken out."""
        return outputs

    def signature_for(self, inputs: Iterable[str]) -> str:
        """The name of the signature that answers examples with these inputs.

        Raises:
          ValueError: when there is none; the message says which inputs there may be.
        """
        for name, expected in self.by_signature.items():
            if set(expected) == set(inputs):
                return name
        choices = ", or ".join(" and ".join(expected) for expected in self.by_signature.values())
        raise ValueError(f"expects {choices}; received {' and '.join(inputs) or 'nothing'}.")

    def check_inputs(self, inputs: dict):
        """Raises ValueError for an example without an answer.

        Args:
          inputs: the inputs of "serving_default" or of another signature that answers texts.
        """

    def answer(self, outputs: dict, inputs: dict) -> dict:
        """The answer to one example as a dict, ready for JSON.

        Args:
          outputs: the outputs for this example of the signature that its inputs belong to; strings are
            bytes.
          inputs: the example.

        Raises:
          ValueError: when only a part of the example could be answered, for example because it was cut.
        """
        raise NotImplementedError

    def raw_answer(self, outputs: dict, inputs: dict) -> dict:
        """As `answer`, with the model's own numbers in the place of what an activation makes of them.

        Only asked of a part whose `settings` have `RAW_SCORES`.
        """
        raise NotImplementedError

    def activated(self, number: float) -> float:
        """What the activation makes of the one number of a `raw_answer`; by default there is none."""
        return number

    def outputs_from_ids(self, answer: Callable[[dict], dict], batch: dict) -> dict:
        """The outputs of the model for a batch, from something that answers as the signature "ids" does.

        A file on a phone is such a thing: what `metric_sums`, `collect` and `score` say of these outputs is
        how good it is. By default they are the outputs of the signature, asked with the rows of the batch.

        Args:
          answer: function from a dict of `input_ids`, `input_mask` and `segment_ids`, arrays as the signature
            takes them, to a dict of its float32 outputs.
          batch: a batch of features, as arrays.
        """
        return answer({name: batch[name] for name in ENCODER_INPUTS})

    def cosines(self, outputs: dict, expected: dict) -> np.ndarray | None:
        """Where the answers are vectors of texts, the cosine of each with the expected one: float32
        (answers,), in the order of `same_answers`; None where they are no vectors."""
        return None


def near(numbers, expected, tolerance: float = 0.05) -> np.ndarray:
    """Which numbers are as good as equal, bool array: `tolerance` apart, or that share of the larger ones.

    Two answers that are numbers are never bit for bit the same; this is what `Serving.same_answers` calls the
    same, of a score from 0 to 5 as of a probability.
    """
    numbers, expected = np.asarray(numbers, np.float64), np.asarray(expected, np.float64)
    return np.abs(numbers - expected) <= tolerance * np.maximum(1.0, np.abs(expected))
