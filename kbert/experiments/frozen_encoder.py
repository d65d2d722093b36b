"""A training on a frozen encoder, which sees each row once: what it gives is kept while the run trains."""

import functools
import shutil
import tempfile

import keras
import numpy as np
import tensorflow as tf
from absl import logging

from kbert.cli.progress import Progress
from kbert.cli.signals import StopSignal
from kbert.features import ENCODER_INPUTS
from kbert.inference.texts import TEXTS_AT_ONCE, number_at_once
from kbert.input_pipelines.text_reader import RowsInMemory
from kbert.late_tensorflow import traced_function

_READS = {"sequence_output"}, {"hidden_states"}  # the parts of a model
_NUMBERS, _READ = "row_numbers", "read_of_encoder"


class FrozenEncoder:
    """A `Task` in training whose encoder is frozen. Everything but model and batches is the task's own.

    The encoder works as it does in answers: without dropout. Checkpoints hold encoder and head as those of
    any run.

    Args:
      task: the `Task`.
      folder: where to keep what the encoder gives.

    Raises:
      ValueError: for a task of several texts, of vectors, or whose heads read more than vectors of tokens.
    """

    can_pack = False

    def __init__(self, task, folder):
        self._task, self.folder = task, folder
        self.model = None
        self.rows: list[EncodedRows] = []
        reads = {part.reads for part in task.parts}
        if task.vectors_class or task.texts_per_example != 1 or reads not in _READS:
            raise ValueError(
                "freeze_encoder is for heads on the token vectors of a text, which the model for "
                f"{task.name} lacks; leave it out, and freeze layers with frozen.embeddings and "
                "frozen.layers."
            )

    def __getattr__(self, name):
        return getattr(self._task, name)

    def build_model(self, encoder):
        """The `HeadModel`."""
        self.model = HeadModel(self._task.build_model(encoder))
        return self.model

    def examples_to_features(self, examples, text_inputs):
        rows = self._task.examples_to_features(examples, text_inputs)
        return rows._replace(features=rows.features | {_NUMBERS: np.arange(len(rows.owners), dtype=np.int32)})


class HeadModel(keras.Model):
    """What lies above a frozen encoder, as the model that is trained; its variables are those of the whole.

    Args:
      whole: a `TaskModel` with `read`.

    Call arguments:
      a dict of `read_of_encoder`, as `encode` gives it, and `input_mask`.
    """

    def __init__(self, whole):
        super().__init__(name="frozen_encoder", autocast=False)  # else to the caller's policy of Keras
        self.whole = whole
        self._encoder = keras.Model(whole.input, whole.read)
        self._head = keras.Model([whole.read, whole.input["input_mask"]], whole.output)
        signature = [{name: tf.TensorSpec([None, None], tf.int32) for name in ENCODER_INPUTS}]
        self.encode = traced_function(self._encode, signature)

    @property
    def input(self):
        """The features that it takes."""
        return _READ, "input_mask"

    def call(self, inputs, training=False):
        return self._head([inputs[_READ], inputs["input_mask"]], training=training)

    def _encode(self, inputs):
        """Encoder inputs -> (real tokens, width): what the head reads of the encoder, without padding."""
        return tf.boolean_mask(self._encoder(inputs, training=False), inputs["input_mask"] > 0)


class EncodedRows(RowsInMemory):
    """`RowsInMemory`, with what a frozen encoder gives for them.

    It is computed when batches are first asked for, and lies in a file without a name, which ends with this
    process however that ends. Where there is memory for it, the system keeps it there. All rows of a training
    are encoded together: neither a stop nor a full disk meets them in an evaluation, with steps to lose.

    Args:
      rows: the `RowsInMemory`, with numbers among their features.
      frozen: the `FrozenEncoder`.
    """

    def __init__(self, rows: RowsInMemory, frozen: FrozenEncoder):
        super().__init__(rows.features, rows.owners, name=rows.name)
        self._frozen = frozen
        frozen.rows.append(self)

    def completed(self, batches):
        """Batches with what the encoder gives for their rows.

        Raises:
          ValueError: where the disk has no room for it.
        """
        encoded = {rows: rows._vectors for rows in self._frozen.rows}
        vectors, starts, lengths = encoded[self]

        def read_rows(numbers, length):
            rows = np.zeros((len(numbers), length, vectors.shape[1]), vectors.dtype)
            for row, number in zip(rows, numbers, strict=True):
                row[: lengths[number]] = vectors[starts[number] :][: lengths[number]]
            return rows

        def add(batch):
            mask, numbers = batch["input_mask"], batch.pop(_NUMBERS)
            arguments = [numbers, tf.shape(mask)[1]]
            read = tf.numpy_function(read_rows, arguments, tf.as_dtype(vectors.dtype), stateful=False)
            return batch | {_READ: tf.ensure_shape(read, [*mask.shape, vectors.shape[1]])}

        return batches.map(add)

    @functools.cached_property
    def _vectors(self):
        """((real tokens of all rows, width), where the tokens of each row begin, how many they are)."""
        model, rows = self._frozen.model, self.features
        lengths = rows["input_mask"].sum(axis=1)
        shape = int(lengths.sum()), model.whole.read.shape[-1]
        dtype = tf.as_dtype(model.whole.read.dtype).as_numpy_dtype
        self._say_size(shape, np.dtype(dtype).itemsize)
        progress, order = Progress("Encoded", "rows", self.num_rows), np.argsort(-lengths, kind="stable")
        with tempfile.TemporaryFile(dir=self._frozen.folder) as file:
            first = 0
            while first < len(order):
                longest = lengths[order[first]]
                number = min(TEXTS_AT_ONCE, number_at_once(longest**2))
                numbers = order[first : first + number]  # of like length
                inputs = {name: rows[name][numbers, :longest] for name in ENCODER_INPUTS}
                with tf.device(None):  # an accelerator, where there is one, and not where batches are made
                    file.write(model.encode(inputs).numpy().tobytes())
                first += len(numbers)
                progress.report(first)
                StopSignal.require_none("while rows were encoded; the same command begins with them again.")
            progress.report_end()
            file.flush()
            vectors = np.memmap(file, dtype, "r", shape=shape)
        starts = np.empty_like(lengths)
        starts[order] = lengths[order].cumsum() - lengths[order]
        return vectors, starts, lengths

    def _say_size(self, shape, size):
        tokens, width = shape
        total, folder = tokens * width * size, self._frozen.folder
        need = f"{tokens:,} tokens x {width:,} numbers x {size} bytes = {total / 2**20:,.0f} MiB"
        logging.info("the outputs of the frozen encoder for %s are kept in %s: %s", self.name, folder, need)
        if (free := shutil.disk_usage(folder).free) < total:
            raise ValueError(
                f"the outputs of the frozen encoder for {self.name} take {need}, but the disk of "
                f"{folder} has {free / 2**20:,.0f} MiB left; choose fewer layers, a shorter max_seq_length, "
                'precision="bfloat16", or another run_dir.'
            )
