"""A trained run + texts -> answers in words."""

import itertools
from collections.abc import Iterable, Iterator

_EXAMPLES_AT_ONCE = 32


def answers(run, examples: Iterable[dict], top_k: int = 5, checkpoint=None) -> Iterator[dict]:
    """Yields one JSON-ready answer an example: the example itself, and what `Task.answer` says of it.

    Args:
      run: a `RunDirectory`.
      examples: dicts with the inputs that the task names (`Task.inputs`), for example {"text": "..."}.
      top_k: how many answers to give where the task gives several, as for each [MASK].
      checkpoint: which of the run's, as in `RunDirectory.checkpoint`.

    Raises:
      ValueError: for a run that answers no texts, and for an example with other inputs, naming it.
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
    """Raises ValueError for a run whose task answers no texts."""
    task = run.task()
    if not task.inputs:
        raise ValueError(f"{run.path} is a {task.name} run, which does not answer texts.")


def require_inputs(run, example: dict, place: str):
    """Raises ValueError unless an example has the inputs that a run's task answers."""
    expected = run.task().inputs
    if set(example) != set(expected):
        raise ValueError(
            f"{place}: {run.path} answers {' and '.join(expected)}, but received "
            f"{' and '.join(example) or 'nothing'}."
        )
