"""What a task says of how good its model is: metrics, what an evaluation chooses, what a page shows."""

from collections.abc import Iterable

from keras import ops

from kbert.tasks.contract.rows import NUM_TOKENS, Predictions
from kbert.tasks.pages.content import Section


class ScoresOfTask:
    """The methods of a `Task` about its metrics and their pages."""

    collected: tuple[str, ...]
    shown: tuple[str, ...]

    def metric_sums(self, outputs, batch) -> dict:
        """name -> (sum, weight). With weight 0 the sum itself is reported; it may be an array of counts."""
        return {}

    def summarize(self, means: dict) -> dict:
        """Turns the means of losses and metrics into the metrics to report; by default unchanged."""
        return means

    def collect(self, outputs, batch) -> dict:
        """What `score` needs of every row of a batch: name -> tensor of shape (rows, ...).

        By default what `collected` names, as it is. A task may make less of it first: the best of many
        numbers takes less memory than all of them.
        """
        return {name: outputs[name] if name in outputs else batch[name] for name in self.collected}

    def score(self, examples: list | None, predictions: Predictions) -> dict:
        """The metrics that cannot be computed from sums over batches.

        Args:
          examples: the evaluated examples; None when the evaluation read records, which hold only features.
          predictions: the predictions for all rows of the evaluation.

        Returns:
          name -> float.
        """
        return {}

    def collect_for_page(self, outputs, batch) -> dict:
        """What `examples_page` needs of every row of a batch, and all that `collect` gives.

        Adds what `shown` names, and `num_tokens`, int32 of shape (rows,): how many tokens the row has, in the
        longest of its sequences if it has several.
        """
        rows = {name: outputs[name] if name in outputs else batch[name] for name in self.shown}
        tokens = ops.sum(ops.cast(ops.not_equal(batch["input_mask"], 0), "int32"), axis=-1)
        while len(tokens.shape) > 1:
            tokens = ops.max(tokens, axis=-1)
        return self.collect(outputs, batch) | rows | {NUM_TOKENS: tokens}

    def metrics_page(self, metrics: dict) -> list[Section]:
        """What a page shows of the metrics of an evaluation, beside their numbers; a confusion matrix, say.

        Args:
          metrics: as an evaluation reports them, `score`'s among them.
        """
        return []

    def examples_page(
        self, examples: list | None, predictions: Predictions, most_examples: int
    ) -> list[Section]:
        """What a page shows of the answers to the examples of an evaluation, such as the worst errors.

        Args:
          examples: as for `score`; None when the evaluation read records, which hold no texts.
          predictions: as for `score`, with the values of `collect_for_page`.
          most_examples: the largest number of examples to show.
        """
        return []

    def write_predictions(self, examples: list, predictions: Predictions, folder):
        """Writes `prediction_files` into a folder, which is made where it is missing.

        Args:
          examples, predictions: as for `score`.
          folder: where to.
        """
        raise NotImplementedError

    def chosen(self, metrics: dict) -> dict:
        """What an evaluation chooses for the answers to come, such as a threshold.

        Args:
          metrics: those of the evaluation, `score`'s among them.

        Returns:
          name -> value for the names in `chooses`: arguments of the constructor that take the place of
          `get_config`'s.
        """
        return {}

    def higher_is_better(self, metric: str) -> bool:
        """Whether higher values of a metric are better: true for everything except losses and errors."""
        return not metric.endswith(("loss", "error"))

    def baseline(self, batches: Iterable[dict], vocabulary) -> dict:
        """The scores of the best constant answer on these batches (dicts of arrays): name -> float or str."""
        return {}

    def report(self, metrics: dict) -> str:
        """A text to print after an evaluation, for example a confusion table; may be empty."""
        return ""
