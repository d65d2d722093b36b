"""Answers from any run or checkpoint whose task answers texts."""

from kbert.inference.loaded_model import loaded_of
from kbert.inference.signature_caller import SignatureCaller


class Predictor(SignatureCaller):
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

    Example:
      >>> import kbert
      >>> predict = kbert.Predictor(kbert.load(run_dir))
      >>> (answer,) = predict(text=["jump the a"])
      >>> sorted(answer)
      ['label', 'probabilities']
    """

    def __init__(self, loaded, signature: str = "serving_default"):
        super().__init__(loaded_of(loaded), signature)
