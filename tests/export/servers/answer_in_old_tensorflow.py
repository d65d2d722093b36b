"""Run by a Python with an older TensorFlow and TF-Text: loads SavedModels as a server does, and asks them.

Needs nothing of kbert. Arguments: a JSON file of {folder of a SavedModel: [(signature, {input: tensor})]},
and the file to write {folder: [{output: tensor}]} to. A tensor is {"dtype", "shape", "values"}, values flat,
bytes as Latin-1.
"""

import json
import sys
from importlib.metadata import version

import numpy as np
import tensorflow as tf
import tensorflow_text  # noqa: F401  registers its ops


def main(requests_file, answers_file):
    with open(requests_file, encoding="utf-8") as file:
        requests = json.load(file)
    answers = {folder: ask(folder, asked) for folder, asked in requests.items()}
    with open(answers_file, "w", encoding="utf-8") as file:
        json.dump({"versions": [tf.__version__, version("tensorflow-text")], "answers": answers}, file)


def ask(folder, requests):
    """The outputs of a SavedModel for each request."""
    answers = []
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        loaded = tf.compat.v1.saved_model.loader.load(session, ["serve"], folder)
        for name, inputs in requests:
            signature = loaded.signature_def[name]
            feeds = {signature.inputs[key].name: array(tensor) for key, tensor in inputs.items()}
            fetches = {key: output.name for key, output in signature.outputs.items()}
            answers.append({key: tensor(value) for key, value in session.run(fetches, feeds).items()})
    return answers


def array(tensor):
    values = tensor["values"]
    if tensor["dtype"] == "string":
        values = [text.encode("latin-1") for text in values]
        return np.array(values, object).reshape(tensor["shape"])
    return np.array(values, tensor["dtype"]).reshape(tensor["shape"])


def tensor(value):
    value = np.asarray(value)
    if value.dtype == object:
        texts = [text.decode("latin-1") if isinstance(text, bytes) else text for text in value.ravel()]
        return {"dtype": "string", "shape": value.shape, "values": texts}
    return {"dtype": value.dtype.name, "shape": value.shape, "values": value.ravel().tolist()}


if __name__ == "__main__":
    main(*sys.argv[1:])
