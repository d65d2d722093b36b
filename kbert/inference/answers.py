"""A model + texts -> answers, ready for JSON."""

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator

# Examples that are read before the first is answered, for each example of a batch: the more there are, the
# more alike are the lengths in a batch.
_READ_AHEAD = 64


def answered(
    loaded,
    examples: Iterable[dict],
    settings: dict,
    batch_size: int = 32,
    read_ahead: int | None = None,
    report: Callable[[int], None] | None = None,
) -> Iterator[tuple[dict, dict]]:
    """Yields (example, answer) for each example, in their order and ready for JSON.

    The answer is the result of `Serving.answer`. Examples are answered in batches of like lengths.

    Args:
      loaded: the `LoadedModel`.
      examples: dicts with the inputs of one of the task's signatures, for example {"text": "..."}; an `id` is
        kept.
      settings: the values of all settings that signatures of the task may have: `top_k`, `whole_words`.
      batch_size: examples at a time.
      read_ahead: how many examples are read before the first is answered; by default 64 batches. 1 answers
        each example before the next is read.
      report: called after each batch with the number of examples that are answered so far.

    Raises:
      ValueError: when an example has other keys or no answer; the message names the example.
    """
    caller = functools.cache(loaded.caller)
    numbered, num_answered = enumerate(examples, start=1), 0
    while window := list(itertools.islice(numbered, read_ahead or _READ_AHEAD * batch_size)):
        signatures = [_signature(loaded, example, f"example {number}") for number, example in window]
        found: list[dict] = [{}] * len(window)
        for places in _batches(signatures, [example for _, example in window], batch_size):
            predict = caller(signatures[places[0]])
            batch = [window[place][1] for place in places]
            columns = {name: [example[name] for example in batch] for name in predict.inputs}
            columns |= {name: settings[name] for name in predict.settings}
            numbers = [window[place][0] for place in places]
            batch_answers = predict.answers(columns, numbers, "example {}")
            for place, answer in zip(places, batch_answers, strict=True):
                found[place] = answer
            num_answered += len(places)
            if report:
                report(num_answered)
        for (_, example), answer in zip(window, found, strict=True):
            yield example, answer


def task_of(source):
    """The task of a `RunDirectory` or a `LoadedModel`; a run's is known before its weights are read."""
    from kbert.runs.run_directory import RunDirectory

    return source.task() if isinstance(source, RunDirectory) else source.task


def dataset_of(source):
    """The `DatasetConfig` of a `RunDirectory`, which names columns; None of other sources."""
    return getattr(getattr(source, "config", None), "dataset", None)


def require_answers(source):
    """Raises ValueError when the task of a `RunDirectory` or a `LoadedModel` does not answer texts."""
    task = task_of(source)
    if task.serving is None:
        raise ValueError(f"{_name_of(source)} is a run of {task.name}, which does not answer texts.")


def require_inputs(source, example: dict, place: str):
    """Raises ValueError when the task of a `RunDirectory` or a `LoadedModel` cannot answer an example.

    Args:
      source: what answers.
      example: its inputs.
      place: where it stands, for the message.
    """
    _signature(source, example, place)


def _name_of(source):
    return source.source if hasattr(source, "source") else source.path


def _signature(source, example, place) -> str:
    """The name of the signature that answers an example."""
    serving, inputs = (
        task_of(source).serving,
        {name: value for name, value in example.items() if name != "id"},
    )
    try:
        signature = serving.signature_for(inputs)
    except ValueError as error:
        raise ValueError(f"{place}: {_name_of(source)} {error}") from None
    try:
        for name, value in inputs.items():
            _require_text(name, value)
        serving.check_inputs(inputs)
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from None
    return signature


def _require_text(name, value):
    texts = value if isinstance(value, list | tuple) and value else [value]
    if not all(isinstance(text, str) for text in texts):
        raise ValueError(f"{name} is {value!r:.60}; expected a text, or for choices a list of texts.")


def _batches(signatures, examples, batch_size) -> Iterator[list[int]]:
    """The places of examples that are answered together: one signature, as many choices, like lengths."""

    def kind(place):
        lists = [len(value) for value in examples[place].values() if isinstance(value, list | tuple)]
        return signatures[place], lists

    def length(place):
        return sum(len("".join(value)) for name, value in examples[place].items() if name != "id")

    order = sorted(range(len(examples)), key=lambda place: (kind(place), length(place)))
    for _, places in itertools.groupby(order, kind):
        while batch := list(itertools.islice(places, batch_size)):
            yield batch
