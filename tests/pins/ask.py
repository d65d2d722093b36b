"""Asks models and writes what they answer: python ask.py OUT.npz KIND=PATH ..., with PYTHONPATH=CHECKOUT.

Kinds: `checkpoint` (any folder that kbert.load reads), `savedmodel`, `tflite`. Only `kbert.load`, its `model`
and the names of the encoder's inputs are kbert's: the rest needs TensorFlow alone.
"""

import sys
from pathlib import Path

import numpy as np

_TEXTS = ["Anna walked to the river.", "a dark, cold night", "zzz 漢字 Ünder!", ""]


def checkpoint(folder):
    """Every output of a model for the token ids in expected.npz."""
    import kbert

    model = kbert.load(folder).model
    stored = dict(np.load(Path(folder) / "expected.npz"))
    batch = {}
    for name, symbol in model.input.items():
        values = stored.get(name, np.array([[1, 5, 3]] * 4, np.int32))  # the others are positions to predict
        batch[name] = values.reshape(-1, 2, values.shape[-1]) if len(symbol.shape) == 3 else values
    return model(batch, training=False)


def savedmodel(folder):
    """Every output of `serving_default` for texts."""
    import tensorflow as tf
    import tensorflow_text  # noqa: F401

    (version,) = (path for path in Path(folder).iterdir() if path.name.isdigit())
    ask = tf.saved_model.load(str(version)).signatures["serving_default"]
    return ask(**{name: tf.constant(_TEXTS) for name in ask.structured_input_signature[1]})


def tflite(folder):
    """Every output of each signature of a file for two rows of token ids."""
    from ai_edge_litert.interpreter import Interpreter

    (path,) = Path(folder).glob("*.tflite")
    interpreter, answers = Interpreter(model_path=str(path), num_threads=1), {}
    for name in interpreter.get_signature_list():
        runner, inputs = interpreter.get_signature_runner(name), {}
        for key, detail in runner.get_input_details().items():
            length = detail["shape"][-1]
            mask = (np.arange(length) < [[length], [length - 3]]).astype(np.int32)
            inputs[key] = {"input_mask": mask, "segment_ids": 0 * mask}.get(
                key, mask * 7 + np.arange(length) % 5
            )
        rows = [runner(**{k: v[[row]].astype(np.int32) for k, v in inputs.items()}) for row in range(2)]
        answers |= {f"{name}/{key}": np.stack([row[key] for row in rows]) for key in rows[0]}
    return answers


def main(out, *questions):
    answers = {}
    for question in questions:
        kind, _, path = question.partition("=")
        found = {"checkpoint": checkpoint, "savedmodel": savedmodel, "tflite": tflite}[kind](path)
        for name, values in found.items():
            values = values if isinstance(values, tuple | list) else [values]
            answers |= {f"{Path(path).name}/{name}/{i}": np.asarray(v) for i, v in enumerate(values)}
    np.savez(out, **{k: v.astype(str) if v.dtype == object else v for k, v in answers.items()})


if __name__ == "__main__":
    main(*sys.argv[1:])
