"""A model + texts -> answers, ready for JSON."""

import functools
import itertools
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kbert.cli.warn_once import warn_once
from kbert.config.vectors_config import warn_of_written_prompts
from kbert.inference.texts import require_whole_characters, split_to_fit
from kbert.input_pipelines.data_in_memory import (
    column_names,
    plain_values,
    require_no_path,
    shown,
    text_alone,
)
from kbert.input_pipelines.input_columns import with_values
from kbert.input_pipelines.python_values import plain_value
from kbert.input_pipelines.unlabelled_files import examples_from_table
from kbert.tasks.file_columns import ONE_TEXT, PAIR, RAW_SCORES, SEVERAL_TEXTS

if TYPE_CHECKING:
    from kbert.inference.unknown_tokens import UnknownTokens

# Examples that are read before the first is answered, for each example of a batch: the more there are, the
# more alike are the lengths in a batch.
_READ_AHEAD = 64
_TO_DO = "fine-tune it first (kbert finetune), or take its vectors (kbert features)"
_WORDS = "; join words with spaces, or ask the signature `words` of a tagger's export"
_ABOUT = {RAW_SCORES: "labels and numbers"}


def answered(
    loaded,
    examples: Iterable[dict],
    settings: dict,
    batch_size: int = 32,
    read_ahead: int | None = None,
    report: Callable[[int], None] | None = None,
    unknown: "UnknownTokens | None" = None,
    name: str = "example {}",
    first: int = 1,
) -> Iterator[tuple[dict, dict]]:
    """Yields (example, answer) for each example, in their order and ready for JSON.

    The answer is the result of `Serving.answer`. Examples are answered in batches of like lengths.

    Args:
      loaded: the `LoadedModel`.
      examples: dicts with the inputs of one of the task's signatures, for example {"text": "..."}; an `id` is
        kept.
      settings: values of the task's `Serving.settings`, which have defaults.
      batch_size: the most examples at a time; fewer of texts above some 1,000 tokens or of many windows.
      read_ahead: how many examples are read before the first is answered; by default 64 batches. 1 answers
        each example before the next is read.
      report: called after each batch with the number of examples that are answered so far.
      unknown: the `UnknownTokens` that count the examples and warn at the end.
      name: what messages call an example, with {} for its number.
      first: the number of the first example.

    Raises:
      ValueError: as `require_settings` does, and when an example has other keys or no answer; the message
        names the example.
    """
    require_settings(loaded, settings)
    chosen, settings = settings, loaded.task.serving.settings | settings
    predictor = functools.cache(loaded.predictor)
    numbered, num_answered = enumerate(examples, start=first), 0
    while window := list(itertools.islice(numbered, read_ahead or _READ_AHEAD * batch_size)):
        signatures = [_signature(loaded, example, name.format(number)) for number, example in window]
        read = {name for signature in signatures for name in predictor(signature).settings}
        if unread := [name for name in chosen if name not in (*read, RAW_SCORES)]:
            _say_unread(unread, has_more=num_answered > 0 or read_ahead == 1)
        answers: list[dict] = [{}] * len(window)
        texts = [example for _, example in window]
        values = [value for example in texts for key, value in example.items() if key != "id"]
        warn_of_written_prompts(loaded.task.default_prompt, values)
        longest = loaded.task.row_length(loaded.text_inputs.max_seq_length)
        in_windows = loaded.task.serving.in_windows
        for positions in example_batches(signatures, texts, batch_size, longest, in_windows):
            predict = predictor(signatures[positions[0]])
            batch = [window[position][1] for position in positions]
            columns = {key: [example[key] for example in batch] for key in predict.inputs}
            columns |= {key: settings[key] for key in predict.settings}
            numbers = [window[position][0] for position in positions]
            if unknown:
                unknown.count(batch)
            batch_answers = predict.answers(columns, numbers, name, settings.get(RAW_SCORES, False))
            for position, answer in zip(positions, batch_answers, strict=True):
                answers[position] = answer
            num_answered += len(positions)
            if report:
                report(num_answered)
        for (_, example), answer in zip(window, answers, strict=True):
            yield example, answer
    if unknown:
        unknown.warn()


def require_answering_task(loaded):
    """Raises ValueError when the task of a `LoadedModel` does not answer texts."""
    if loaded.task.serving is None:
        raise ValueError(
            f"{loaded.source} has the task {loaded.task.name}, which has no predictions for texts; "
            f"{'ask for its vectors (embed, rank)' if loaded.task.text_vectors else _TO_DO}."
        )


def require_settings(loaded, settings: Iterable[str]):
    """Raises ValueError for settings that the answers of a `LoadedModel` do not have."""
    task = loaded.task
    if unknown := [name for name in settings if name not in task.serving.settings]:
        raise ValueError(
            f"{loaded.source} has the task {task.name}, whose answers have no {' or '.join(unknown)}: "
            f"that is for {_ABOUT.get(unknown[0], 'words behind a [MASK]')}; leave it out."
        )


def _say_unread(settings: Iterable[str], has_more: bool):
    """Raises ValueError for settings that none of the examples at hand reads; warns where others may."""
    sentence = (
        f"{' and '.join(settings)}: read for texts with [MASK] alone, not with candidates or a second text"
    )
    if not has_more:
        raise ValueError(f"{sentence}; leave it out.")
    warn_once(sentence)


def require_inputs(loaded, examples: Iterable[dict], name: str = "example {}", first: int = 1):
    """Raises ValueError where the task of a `LoadedModel` cannot answer one of the examples: before the first
    is answered, for the answers to those before it would be lost.

    Args:
      loaded, examples, name, first: as for `answered`.
    """
    for number, example in enumerate(examples, start=first):
        _signature(loaded, example, name.format(number))


