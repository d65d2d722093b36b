"""The most probable tokens for [MASK]."""

from kbert.inference.loaded_model import load_answering
from kbert.inference.texts import text_batch


class MaskFiller:
    """Fills the `[MASK]`s of texts with a pretraining run.

    Args:
      run: a model with a masked-LM head, such as a pretraining run: a `LoadedModel`, a `RunDirectory`, or a
        path or name as for `kbert.load`.

    Call arguments:
      texts: a text or a list of texts, each with at least one `[MASK]`.
      top_k: how many tokens to give for each mask, at least one.
      whole_words: leave out pieces of words (`##ing`), special tokens and unused ones. Probabilities are over
        the whole vocabulary all the same.
      candidates: words that may stand in the place of the mask; each text must then have one `[MASK]`. A
        candidate of several pieces is asked for with as many masks, and its probability is the geometric mean
        of those of its pieces.

    Returns:
      A list with one entry for each text; for a single text (not in a list) its entry. An entry has, for each
      mask of the text in order, a list of `{"token": str, "probability": float}`, the most probable first;
      with `candidates` these are the tokens, all of them.

    Raises:
      ValueError: for a run of another task, an input that is not a text, a text without `[MASK]`, a `[MASK]`
        beyond the maximum length, a candidate that the vocabulary cannot spell, or an answer that is not
        finite.

    Example:
      >>> import kbert
      >>> fill = kbert.MaskFiller(kbert.load(pretraining_run_dir))
      >>> ((candidates,),) = fill(["the [MASK] a"], top_k=2)
      >>> [sorted(candidate) for candidate in candidates]
      [['probability', 'token'], ['probability', 'token']]
    """

    def __init__(self, run):
        loaded = load_answering(run, ("masks",), "filling masks needs a pretraining run")
        self._task = loaded.task
        self._predict = loaded.caller("serving_default")
        self._weigh = loaded.caller("candidates")

    def __call__(self, texts, top_k: int = 5, whole_words: bool = False, candidates=None):
        batch = text_batch(texts)
        if isinstance(top_k, bool) or not isinstance(top_k, int) or top_k < 1:
            raise ValueError(f"top_k={top_k!r}: expected a whole number of tokens, at least 1.")
        words = None if candidates is None else text_batch(candidates).texts
        for text in batch.texts:  # before any is answered
            self._task.serving.check_inputs({"text": text} | ({} if words is None else {"candidates": words}))
        masks: list = [None] * len(batch.texts)
        for places in batch.places_of_like_length():
            given = {"text": batch.part(places).texts}
            if words is None:
                found = self._predict.answers(given | {"top_k": top_k, "whole_words": whole_words}, places)
            else:
                found = self._weigh.answers(given | {"candidates": [words] * len(places)}, places)
            for place, answer in zip(places, found, strict=True):
                masks[place] = answer["masks"]
        return batch.answer(masks)
