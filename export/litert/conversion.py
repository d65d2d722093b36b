"""A task's signature of token ids -> a .tflite flatbuffer."""

import re
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import tensorflow as tf
from tensorflow.lite.python.convert_phase import ConverterError

from kbert.features import ENCODER_INPUTS
from kbert.files.full_disk import naming_full_disk
from kbert.tasks.signatures.signature import Signature

from ..saved_model import write_saved_model
from .flatbuffer import in_order
from .token_table import with_row_scales

INT8 = "dynamic_int8"
ONE_LENGTH = "serving_default"  # the name of the only signature; of several lengths each has its own


def convert_to_litert(signature: Signature, lengths: Sequence[int], quantization: str) -> bytes:
    """Converts the signature "ids" of a task to a file with built-in ops only.

    What `Serving.signatures` says of the answer (padding, temperature, pooling) is said by the file too. The
    checks of the ids are left out: the converter drops them.

    Args:
      signature: takes ENCODER_INPUTS alone, int32 (batch, length), or (batch, n, length) with a fixed n.
      lengths: one or more lengths. One becomes the signature "serving_default", several become
        "length_<length>" each, on shared weights.
      quantization: one of `requests.QUANTIZATIONS`: "float32", "float16" (weights) or "dynamic_int8"
        (weights in int8, also embeddings, see `with_row_scales`; activations are quantized while it runs).

    Returns:
      The file's bytes. Each of its signatures takes a batch of 1 and gives the float32 outputs of
      `signature`: texts, such as the name of a label, cannot leave a LiteRT file.

    Raises:
      ValueError: for a signature with other inputs, or ops that are not built into LiteRT.
    """
    if tuple(signature.inputs) != ENCODER_INPUTS:
        raise ValueError(
            f"a LiteRT file takes {', '.join(ENCODER_INPUTS)} alone, but the inputs of this model "
            f"are {', '.join(signature.inputs)}."
        )
    names = [ONE_LENGTH] if len(lengths) == 1 else [f"length_{length}" for length in lengths]
    numbers = float_outputs(signature)
    functions = {
        name: (numbers, _specs(signature, length)) for name, length in zip(names, lengths, strict=True)
    }
    return converted(functions, quantization)


def converted(
    functions: dict[str, tuple[Callable, list[tf.TensorSpec]]], quantization: str, custom_ops: bool = False
) -> bytes:
    """Converts functions.

    Args:
      functions: name of a signature -> (function, what it takes). The tensors of a graph have this order; its
        outputs stand in the order of their names.
      quantization: as for `convert_to_litert`.
      custom_ops: whether ops that are not built into LiteRT may stay, for the caller to check.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        with naming_full_disk(path.parent.parent, path.parent):
            write_saved_model(functions, path)
        # Only the way through a SavedModel works: from_keras_model cannot take named inputs, and
        # from_concrete_functions silently drops the weights of Keras 3 variables.
        converter = tf.lite.TFLiteConverter.from_saved_model(str(path), signature_keys=list(functions))
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS]
        converter.allow_custom_ops = custom_ops
        if quantization != "float32":
            converter.optimizations = [tf.lite.Optimize.DEFAULT]
        if quantization == "float16":
            converter.target_spec.supported_types = [tf.float16]
        try:
            content = converter.convert()
        except ConverterError as error:
            missing = ", ".join(
                re.findall(r"^(?:Custom|Flex|TF Select) ops: (.+)$", str(error), re.MULTILINE)
            )
            reason = f"LiteRT's converter refuses the model: {error}"
            if missing:
                reason = f"the model needs ops that the stock LiteRT library does not have: {missing}"
            raise ValueError(f"{reason}; nothing was exported.") from None
        inputs = {name: [spec.name for spec in specs] for name, (_, specs) in functions.items()}
        content = in_order(content, inputs)
        return with_row_scales(content, _tables(path)) if quantization == INT8 else content


def float_outputs(signature: Signature) -> Callable[..., dict]:
    """The function of a signature of ids with its float32 outputs alone."""

    def numbers(input_ids, input_mask, segment_ids):
        outputs = signature.function(input_ids, input_mask, segment_ids)
        return {name: value for name, value in outputs.items() if value.dtype == tf.float32}

    return numbers


def _tables(path) -> list:
    """The two-dimensional weights of a SavedModel, float32 arrays."""
    variables = tf.train.load_checkpoint(str(path / "variables" / "variables"))
    shapes = variables.get_variable_to_shape_map()
    return [variables.get_tensor(name) for name, shape in shapes.items() if len(shape) == 2]


def _specs(signature, length):
    return [
        tf.TensorSpec((1, *shape[1:-1], length), dtype, name=name)
        for name, (dtype, shape) in signature.inputs.items()
    ]
