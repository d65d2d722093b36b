"""The whole life of other encoders: trained, evaluated, exported, written as what they are."""

import dataclasses
import json
import shutil

import numpy as np
import pytest

import kbert
from export.export_savedmodel import export_savedmodel
from export.export_tflite import export_tflite
from export.gate.saved_model_session import SavedModelSession
from kbert.checkpoints.formats import read_checkpoint, write_checkpoint
from kbert.checkpoints.hugging_face.tokenizer_wordpiece import MPNET_TOKENS
from kbert.config import OptimizerConfig
from kbert.experiments.evaluation import evaluate
from kbert.experiments.finetuning import finetune
from kbert.experiments.pretraining import pretrain
from kbert.runs.metrics_file import read_metrics
from kbert.runs.run_directory import RunDirectory
from kbert.tokenization.base_vocabulary import BERT_TOKENS
from kbert.tokenization.bpe.bpe_vocabulary import BYTE_CHARACTERS, BytePairVocabulary
from kbert.tokenization.vocabulary import Vocabulary
from tests.conftest import tiny_encoder_config, tiny_finetuning_config, tiny_pretraining_config
from tests.kbert.checkpoints.random_checkpoint import (
    DISTILBERT,
    ELECTRA,
    MODERNBERT,
    MPNET,
    numbers,
    random_checkpoint,
)
from tests.kbert.training.run_contents import assert_same_runs
from tests.tfrecords_tools import small_corpus

TEXTS = ["jump the a", "walks   and jumped.", "an unknown cafe\u0301", "play " * 40]
MERGES = [("Ġ", "t"), ("h", "e"), ("Ġt", "he")]
WORDS = [left + right for left, right in MERGES]
# Settings of a family, its class, and a variable that is trained: one that BERT does not have, if any.
FAMILIES = {
    "distilbert": (DISTILBERT, "DistilBertForSequenceClassification", "embeddings/position_embeddings"),
    "electra": (ELECTRA, "ElectraForSequenceClassification", "embeddings/projection/kernel"),
    "mpnet": (MPNET, "MPNetForSequenceClassification", "embeddings/position_bias/relative_attention_bias"),
    "modernbert": (
        MODERNBERT | {"classifier_pooling": "mean"},
        "ModernBertForSequenceClassification",
        "layer_0/final_layer_norm/gamma",
    ),
}


def start(folder, settings):
    """A folder of transformers with an encoder of the corpus's vocabulary, or with the family's tokenizer."""
    vocabulary = small_corpus.vocabulary()
    if settings is MPNET:
        words = [token for token in vocabulary.tokens if token not in BERT_TOKENS]
        tokens = ["<s>", "<pad>", "</s>", "[UNK]", *words, "<mask>"]
        vocabulary = Vocabulary(tokens, vocabulary.do_lower_case, special_tokens=MPNET_TOKENS)
    if settings.get("normalize_first"):
        tokens = [*BERT_TOKENS, *BYTE_CHARACTERS, *WORDS, "  ", "   "]
        vocabulary = BytePairVocabulary(tokens, MERGES, BERT_TOKENS)
    shape = dataclasses.asdict(tiny_encoder_config()) | {"vocab_size": len(vocabulary)} | settings
    model = random_checkpoint("encoder", vocabulary=vocabulary, **shape)
    model = dataclasses.replace(model, max_seq_length=32)
    write_checkpoint(model, folder, "hugging_face")
    return folder


@pytest.fixture(scope="module")
def electra(tmp_path_factory):
    return start(tmp_path_factory.mktemp("electra") / "start", ELECTRA)


@pytest.fixture(
    scope="module",
    params=[
        "distilbert",
        "electra",
        "mpnet",
        "modernbert",
    ],
)
def family(request):
    return request.param


@pytest.fixture(scope="module")
def published(family, electra, tmp_path_factory):
    settings, _, _ = FAMILIES[family]
    return electra if settings is ELECTRA else start(tmp_path_factory.mktemp(family) / "start", settings)


