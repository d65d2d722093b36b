"""A run directory or any checkpoint -> a Keras model with its tokenizer and config."""

import dataclasses
import functools
import importlib
import threading
from collections.abc import Callable
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from kbert.answering.answering_encoder import PRECISIONS, AnsweringEncoder
from kbert.answering.answering_model import answering_model
from kbert.checkpoints.bert_checkpoint import BertCheckpoint
from kbert.checkpoints.formats import local_path, read_checkpoint, write_checkpoint
from kbert.checkpoints.hugging_face.hub import known_casing
from kbert.checkpoints.model_loading import build_model
from kbert.checkpoints.report import Report
from kbert.cli.commands import export_package
from kbert.cli.progress import activity
from kbert.config import DatasetConfig
from kbert.config.pooling_config import PoolingConfig
from kbert.features import ENCODER_INPUTS
from kbert.forked import require_own_tensorflow
from kbert.inference.finite_numbers import require_finite_answers
from kbert.inference.model_as_checkpoint import model_as_checkpoint
from kbert.inference.predictor import Predictor
from kbert.inference.text_answers import TextAnswers
from kbert.inference.texts import text_batch
from kbert.layers.sequence_pooling import SequencePooling, unit
from kbert.runs.run_directory import RunDirectory
from kbert.runs.run_file import holds_run
from kbert.tasks.signatures.signature import Signature
from kbert.tokenization.text_inputs import TextInputs


@activity("reading the model")
def load_model(
    path,
    do_lower_case: bool | None = None,
    allow_unmatched=(),
    checkpoint: str | int | None = None,
    precision: str = "float32",
    folder: Path | None = None,
) -> "LoadedModel":
    """A run or a checkpoint as a Keras model with its tokenizer: `kbert.load` without .tflite files.

    `folder` is where the model lies, if `local_path` was asked before.
    """
    _require_precision(precision)
    folder = local_path(path) if folder is None else folder
    if holds_run(folder):
        loaded = LoadedModel.from_run(_run(folder, do_lower_case, allow_unmatched), checkpoint)
    elif checkpoint is not None:
        raise ValueError(
            f"checkpoint={checkpoint!r} chooses a checkpoint of a run, but {path} is not a run; leave it out."
        )
    else:
        if do_lower_case is None and folder != Path(path):
            do_lower_case = known_casing(str(path))
        loaded = _from_checkpoint(read_checkpoint(folder, do_lower_case, allow_unmatched))
        loaded.read_with = {"do_lower_case": do_lower_case, "allow_unmatched": allow_unmatched}
    loaded.source, loaded.precision = str(path), precision
    return loaded


def _run(folder, do_lower_case, allow_unmatched) -> RunDirectory:
    """A run of kbert, which records its casing and matches itself. ValueError for what contradicts that."""
    run = RunDirectory(folder)
    run.require_casing(do_lower_case)
    if allow_unmatched:
        raise ValueError(
            f"allow_unmatched={list(allow_unmatched)} is for checkpoints of other libraries, but {folder} "
            "is a run of kbert; leave it out."
        )
    return run


def _require_precision(precision):
    if precision not in PRECISIONS:
        choices = " or ".join(map(repr, PRECISIONS))
        raise ValueError(f"precision={precision!r} is not known for predictions; choose {choices}.")