def require_top_k(top_k):
    """Raises ValueError for what is no number of answers; an array or a tensor of one number without an axis
    is one."""
    try:
        is_number = not isinstance(top_k, bool) and operator.index(top_k) >= 1
    except (TypeError, AttributeError):  # the latter of a tensor of other numbers
        is_number = False
    if not is_number:
        pair = " A pair of texts is one tuple: (text, text_pair)." if isinstance(top_k, str) else ""
        raise ValueError(f"top_k={top_k!r:.60}: expected a whole number, at least 1.{pair}")


def _signature(loaded, example, where) -> str:
    """The name of the signature that answers an example."""
    serving = loaded.task.serving
    inputs = {name: value for name, value in example.items() if name != "id"}
    try:
        signature = serving.signature_for(inputs)
    except ValueError as error:
        raise ValueError(f"{where}: {loaded.source} {error}") from None
    require_texts(serving, inputs, where)
    return signature


def require_texts(serving, inputs: dict, where: str):
    """Raises ValueError for inputs that are no texts, or no lists of them, as a `Serving` takes them."""
    try:
        for name, value in inputs.items():
            require_text(name, value)
        serving.check_inputs(inputs)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


def require_text(name: str, value, where: str = ""):
    """Raises ValueError for the value of an input that is no text, or no list of them; `where` begins it."""
    is_list = isinstance(value, list | tuple)
    texts = value if is_list and value else [value]
    is_other = (is_list and name in ONE_TEXT) or (isinstance(value, str) and name in SEVERAL_TEXTS)
    if is_other or not all(isinstance(text, str) for text in texts):
        expected = "a list of texts" if name in SEVERAL_TEXTS else "a text"
        if is_other and is_list:
            expected += "; give several examples in a list, each with all of its inputs"
            expected += _WORDS if name == "text" else ""
        raise ValueError(f"{where}{name} is {value!r:.60}; expected {expected}.")
    for text in texts:
        require_whole_characters(text, where + name)


def example_batches(
    signatures: Sequence[str],
    examples: Sequence[dict],
    batch_size: int,
    max_seq_length: int,
    in_windows: bool = False,
) -> Iterator[list[int]]:
    """The positions of examples that are answered together: one signature, as many choices, like lengths.

    Args:
      signatures: the signature of each example.
      examples: dicts of its inputs.
      batch_size: the most of them.
      max_seq_length, in_windows: as for `split_to_fit`.
    """

    def kind(position):
        lists = [len(value) for value in examples[position].values() if isinstance(value, list | tuple)]
        return signatures[position], lists

    def text(position):
        return "".join("".join(value) for name, value in examples[position].items() if name != "id")

    order = sorted(range(len(examples)), key=lambda position: (kind(position), len(text(position))))
    for _, positions in itertools.groupby(order, kind):
        while batch := list(itertools.islice(positions, batch_size)):
            yield from split_to_fit(batch, text, max_seq_length, in_windows)


class Examples(NamedTuple):
    """The examples that a caller gives.

    Fields:
      listed: dicts of the task's inputs.
      is_alone: whether a single one was given, not in a list.
      name: what messages call one, with {} for its number.
      first: the number of the first.
    """

    listed: list[dict]
    is_alone: bool
    name: str
    first: int = 0


def to_examples(examples, inputs: Sequence[tuple[str, ...]], dataset=None) -> Examples:
    """What a caller gives as `Examples`.

    Args:
      examples: one example, a list or another collection of them, or a table, see `column_names`. An example
        is a text; a tuple with the task's inputs in order, such as the texts of a pair, or a question and its
        context; or a dict of them. What names its values, a named tuple or a row of pandas, is such a dict.
      inputs: the inputs of each signature of the task that answers texts, those of "serving_default" first.
      dataset: the `DatasetConfig` that names columns of a table, or None.

    Raises:
      ValueError: when something else is given; the message names its position.
    """
    examples = text_alone(examples)
    if column_names(examples) is not None:
        rows = examples_from_table(examples, inputs, dataset)
        return Examples(rows, False, "row {} of the data", 1)
    require_no_path(examples)
    index, first = getattr(examples, "index", ()), (inputs[0][0], getattr(dataset, "text", None))
    if hasattr(examples, "to_dict") and any(name in index for name in first):
        # A row of pandas, which is a column of its cells.
        row = {name: [cell] for name, cell in examples.to_dict().items()}
        return Examples(examples_from_table(row, inputs, dataset), True, "the example")
    if isinstance(examples, str | tuple | Mapping):
        example = _example(plain_value(examples), inputs[0], "the example")
        return Examples([example], True, "the example")
    listed = plain_values(examples)
    if listed is None:
        raise ValueError(f"received {shown(examples)}; expected {_expected(inputs[0])}, or a list of such.")
    listed = [_example(example, inputs[0], f"examples[{index}]") for index, example in enumerate(listed)]
    return Examples(listed, False, "examples[{}]")


def _example(example, inputs, where):
    if isinstance(example, str):
        return {inputs[0]: example}
    if isinstance(example, tuple):
        names = inputs if len(example) == len(inputs) else PAIR
        if len(example) == len(names):
            example = dict(zip(names, example, strict=True))
    if isinstance(example, dict):
        return with_values(example, "the examples")
    advice = ". A pair is a tuple; batches of a tf.data.Dataset come apart by .unbatch()"
    advice = advice if isinstance(example, list) else ""
    raise ValueError(f"{where} is {shown(example)}; expected {_expected(inputs)}{advice}.")


def _expected(inputs):
    if len(inputs) == 1:
        return "a text (str), a pair of texts (tuple) or a dict with the key " + repr(inputs[0])
    return f"a tuple of {' and '.join(inputs)}, or a dict with these keys"
