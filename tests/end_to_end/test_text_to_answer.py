"""Raw text -> vocabulary -> records -> pretraining -> fine-tuning -> exports -> an answered request."""

import random
from concurrent import futures

import grpc
import numpy as np
import pytest
import tensorflow as tf
from tensorflow_serving.apis import prediction_service_pb2_grpc

from export.export_savedmodel import export_savedmodel
from export.export_tflite import export_tflite
from export.litert.litert_model import LiteRTModel
from export.server.running import DevelopmentServer
from kbert.config import DatasetConfig, OptimizerConfig
from kbert.experiments.evaluation import evaluate
from kbert.experiments.finetuning import finetune
from kbert.experiments.pretraining import pretrain
from kbert.inference.loading import load
from kbert.runs.run_directory import RunDirectory
from kbert.tokenization.vocabulary import Vocabulary
from tests.conftest import tiny_encoder_config, tiny_finetuning_config, tiny_pretraining_config
from tests.export.server.asking import Asked, request_of
from tfrecords_tools.build_vocabulary import count_words
from tfrecords_tools.create_pretraining_data import create_pretraining_data
from tfrecords_tools.vocabulary.wordpiece_learner import learn_wordpieces

pytestmark = pytest.mark.long  # two trainings and all exports

WARM = ("sunny", "hot", "dry", "bright")
COLD = ("frosty", "cold", "icy", "dark")
TEXTS = ["A sunny day, so hot and bright!", "Frosty: an icy, dark and cold night.", "", "zzz 漢字 " * 30]


def sentence(words, rng):
    return f"The {rng.choice(words)} day was {rng.choice(words)} and {rng.choice(words)}."


def write_texts(folder):
    """corpus.txt, train.tsv and dev.tsv about warm and cold days."""
    rng = random.Random(5)
    documents = [
        "\n".join(sentence(words, rng) for _ in range(6)) for _ in range(6) for words in (WARM, COLD)
    ]
    (folder / "corpus.txt").write_text("\n\n".join(documents) + "\n", encoding="utf-8")
    for name, number in (("train", 48), ("dev", 12)):
        rows = [(sentence(words, rng), label) for _ in range(number // 2) for words, label in
                ((WARM, "warm"), (COLD, "cold"))]  # fmt: skip
        lines = ["sentence\tlabel", *("\t".join(row) for row in rows)]
        (folder / f"{name}.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.fixture(scope="module")
def road(tmp_path_factory):
    """The folder of the whole road, up to a fine-tuned run."""
    folder = tmp_path_factory.mktemp("road")
    write_texts(folder)

    words = count_words([folder / "corpus.txt"], do_lower_case=True, max_words_in_memory=1000)
    pieces = learn_wordpieces(words.counts, 80, num_unused_tokens=0)
    vocabulary = Vocabulary(pieces, do_lower_case=True)
    vocabulary.write(folder / "vocab.txt")

    create_pretraining_data(
        str(folder / "corpus.txt"), folder / "vocab.txt", folder / "records",
        max_seq_length=32, max_predictions_per_seq=5, dupe_factor=2, num_shards=2,
    )  # fmt: skip
    encoder = tiny_encoder_config(vocab_size=len(vocabulary), num_hidden_layers=1)
    config = tiny_pretraining_config(encoder=encoder, num_train_steps=8, save_checkpoints_steps=8)
    pretrain(config, folder / "pretrained", folder / "records")

    config = tiny_finetuning_config(
        dataset=DatasetConfig(text="sentence", label="label"),
        optimizer=OptimizerConfig(name="adamw", learning_rate=5e-3),
        num_train_epochs=20.0,
        max_seq_length=32,
        pad_to_longest=False,
    )
    finetune(config, folder / "finetuned", folder / "train.tsv", folder / "dev.tsv", folder / "pretrained")
    return folder


def test_the_pretrained_run_fills_masks(road):
    run = RunDirectory(road / "pretrained")
    (candidates,) = load(run.path).predict("The [MASK] day was hot and dry.", top_k=3)["masks"]
    assert len(candidates) == 3 and all(c["token"] in run.vocabulary().tokens for c in candidates)


def test_the_classifier_has_learnt_its_task(road):
    _, metrics = evaluate(RunDirectory(road / "finetuned"), road / "dev.tsv")
    assert metrics["accuracy"] >= 0.9 > metrics["baseline_accuracy"] == 0.5
    assert metrics["num_examples"] == 12


def test_every_way_of_asking_gives_kerass_answer(road):
    run = RunDirectory(road / "finetuned")
    loaded = load(run.path)
    expected = loaded.predictor("serving_default").outputs(text=TEXTS)["probabilities"]
    labels = [answer["label"] for answer in loaded.predict(TEXTS)]
    assert labels[:2] == ["warm", "cold"]

    report = export_savedmodel(run, road / "served")
    with DevelopmentServer(road / "served", "days", 0, 0) as server:
        assert server.model.version == report["version"] == 1
        asked = Asked(server.rest_api_port)

        def ask(texts):
            status, answer = asked.post("/v1/models/days:predict", {"instances": texts})
            assert status == 200
            return answer["predictions"]

        # One at a time, all at once: texts of mixed lengths in one batch of the server's.
        with futures.ThreadPoolExecutor(len(TEXTS)) as threads:
            alone = [answer for (answer,) in threads.map(lambda text: ask([text]), TEXTS)]
        for answers in (alone, ask(TEXTS)):
            np.testing.assert_allclose([one["probabilities"] for one in answers], expected, atol=1e-5)
            assert [one["label"] for one in answers] == labels
        with grpc.insecure_channel(f"localhost:{server.port}") as channel:
            stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
            outputs = stub.Predict(request_of(TEXTS, "days")).outputs
        np.testing.assert_allclose(tf.make_ndarray(outputs["probabilities"]), expected, atol=1e-5)

    export_tflite(run, road / "litert", ["float32"])
    answered = LiteRTModel(road / "litert" / "model_float32.tflite", run.vocabulary())(TEXTS)["probabilities"]
    np.testing.assert_allclose(answered, expected, atol=1e-5)