class LoadedModel(TextAnswers):
    """A trained model with its task, vocabulary and settings.

    Args:
      source: where it was loaded from.
      task: the `Task`.
      model: its Keras model.
      vocabulary: the `Vocabulary` with its casing.
      max_seq_length: the longest sequence in tokens; longer texts are cut.
      takes_pairs: whether the model answers pairs of texts; None when unknown.
      own_pooling: the `PoolingConfig` by which the model makes one vector of a text; None if it was not made
        for that, then `embed` takes the default.

    Attributes:
      text_inputs: the `TextInputs` that tokenize for the model.
      encoder: the `BertEncoder` in the model.
      config: its `EncoderConfig`.
      run: the `RunDirectory` that it was loaded from, None for a checkpoint of others.
      checkpoint: the folder of a run's checkpoint.
      read_with: the arguments of `read_checkpoint` for a checkpoint of others.
      description: what a checkpoint of others is beside its tensors; None for a run.
      pooling: how `embed` makes one vector of a text, see `SequencePooling`.
      normalize: whether `embed` scales vectors to length 1.
      precision: the one in which the encoder predicts.

    Examples:
      >>> import kbert
      >>> loaded = kbert.load(run_dir)
      >>> embeddings = loaded.embed(["jump the a", "walk a"])
      >>> embeddings.shape, embeddings.dtype
      ((2, 16), dtype('float32'))
      >>> loaded.with_max_seq_length(20)  # doctest: +ELLIPSIS
      <LoadedModel ...: sequence_classification (quiet, loud), 1 layers of 16, 22 tokens, up to 20 tokens>
    """

    def __init__(
        self,
        source,
        task,
        model,
        vocabulary,
        max_seq_length,
        takes_pairs=None,
        own_pooling: PoolingConfig | None = None,
    ):
        self.source = str(source)
        self.run: RunDirectory | None = None
        self.checkpoint: Path | None = None
        self.read_with: dict = {}
        self.description: BertCheckpoint | None = None
        self.task = task
        self.model = model
        self.vocabulary = vocabulary
        self.max_seq_length = max_seq_length
        self.takes_pairs = takes_pairs
        self.own_pooling = own_pooling
        self.pooling, self.normalize = self._pooling_config.mode, self._pooling_config.normalize
        self.encoder = getattr(model, "encoder", model)
        self.config = self.encoder.config
        self.text_inputs = TextInputs(vocabulary, max_seq_length)
        self.precision = "float32"
        self._made, self._lock = {}, threading.RLock()  # see `_once`

    def __repr__(self):
        shape = f"{self.config.num_hidden_layers} layers of {self.config.hidden_size}"
        words = f"{len(self.vocabulary)} tokens, up to {self.max_seq_length} tokens"
        labels = getattr(self.task, "labels", ())
        shown = ", ".join(labels[:5]) + (", ..." if len(labels) > 5 else "")
        return f"<LoadedModel {self.source}: {self.task.name}{shown and f' ({shown})'}, {shape}, {words}>"

    @classmethod
    def from_run(cls, run: RunDirectory, checkpoint: str | int | None = None) -> "LoadedModel":
        """Loads a checkpoint of a run directory, see `RunDirectory.checkpoint`."""
        folder, task, model = run.load_checkpoint(checkpoint)
        loaded = cls(
            run.path,
            task,
            model,
            run.vocabulary(),
            run.details["max_seq_length"],
            takes_pairs=getattr(task, "takes_pairs", None),
            own_pooling=task.pooling,
        )
        loaded.run, loaded.checkpoint = run, folder
        return loaded

    @property
    def dataset(self) -> DatasetConfig | None:
        """The `DatasetConfig` of its run, which names columns; None of a pretraining and of others'."""
        return getattr(self.run and self.run.config, "dataset", None)

    @property
    def answering_model(self) -> keras.Model:
        """What answers in the place of `model`, with its weights; made when it is first asked for."""
        return self._once("answering_model", lambda: answering_model(self.model, self.precision))

    @property
    def signatures(self) -> dict[str, Signature]:
        """The signatures of the model: name -> `Signature`, see `Serving.signatures`."""
        signatures = self.task.serving.signatures
        return self._once("signatures", lambda: signatures(self.answering_model, self.text_inputs))

    def graph(self, key, make: Callable[[], Callable]) -> Callable:
        """The `tf.function` that `make` gives for a key, the same one at every call.

        Tracing takes half a second and its memory is not given back, so graphs belong to the model and not
        to what asks it.
        """
        return self._once(("graph", key), make)

    def _once(self, key, make):
        """What `make` gives for a key; threads that ask at the same time wait for the first of them."""
        require_own_tensorflow()
        with self._lock:
            if key not in self._made:
                self._made[key] = make()
            return self._made[key]

    def with_max_seq_length(self, max_seq_length: int) -> "LoadedModel":
        """The same model with another maximum length.

        Raises:
          ValueError: when the encoder has fewer positions, or when the length leaves no room for a text.
        """
        if max_seq_length > self.config.max_position_embeddings:
            raise ValueError(
                f"max_seq_length={max_seq_length} is more than the {self.config.max_position_embeddings} "
                f"positions of {self.source}; choose a smaller one."
            )
        changed = LoadedModel(
            self.source,
            self.task,
            self.model,
            self.vocabulary,
            max_seq_length,
            self.takes_pairs,
            self.own_pooling,
        )
        changed.precision, changed.read_with = self.precision, self.read_with
        changed.description = self.description
        changed.run, changed.checkpoint = self.run, self.checkpoint
        return changed

    def inputs(self, texts, text_pairs=None, with_masks=False) -> dict:
        """Texts as inputs of the model: tokenized, cut to `max_seq_length`, padded to the longest of them.

        Args:
          texts: a text or a list of texts; a single text becomes a batch of one.
          text_pairs: the second texts in the same form, or None.
          with_masks: whether `[MASK]` in a text means the mask token.

        A model of vectors with a default prompt (`own_pooling`) has it before each text.

        Returns:
          dict of int32 tensors of shape (texts, length): input_ids, input_mask, segment_ids.

        Raises:
          ValueError: when an input is not a text; the message names its index.
        """
        require_own_tensorflow()
        batch, prompt = text_batch(texts, text_pairs), self._pooling_config.prompt()
        pairs = None if batch.pairs is None else tf.constant(batch.pairs, tf.string)
        texts = tf.constant([prompt + text for text in batch.texts], tf.string)
        return self.text_inputs(texts, pairs, pad_to_longest=True, with_masks=with_masks)

    def predictor(self, signature: str) -> Predictor:
        """What asks a signature of the model."""
        return Predictor(self, signature)

    def evaluate(self, eval_file=None, **arguments) -> dict:
        """The metrics of the model as it is now (weights, length and precision) on held-out data.

        Args:
          eval_file: a labelled file; or data in memory, such as a DataFrame, see `kbert.evaluate`.
          **arguments: others of `kbert.evaluate`, such as `input_dir`, `html_file` or `config`.
        """
        from kbert.experiments.evaluation import evaluate  # which stands above this module

        return evaluate(self, eval_file, **self.read_with | arguments)[1]

    def export(self, model_base_path, **arguments) -> dict:
        """Writes a SavedModel for TensorFlow Serving, as `kbert export` does.

        Args:
          model_base_path: the folder of the model's versions.
          **arguments: others of `export_savedmodel`, such as `version` or `measure`. `precision` is the
            model's own by default.

        Returns:
          What the checks of the export found, see `export_savedmodel`.
        """
        exporter = importlib.import_module(f"{export_package()}.export_savedmodel")
        return exporter.export_savedmodel(self, model_base_path, **{"precision": self.precision} | arguments)

    def export_litert(self, output_dir, quantizations=("float32", "dynamic_int8"), **arguments) -> dict:
        """Writes LiteRT (.tflite) files for phones, as `kbert export-litert` does.

        Args:
          output_dir: the folder of the files, which must not exist.
          quantizations: one or more of "float32", "float16", "dynamic_int8".
          **arguments: others of `export_tflite`, such as `max_seq_lengths`, `eval_file` or `overwrite`.

        Returns:
          The report of each file, see `export_tflite`.
        """
        exporter = importlib.import_module(f"{export_package()}.export_tflite")
        return exporter.export_tflite(self, output_dir, quantizations, **arguments)

    def save(self, path, format: str = "kbert", allow_unmatched=(), overwrite: bool = False) -> Report:
        """Writes the model with the weights that it has now as a new folder, which `kbert.load` reads.

        Args:
          path: the folder to make.
          format: "kbert" (a run of 0 steps), "hugging_face", "google" or "keras_hub".
          allow_unmatched: names of settings that the format may leave out.
          overwrite: whether an earlier one may be replaced.

        Returns:
          The `Report` of the writing.

        Raises:
          ValueError: for an unknown format, a folder that holds files, or a model that the format cannot
            express; OSError when it cannot be written. Nothing is left behind then.
        """
        return write_checkpoint(model_as_checkpoint(self), path, format, allow_unmatched, overwrite)

    @property
    def _pooling_config(self) -> PoolingConfig:
        """The model's own, or the default."""
        return self.own_pooling or PoolingConfig()

    def embed(
        self,
        texts,
        pooling: str | None = None,
        normalize: bool | None = None,
        prompt_name: str | None = None,
    ) -> np.ndarray:
        """One vector for each text, for comparing texts with each other.

        By default this is the mean of the last layer's vectors of all tokens, scaled to length 1 (so the dot
        product of two vectors is their cosine similarity); a sentence-transformers folder, and a run that was
        trained for it, have a pooling of their own. The vectors of a model that was not trained for this show
        only roughly whether two texts have the same topic.

        Args:
          texts: a text, or an iterable of texts. Long lists are processed in batches of similar lengths.
          pooling: a mode of `SequencePooling`; None uses the model's own.
          normalize: whether to scale to length 1; None uses the model's own.
          prompt_name: which of the model's prompts (`own_pooling.prompts`) stands before each text; None uses
            the model's default prompt, if it has one.

        Returns:
          float32 array of shape (texts, width); (width,) for a single text (not in a list). The width is
          hidden_size, unless the model has several poolings or keeps fewer numbers (`truncate_dim`).

        Raises:
          ValueError: when an input is not a text (the message names its index), the model has no prompt of
            this name, or vectors are not finite.
        """
        batch, prompt = text_batch(texts), self._pooling_config.prompt(prompt_name)
        config = self._chosen_pooling(pooling, normalize)
        key = ("embed", config.mode, config.normalize, normalize, config.skipped_tokens(prompt_name))
        embedder = self.graph(key, functools.partial(self._embedder, config, normalize, prompt_name))
        embeddings = np.zeros((len(batch.texts), config.width(self.config.hidden_size)), np.float32)
        for positions in batch.positions_by_length():
            prompted = [prompt + text for text in batch.select(positions).texts]
            values = embedder(tf.constant(prompted, tf.string)).numpy()
            require_finite_answers(values, self.source, positions)
            embeddings[positions] = values
        return batch.answer(embeddings)

    def _chosen_pooling(self, pooling, normalize) -> PoolingConfig:
        """The model's own, or the default, with what is not None."""
        chosen = {"mode": pooling, "normalize": normalize}
        return dataclasses.replace(
            self._pooling_config, **{name: value for name, value in chosen.items() if value is not None}
        )

    def _embedder(self, config, normalize, prompt_name):
        """The graph from texts, with their prompt, to vectors; of length 1 after the cut, if asked for."""
        encoder = AnsweringEncoder(self.encoder, self.precision, outputs=("sequence_output",))
        pool, scales_again = SequencePooling.of(config, prompt_name), normalize and config.truncate_dim

        def embed(texts):
            inputs = self.text_inputs(texts, pad_to_longest=True)
            vectors = pool(encoder(inputs)["sequence_output"], inputs["input_mask"])
            return unit(vectors) if scales_again else vectors

        signature = [tf.TensorSpec([None], tf.string)]
        return tf.function(embed, input_signature=signature, autograph=False)

    def embedding_model(self, pooling: str | None = None, normalize: bool | None = None) -> keras.Model:
        """Encoder and pooling as one Keras model: what `inputs` gives -> float32 (batch, width).

        It shares its weights with this model, so training one changes the other too.

        Args:
          pooling, normalize: as for `embed`.
        """
        layer = SequencePooling.of(self._chosen_pooling(pooling, normalize), name="sequence_pooling")
        encoder = self.encoder.with_outputs("sequence_output")
        inputs = {name: keras.Input((None,), dtype="int32", name=name) for name in ENCODER_INPUTS}
        return keras.Model(inputs, layer(encoder(inputs)["sequence_output"], inputs["input_mask"]))


