"""A Keras model with its tokenizer and config: what `open_model` makes of a run or of any checkpoint."""

import dataclasses
import functools
import importlib
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from kbert.checkpoints import HUGGING_FACE, KBERT, Format
from kbert.checkpoints.bert_checkpoint import BertCheckpoint, RecordedTask
from kbert.checkpoints.conversion.untrained_rows import warn_of_positions
from kbert.checkpoints.file_settings import with_file_settings
from kbert.checkpoints.formats import write_checkpoint
from kbert.checkpoints.hugging_face.absent_files import warn_of_mean
from kbert.checkpoints.kbert_run import run_config
from kbert.checkpoints.model_loading import build_model, task_from_checkpoint
from kbert.checkpoints.report import Report
from kbert.checks import require_length, with_checked_arguments, with_checked_values
from kbert.cli.commands import export_package
from kbert.cli.progress import activity
from kbert.cli.warn_once import warn_once
from kbert.config import DatasetConfig, EncoderConfig, FinetuningConfig, TrainingConfig
from kbert.config.pooling_config import POOLING_LAYER, PoolingConfig, require_dimensions
from kbert.config.token_vectors_config import TokenVectorsConfig
from kbert.config.vectors_config import TEXT_TASKS, VectorsConfig, warn_of_written_prompts
from kbert.experiments import evaluation  # late: it stands above this module
from kbert.features import ENCODER_INPUTS
from kbert.files.json_values import first_few
from kbert.files.stored_tensor import StoredTensor, stored_variable
from kbert.forked import require_own_tensorflow
from kbert.full_memory import naming_full_memory
from kbert.inference import answering_encoder, predictor
from kbert.inference.answers import require_answering_task, require_top_k
from kbert.inference.finite_numbers import require_finite_answers
from kbert.inference.model_as_checkpoint import model_as_checkpoint
from kbert.inference.text_answers import TextAnswers
from kbert.inference.texts import text_batch
from kbert.late_tensorflow import keras, tf, traced_function
from kbert.layers import named_inputs, sequence_pooling, unit_length
from kbert.runs.run_directory import RunDirectory
from kbert.runs.run_file import require_no_config
from kbert.tasks import TASKS
from kbert.tasks.signatures.signature import Signature
from kbert.tasks.similarity.vectors import shortened
from kbert.tokenization import text_inputs
from kbert.tokenization.written_tokens import say_written_tokens

_FEWER_AT_ONCE = "give fewer texts at a time (--batch_size), or a smaller max_seq_length"
_TRAINED = "float32"  # the precision of the weights
_EVALUATED_AT_ONCE = 64
_MODELS = ("model", "answering_model", "read_rows", "rows")  # of what is made once


