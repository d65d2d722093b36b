"""What a checkout does: python work.py STEPS.json, with PYTHONPATH=CHECKOUT.

A step is a command line of kbert, or one of the functions below. TensorFlow is loaded once; each step runs
in a fork, as in a process of its own.
"""

import json
import os
import runpy
import shutil
import sys
from pathlib import Path

import keras  # noqa: F401
import numpy as np
import tensorflow_text  # noqa: F401

_TEXTS = ["Anna walked to the river.", "a dark, cold night", "zzz 漢字 Ünder!", ""]


def interrupted(run, copy):
    """Copies a run as it was before its last checkpoint."""
    shutil.copytree(run, copy)
    shutil.rmtree(sorted(Path(copy, "checkpoints").glob("step-*"))[-1])


def ask_checkpoints(out, *folders):
    """Every output of models that kbert.load reads, for the token ids in expected.npz."""
    import kbert

    answers = {}
    for folder in map(Path, folders):
        model, stored = kbert.load(folder).model, dict(np.load(folder / "expected.npz"))
        batch = {}
        for name, symbol in model.input.items():
            values = stored.get(name, np.array([[1, 5, 3]] * 4, np.int32))  # the others: positions to predict
            batch[name] = values.reshape(-1, 2, values.shape[-1]) if len(symbol.shape) == 3 else values
        for name, value in model(batch, training=False).items():
            values = value if isinstance(value, tuple | list) else [value]
            answers |= {f"{folder.name}/{name}/{i}": np.asarray(v) for i, v in enumerate(values)}
    np.savez(out, **answers)


def ask_savedmodel(out, base):
    """Every output of `serving_default` for texts, without kbert."""
    import tensorflow as tf

    (version,) = (path for path in Path(base).iterdir() if path.name.isdigit())
    ask = tf.saved_model.load(str(version)).signatures["serving_default"]
    answers = ask(**{name: tf.constant(_TEXTS) for name in ask.structured_input_signature[1]})
    values = {name: value.numpy() for name, value in answers.items()}
    np.savez(out, **{n: v.astype(str) if v.dtype == object else v for n, v in values.items()})


def ask_tflite(out, folder):
    """Every output of each signature of a file, for two rows of token ids, without kbert."""
    from ai_edge_litert.interpreter import Interpreter

    (path,) = Path(folder).glob("*.tflite")
    interpreter, answers = Interpreter(model_path=str(path), num_threads=1), {}
    for signature in interpreter.get_signature_list():
        runner = interpreter.get_signature_runner(signature)
        for row in range(2):
            inputs = {}
            for name, detail in runner.get_input_details().items():
                places = np.arange(detail["shape"][-1], dtype=np.int32)
                mask = (places < len(places) - 3 * row).astype(np.int32)[None]
                inputs[name] = {"input_mask": mask, "segment_ids": 0 * mask}.get(
                    name, mask * (7 + places % 5)
                )
            answers |= {f"{signature}/{row}/{name}": value for name, value in runner(**inputs).items()}
    np.savez(out, **answers)


def _run(words):
    if words[0] in globals():
        return globals()[words[0]](*words[1:])
    sys.argv = ["kbert", *words]
    runpy.run_module("kbert", run_name="__main__", alter_sys=True)


def main():
    for words in json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")):
        process = os.fork()
        if not process:
            return _run(words)
        if os.waitpid(process, 0)[1]:
            sys.exit(f"error: this failed: {' '.join(words)}")


if __name__ == "__main__":
    main()
