"""A trained run + texts -> answers, ready for JSON."""

import itertools
from collections.abc import Iterable, Iterator

_EXAMPLES_AT_ONCE = 32


def answers(run, examples: Iterable[dict], top_k: int = 5, checkpoint=None) -> Iterator[dict]:
    """Yields one dict for each example, ready for JSON: the example itself and the result of `Task.answer`.

    Args:
      run: a `RunDirectory`.
      examples: dicts with the keys in `Task.inputs`, for example {"text": "..."}.
      top_k: how many answers to give if the task gives several, for example tokens for each [MASK].
      checkpoint: which checkpoint of the run, as in `RunDirectory.checkpoint`.

    Raises:
      ValueError: when the task of the run does not answer texts, or when an example has other keys; the
        message names the example.
    """
    from kbert.inference.loaded_model import LoadedModel
    from kbert.inference.predictor import Predictor

    require_answers(run)
    predict = Predictor(LoadedModel.from_run(run, checkpoint))
    settings = {"top_k": top_k} if "top_k" in predict.settings else {}
    numbered = enumerate(examples, start=1)
    while batch := list(itertools.islice(numbered, _EXAMPLES_AT_ONCE)):
        for number, example in batch:
            require_inputs(run, example, f"example {number}")
        columns = {name: [example[name] for _, example in batch] for name in predict.inputs}
        for (_, example), answer in zip(batch, predict(**columns, **settings), strict=True):
            yield example | answer


def require_answers(run):
    """Raises ValueError when the task of a run does not answer texts."""
    task = run.task()
    if not task.inputs:
        raise ValueError(f"{run.path} is a {task.name} run, which does not answer texts.")


def require_inputs(run, example: dict, place: str):
    """Raises ValueError when the keys of an example are not the inputs of the run's task."""
    expected = run.task().inputs
    if set(example) != set(expected):
        raise ValueError(
            f"{place}: {run.path} expects {' and '.join(expected)}, but received "
            f"{' and '.join(example) or 'nothing'}."
        )
