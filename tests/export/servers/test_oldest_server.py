"""Exports answer in the oldest server's TensorFlow and TF-Text as Keras does: `make test-servers`.

Grappler decides anew in each release which ops it fuses, and kbert/layers writes ops for it. So every task
is exported here in float32, most in bfloat16 too, and asked by the other release: one example, and several.
"""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from export.export_savedmodel import TOLERANCES
from export.gate.signature_inputs import make_inputs
from export.serving_model import ServingModel
from tests.export.servers.answer_in_old_tensorflow import array, tensor
from tests.export.servers.untrained_runs import tasks_with_answers, untrained_run

PYTHON = os.environ.get("KBERT_OLD_SERVER_PYTHON")
TEXTS = ["jump the a", "Walks, and JUMPED. 漢", "", "an unknown [MASK] word", "play " * 40, "open", "the a"]
ASKED = {"one": TEXTS[3:4], "several": TEXTS}
# In bfloat16 the encoder is asked, by "serving_default". Other tasks and ACTIVATIONS ask it in the same ways.
SAME_IN_BFLOAT16 = (
    *("pretraining", "sentence_order", "next_sentence", "multi_label_classification"),
    *("sequence_regression", "multiple_negatives_ranking"),
)
# Activations that are fused each in its own way.
ACTIVATIONS = ("relu", "tanh", "gelu")
_SCRIPT = Path(__file__).with_name("answer_in_old_tensorflow.py")

pytestmark = [
    pytest.mark.skipif(
        not PYTHON, reason="OLD SERVERS NOT CHECKED: `make test-servers` makes the environment and asks it"
    ),
    pytest.mark.long,
]


def cases():
    """(name, task, precision, changes of the encoder) of what is exported."""
    for task in tasks_with_answers():
        for precision in TOLERANCES:
            if precision == "float32" or task not in SAME_IN_BFLOAT16:
                yield f"{task}-{precision}", task, precision, {}
    for activation in ACTIVATIONS:
        changes = {"hidden_act": activation, "layer_norm_eps": 1e-3}
        yield f"{activation}-bfloat16", "next_sentence", "bfloat16", changes


CASES = {name: rest for name, *rest in cases()}


@pytest.fixture(scope="module")
def answered(tmp_path_factory):
    """(versions of the other Python's packages, {case: [(signature, expected outputs, outputs there)]})."""
    folder, running = tmp_path_factory.mktemp("servers"), []
    for precision in TOLERANCES:  # the other Python asks the first half while the second is exported
        names = [name for name in CASES if CASES[name][1] == precision]
        running.append(_asking(folder, precision, {name: list(_exported(folder, name)) for name in names}))
    versions, together = [], {}
    for expected, process, file in running:
        assert process.wait(timeout=600) == 0, file.with_suffix(".stderr").read_text()[-3000:]
        found = json.loads(file.read_text(encoding="utf-8"))
        versions.append(found["versions"])
        for name, asked in expected.items():
            pairs = zip(asked, found["answers"][str(folder / name)], strict=True)
            together[name] = [(signature, outputs, there) for (signature, _, outputs), there in pairs]
    return versions, together


def _exported(folder, name):
    """Exports a case; yields (signature, inputs, outputs of the Keras model as it was trained)."""
    task, precision, changes = CASES[name]
    model = ServingModel(untrained_run(task, folder / f"run_{name}", **changes), precision)
    if precision == "bfloat16":  # the encoder is one for all signatures
        model.signatures = {"serving_default": model.signatures["serving_default"]}
    model.write(folder / name)
    return _keras_answers(model)


def _asking(folder, precision, expected):
    """(expected, the process that asks the exports, the file that it writes)."""
    requests, answers = (folder / f"{what}_{precision}.json" for what in ("requests", "answers"))
    content = {
        str(folder / name): [(signature, _tensors(inputs)) for signature, inputs, _ in asked]
        for name, asked in expected.items()
    }
    requests.write_text(json.dumps(content), encoding="utf-8")
    command = [PYTHON, _SCRIPT, requests, answers]
    # The release itself decides about oneDNN: forced, 2.12 ends in bfloat16 on x86 without AVX512.
    environment = {name: value for name, value in os.environ.items() if name != "TF_ENABLE_ONEDNN_OPTS"}
    with answers.with_suffix(".stderr").open("w") as errors:
        process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=errors)
    return expected, process, answers


def _keras_answers(model):
    """(signature, inputs, outputs of the Keras model as it was trained) of everything that is asked."""
    for name in model.signatures:
        signature = model.trained_signatures[name]
        for texts in ASKED.values():
            inputs = make_inputs(signature, texts, model.loaded.text_inputs)
            outputs = signature.function(**{key: tf.constant(value) for key, value in inputs.items()})
            yield name, inputs, {key: value.numpy() for key, value in outputs.items()}


def _tensors(inputs):
    def encoded(value):
        if value.dtype != object:
            return value
        texts = [text.encode() if isinstance(text, str) else text for text in value.ravel()]
        return np.array(texts, object).reshape(value.shape)

    return {name: tensor(encoded(value)) for name, value in inputs.items()}


def test_the_other_python_has_what_the_oldest_server_links(answered):
    assert answered[0] == [["2.12.1", "2.12.1"]] * 2


@pytest.mark.parametrize("case", CASES)
def test_answers_are_those_of_keras(answered, case):
    precision = CASES[case][1]
    for signature, expected, there in answered[1][case]:
        assert there.keys() == expected.keys()
        for name, value in expected.items():
            found = array(there[name])
            assert found.shape == value.shape, (signature, name)
            if value.dtype.kind == "f":
                scale = max(1.0, float(np.abs(value).max(initial=0.0)))  # see `check_answers`
                atol = TOLERANCES[precision] * scale
                np.testing.assert_allclose(found, value, rtol=0, atol=atol, err_msg=f"{signature} {name}")
            elif precision == "float32":
                assert found.tolist() == value.tolist(), (signature, name)
