"""The base class of tasks that learn one vector for each text."""

import dataclasses
import functools
from dataclasses import dataclass

import numpy as np

from kbert.checks import CheckedSettings
from kbert.cli.warn_once import warn_once
from kbert.config.pooling_config import POOLING_LAYER, PoolingConfig
from kbert.features import ENCODER_INPUTS, PACKED_POSITIONS, TARGET_FEATURE, Feature
from kbert.heads import multiple_choice_head
from kbert.heads.parts import vector_parts
from kbert.layers import sequence_pooling
from kbert.tasks import task_model
from kbert.tasks.file_columns import signature_inputs
from kbert.tasks.serving import Serving
from kbert.tasks.signatures.signature import traced_once
from kbert.tasks.similarity.matryoshka import require_dims
from kbert.tasks.similarity.prompts import vector_signatures
from kbert.tasks.similarity.text_groups import tokenize_groups
from kbert.tasks.similarity.vectors import VectorServing, text_embeddings
from kbert.tasks.task import CheckpointKind, ExampleFeatures, Task


@dataclass(frozen=True)
class EmbeddingSettings(CheckedSettings):
    """How one vector is made of a text.

    `pooling` is "mean", "cls", "max", "mean_sqrt_len", "weightedmean" or "lasttoken", or several, such as
    "cls+mean". `normalize` brings the vectors to length 1. What is left out is taken from the checkpoint,
    where that is a sentence-transformers folder or a run that says it; otherwise it is "mean" and true.

    `matryoshka_dims` are lengths, such as 384, 256 and 128: the loss is the sum of the losses of the first so
    many numbers of the vectors, so that these are vectors that can be compared (Matryoshka, arXiv
    2205.13147).
    """

    pooling: str | None = None
    normalize: bool | None = None
    matryoshka_dims: tuple[int, ...] = ()

    def __post_init__(self):
        object.__setattr__(self, "matryoshka_dims", tuple(self.matryoshka_dims))  # Keras's files hold lists
        super().__post_init__()
        require_dims(self.matryoshka_dims)
        if self.pooling is not None:
            PoolingConfig(self.pooling)  # raises an error for an unknown mode


class _Serving(VectorServing):
    inputs, other_inputs = signature_inputs("cosine_similarity")
    answers = ("cosine",)
    row_texts = ("text",)
    vectors = "embeddings"

    def signatures(self, model, text_inputs):
        """`serving_default`: `text`, `text_pair` (string [batch]) -> `cosine` (float32 [batch]). `embedding`:
        `text` -> `embedding` (float32 [batch, width]). `ids` takes the encoder inputs of one text each (int32
        [batch, length]) -> `embedding`. Of some prompts more, see `vector_signatures`."""

        def embed_ids(inputs):
            return {"embedding": text_embeddings(model, inputs)}

        signatures = vector_signatures(self.task.pooling, embed_ids, model, text_inputs)
        embed = traced_once(signatures.pop("serving_default"))
        return {"serving_default": self.pair_signature(embed), "embedding": embed} | signatures

    def outputs_from_ids(self, answer, batch):
        """`embeddings`: each text of an example is a row of its own."""
        count, texts, length = batch["input_ids"].shape
        rows = {name: np.reshape(batch[name], (count * texts, length)) for name in ENCODER_INPUTS}
        return {"embeddings": np.reshape(answer(rows)["embedding"], (count, texts, -1))}