@pytest.fixture(scope="module")
def run(family, published, labelled_files, tmp_path_factory):
    path = tmp_path_factory.mktemp(f"{family}_run") / "run"
    finetune(training_config(), path, *labelled_files, init_checkpoint=published)
    return RunDirectory(path)


def training_config():
    optimizer = OptimizerConfig(name="adamw", learning_rate=5e-3, layer_decay=0.8)
    return tiny_finetuning_config(optimizer=optimizer, save_checkpoints_steps=7)


def kernel_of(path, name):
    return read_checkpoint(path).tensors[name].read()


@pytest.mark.long
def test_it_is_evaluated_as_it_was_trained(run, family, published, labelled_files):
    settings, _, variable = FAMILIES[family]
    encoder = json.loads((run.path / "config.json").read_text())["encoder"]
    assert {name: encoder[name] for name in settings} == settings
    losses = [line["loss"] for line in read_metrics(run.metrics_file) if line["split"] == "train"]
    assert np.isfinite(losses).all()
    assert np.any(kernel_of(run.path, variable) != kernel_of(published, variable))
    _, metrics = evaluate(run, labelled_files[1])
    last = [line for line in read_metrics(run.metrics_file) if line["split"] == "eval"][-1]
    assert metrics["loss"] == pytest.approx(last["loss"], abs=1e-5)


@pytest.mark.long
def test_written_as_its_class_it_is_the_same(run, family, tmp_path):
    write_checkpoint(read_checkpoint(run.path), tmp_path / "hf", "hugging_face")
    config = json.loads((tmp_path / "hf" / "config.json").read_text())
    assert config["architectures"] == [FAMILIES[family][1]] and config["model_type"] == family
    ours, theirs = read_checkpoint(run.path), read_checkpoint(tmp_path / "hf")
    assert (
        numbers(ours) == numbers(theirs) and ours.encoder == theirs.encoder and ours.labels == theirs.labels
    )
    assert ours.vocabulary.fingerprint == theirs.vocabulary.fingerprint


@pytest.mark.long
def test_a_training_taken_up_again_goes_on_exactly(run, published, labelled_files, tmp_path):
    again = RunDirectory(shutil.copytree(run.path, tmp_path / "run"))
    shutil.rmtree(again.checkpoint("last"))
    assert again.checkpoint("last").name == "step-00000007"
    finetune(training_config(), again.path, *labelled_files, init_checkpoint=published)
    assert_same_runs(run, again)


@pytest.mark.slow
@pytest.mark.long
def test_exports_answer_as_keras_does(run, tmp_path):
    expected = np.array([answer["probabilities"]["loud"] for answer in kbert.load(run.path).predict(TEXTS)])
    served = export_savedmodel(run, tmp_path / "served")
    answer = SavedModelSession(served["path"]).run("serving_default", {"text": np.array(TEXTS, object)})
    np.testing.assert_allclose(answer["probabilities"][:, 1], expected, atol=1e-5)
    kinds = {"float32": 1e-5, "dynamic_int8": 0.1}
    reports = export_tflite(run, tmp_path / "litert", list(kinds), (8, 24))
    for kind, limit in kinds.items():
        assert reports[kind]["differences"]["probabilities"]["max"] <= limit


@pytest.mark.long
def test_a_generator_of_electra_trains_and_is_written(electra, records_dir, tmp_path):
    config = tiny_pretraining_config(encoder=None, task="masked_lm", num_train_steps=2, eval_every_steps=2)
    _, metrics = pretrain(config, tmp_path / "run", records_dir / "train", records_dir / "train", electra)
    assert metrics["masked_lm_loss"] < np.log(len(small_corpus.TOKENS)) * 1.5
    write_checkpoint(read_checkpoint(tmp_path / "run"), tmp_path / "hf", "hugging_face")
    written = json.loads((tmp_path / "hf" / "config.json").read_text())
    assert written["architectures"] == ["ElectraForMaskedLM"]
    assert numbers(read_checkpoint(tmp_path / "hf")) == numbers(read_checkpoint(tmp_path / "run"))
