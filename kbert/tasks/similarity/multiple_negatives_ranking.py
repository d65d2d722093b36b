"""Queries with their positives -> embeddings that find each positive among those of the whole batch."""

import functools
from dataclasses import dataclass
from typing import Annotated

from kbert.bounds import LARGEST_FLOAT32, Bounds
from kbert.cli.warn_once import warn_once
from kbert.config.vectors_config import TEXT_TASKS
from kbert.late_tensorflow import ops
from kbert.layers import unit_length
from kbert.tasks.file_columns import task_files
from kbert.tasks.similarity.embedding_task import EmbeddingSettings, EmbeddingTask
from kbert.tasks.similarity.in_batch_loss import ranking_sums
from kbert.tasks.similarity.in_batch_task import InBatchTask
from kbert.tasks.similarity.matryoshka import nested_outputs, require_dims


@dataclass(frozen=True)
class RankingSettings(EmbeddingSettings):
    """The settings of `MultipleNegativesRanking`.

    `scale` multiplies the cosines before the softmax; 20 is sentence-transformers' default. `symmetric` adds
    the other direction: which query belongs to each positive.
    """

    scale: Annotated[float, Bounds(above=0, largest=LARGEST_FLOAT32)] = 20.0
    symmetric: bool = False


class MultipleNegativesRanking(InBatchTask):
    """In-batch negatives of dense vectors: the logits are `scale` times the cosines.

    Args:
      num_negatives: hard negatives of each example.
      settings: those of `RankingSettings`, by name.

    Examples:
      >>> from kbert import MultipleNegativesRanking
      >>> MultipleNegativesRanking(num_negatives=1).features(8)["input_ids"].shape
      (3, 8)

    Reference: arXiv 1705.00652, section 4.4; sentence-transformers, losses/MultipleNegativesRankingLoss.py
    and MultipleNegativesSymmetricRankingLoss.py.
    """

    name = "multiple_negatives_ranking"
    settings_class = RankingSettings
    not_in_answers = ("scale", "symmetric", "matryoshka_dims")
    files = task_files(name)
    # Of a pair with a score: one signature answers both of its texts.
    prompts = EmbeddingTask.prompts

    def prompts_before(self, example, prompts):
        """Those of a query and of documents, as in `embed`; of a pair with a score the default prompt."""
        return self._ranking_prompts if example.score is None else prompts

    @functools.cached_property
    def _ranking_prompts(self):
        skipped = {
            self.pooling.skipped_tokens(self.pooling.prompt_name(task)) for task in (None, *TEXT_TASKS)
        }
        if len(skipped) == 1:  # else these are no vectors of one pooling layer
            return super().prompts
        warn_once(
            "the tokens of the model's prompts do not count (include_prompt: false), so training and the "
            f"evaluation of its rows put the default prompt, {self.default_prompt!r}, before queries and "
            "documents; embed(task=...), rank and a search put their own there."
        )
        return self.prompts

    def comparable(self, values):
        return unit_length.unit(values["embeddings"])

    def compare(self, queries, candidates):
        return self.settings.scale * ops.matmul(queries, ops.swapaxes(candidates, -1, -2))

    def check_training(self, config, examples):
        super().check_training(config, examples)
        self._warn_of_lengths()
        require_dims(self.settings.matryoshka_dims, self.pooling.width(config.encoder.hidden_size))

    def loss_sums(self, outputs, batch, training=False):
        nested = nested_outputs(outputs, self.settings.matryoshka_dims)
        return {"loss": sum(self._ranking_sums(outputs, batch)["loss"] for outputs in nested)}

    def _ranking_sums(self, outputs, batch):
        return ranking_sums(outputs, batch, self, self.settings.symmetric)
