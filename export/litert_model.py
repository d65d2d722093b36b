"""A classifier as a LiteRT file: converts a model, and runs the file on texts."""

import shutil
import tempfile
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from kbert.features import ENCODER_INPUTS
from kbert.inference.finite_numbers import require_finite_answers
from kbert.inference.texts import text_batch
from kbert.tokenization.text_inputs import TextInputs
from kbert.tokenization.vocabulary import Vocabulary

QUANTIZATIONS = ("float32", "float16", "dynamic_int8")


def convert_to_litert(model, sequence_length: int, quantization: str) -> bytes:
    """Converts a classification model to a .tflite flatbuffer with built-in ops only.

    Args:
      model: Keras model from the encoder inputs to `probabilities`.
      sequence_length: the fixed length of its inputs; the batch is 1.
      quantization: "float32", "float16" (weights) or "dynamic_int8" (weights in int8, activations
        quantized on the fly).

    Returns:
      The file's bytes: signature serving_default, int32 [1, sequence_length] input_ids, input_mask and
      segment_ids -> float32 [1, labels] probabilities.

    Raises:
      ValueError: for an unknown quantization.
    """
    if quantization not in QUANTIZATIONS:
        raise ValueError(
            f"quantization={quantization!r} is not known; choose one of {', '.join(QUANTIZATIONS)}."
        )

    def probabilities(input_ids, input_mask, segment_ids):
        inputs = {"input_ids": input_ids, "input_mask": input_mask, "segment_ids": segment_ids}
        return {"probabilities": model(inputs, training=False)["probabilities"]}

    directory = Path(tempfile.mkdtemp())
    try:
        archive = keras.export.ExportArchive()
        specs = [tf.TensorSpec([1, sequence_length], tf.int32, name=name) for name in ENCODER_INPUTS]
        archive.add_endpoint("serving_default", probabilities, specs)
        archive.write_out(str(directory / "model"), verbose=False)
        # Only the way through a SavedModel works: from_keras_model cannot take named inputs, and
        # from_concrete_functions silently drops the weights of Keras 3 variables.
        converter = tf.lite.TFLiteConverter.from_saved_model(str(directory / "model"))
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS]
        if quantization != "float32":
            converter.optimizations = [tf.lite.Optimize.DEFAULT]
        if quantization == "float16":
            converter.target_spec.supported_types = [tf.float16]
        return converter.convert()
    finally:
        shutil.rmtree(directory)


class LiteRTClassifier:
    """Runs a .tflite file on texts, with the same tokenization as everywhere in kbert.

    Args:
      path: the .tflite file.
      vocabulary: the `Vocabulary` beside it, with its casing.
      num_threads: threads of the interpreter.

    Call arguments:
      texts: a text or a list of texts; `text_pairs` the second texts in the same form, or None.

    Returns:
      float32 array of shape (texts, labels); (labels,) for a single text.

    Raises:
      ValueError: for an input that is not a text, or an answer that is not finite.
    """

    def __init__(self, path, vocabulary: Vocabulary, num_threads: int = 2):
        from ai_edge_litert.interpreter import Interpreter

        interpreter = Interpreter(model_path=str(path), num_threads=num_threads)
        self._run = interpreter.get_signature_runner("serving_default")
        (_, length) = self._run.get_input_details()["input_ids"]["shape"]
        (_, self._num_labels) = self._run.get_output_details()["probabilities"]["shape"]
        self._path = path
        self._text_inputs = TextInputs(vocabulary, int(length))

    def __call__(self, texts, text_pairs=None):
        batch = text_batch(texts, text_pairs)
        pairs = None if batch.pairs is None else tf.constant(batch.pairs, tf.string)
        inputs = self._text_inputs(tf.constant(batch.texts, tf.string), pairs)
        inputs = {name: value.numpy() for name, value in inputs.items()}
        answers = np.zeros((len(batch.texts), self._num_labels), np.float32)
        for row in range(len(answers)):
            one = {name: value[row : row + 1] for name, value in inputs.items()}
            answers[row] = self._run(**one)["probabilities"][0]
        require_finite_answers(answers, self._path)
        return batch.answer(answers)
