"""What a page shows of an evaluation: a part of tasks."""

from typing import Any

from kbert.late_tensorflow import ops
from kbert.tasks.pages.content import Section

NUM_TOKENS = "num_tokens"  # see `Page.collect`


class Page:
    """The sections of a task.

    Args:
      task: the task.

    Attributes:
      task: as given.
      shown: the names of the outputs and features that `example_sections` needs from every row beside those
        of `Task.collect`.
    """

    shown: tuple[str, ...] = ()

    def __init__(self, task: Any):
        self.task = task

    def collect(self, outputs, batch) -> dict:
        """What `example_sections` needs of every row of a batch, and all that `Task.collect` gives.

        Adds what `shown` names, and `num_tokens`, int32 of shape (rows,): how many tokens the row has, in the
        longest of its sequences if it has several.
        """
        rows = {name: outputs[name] if name in outputs else batch[name] for name in self.shown}
        tokens = ops.sum(ops.cast(ops.not_equal(batch["input_mask"], 0), "int32"), axis=-1)
        while len(tokens.shape) > 1:
            tokens = ops.max(tokens, axis=-1)
        return self.task.collect(outputs, batch) | rows | {NUM_TOKENS: tokens}

    def metric_sections(self, metrics: dict) -> list[Section]:
        """What a page shows of the metrics of an evaluation, beside their numbers; a confusion matrix, say.

        Args:
          metrics: as an evaluation reports them, `score`'s among them.
        """
        return []

    def example_sections(self, examples: list | None, predictions, most_examples: int) -> list[Section]:
        """What a page shows of the answers to the examples of an evaluation, such as the worst errors.

        Args:
          examples: as for `Task.score`; None when the evaluation read records, which hold no texts.
          predictions: the `Predictions`, with the values of `collect`.
          most_examples: the largest number of examples to show.
        """
        return []