def as_loaded_model(source) -> LoadedModel:
    """A `LoadedModel` as it is; that of a `RunDirectory`, or of a path or name as for `kbert.load`."""
    if isinstance(source, LoadedModel):
        return source
    return LoadedModel.from_run(source) if isinstance(source, RunDirectory) else load_model(source)


def load_answering(run, answers: tuple[str, ...], need: str) -> LoadedModel:
    """The `LoadedModel` of what is given, if its task gives one of `answers`.

    Args:
      run: as for `as_loaded_model`.
      answers: keys of answers, see `Serving.answers`.
      need: the end of the error message.

    Raises:
      ValueError: when the task gives none of the answers, before any weight is read.
    """
    if isinstance(run, str | Path):
        run = RunDirectory(run) if holds_run(run) else load_model(run)
    source, task = (run.path, run.task()) if isinstance(run, RunDirectory) else (run.source, run.task)
    if task.serving is None or not set(answers) & set(task.serving.answers):
        raise ValueError(f"{source} has the task {task.name}; {need}.")
    return as_loaded_model(run)


def _from_checkpoint(checkpoint):
    task, model = build_model(checkpoint)
    loaded = LoadedModel(
        checkpoint.source,
        task,
        model,
        checkpoint.vocabulary,
        checkpoint.max_seq_length,
        takes_pairs=False if checkpoint.pooling else checkpoint.takes_pairs,
        own_pooling=checkpoint.pooling,
    )
    loaded.description = dataclasses.replace(checkpoint, tensors={})
    return loaded