class EmbeddingTask(Task):
    """Two or more texts, each encoded on its own (a bi-encoder), and one vector for each.

    The encoder inputs have shape (batch, texts, seq_length). The model has no head: its output `embeddings`,
    float32 of shape (batch, texts, width), is pooled from the last layer. `targets`, float32 of shape
    (batch,), is the score of the first two texts as a cosine, NaN where there is none.

    Args:
      further_pooling: what the checkpoint that the task starts from says of its vectors, beside settings.
      settings: those of the `settings_class`, by name; pooling and normalization may be open until
        `with_pooling` sets them.
    """

    settings_class: type = EmbeddingSettings
    checkpoint = CheckpointKind("BertModel")
    vectors_class: type = PoolingConfig
    # A setting of the vectors -> the task's setting that comes before what a checkpoint says of it.
    own_settings = {"mode": "pooling", "normalize": "normalize"}
    serving_class: type[Serving] | None = _Serving
    texts_per_example = 2

    def __init__(self, further_pooling: dict | None = None, **settings):
        super().__init__(**settings)
        self._further_pooling = dict(further_pooling or {})
        if isinstance(self.pooling, PoolingConfig):
            self.parts = vector_parts(self.pooling)

    def get_config(self):
        further = {"further_pooling": self._further_pooling} if self._further_pooling else {}
        return super().get_config() | further

    @property
    def grouping(self) -> type:
        """The layer that puts the vectors of an example side by side."""
        return multiple_choice_head.GroupedVectors

    @functools.cached_property  # each answer asks for it
    def pooling(self):
        return self._filled(self.vectors_class(**self._further_pooling))

    def with_pooling(self, pooling):
        """The same task; where its settings leave pooling or normalization open, with those of `pooling`, and
        with its prompts, of whatever vectors it is."""
        is_alike = isinstance(pooling, self.vectors_class)
        filled = self._filled(pooling if is_alike else self.pooling.with_prompts(pooling))
        own = {setting: getattr(filled, name) for name, setting in self.own_settings.items()}
        further = {name: value for name, value in filled.changes.items() if name not in self.own_settings}
        return type(self)(**self.get_config() | own | ({"further_pooling": further} if further else {}))

    def _filled(self, vectors):
        chosen = {name: getattr(self.settings, setting) for name, setting in self.own_settings.items()}
        return dataclasses.replace(
            vectors, **{name: value for name, value in chosen.items() if value is not None}
        )

    @classmethod
    def from_labels(cls, labels):
        return cls()

    def _warn_of_lengths(self):
        """Warns where a loss of directions trains vectors that a search compares by their lengths as well."""
        function = self.pooling.similarity_fn_name
        if function != "cosine" and not self.pooling.normalize:
            warn_once(
                f"{self.name} learns the directions of vectors, and this model compares them by "
                f"similarity_fn_name={function}, where their lengths count too, which nothing trains: set "
                "--override=task_settings.normalize=true, with which both agree."
            )

    # ------------------------------------------------------------------------------- examples

    def features(self, max_seq_length):
        texts = Feature("int32", (self.texts_per_example, max_seq_length))
        return dict.fromkeys(ENCODER_INPUTS, texts) | {TARGET_FEATURE: Feature("float32", ())}

    def examples_to_features(self, examples, text_inputs):
        """Encoder inputs, int32 of shape (rows, texts, max_seq_length), and `targets`."""
        scores = [np.nan if example.score is None else example.score for example in examples]
        features = self.tokenize(examples, text_inputs)
        features[TARGET_FEATURE] = self.as_cosines(np.asarray(scores, np.float64)).astype(np.float32)
        return ExampleFeatures(features, np.arange(len(examples)))

    def tokenize(self, examples, text_inputs) -> dict[str, np.ndarray]:
        """The features of the texts of examples, see `tokenize_groups`."""
        own = self.prompts
        prompts = [self.prompts_before(example, own) for example in examples]
        return tokenize_groups(examples, self.texts_per_example, prompts, text_inputs)

    def as_cosines(self, scores: np.ndarray) -> np.ndarray:
        """The scores of a file -> the cosines that are learnt; here the same numbers."""
        return scores

    def describe(self, row, vocabulary):
        describe, lines = super().describe, []
        for number, name in enumerate(self._names(len(row["input_ids"]))):
            text = {feature: row[feature][number] for feature in ENCODER_INPUTS}
            lines.append(f"{name}: {describe(text, vocabulary)[0].removeprefix('example: ')}")
        score = float(row[TARGET_FEATURE])
        return lines if np.isnan(score) else [*lines, f"  -> cosine {score:g}"]

    def _names(self, number):
        return ["example"] * number

    # ------------------------------------------------------------------------------- model

    def build_model(self, encoder):
        """Encoder inputs of each text -> float32 `embeddings` (batch, texts, width)."""
        encoder = encoder.with_outputs("sequence_output")
        inputs = task_model.token_inputs(ENCODER_INPUTS, None)
        as_batch = multiple_choice_head.ChoicesAsBatch(name="texts_as_batch")
        flat = {name: as_batch(value) for name, value in inputs.items()}
        if encoder.packed:
            packed = task_model.token_inputs([PACKED_POSITIONS])
            inputs, flat = inputs | packed, flat | packed
        pooled = self.vectors(encoder, encoder(flat)["sequence_output"], flat["input_mask"])
        embeddings = self.grouping(dtype="float32", name="embeddings")(pooled, inputs["input_ids"])
        return task_model.TaskModel(self, encoder, inputs, {"embeddings": embeddings})

    def vectors(self, encoder, sequence_output, input_mask):
        """The vectors of the encoder's tokens (rows, length, hidden_size) -> those of the texts."""
        pool = sequence_pooling.SequencePooling.of(self.pooling, name=POOLING_LAYER)
        return pool(sequence_output, input_mask)
