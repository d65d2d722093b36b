"""The most probable tokens for [MASK]."""

from kbert.inference.loaded_model import LoadedModel, load_answering
from kbert.inference.predictor import Predictor
from kbert.inference.texts import text_batch
from kbert.runs.run_directory import RunDirectory


class MaskFiller:
    """Fills the `[MASK]`s of texts with a pretraining run.

    Args:
      run: a pretraining run's `RunDirectory`, or a `LoadedModel` with a masked-LM head.

    Call arguments:
      texts: a text or a list of texts, each with at least one `[MASK]`.
      top_k: how many tokens to give for each mask, at least one.

    Returns:
      For each text a list with, for each of its masks in order, a list of
      `{"token": str, "probability": float}`, the most probable first. For one text by itself, its list.

    Raises:
      ValueError: for a run of another task, what is no text, a text without `[MASK]`, one whose `[MASK]`
        lies beyond the longest sequence, or a model whose answer is no finite number.

    Example:
      >>> import kbert
      >>> fill = kbert.MaskFiller(kbert.load(pretraining_run_dir))
      >>> ((candidates,),) = fill(["the [MASK] a"], top_k=2)
      >>> [sorted(candidate) for candidate in candidates]
      [['probability', 'token'], ['probability', 'token']]
    """

    def __init__(self, run: RunDirectory | LoadedModel):
        self._predict = Predictor(load_answering(run, ("masks",), "filling masks needs a pretraining run"))

    def __call__(self, texts, top_k: int = 5):
        batch = text_batch(texts)
        if isinstance(top_k, bool) or not isinstance(top_k, int) or top_k < 1:
            raise ValueError(f"top_k={top_k!r}: expected a whole number of tokens, at least 1.")
        return batch.answer([answer["masks"] for answer in self._predict(text=batch.texts, top_k=top_k)])
