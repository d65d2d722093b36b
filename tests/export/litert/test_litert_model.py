"""A file of several lengths: the shortest that fits answers, as the longest does."""

import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import tensorflow as tf

from export.litert import interpreter_pool
from export.litert.conversion import convert_to_litert
from export.litert.litert_model import LiteRTModel
from kbert.tasks import TASKS
from kbert.tasks.signatures.signature import Signature, ids_inputs
from tests.export.litert.litert_rows import rows_for
from tests.forks import in_fork
from tests.kbert.inference.random_model import random_task_model
from tests.places import REPOSITORY

pytestmark = pytest.mark.slow  # conversions

TEXTS = ["jump the a", "", "play " * 40]
# A process in which importing these fails, as where they are not installed.
ALONE = """
import json, sys
sys.modules |= dict.fromkeys(("tensorflow", "tensorflow_text", "keras", "absl", "scipy", "h5py"))
from export.litert.litert_model import LiteRTModel
from export.tokenizers.exported_vocabulary import exported_vocabulary
model = LiteRTModel(sys.argv[1], exported_vocabulary(sys.argv[2]), num_threads=1)
print(json.dumps(model(json.loads(sys.argv[3]))["logits"].tolist()))
"""


@pytest.fixture(scope="module")
def classifier():
    return random_task_model(TASKS["sequence_classification"](("quiet", "loud")))


@pytest.fixture(scope="module")
def file(classifier, tmp_path_factory):
    """A float32 file of the lengths 6 and 16."""
    signature = classifier.task.serving.signatures(classifier.model, classifier.text_inputs)["ids"]
    path = tmp_path_factory.mktemp("files") / "model.tflite"
    path.write_bytes(convert_to_litert(signature, (6, 16), "float32"))
    return path


@pytest.fixture
def several(file, classifier):
    return LiteRTModel(file, classifier.vocabulary, num_threads=1)


def test_the_shortest_length_that_fits_is_asked(several, classifier, monkeypatch):
    rows = rows_for(classifier.task, classifier.vocabulary, 16)
    tokens, asked, length_for = rows["input_mask"].sum(axis=1), [], several.length_for
    monkeypatch.setattr(several, "length_for", lambda mask: asked.append(length_for(mask)) or asked[-1])
    found = several.answer_ids(rows)
    assert asked == [next(n for n in (6, 16) if n >= count) for count in tokens] and len(set(asked)) > 1
    monkeypatch.setattr(several, "length_for", lambda mask: 16)
    expected = several.answer_ids(rows)
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, atol=1e-6)


def test_a_text_alone_and_no_text_are_answered_too(several):
    answers, empty = several(TEXTS), several([])["probabilities"]
    np.testing.assert_array_equal(several(TEXTS[0])["logits"], answers["logits"][0])
    assert empty.shape == (0, 2) and empty.dtype == np.float32


def test_a_text_that_is_cut_is_said(several, recwarn):
    several(["play " * 14, ""])  # and two special tokens: as many as there is room for
    assert not recwarn
    with pytest.warns(UserWarning, match="model.tflite reads 16 tokens: of longer texts what did not fit"):
        several(["jump", "play " * 15])


def test_threads_are_answered_as_one_is(several, monkeypatch):
    """Texts of both lengths at once, with fewer interpreters than threads, and from the first call on."""
    texts = [f"jump {'the ' * n}{'play ' * (n % 3)}".strip() for n in range(15)] * 8
    expected = [several(text)["logits"] for text in texts]
    size = os.path.getsize(several.path)
    for cores, num_bytes, most in ((1, 9 * size, 1), (3, 9 * size, 3), (9, 2 * size, 2)):
        monkeypatch.setattr(interpreter_pool, "num_cores", lambda cores=cores: cores)
        monkeypatch.setattr(interpreter_pool, "_MOST_BYTES", num_bytes)
        model = LiteRTModel(several.path, several._vocabulary, num_threads=1)
        with ThreadPoolExecutor(8) as threads:
            answers = list(threads.map(lambda text, model=model: model(text)["logits"], texts))
        np.testing.assert_allclose(answers, expected, rtol=1e-6)
        assert model._interpreters._free.qsize() <= most


def test_an_interpreter_more_is_of_the_file_that_was_loaded(several, tmp_path, monkeypatch):
    monkeypatch.setattr(interpreter_pool, "num_cores", lambda: 2)
    monkeypatch.chdir(tmp_path)
    shutil.copy(several.path, "model.tflite")
    model = LiteRTModel("model.tflite", several._vocabulary, num_threads=1)
    os.replace(shutil.copy(__file__, "other"), "model.tflite")
    monkeypatch.chdir("/")
    with model._interpreters.borrowed():  # so that a second one is made
        np.testing.assert_array_equal(model("play")["logits"], several("play")["logits"])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_is_answered_too(several):
    """Also where another thread was in the middle of a call."""
    expected = several(TEXTS)["logits"].tolist()
    with several._interpreters.borrowed():
        assert in_fork(lambda: several(TEXTS)["logits"].tolist()) == repr(expected)


def test_the_litert_library_and_numpy_are_enough(file, several, classifier, tmp_path):
    classifier.vocabulary.write(tmp_path / "vocab.txt")
    about = {"vocabulary": classifier.vocabulary.describe()}
    (tmp_path / "kbert.json").write_text(json.dumps(about))
    arguments = [str(file), str(tmp_path), json.dumps(TEXTS)]
    done = subprocess.run(
        [sys.executable, "-c", ALONE, *arguments], cwd=REPOSITORY, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr[-2000:]
    np.testing.assert_allclose(json.loads(done.stdout), several(TEXTS)["logits"], rtol=1e-6)


def test_the_converter_allows_no_other_ops():
    def answer(input_ids, input_mask, segment_ids):
        return {"logits": tf.linalg.det(tf.reshape(tf.cast(input_ids, tf.float32), (2, 2)))}

    with pytest.raises(
        ValueError, match="stock LiteRT library does not have: MatrixDeterminant; nothing was"
    ):
        convert_to_litert(Signature(ids_inputs(), answer), [4], "float32")
