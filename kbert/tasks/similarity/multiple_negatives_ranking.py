"""Queries with their positives -> embeddings that find each positive among those of the whole batch."""

from keras import ops

from kbert.features import TARGET_FEATURE
from kbert.input_pipelines.distinct_batches import DistinctBatches
from kbert.tasks.file_columns import task_files
from kbert.tasks.losses import example_sum
from kbert.tasks.similarity.embedding_task import EmbeddingTask
from kbert.tasks.similarity.in_batch_loss import COUPLED, RankingSettings, ranking_sums
from kbert.tasks.similarity.retrieval_scores import embedding_scores
from kbert.tasks.similarity.text_groups import text_numbers


class MultipleNegativesRanking(EmbeddingTask):
    """In-batch negatives: for each query a softmax over all positives and negatives of the global batch.

    The logits are `scale` times the cosines. Each query's own positive is right; the positives of all other
    rows and the hard negatives of all rows are wrong. So no text may stand twice in a training batch, nor
    beside a query that it is a positive of in another row, and the order of the rows sees to that. The loss
    is the same on one device and on several, because the embeddings of all replicas are gathered.

    A file with scores (the column `dataset.label`) can be evaluated too; then its pairs are not ranked.

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
    not_in_answers = ("scale", "symmetric")
    best_metric = "mrr"
    collected = ("embeddings", TARGET_FEATURE)
    coupled = COUPLED
    files = task_files(name)

    def __init__(self, num_negatives: int = 0, **settings):
        super().__init__(**settings)
        self.num_negatives = num_negatives

    def get_config(self):
        return super().get_config() | {"num_negatives": self.num_negatives}

    @classmethod
    def dataset_arguments(cls, dataset):
        return {"num_negatives": len(dataset.negatives)}

    @property
    def texts_per_example(self):
        return 2 + self.num_negatives

    def _names(self, number):
        return ["query", "positive", *["negative"] * (number - 2)]

    def check_training(self, config, examples):
        """Refuses what would make other negatives than those of whole batches without duplicates."""
        num_micro_batches = config.gradient_accumulation_steps
        if num_micro_batches > 1:
            raise ValueError(
                f"gradient_accumulation_steps={num_micro_batches}: the negatives of {self.name} are those "
                "of one micro-batch, so these would not learn what the whole batch learns; use 1 and a "
                "smaller train_batch_size, or recompute_activations=true to save memory."
            )
        if examples is None:
            raise ValueError(
                f"{self.name} keeps equal texts out of a batch, and records hold no texts; train from "
                "train_file."
            )
        self.files.require_positives(examples, config.dataset)
        self.files.warn_of_contradictions(examples)
        DistinctBatches(self.files.texts_apart(examples), config.train_batch_size).order(config.seed)

    def loss_weights(self, batch, training=False):
        return {"loss": example_sum(ops.cast(ops.isnan(batch[TARGET_FEATURE]), "float32"), batch)}

    def loss_sums(self, outputs, batch, training=False):
        return {"loss": ranking_sums(outputs, batch, self.settings)["loss"]}

    def metric_sums(self, outputs, batch):
        sums = ranking_sums(outputs, batch, self.settings)
        return {
            "batch_accuracy": (sums["batch_accuracy"], sums["weight"]),
            "ranked_rows": (sums["weight"], ops.zeros(())),  # a count, see `Task.metric_sums`
        }

    def summarize(self, means):
        """Leaves out loss and accuracy where no row was ranked: all have scores."""
        if not means.pop("ranked_rows"):
            means = {name: value for name, value in means.items() if name not in ("loss", "batch_accuracy")}
        return means

    def score(self, examples, predictions):
        """See `embedding_scores`; texts are equal as they stand in the file."""
        texts = examples and text_numbers([examples[owner].texts for owner in predictions.owners])
        embeddings, targets = (predictions.values[name] for name in self.collected)
        return embedding_scores(embeddings, targets, texts, self.pooling.similarity_fn_name)