class LoadedModel(TextAnswers):
    """A trained model with its task, vocabulary and settings.

    Args:
      source: where it was loaded from.
      task: the `Task`.
      model: its Keras model; or a function that reads it when it is first asked for, and then `config`.
      vocabulary: the `Vocabulary` with its casing.
      max_seq_length: the longest sequence in tokens; longer texts are cut.
      takes_pairs: whether the model answers pairs of texts; None when unknown.
      own_pooling: the config by which the model makes vectors of texts, such as a `PoolingConfig`; None if it
        was not made for that, then `embed` takes the default.
      precision: the one in which the encoder predicts, as for `kbert.load`, see `AnsweringEncoder`.
      config: the `EncoderConfig` of the model; None takes it from a model that is there.

    Attributes:
      config: its `EncoderConfig`.
      run: the `RunDirectory` that it was loaded from, None for a checkpoint of others.
      checkpoint: the folder of a run's checkpoint.
      vectors: how `embed` makes vectors of texts; `own_pooling` is it where that is one vector for each.
      description: a checkpoint of others; its tensors are the model's once that is there; None for a run.

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
        own_pooling: VectorsConfig | None = None,
        precision: str = "float32",
        config: EncoderConfig | None = None,
    ):
        self.source = str(source)
        self.run: RunDirectory | None = None
        self.checkpoint: Path | None = None
        self.description: BertCheckpoint | None = None
        self.task = task
        self.vocabulary = vocabulary
        self._max_seq_length, self._length_is_chosen = max_seq_length, False
        self.takes_pairs = takes_pairs
        self.vectors = own_pooling or PoolingConfig()
        self.own_pooling = own_pooling if isinstance(own_pooling, PoolingConfig) else None
        self.precision = precision
        self._made = {"model": model} if hasattr(model, "weights") else {}  # see `_once`
        self._lock, self._read = threading.RLock(), model
        self.config = config or self.encoder.config

    def __reduce__(self):
        raise TypeError(
            f"graphs and variables of {self.source} cannot be pickled or copied: load it where it is needed, "
            "kbert.load(path), and a model with changed weights by `save` and kbert.load."
        )

    def __repr__(self):
        shape = f"{self.config.num_hidden_layers} layers of {self.config.hidden_size}"
        words = f"{len(self.vocabulary)} tokens, up to {self.max_seq_length} tokens"
        shown = first_few(getattr(self.task, "labels", ()), 5)
        return f"<LoadedModel {self.source}: {self.task.name}{shown and f' ({shown})'}, {shape}, {words}>"

    @property
    def max_seq_length(self) -> int:
        """The longest sequence in tokens; `with_max_seq_length` gives a model with another one."""
        return self._max_seq_length

    @max_seq_length.setter
    def max_seq_length(self, value):
        raise AttributeError(
            f"the graphs of {self.source} have its length: make a model with another one by "
            f"loaded.with_max_seq_length({value})."
        )

    @property
    def text_inputs(self):
        """The `TextInputs` that tokenize for the model."""
        make = functools.partial(text_inputs.TextInputs, self.vocabulary, self.max_seq_length)
        return self._once("text_inputs", make)

    @property
    def model(self) -> Any:
        """The Keras model with the weights."""
        return self._made.get("model") or self._once("model", self._read_model)

    def _read_model(self):
        with activity("reading the model"):
            return self._read()

    def read_described(self):
        """The Keras model with the tensors of its `description`; from then on these are the model's."""
        description = self.known_description
        _, model = build_model(description)
        tensors = {name: t for name, t in _tensors(model).items() if name in description.tensors}
        self.description = dataclasses.replace(description, tensors=tensors)
        return model

    @property
    def encoder(self):
        """The `BertEncoder` in the model."""
        return getattr(self.model, "encoder", self.model)

    @property
    def dataset(self) -> DatasetConfig | None:
        """The `DatasetConfig` by which files of texts are read, see `Files.dataset_of_texts`; None of a
        pretraining and of others' checkpoints."""
        dataset, files = getattr(self.run and self.run.config, "dataset", None), self.task.files
        return files.dataset_of_texts(dataset) if dataset and files else dataset

    @property
    def training_config(self) -> TrainingConfig:
        """The config of its run; of a checkpoint of others that of the run that it would become."""
        return self.run.config if self.run else run_config(self.known_description)

    @property
    def evaluation_batch_size(self) -> int:
        """How many examples an evaluation takes at a time: as many as that of the training where a loss is
        about the texts of a batch together."""
        return self.training_config.eval_batch_size if self.task.coupled else _EVALUATED_AT_ONCE

    @property
    def known_description(self) -> BertCheckpoint:
        """Its `description`, or one of its attributes where a model was not read from a checkpoint."""
        return self.description or BertCheckpoint(
            self.source,
            self.config,
            self.task.name,
            tuple(getattr(self.task, "labels", ())),
            self.vocabulary,
            _tensors(self.model),
            self.max_seq_length,
            Report(KBERT, self.source),
            takes_pairs=self.takes_pairs,
            pooling=self.vectors if self.makes_vectors else None,
            recorded=RecordedTask(self.task.get_config(), DatasetConfig()),
            activation=getattr(self.task, "activation", None),
        )

    @property
    def answering_model(self) -> "keras.Model":
        """What answers in the place of `model`, with its weights; made when it is first asked for."""
        return self._once(
            "answering_model", lambda: answering_encoder.answering_model(self.model, self.precision)
        )

    @property
    def signatures(self) -> dict[str, Signature]:
        """The signatures of the model: name -> `Signature`, see `Serving.signatures`.

        Raises:
          ValueError: when the task does not answer texts.
        """
        require_answering_task(self)

        def make():
            model = self.answering_model  # the task is that of the checkpoint which was read
            return self.task.serving.signatures(model, self.text_inputs)

        return self._once("signatures", make)

    def graph(self, key, make: Callable[[], Callable]) -> Callable:
        """The `tf.function` that `make` gives for a key, within a function that raises MemoryError for a
        batch that does not fit into memory; the same one at every call.

        Tracing takes half a second and its memory is not given back, so graphs belong to the model and not
        to what asks it.
        """
        named = naming_full_memory("a batch of texts", _FEWER_AT_ONCE)
        return self._once(("graph", key), lambda: named(make()))

    def _once(self, key, make):
        """What `make` gives for a key; threads that ask at the same time wait for the first of them.

        Outside of the graph that may be traced just now: weights that are read inside of it would be the
        graph's, and never assigned.
        """
        require_own_tensorflow()
        with self._lock:
            if self.precision != _TRAINED and _has_copies(key):
                self._forget_old_copies()
            if key not in self._made:
                with tf.init_scope():
                    self._made[key] = make()
            return self._made[key]

    def _forget_old_copies(self):
        """In bfloat16 answers come from copies of the dense layers: those of other weights are let go. The
        first row of each table and of each head's part of a kernel, and the biases tell weights apart."""
        read_rows = self._once("read_rows", self._row_reader)
        with tf.init_scope():
            rows = read_rows().numpy()
        if not np.array_equal(rows, self._made.setdefault("rows", rows)):
            self._made = {key: made for key, made in self._made.items() if not _has_copies(key)}
            self._made["rows"] = rows

    def _row_reader(self):
        weights, step = self.encoder.weights, self.config.hidden_size // self.config.num_attention_heads
        tables = [weight.value for weight in weights if len(weight.shape) == 2]
        kernels = [weight.value for weight in weights if weight.path.endswith("kernel")]
        others = [weight.value for weight in weights if len(weight.shape) != 2]
        return traced_function(
            lambda: tf.concat([*(w[0] for w in tables), *(w[::step, 0] for w in kernels), *others], 0), []
        )

    @with_checked_values
    def with_max_seq_length(self, max_seq_length: int) -> "LoadedModel":
        """The same model with another maximum length; what a ColBERT has for queries and documents stays.

        Raises:
          ValueError: when the encoder has fewer positions, or when the length leaves no room for a text.
        """
        if max_seq_length > self.config.max_position_embeddings:
            raise ValueError(
                f"max_seq_length={max_seq_length} is more than the {self.config.max_position_embeddings} "
                f"positions of {self.source}; choose a smaller one."
            )
        require_length(max_seq_length, self.vocabulary)
        trained = self.run.trained_positions(self.checkpoint) if self.run else None
        longest = self.task.row_length(max_seq_length) if self.task else max_seq_length
        warn_of_positions(self.source, self.config, trained, longest)
        changed = self._copy(max_seq_length)
        changed._length_is_chosen, changed._read = True, lambda: self.model
        if "model" in self._made:
            changed._made["model"] = self._made["model"]
        return changed

    def _copy(self, max_seq_length) -> "LoadedModel":
        changed = object.__new__(type(self))
        vars(changed).update(vars(self))
        changed._max_seq_length = max_seq_length
        changed._made, changed._lock, changed._told_of_cut_text = {}, threading.RLock(), False
        return changed

    def follow_chosen(self):
        """Answers from now on with what an evaluation chose for the checkpoint. `model` is then another Keras
        model, with the same encoder and the same weights."""
        task = self.run.task(self.checkpoint)
        self.task, self._made = task, {"model": self._rebuilt_model(task)}

    def _rebuilt_model(self, task):
        model = task.build_model(self.encoder)
        model.set_weights(self.model.get_weights())
        return model

    def for_files(self, config: FinetuningConfig | None) -> "LoadedModel":
        """The same model with the task that reads labelled files as a config says, if there is one.

        Args:
          config: for a checkpoint of others, see `with_file_settings`: columns, settings and length, but for
            that of `with_max_seq_length`. A run records how.

        Raises:
          ValueError: for a config of a run, or one that does not fit.
        """
        if self.run:
            require_no_config(self.run.path, config)
        if config is None:
            return self
        if self._length_is_chosen:
            config = dataclasses.replace(config, max_seq_length=self.max_seq_length)
        description = with_file_settings(self.known_description, config)
        changed = self._copy(config.max_seq_length)
        task = changed.task = TASKS.recorded(description.task_record)
        changed.description = description
        if "model" not in self._made or task.name != self.task.name:
            changed._read = changed.read_described
        elif task.get_config() != self.task.get_config():  # the graph holds some of it, such as a temperature
            changed._made = {"model": self._rebuilt_model(task)}
        else:
            changed._made = {name: self._made[name] for name in _MODELS if name in self._made}
        return changed

    def inputs(self, texts, text_pairs=None, with_masks=False) -> dict:
        """Texts as inputs of the model: tokenized, a row of at most `max_seq_length` each, padded to the
        longest.

        Args:
          texts: a text or a list of texts; a single text becomes a batch of one. A long one is cut or, by the
            `long_texts` of a run, loses its middle; where these are windows, its row is the first. A warning
            names one.
          text_pairs: the second texts in the same form, or None.
          with_masks: whether `[MASK]` in a text means the mask token.

        A model of vectors with a default prompt (`own_pooling`) has it before each text.

        Returns:
          dict of int32 tensors of shape (texts, length): input_ids, input_mask, segment_ids.

        Raises:
          ValueError: when an input is not a text; the message names its index.
        """
        require_own_tensorflow()
        batch, prompt = text_batch(texts, text_pairs), self.vectors.prompt()
        pairs = None if batch.pairs is None else tf.constant(batch.pairs, tf.string)
        texts = tf.constant([prompt + text for text in batch.texts], tf.string)
        rows = self.task.one_row_reader(self.text_inputs).rows(texts, pairs, with_masks)
        self.warn_of_cut_text(rows.truncated, batch.texts, longest=f"{self.max_seq_length} tokens")
        return rows.features

    @property
    def makes_vectors(self) -> bool:
        """Whether it was made for vectors of texts: it reads each text by itself."""
        return self.own_pooling is not None or self.task.pooling is not None

    def predictor(self, signature: str) -> "predictor.Predictor":
        """What asks a signature of the model."""
        return predictor.Predictor(self, signature)

    def evaluate(self, eval_file=None, **arguments) -> dict:
        """The metrics of the model as it is now (weights, length and precision) on held-out data.

        Args:
          eval_file: a labelled file; or data in memory, such as a DataFrame, see `kbert.evaluate`.
          **arguments: others of `kbert.evaluate`, such as `input_dir`, `html_file` or `config`.
        """
        return evaluation.evaluate(self, eval_file, **arguments)[1]

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
          output_dir: the folder of the files: a new or an empty one, or with `overwrite` an earlier export.
          quantizations: one or more of "float32", "float16", "dynamic_int8".
          **arguments: others of `export_tflite`, such as `max_seq_lengths`, `eval_file` or `overwrite`.

        Returns:
          The report of each file, see `export_tflite`.
        """
        exporter = importlib.import_module(f"{export_package()}.export_tflite")
        return exporter.export_tflite(self, output_dir, quantizations, **arguments)

    @with_checked_arguments
    def save(
        self, path: str | Path, format: Format = KBERT, allow_unmatched=(), overwrite: bool = False
    ) -> Report:
        """Writes the model with the weights that it has now as a new folder, which `kbert.load` reads.

        Args:
          path: the folder to make.
          format: "kbert" (a run of 0 steps), "hugging_face", "google" or "keras_hub".
          allow_unmatched: names of settings that the format may leave out.
          overwrite: whether an earlier one may be replaced.

        Returns:
          The `Report` of the writing.

        Raises:
          ValueError: for an unknown format, a folder that holds files, a model that the format cannot
            express, or a run of `with_max_seq_length` that could not answer at that length; OSError when it
            cannot be written. Nothing is left behind then.
        """
        if format == KBERT and self._length_is_chosen:
            self.task.check_examples([], self.max_seq_length)  # which leaves room
        return write_checkpoint(model_as_checkpoint(self), path, format, allow_unmatched, overwrite)

    def text_pooling(self, taker: str, mend: str = "give a pooling") -> PoolingConfig:
        """The model's own way to one vector of a text, or the default; see `warn_of_mean`.

        Args:
          taker, mend: those of `warn_of_mean`.

        Raises:
          ValueError: for a model that makes something else of a text.
        """
        if self.task.text_vectors is not None:
            raise ValueError(
                f"{self.source} has the task {self.task.name}, which does not make one vector of a text: "
                "`embed` gives what it makes. For the encoder's vectors, which are others, give a pooling."
            )
        if self.own_pooling is None:
            warn_of_mean(self.source, self._first_format, taker, mend)
        return self.own_pooling or PoolingConfig()

    @with_checked_values
    def embed(
        self,
        texts,
        pooling: str | None = None,
        normalize: bool | None = None,
        prompt_name: str | None = None,
        task: str | None = None,
        dimensions: int | None = None,
    ) -> Any:
        """One vector for each text, for comparing texts with each other.

        By default this is the mean of the last layer's vectors of all tokens, scaled to length 1 (so the dot
        product of two vectors is their cosine similarity); a sentence-transformers folder, and a run that was
        trained for it, have a pooling of their own. The vectors of a model that was not trained for this show
        only roughly whether two texts have the same topic.

        Args:
          texts: a text, or an iterable of texts. Long lists are processed in batches of similar lengths.
          pooling: a mode of `SequencePooling`; None uses the model's own.
          normalize: whether to scale to length 1; None uses the model's own.
          prompt_name: which of the model's prompts (`vectors.prompts`) stands before each text; None uses
            the model's default prompt, if it has one.
          task: "query" or "document" in the place of a prompt's name: what the texts are. Where the
            model has a prompt for it, that one stands before each text.
          dimensions: how many numbers of each vector to keep, the first ones; then these have length 1, where
            whole vectors do. For models that were trained so, see `matryoshka_dims` of their task.

        Returns:
          float32 array of shape (texts, width); (width,) for a single text (not in a list). The width is
          hidden_size, unless the model has several poolings or keeps fewer numbers (`truncate_dim`).
          Of a `sparse_embedding` a `scipy.sparse.csr_array` of shape (texts, vocab_size), or (vocab_size,).

        Raises:
          ValueError: when an input is not a text (the message names its index), the model has no prompt of
            this name or two are asked for, `dimensions` is below 1 or above the width, or vectors are not
            finite.
        """
        if task is None and prompt_name is None:
            self.vectors.warn_of_named_prompts()
        prompt_name = self.vectors.prompt_name(task, prompt_name)
        batch, prompt = text_batch(texts), self.vectors.prompt(prompt_name)
        warn_of_written_prompts(prompt, batch.texts)
        self.say_written_tokens(batch.texts)
        self.warn_of_unknown_tokens(batch.texts)
        if self.task.text_vectors is not None:
            if (pooling, normalize, dimensions) != (None, None, None):
                raise ValueError(
                    f"pooling, normalize and dimensions are of one vector for each text; {self.source} has "
                    f"the task {self.task.name}, leave them out."
                )
            if task is None and prompt_name == TEXT_TASKS[0] and isinstance(self.vectors, TokenVectorsConfig):
                warn_once(
                    f'{self.source}: prompt_name="query" puts that prompt before texts that are read as '
                    'documents, as in sentence-transformers; task="query" reads them as queries.'
                )
            return self._embed_by_task(batch, prompt, task)
        config = self._chosen_pooling(pooling, normalize, "embed")
        width = config.width(self.config.hidden_size)
        require_dimensions("dimensions", width if dimensions is None else dimensions, width)
        key = ("embed", config.mode, config.normalize, normalize, config.skipped_tokens(prompt_name))
        embedder = self.graph(key, functools.partial(self._embedder, config, normalize, prompt_name))
        embeddings = np.zeros((len(batch.texts), width), np.float32)
        for positions in batch.positions_by_length(self.max_seq_length):
            texts = batch.select(positions).texts
            vectors, cut = embedder(tf.constant([prompt + text for text in texts], tf.string))
            self.warn_of_cut_text(cut, texts, longest=f"{self.max_seq_length} tokens")
            values = vectors.numpy()
            require_finite_answers(values, self.source, positions)
            embeddings[positions] = values
        if dimensions is not None:
            embeddings = np.asarray(shortened(embeddings, dimensions, config.normalize))
        return batch.answer(embeddings)

    def _embed_by_task(self, batch, prompt, task):
        """What the task makes of texts of "query", "document" or None."""
        maker = self.task.text_vectors
        make = functools.partial(maker.graph, self, task)
        graph, answers = self.graph(("embed", task), make), [None] * len(batch.texts)
        for positions in batch.positions_by_length(self.task.row_length(self.max_seq_length)):
            texts = batch.select(positions).texts
            vectors, cut = graph(tf.constant([prompt + text for text in texts], tf.string))
            self.warn_of_cut_text(cut, texts)
            outputs = keras.tree.map_structure(np.asarray, vectors)
            require_finite_answers(keras.tree.flatten(outputs)[0], self.source, positions)
            for position, answer in zip(positions, maker.answers(outputs), strict=True):
                answers[position] = answer
        return maker.alone(answers[0]) if batch.is_alone else maker.together(answers, self.config)

    @property
    def _first_format(self) -> str | None:
        """The format in which the model came to kbert, also of a run that it was converted to."""
        return self.run.converted_from if self.run else getattr(self.description, "first_format", None)

    def say_written_tokens(self, texts, reads_masks: bool = False):
        """Warns of special tokens in texts of a model of transformers, which reads them otherwise; masks are
        passed over where the answer reads them too."""
        if self._first_format == HUGGING_FACE:
            say_written_tokens(texts, self.vocabulary, self.source, reads_masks)

    def decode(self, vectors, top_k: int | None = None) -> list:
        """The words of sparse vectors, with their weights.

        Args:
          vectors: what `embed` gives.
          top_k: the most words of a vector; None gives all whose weight is not 0.

        Returns:
          For each vector a list of (word, weight), the largest first; of one vector (not a batch) its list.

        Raises:
          ValueError: for a model without sparse vectors, and vectors of another width.
        """
        decode = getattr(self.task.text_vectors, "decode", None)
        if decode is None:
            raise ValueError(
                f"{self.source} has the task {self.task.name}, whose vectors stand for no words."
            )
        require_top_k(1 if top_k is None else top_k)
        return decode(vectors, self.vocabulary.tokens, top_k)

    def _chosen_pooling(self, pooling, normalize, taker) -> PoolingConfig:
        """The model's own, or the default, with what is not None."""
        chosen = {"mode": pooling, "normalize": normalize}
        own = self.text_pooling(taker) if pooling is None else self.own_pooling or PoolingConfig()
        config = dataclasses.replace(
            own, **{name: value for name, value in chosen.items() if value is not None}
        )
        if own.dense and len(config.modes) != len(own.modes):
            raise ValueError(
                f"pooling={pooling!r} gives {len(config.modes)} vectors behind each other, but the dense "
                f"layer of {self.source} reads {len(own.modes)} ({own.mode}); choose as many modes."
            )
        return config

    def _embedder(self, config, normalize, prompt_name):
        """The graph from texts, with their prompt, to vectors, of length 1 after the cut, if asked for; and
        whether each text was cut."""
        encoder = answering_encoder.AnsweringEncoder(
            self.encoder, self.precision, outputs=("sequence_output",)
        )
        pool, scales_again = self._pool(config, prompt_name), normalize and config.truncate_dim

        def embed(texts):
            inputs, cut = self.text_inputs.rows(texts)
            vectors = pool(encoder(inputs)["sequence_output"], inputs["input_mask"])
            return unit_length.unit(vectors) if scales_again else vectors, cut

        return traced_function(embed, [tf.TensorSpec([None], tf.string)])

    def _pool(self, config, prompt_name=None, **kwargs) -> "sequence_pooling.SequencePooling":
        return sequence_pooling.SequencePooling.of(
            config, prompt_name, self.model if config.dense else None, **kwargs
        )

    @with_checked_values
    def embedding_model(self, pooling: str | None = None, normalize: bool | None = None) -> "keras.Model":
        """Encoder and pooling as one Keras model: what `inputs` gives -> float32 (batch, width).

        It shares its weights with this model, so training one changes the other too.

        Args:
          pooling, normalize: as for `embed`. A named pooling is taken of SPLADE and ColBERT too: it gives
            the encoder's vectors, which are not those of `embed`.

        Raises:
          ValueError: for SPLADE and ColBERT without a pooling, which do not make one vector of a text.
        """
        config = self._chosen_pooling(pooling, normalize, "embedding_model")
        layer, scales_again = self._pool(config, name=POOLING_LAYER), normalize and config.truncate_dim
        encoder = self.encoder.with_outputs("sequence_output")
        inputs = {name: keras.Input((None,), dtype="int32", name=name) for name in ENCODER_INPUTS}
        vectors = layer(encoder(inputs)["sequence_output"], inputs["input_mask"])
        scale = keras.layers.UnitNormalization(dtype="float32")
        return named_inputs.NamedInputs(inputs, scale(vectors) if scales_again else vectors)


