"""Texts to compare an export with the Keras model on: real ones, of the run's own training data."""

import itertools
from pathlib import Path
from typing import NamedTuple

from kbert.runs.run_directory import RunDirectory

MOST_TEXTS = 64
_MOST_READ = 2048  # examples at the head of the file, of which MOST_TEXTS are taken


class RunTexts(NamedTuple):
    """Examples to ask a model.

    Args:
      examples: dicts with the inputs of "serving_default" that each example has; none where the run's data
        are not at hand.
      source: where they come from, or why there are none, as a sentence for people.
    """

    examples: list[dict]
    source: str


def texts_of_run(source, task) -> RunTexts:
    """Up to MOST_TEXTS examples of a run's training data, spread over their first 2,048.

    Args:
      source: a `RunDirectory`, or a `LoadedModel`, which has no data.
      task: its `Task`.
    """
    if not isinstance(source, RunDirectory):
        return RunTexts([], "fixed texts alone: a checkpoint records no training data")
    run = source
    recorded = run.details.get("train_file")
    if not recorded:
        return RunTexts([], "fixed texts alone: the run does not record a file of texts")
    if not Path(recorded).is_file():
        kind = "holds records, not texts" if Path(recorded).is_dir() else "is no longer there"
        return RunTexts([], f"fixed texts alone: the run's training data, {recorded}, {kind}")
    try:
        read = list(itertools.islice(_examples(run, task, recorded), _MOST_READ))
    except (ValueError, OSError) as error:  # the file is not what it was: the export does not depend on it
        return RunTexts([], f"fixed texts alone: the run's training data cannot be read ({error})")
    step = max(1, -(-len(read) // MOST_TEXTS))
    examples = [inputs for example in read[::step] if (inputs := inputs_of(example, task.inputs))]
    if not examples:
        return RunTexts([], f"fixed texts alone: {recorded} holds no inputs of this task's answers")
    return RunTexts(examples, f"{len(examples)} examples of the run's training data, and fixed texts")


def _examples(run, task, path):
    return task.read_examples(path, run.config.dataset, with_labels=False)


def inputs_of(example, names) -> dict | None:
    """The inputs that an example gives by its fields' names; a text that it lacks is made of its `words`.

    Returns:
      name -> text, or list of texts; None where the example does not have them all.
    """
    given = {name: value for name in names if (value := getattr(example, name, None)) is not None}
    words = getattr(example, "words", None)
    if "text" not in given and words:
        given["text"] = " ".join(words)
    return given if set(given) == set(names) else None
