"""Two texts with a score -> embeddings whose cosine is the score."""

import math
from dataclasses import dataclass

import numpy as np

from kbert.checks import require
from kbert.cli.warn_once import warn_once
from kbert.features import TARGET_FEATURE
from kbert.input_pipelines.label_checks import warn_of_one_number
from kbert.input_pipelines.labelled_files import LabelledText
from kbert.late_tensorflow import ops
from kbert.tasks.correlations import correlations
from kbert.tasks.file_columns import task_files
from kbert.tasks.losses import example_sum
from kbert.tasks.pages.numbers import number_sections
from kbert.tasks.pages.page import NUM_TOKENS, Page
from kbert.tasks.similarity.embedding_task import EmbeddingSettings, EmbeddingTask
from kbert.tasks.similarity.matryoshka import nested_outputs, require_dims
from kbert.tasks.similarity.vectors import cosine

_ENOUGH_SCORES = 20  # of a file, to tell that its scale is another one


@dataclass(frozen=True)
class CosineSettings(EmbeddingSettings):
    """The settings of `CosineSimilarity`.

    `lowest_score` and `highest_score` are the ends of the scores in the files, 0 and 5 in STS-B. They become
    the cosines 0 and 1. A scale from below 0 to above keeps its 0: from -1 to 1 the scores are cosines.
    """

    lowest_score: float = 0.0
    highest_score: float = 1.0

    def __post_init__(self):
        super().__post_init__()
        low, high = self.lowest_score, self.highest_score
        require(
            math.isfinite(low) and math.isfinite(high) and low < high,
            f"lowest_score={low:g} and highest_score={high:g}: expected finite numbers, the lowest first.",
        )


class _Page(Page):
    def example_sections(self, examples, predictions, most_examples):
        """See `number_sections`; the numbers are cosines, and the notes say so."""
        pairs = examples and [LabelledText(example.texts[0], example.texts[1], None) for example in examples]
        predicted, true = (predictions.values[name] for name in self.task.collected)
        lengths, high = predictions.values[NUM_TOKENS], self.task.settings.highest_score
        scale = f" Numbers are cosines: the score {high:g} is {self.task.as_cosines(high):g}."
        return number_sections(pairs, predicted, true, lengths, most_examples, scale)


class CosineSimilarity(EmbeddingTask):
    """Cosine regression: the mean squared error of the cosine of two embeddings and a score as a cosine.

    Evaluation gives Spearman's and Pearson's correlation of cosines and scores.

    Args:
      settings: those of `CosineSettings`, by name.

    Examples:
      >>> import numpy as np
      >>> from kbert import CosineSimilarity
      >>> task = CosineSimilarity(lowest_score=0.0, highest_score=5.0)
      >>> task.as_cosines(np.array([0.0, 2.5, 5.0])).tolist()
      [0.0, 0.5, 1.0]

    Reference: arXiv 1908.10084 (Sentence-BERT), section 3, "Regression Objective Function";
    sentence-transformers, losses/CosineSimilarityLoss.py.
    """

    name = "cosine_similarity"
    settings_class = CosineSettings
    row_settings = ("lowest_score", "highest_score")
    not_in_answers = (*row_settings, "matryoshka_dims")
    best_metric = "spearman"
    collected = ("cosine", TARGET_FEATURE)
    files = task_files(name)
    page_class = _Page

    def check_examples(self, examples, max_seq_length):
        low, high = self.settings.lowest_score, self.settings.highest_score
        for example in examples:
            if example.score is not None and not low <= example.score <= high:
                raise ValueError(
                    f"the example that begins with {example.texts[0][:60]!r} has the score "
                    f"{example.score:g}, which is not between lowest_score={low:g} and "
                    f"highest_score={high:g}; set both in [task_settings] to the range of the file's scores."
                )

    def check_training(self, config, examples):
        self._warn_of_lengths()
        require_dims(self.settings.matryoshka_dims, self.pooling.width(config.encoder.hidden_size))
        low, high = self.settings.lowest_score, self.settings.highest_score
        scores = [example.score for example in examples or () if example.score is not None]
        ranking = 'for pairs that belong together set task = "multiple_negatives_ranking"'
        warn_of_one_number(config, scores, "scores", f"{ranking}, else give scores that differ")
        if len(scores) >= _ENOUGH_SCORES and max(scores) - low <= (high - low) / 4:
            warn_once(
                f"all {len(scores):,} scores lie from {min(scores):g} to {max(scores):g}, which become "
                f"cosines up to {self.as_cosines(max(scores)):.2f}, because highest_score={high:g}; set it "
                "in [task_settings] to the end of the file's scale."
            )

    def as_cosines(self, scores):
        low, high = self.settings.lowest_score, self.settings.highest_score
        if low < 0 < high:  # so that texts with nothing in common stay at a right angle
            return scores / max(-low, high)
        return (scores - low) / (high - low)

    def loss_sums(self, outputs, batch, training=False):
        nested = nested_outputs(outputs, self.settings.matryoshka_dims)
        errors = sum(ops.square(_cosines(outputs) - batch[TARGET_FEATURE]) for outputs in nested)
        return {"loss": example_sum(errors, batch)}

    def collect(self, outputs, batch):
        """`cosine`, float32 of shape (rows,), and `targets`."""
        return {"cosine": _cosines(outputs), TARGET_FEATURE: batch[TARGET_FEATURE]}

    def score(self, examples, predictions):
        """`pearson` and `spearman`, see `correlations`."""
        return correlations(*(predictions.values[name] for name in self.collected))

    def baseline(self, batches, vocabulary):
        """`baseline_loss`: the loss of cosines that are always the mean of these scores."""
        targets = np.concatenate([batch[TARGET_FEATURE] for batch in batches]).astype(np.float64)
        return {"baseline_loss": float(targets.var()) * max(1, len(self.settings.matryoshka_dims))}


def _cosines(outputs):
    embeddings = outputs["embeddings"]
    return cosine(embeddings[:, 0], embeddings[:, 1])
