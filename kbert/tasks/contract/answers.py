"""What a task says of its answers, in Python, in a SavedModel and in a file on a phone."""

from collections.abc import Callable, Iterable

import numpy as np

from kbert.features import ENCODER_INPUTS
from kbert.tasks.signatures.signature import Signature


class AnswersOfTask:
    """The methods of a `Task` about signatures and answers."""

    name: str
    inputs: tuple[str, ...]
    other_inputs: dict[str, tuple[str, ...]]

    def signatures(self, model, text_inputs) -> dict[str, Signature]:
        """name -> `Signature`: "serving_default" takes texts, "ids" takes texts that are already tokenized.

        Signatures that take texts have an output `TRUNCATED` among theirs. Those for Classify and Regress
        (kbert/tasks/signatures/example_signature.py) have not: a server allows them no other output.

        Args:
          model: the model that `build_model` returned, or its `answering_model`.
          text_inputs: the `TextInputs` of the run.

        Raises:
          ValueError: when the task does not answer texts.
        """
        raise ValueError(f"a model for {self.name} does not answer texts.")

    def signature_for(self, inputs: Iterable[str]) -> str:
        """The name of the signature that answers examples with these inputs.

        Raises:
          ValueError: when there is none; the message says which inputs there may be.
        """
        known = {"serving_default": self.inputs} | self.other_inputs
        for name, expected in known.items():
            if set(expected) == set(inputs):
                return name
        choices = ", or ".join(" and ".join(expected) for expected in known.values())
        raise ValueError(f"expects {choices}, but received {' and '.join(inputs) or 'nothing'}.")

    def check_inputs(self, inputs: dict):
        """Raises ValueError for an example without an answer.

        Args:
          inputs: the inputs of "serving_default" or of another signature that answers texts.
        """

    def outputs_of_ids(self, answer: Callable[[dict], dict], batch: dict) -> dict:
        """The outputs of the model for a batch, from something that answers as the signature "ids" does.

        A file on a phone is such a thing: what `metric_sums`, `collect` and `score` say of these outputs is
        how good it is. By default they are the outputs of the signature, asked with the rows of the batch.

        Args:
          answer: function from a dict of `input_ids`, `input_mask` and `segment_ids`, arrays as the signature
            takes them, to a dict of its float32 outputs.
          batch: a batch of features, as arrays.
        """
        return answer({name: batch[name] for name in ENCODER_INPUTS})

    def same_answers(self, outputs: dict, expected: dict, batch: dict) -> np.ndarray:
        """Which answers are the same: bool array of shape (answers,).

        Args:
          outputs, expected: two outputs of the model for the same batch, from `outputs_of_ids`.
          batch: the batch of features, as arrays; it may have no labels.
        """
        raise NotImplementedError

    def cosines(self, outputs: dict, expected: dict) -> np.ndarray | None:
        """Where the answers are vectors of texts, the cosine of each with the expected one.

        Args:
          outputs, expected: as for `same_answers`.

        Returns:
          float32 (answers,), in the order of `same_answers`; None where the answers are no vectors.
        """
        return None

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
