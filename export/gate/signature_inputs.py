"""Inputs for any signature of a model, made of a few texts: what an export is checked with."""

import numpy as np
import tensorflow as tf

from kbert.tasks.signatures.signature import Signature
from kbert.tokenization.text_inputs import TextInputs

_CHOICES = 3  # where a signature leaves open how many strings an example has
_TOP_K = 2


def inputs_of(signature: Signature, texts: list[str], text_inputs: TextInputs) -> dict[str, np.ndarray]:
    """Inputs by name, one example for each text.

    The first input of strings has the texts in their order, further ones have them in the reverse order;
    where an example has several strings, these are the first words of a text. Token ids are those of the
    texts, and tf.Examples hold what the signature they belong to would be given.

    Args:
      signature: the signature.
      texts: at least one.
      text_inputs: the model's tokenizer and packer.

    Returns:
      name -> array of the signature's dtype; strings are an object array of str or, for Examples, of bytes.
    """
    if signature.texts is not None:
        return {"inputs": _examples(_texts(signature.texts, texts))}
    strings = _texts(signature.inputs, texts)
    ids = {} if strings else _token_ids(signature.inputs["input_ids"][1], texts, text_inputs)
    settings = {
        name: np.array(_TOP_K if dtype == "int32" else True, dtype)
        for name, (dtype, shape) in signature.inputs.items()
        if not shape
    }
    return strings | ids | settings


def _texts(inputs, texts):
    strings = [(name, shape) for name, (dtype, shape) in inputs.items() if dtype == "string"]
    return {
        name: _strings(shape, texts if index == 0 else texts[::-1])
        for index, (name, shape) in enumerate(strings)
    }


def _strings(shape, texts):
    if len(shape) == 1:
        return np.array(texts, object)
    number = shape[1] or _CHOICES
    return np.array([(text.split() + [""] * number)[:number] for text in texts], object)


def _token_ids(shape, texts, text_inputs):
    """int32 (texts, length), or (texts, choices, length) with the ids of the following texts as choices."""
    rows = text_inputs(tf.constant(texts), pad_to_longest=True)
    arrays = {name: value.numpy() for name, value in rows.items()}
    if len(shape) == 2:
        return arrays
    indices = np.arange(len(texts))[:, np.newaxis] + np.arange(shape[1] or _CHOICES)
    return {name: value[indices % len(texts)] for name, value in arrays.items()}


def _examples(columns):
    """Serialized tf.Examples, an object array of bytes (examples,), from name -> strings (examples, ...)."""
    rows = zip(*columns.values(), strict=True)
    return np.array([_example(dict(zip(columns, row, strict=True))) for row in rows], object)


def _example(strings):
    example = tf.train.Example()
    for name, value in strings.items():
        encoded = [text.encode("utf-8") for text in np.atleast_1d(np.array(value, object))]
        example.features.feature[name].bytes_list.value.extend(encoded)
    return example.SerializeToString()
