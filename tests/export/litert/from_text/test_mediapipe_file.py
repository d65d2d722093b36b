"""The file for MediaPipe: the same weights and answers, one output, what the metadata names behind it."""

import zipfile

import numpy as np
import pytest

from export.litert.conversion import convert_to_litert
from export.litert.flatbuffer import count_ops
from export.litert.from_text.mediapipe_file import mediapipe_content
from export.litert.litert_model import LiteRTModel
from kbert.tasks import TASKS
from tests.kbert.inference.random_model import TEXTS, random_task_model

pytestmark = pytest.mark.slow  # a conversion

FILES = {"vocab.txt": b"[PAD]\n[UNK]\n", "labels.txt": "still\nläut\n".encode()}


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """(the model, its LiteRT file, the same for MediaPipe)."""
    loaded = random_task_model(TASKS["sequence_classification"](("still", "läut")))
    content = convert_to_litert(
        loaded.task.serving.signatures(loaded.model, loaded.text_inputs)["ids"], [12], "float32"
    )
    folder = tmp_path_factory.mktemp("both")
    plain, other = folder / "plain.tflite", folder / "other.tflite"
    plain.write_bytes(content)
    other.write_bytes(mediapipe_content(content, "a model", "probabilities", FILES))
    return loaded, plain, other


def test_answers_and_ops_are_those_of_the_file_that_it_is_made_of(both):
    loaded, plain, other = both
    expected, found = (LiteRTModel(path, loaded.vocabulary)(TEXTS) for path in (plain, other))
    assert found.keys() == {"probabilities"} and np.ptp(found["probabilities"]) > 0.01
    np.testing.assert_array_equal(found["probabilities"], expected["probabilities"])
    assert count_ops(other.read_bytes()) == count_ops(plain.read_bytes())


def test_the_files_behind_it_can_be_read_in_place(both):
    content = both[2].read_bytes()
    with zipfile.ZipFile(both[2]) as archive:
        assert {one.filename: archive.read(one) for one in archive.infolist()} == FILES
    assert all(content.count(value) == 1 for value in FILES.values()), "they are not compressed"