def _has_copies(key) -> bool:
    """Whether what is made once for a key has copies of weights, see `AnsweringDense`."""
    return key in ("answering_model", "signatures") or key[0] == "graph"


def _tensors(model) -> dict[str, StoredTensor]:
    return {variable.path: stored_variable(variable) for variable in model.weights}


def loaded_run(run: RunDirectory, which: str | int | None, precision: str = "float32") -> LoadedModel:
    """A checkpoint of a run, see `RunDirectory.checkpoint`."""
    folder = run.checkpoint(which)
    task = run.task(folder)
    longest, encoder = run.details["max_seq_length"], run.config.encoder
    trained = run.trained_positions(folder)
    if trained != run.trained_positions(None):  # a phase of longer texts is to come
        warn_of_positions(run.path, encoder, trained, task.row_length(longest))

    def read():
        folder, task, model = run.load_checkpoint(which)
        if folder != loaded.checkpoint:  # a run that still trains has deleted it since
            loaded.checkpoint, loaded.task = folder, task
        return model

    loaded = LoadedModel(
        run.path,
        task,
        read,
        run.vocabulary(),
        longest,
        takes_pairs=getattr(task, "takes_pairs", None),
        own_pooling=task.pooling,
        precision=precision,
        config=encoder,
    )
    loaded.run, loaded.checkpoint = run, folder
    return loaded


def loaded_checkpoint(checkpoint: BertCheckpoint, precision: str = "float32") -> LoadedModel:
    """A checkpoint of others."""
    loaded = LoadedModel(
        checkpoint.source,
        task_from_checkpoint(checkpoint),
        lambda: loaded.read_described(),
        checkpoint.vocabulary,
        checkpoint.max_seq_length,
        takes_pairs=False if checkpoint.pooling else checkpoint.takes_pairs,
        own_pooling=checkpoint.pooling,
        precision=precision,
        config=checkpoint.encoder,
    )
    loaded.description = checkpoint
    return loaded
