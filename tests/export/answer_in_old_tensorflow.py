"""Run by another Python, with TensorFlow 2.12.1: loads a SavedModel as a server does, prints its answer.

Needs nothing of kbert. Arguments: the SavedModel's folder, a JSON file of input name -> texts.
"""

import json
import sys
from importlib.metadata import version

import numpy as np
import tensorflow as tf
import tensorflow_text  # noqa: F401  registers its ops


def main(folder, inputs_file):
    with open(inputs_file, encoding="utf-8") as file:
        inputs = {name: np.array(texts, object) for name, texts in json.load(file).items()}
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        loaded = tf.compat.v1.saved_model.loader.load(session, ["serve"], folder)
        signature = loaded.signature_def["serving_default"]
        fetch = signature.outputs["probabilities"].name
        feeds = {signature.inputs[name].name: texts for name, texts in inputs.items()}
        probabilities = session.run(fetch, feeds)
    versions = [tf.__version__, version("tensorflow-text")]
    print(json.dumps({"versions": versions, "probabilities": probabilities.tolist()}))


if __name__ == "__main__":
    main(*sys.argv[1:])
