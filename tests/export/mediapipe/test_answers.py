"""MediaPipe's TextClassifier and TextEmbedder take the files as they are, and answer as Keras does."""

import json

import numpy as np
import pytest

from export.export_tflite import export_tflite
from export.litert.from_text.mediapipe_tokenizer import MediaPipeTokenizer
from export.litert.litert_model import LiteRTModel
from kbert.tokenization.python.text_inputs import TextInputs
from kbert.tokenization.vocabulary import Vocabulary
from tests.export.mediapipe.asking import ask_mediapipe, needs_mediapipe
from tests.export.servers.untrained_runs import untrained_run
from tests.places import SHARED_DATA

pytestmark = [needs_mediapipe, pytest.mark.long]

LENGTH = 32
OWN_TEXTS = [
    "jump the a", "Walks, and JUMPED.", "", "play " * 40, "open the turn", "an unknown word", "ask. ask.",
    "the café", "ÉCOLE open", "walk\u00a0the", "walk\x01ed", "talk and\0 open", "help" * 26,
]  # fmt: skip
KINDS = {
    "sequence_classification": "TextClassifier",
    "multi_label_classification": "TextClassifier",
    "cosine_similarity": "TextEmbedder",
}


def shared_texts():
    """(real texts, a vocabulary for them), where they are."""
    vocab_file, file = (SHARED_DATA / name for name in ("vocab/bert_uncased/vocab.txt", "sst2/dev.tsv"))
    if not (vocab_file.is_file() and file.is_file()):
        return [], None
    lines = file.read_text(encoding="utf-8").splitlines()[1:]
    return [line.split("\t")[0] for line in lines], Vocabulary.from_file(vocab_file, True)


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    """{name of a task: (its file for MediaPipe, loaded; texts; MediaPipe's answers; the folder)}."""
    folder, requests, files = tmp_path_factory.mktemp("asked"), [], {}
    real, vocabulary = shared_texts()
    for name, kind in KINDS.items():
        run = untrained_run(name, folder / name, vocabulary)
        out = folder / f"{name}_litert"
        report = export_tflite(run, out, ["float32"], (LENGTH,), mediapipe=True)["float32"]
        assert report["mediapipe"]["task"] == kind
        file = out / report["mediapipe"]["file"]
        files[name] = LiteRTModel(file, run.vocabulary()), file
        requests.append((file, kind, [*OWN_TEXTS, *real]))
    answers = ask_mediapipe(requests, folder)
    return {name: (*files[name], requests[0][2], one) for name, one in zip(files, answers, strict=True)}


@pytest.mark.parametrize("name", KINDS)
def test_texts_that_are_read_alike_have_the_answers_of_kbert(asked, name):
    model, file, texts, answer = asked[name]
    (expected,) = model(texts).values()
    vocabulary = Vocabulary.from_file(file.with_name("vocab.txt"), True)
    rows, read = (reads(vocabulary, LENGTH)(texts) for reads in (TextInputs, MediaPipeTokenizer))
    alike = (read["input_ids"] == rows["input_ids"]).all(axis=1)
    assert [text for text, same in zip(OWN_TEXTS, alike, strict=False) if not same] == OWN_TEXTS[7:]
    assert alike.mean() > (0.97 if len(texts) > len(OWN_TEXTS) else 0.5)
    np.testing.assert_allclose(answer.numbers[alike], expected[alike], atol=1e-6)
    others = {key: values[~alike] for key, values in read.items()}
    (there,) = model.answer_ids(others).values()
    np.testing.assert_allclose(answer.numbers[~alike], there, atol=1e-6)  # what the export's report says
    assert np.abs(there - expected[~alike]).max() > 1e-3, "and it matters how a text is read"


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if kind == "TextClassifier"])
def test_labels_have_their_names(asked, name):
    _, file, _, answer = asked[name]
    labels = json.loads(file.with_name("kbert.json").read_text())["task_config"]["labels"]
    ranked = np.argsort(-answer.numbers, axis=1, kind="stable")
    assert answer.labels == [[labels[index] for index in row] for row in ranked] and len(labels) == 3
