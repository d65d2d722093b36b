"""The base class of tasks that learn to find each query's positive among all texts of the batch."""

import numpy as np

from kbert.checks import require
from kbert.cli.warn_once import warn_once
from kbert.config.vectors_config import TEXT_TASKS
from kbert.features import TARGET_FEATURE, TEACHER_SCORES, Feature
from kbert.input_pipelines.distinct_batches import DistinctBatches
from kbert.late_tensorflow import ops
from kbert.tasks.similarity.embedding_task import EmbeddingTask
from kbert.tasks.similarity.in_batch_loss import (
    COUPLED,
    margin_mse_sum,
    ranking_sums,
    row_weights,
    taught_weights,
)
from kbert.tasks.similarity.retrieval_scores import embedding_scores, may_be_wrong
from kbert.tasks.similarity.text_groups import text_numbers
from kbert.tasks.similarity.text_similarities import DenseSimilarities

_MOST_ROWS = 0.9  # in which a teacher that ranks has larger scores than shares


class InBatchTask(EmbeddingTask):
    """In-batch negatives: for each query a softmax over all positives and negatives of the global batch.

    Each query's own positive is right; the positives of all other rows and the hard negatives of all rows are
    wrong. So no text may stand twice in a training batch, nor beside a query that it is a positive of in
    another row, and the order of the rows sees to that. The loss is the same on one device and on several,
    because the embeddings of all replicas are gathered.

    A file with scores (the column `dataset.label`) can be evaluated too; then its pairs are not ranked.

    Args:
      further_pooling: as for an `EmbeddingTask`.
      num_negatives: hard negatives of each example.
      is_taught: whether the loss is `taught_sum`, from the scores of a teacher, in the place of the softmax.
      settings: those of the `settings_class`, by name.
    """

    best_metric = "mrr"
    collected: tuple[str, ...] = ("embeddings", TARGET_FEATURE)
    coupled: tuple[str, ...] = COUPLED
    unscored_metrics: tuple[str, ...] = ("loss", "batch_accuracy")  # what is said of rows without a score
    taught_sum = staticmethod(margin_mse_sum)  # the loss where a teacher's scores are learnt
    batch_losses = ""  # what else is learnt that is no mean over rows

    def __init__(
        self,
        further_pooling: dict | None = None,
        *,
        num_negatives: int = 0,
        is_taught: bool = False,
        **settings,
    ):
        super().__init__(further_pooling, **settings)
        self.num_negatives = num_negatives
        self.is_taught = is_taught

    def get_config(self):
        taught = {"is_taught": True} if self.is_taught else {}
        return super().get_config() | {"num_negatives": self.num_negatives} | taught

    @classmethod
    def dataset_arguments(cls, dataset):
        taught = dataset.scores and "scores" in cls.files.settings
        return {"num_negatives": len(dataset.negatives)} | ({"is_taught": True} if taught else {})

    @property
    def texts_per_example(self):
        return 2 + self.num_negatives

    @property
    def prompts(self):
        """Those of a query and of documents, as in `embed`."""
        query, document = (self.pooling.prompt(self.pooling.prompt_name(task)) for task in TEXT_TASKS)
        return [query, *[document] * (self.texts_per_example - 1)]

    def _names(self, number):
        return ["query", "positive", *["negative"] * (number - 2)]

    def check_training(self, config, examples):
        """Refuses what would make other negatives than those of whole batches without duplicates; a teacher's
        scores are learnt row by row."""
        num_micro_batches = config.gradient_accumulation_steps
        coupled = self.batch_losses if self.is_taught else "the negatives"
        if num_micro_batches > 1 and coupled:
            raise ValueError(
                f"gradient_accumulation_steps={num_micro_batches}: {coupled} of {self.name} are those "
                "of one micro-batch, so these would not learn what the whole batch learns; use 1 and a "
                "smaller train_batch_size, or recompute_activations=true to save memory."
            )
        if examples is None:
            raise ValueError(
                f"{self.name} keeps equal texts out of a batch, and records hold no texts; train from "
                "train_file."
            )
        self.files.require_positives(examples, config.dataset, self.name)
        if self.is_taught:
            self._check_teacher(config.dataset, examples)
            return
        self.files.warn_of_contradictions(examples)
        apart = self.files.texts_apart(examples) or []
        DistinctBatches(apart, config.train_batch_size).require_order()

    def check_metric(self, metric, examples):
        scored, pair_metrics = sum(example.score is not None for example in examples), ("pearson", "spearman")
        ranked = [example.texts for example in examples if example.score is None]
        taught = any(hasattr(example, "teacher_scores") for example in examples)
        require(
            taught or not self.is_taught or metric != "loss",
            "best_metric=loss is of a teacher's scores, but no example for evaluation has these; set "
            "--override=best_metric=mrr.",
        )
        require(
            scored < len(examples)
            or metric not in ("mrr", "accuracy_at_1", "triplet_accuracy", *self.unscored_metrics),
            f"best_metric={metric} ranks texts, but all examples for evaluation have a score; set "
            "--override=best_metric=spearman.",
        )
        require(
            metric not in ("mrr", "accuracy_at_1", "triplet_accuracy") or may_be_wrong(text_numbers(ranked)),
            f"best_metric={metric} ranks right texts among wrong ones, but for each query for evaluation all "
            "texts are right, or it is its own positive, as in SimCSE: any model finds them. Give queries "
            "with texts of their own (a dev_file, or a larger dev_split), or pairs with scores and "
            "--override=best_metric=spearman.",
        )
        require(
            bool(scored) or metric not in pair_metrics,
            f"best_metric={metric} is of scores, but no example for evaluation has one; set "
            "--override=best_metric=mrr.",
        )

    def _check_teacher(self, dataset, examples):
        if not self.num_negatives:
            raise ValueError(
                f"dataset.scores={dataset.scores!r}, but dataset.negatives is empty: margins are between a "
                "positive and its negatives; name their columns."
            )
        self.files.require_scores(examples, dataset)
        spans = [max(example.teacher_scores) - min(example.teacher_scores) for example in examples]
        if np.quantile(spans, _MOST_ROWS) <= 1:
            low, *_, high = sorted(examples[int(np.argmin(spans))].teacher_scores)
            warn_once(
                "in nearly all training examples the teacher's scores are at most 1 apart, such as "
                f"{low:g} and {high:g}: from shares or cosines the model learns that all texts of a row fit "
                "alike, and forgets how to rank. Give raw scores, as kbert hard-negatives --cross_encoder "
                "writes them, or leave dataset.scores out."
            )

    def features(self, max_seq_length):
        taught = {TEACHER_SCORES: Feature("float32", (1 + self.num_negatives,))} if self.is_taught else {}
        return super().features(max_seq_length) | taught

    def examples_to_features(self, examples, text_inputs):
        """Those of an `EmbeddingTask`; `teacher_scores` (rows, texts - 1) are NaN where there are none."""
        rows = super().examples_to_features(examples, text_inputs)
        if self.is_taught:
            unknown = (np.nan,) * (1 + self.num_negatives)
            scores = [getattr(example, "teacher_scores", unknown) for example in examples]
            rows.features[TEACHER_SCORES] = np.asarray(scores, np.float32).reshape(-1, len(unknown))
        return rows

    # ------------------------------------------------------------------------------- losses and scores

    def comparable(self, values: dict):
        """What `compare` takes of the texts, float32 (rows, texts, ...); by default the embeddings.

        Args:
          values: name -> tensor (rows, ...) of what `coupled` names.
        """
        return values["embeddings"]

    def compare(self, queries, candidates):
        """How similar each query is to each candidate: the logits of the softmax.

        Args:
          queries, candidates: float32 tensors (..., queries, *vectors) and (..., candidates, *vectors).

        Returns:
          float32 tensor (..., queries, candidates).
        """
        raise NotImplementedError

    def loss_weights(self, batch, training=False):
        if self.is_taught:
            return {"loss": ops.sum(taught_weights(batch))}
        return {"loss": ops.sum(row_weights(batch))}

    def loss_sums(self, outputs, batch, training=False):
        if self.is_taught:
            return {"loss": self.taught_sum(outputs, batch, self)}
        return {"loss": self._ranking_sums(outputs, batch)["loss"]}

    def _ranking_sums(self, outputs, batch):
        return ranking_sums(outputs, batch, self)

    def metric_sums(self, outputs, batch):
        sums = self._ranking_sums(outputs, batch)
        taught = {"taught_rows": (ops.sum(taught_weights(batch)), ops.zeros(()))} if self.is_taught else {}
        return taught | {
            "batch_accuracy": (sums["batch_accuracy"], sums["weight"]),
            "ranked_rows": (sums["weight"], ops.zeros(())),  # a count, see `Task.metric_sums`
        }

    def summarize(self, means):
        """Leaves out what is said of ranked rows where all have scores, and the loss where no teacher's."""
        unknown = () if means.pop("taught_rows", 1) else ("loss",)
        unknown = unknown if means.pop("ranked_rows") else self.unscored_metrics
        return {name: value for name, value in means.items() if name not in unknown}

    def score(self, examples, predictions):
        """See `embedding_scores`; texts are equal that read alike, see `text_numbers`."""
        texts = examples and text_numbers([examples[owner].texts for owner in predictions.owners])
        return embedding_scores(
            self.similarities(predictions.values), predictions.values[TARGET_FEATURE], texts
        )

    def similarities(self, values: dict):
        """The `TextSimilarities` of the texts of an evaluation, from what `collect` gave of them."""
        return DenseSimilarities(values["embeddings"], self.pooling.similarity_fn_name)
