"""--init_checkpoint: training starts from a published model of any format, and says what it did not take."""

import dataclasses
import json
import shutil

import numpy as np
import pytest

from kbert.cli.warn_once import warn_once
from kbert.config import DatasetConfig, FrozenConfig, LoraConfig
from kbert.config.pooling_config import PoolingConfig
from kbert.experiments import pretraining_run as run_of_pretraining
from kbert.experiments.evaluation_data import evaluation_data
from kbert.experiments.finetuning import finetune
from kbert.experiments.pretraining import pretrain
from kbert.inference.loaded_model import loaded_run
from kbert.inference.loading import open_model
from kbert.runs.run_directory import RunDirectory
from kbert.scripts.convert_checkpoint import convert_checkpoint
from tests.conftest import tiny_encoder_config, tiny_finetuning_config, tiny_pretraining_config
from tests.kbert.checkpoints import foreign_files
from tests.kbert.input_pipelines.records import small_records
from tests.tfrecords_tools import small_corpus

SHAPE = {"vocab_size": len(small_corpus.TOKENS), "max_position_embeddings": 32}
HEADS = ("pooler", "masked_lm", "next_sentence")


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """(weights under kbert's names, name of the format -> path of a pretrained model)."""
    root = tmp_path_factory.mktemp("published")
    weights = foreign_files.random_weights(HEADS, seed=4, **SHAPE)
    tokens = small_corpus.TOKENS
    google = foreign_files.write_google(root / "google", foreign_files.google_names(weights), tokens, **SHAPE)
    hugging_face = foreign_files.write_hugging_face(
        root / "hugging_face",
        foreign_files.hugging_face_names(weights),
        "BertForPreTraining",
        tokens,
        hidden_act="gelu_new",
        **SHAPE,
    )
    convert_checkpoint(google, root / "kbert", "kbert")
    return weights, {
        "google": google / "bert_model.ckpt",
        "hugging_face": hugging_face,
        "kbert": root / "kbert",
    }


FORMATS = ["google", "hugging_face", "kbert"]


@pytest.mark.parametrize("format", FORMATS)
def test_finetuning_starts_from_any_format(published, labelled_files, tmp_path, starts, format, caplog):
    weights, paths = published
    config = tiny_finetuning_config()
    finetune(config, tmp_path / "run", labelled_files[0], init_checkpoint=paths[format])
    run = RunDirectory(tmp_path / "run")
    assert run.config.encoder.hidden_act == "gelu" and run.vocabulary().tokens == small_corpus.TOKENS
    (found,) = starts
    body = {name for name in weights if not name.startswith(("masked_lm", "next_sentence"))}
    assert found.keys() - body == {"classification/dense/kernel", "classification/dense/bias"}
    for name in body:
        np.testing.assert_array_equal(found[name], weights[name], err_msg=name)
    assert "classification is freshly initialised: the checkpoint has none" in caplog.text


def test_a_classifier_with_the_same_labels_brings_its_head(labelled_files, tmp_path, starts):
    weights = foreign_files.random_weights(("pooler", "classification"), num_labels=2, seed=6, **SHAPE)
    names = foreign_files.hugging_face_names(weights)
    labels = {"id2label": {"0": "quiet", "1": "loud"}}
    source = tmp_path / "classifier"
    foreign_files.write_hugging_face(
        source, names, "BertForSequenceClassification", small_corpus.TOKENS, **SHAPE, **labels
    )
    config = tiny_finetuning_config()
    finetune(config, tmp_path / "run", labelled_files[0], init_checkpoint=source)
    assert starts[0].keys() == weights.keys()
    for name, value in weights.items():
        np.testing.assert_array_equal(starts[0][name], value, err_msg=name)


def test_pretraining_goes_on_from_a_published_model(published, records_dir, tmp_path, starts):
    weights, paths = published
    config = tiny_pretraining_config(encoder=None, dropout_prob=0.25)
    pretrain(config, tmp_path / "run", records_dir / "train", init_checkpoint=paths["google"])
    encoder = RunDirectory(tmp_path / "run").config.encoder
    assert encoder.hidden_dropout_prob == encoder.attention_probs_dropout_prob == 0.25
    (found,) = starts
    assert found.keys() == weights.keys()
    for name, value in weights.items():
        np.testing.assert_array_equal(found[name], value, err_msg=name)


def test_pretraining_says_that_it_keeps_no_way_to_make_vectors(
    published, records_dir, tmp_path, starts, caplog
):
    source = shutil.copytree(published[1]["hugging_face"], tmp_path / "encoder")
    kinds = {"": "Transformer", "1_Pooling": "Pooling", "2_Normalize": "Normalize"}
    places = {path: f"sentence_transformers.models.{kind}" for path, kind in kinds.items()}
    modules = [{"idx": index, "path": path, "type": places[path]} for index, path in enumerate(places)]
    (source / "modules.json").write_text(json.dumps(modules))
    foreign_files.edit(source / "1_Pooling" / "config.json", embedding_dimension=8, pooling_mode="cls")
    config = tiny_pretraining_config(encoder=None)
    run_of_pretraining._warn_of_vectors(source, PoolingConfig())  # which is what kbert takes anyway
    assert not caplog.text
    pretrain(config, tmp_path / "run", records_dir / "train", init_checkpoint=source)
    said = f"{source} says how vectors of texts are made: {{'mode': 'cls'}}. This run keeps none of it"
    assert said in caplog.text


UNTRAINED = "no text of more than 24 tokens has trained it, so its positions from 24 on are as they began"


@pytest.mark.parametrize("adapters", [None, LoraConfig(rank=2)])
def test_positions_that_no_text_has_trained_are_named(
    pretraining_run, labelled_files, tmp_path, starts, adapters, caplog
):
    config, first, init = tiny_finetuning_config(), labelled_files[0], pretraining_run.path
    warn_once.cache_clear()
    finetune(config, tmp_path / "short", first, init_checkpoint=init)
    assert UNTRAINED not in caplog.text
    longer = dataclasses.replace(config, max_seq_length=32, lora=adapters)
    finetune(longer, tmp_path / "long", first, init_checkpoint=init)
    assert f"{init}: {UNTRAINED}, and sequences of 32 tokens have these." in caplog.text
    assert RunDirectory(tmp_path / "long").trained_positions(None) == (24 if adapters else 32)
    finetune(longer, tmp_path / "long", first, init_checkpoint=init)  # the run goes on


def test_documents_longer_than_max_seq_length_train_their_positions(
    pretraining_run, labelled_files, tmp_path, starts, caplog
):
    """Else a longer table would repeat the others in their place."""
    dataset = DatasetConfig(text="sentence", text_pair="other", label="score")
    settings = {"query_length": 8, "document_length": 32}
    config = tiny_finetuning_config(task="late_interaction", dataset=dataset, task_settings=settings)
    warn_once.cache_clear()
    finetune(config, tmp_path / "run", labelled_files[0], init_checkpoint=pretraining_run.path)
    assert f"{pretraining_run.path}: {UNTRAINED}, and sequences of 32 tokens have these." in caplog.text
    assert RunDirectory(tmp_path / "run").trained_positions(None) == 32


def test_positions_are_named_where_a_run_is_asked_for_longer_texts(
    pretraining_run, records_dir, tmp_path, starts, monkeypatch, caplog
):
    loaded = open_model(pretraining_run.path)
    warn_once.cache_clear()
    loaded.with_max_seq_length(24)
    assert UNTRAINED not in caplog.text
    loaded.with_max_seq_length(32)
    assert UNTRAINED in caplog.text
    warn_once.cache_clear()
    caplog.clear()
    monkeypatch.setattr(small_records, "LENGTH", 32)
    small_records.write(tmp_path / "records", [2])
    evaluation_data(loaded, None, tmp_path / "records")
    assert UNTRAINED in caplog.text
    config = tiny_pretraining_config(encoder=None)
    warn_once.cache_clear()
    pretrain(
        config, tmp_path / "run", records_dir / "train", tmp_path / "records", init_checkpoint=loaded.source
    )
    assert caplog.text.count(UNTRAINED) == 2
    convert_checkpoint(pretraining_run.path, tmp_path / "longer", max_position_embeddings=40)
    open_model(tmp_path / "longer").with_max_seq_length(40)
    assert f"longer: {UNTRAINED}" in caplog.text
    run = RunDirectory(pretraining_run.path)  # as older versions wrote it
    del run.details["trained_positions"]
    assert run.trained_positions(None) == 24
    run.details["init_checkpoint"] = "bert-base-uncased"
    assert run.trained_positions(None) is None


def test_positions_are_trained_when_their_phase_is(pretraining_run, caplog):
    run = RunDirectory(pretraining_run.path)  # its checkpoints are of the first phase
    run.details |= {"trained_positions": [12, 24], "max_seq_length": 24}
    assert run.trained_positions(run.checkpoint()) == 12
    assert run.trained_positions(run.path / "deleted") == run.trained_positions(None) == 24
    warn_once.cache_clear()
    assert loaded_run(run, None).max_seq_length == 24
    assert "no text of more than 12 tokens has trained it" in caplog.text


KEPT = [{"lora": LoraConfig(rank=2)}, {"frozen": FrozenConfig(embeddings=True)}]


@pytest.mark.parametrize("kept", [{}, *KEPT], ids=str)
def test_new_tokens_that_no_training_tells_apart_are_named(
    published, labelled_files, tmp_path, starts, kept, caplog
):
    _, paths = published
    (tmp_path / "vocab.txt").write_text(
        "\n".join([*small_corpus.TOKENS, "hyper", "[unused7]", "hypo"]) + "\n"
    )
    extended = tmp_path / "extended"
    convert_checkpoint(paths["kbert"], extended, vocab_file=tmp_path / "vocab.txt")
    config = tiny_finetuning_config(**kept)
    for init in (paths["kbert"], extended):
        finetune(config, tmp_path / f"run_of_{init.name}", labelled_files[0], init_checkpoint=init)
    named = [line for line in caplog.messages if "one and the same vector" in line]
    start = (
        f"{extended}: 2 tokens have one and the same vector, such as 'hyper' and 'hypo', as the new ones of"
    )
    assert len(named) == bool(kept) and all(line.startswith(start) for line in named)


def test_what_does_not_belong_together_is_refused(published, records_dir, tmp_path):
    _, paths = published
    tokens = list(small_corpus.TOKENS)
    tokens[9], tokens[10] = tokens[10], tokens[9]
    weights = foreign_files.random_weights(HEADS, **SHAPE)
    other = foreign_files.write_hugging_face(
        tmp_path / "other", foreign_files.hugging_face_names(weights), "BertForPreTraining", tokens, **SHAPE
    )
    config = tiny_pretraining_config(encoder=None)
    with pytest.raises(ValueError, match="vocabulary"):
        pretrain(config, tmp_path / "run", records_dir / "train", init_checkpoint=other)
    config = tiny_pretraining_config(encoder=tiny_encoder_config())
    with pytest.raises(ValueError, match=r"hidden_size \(16 here, 8 there\).*Leave `encoder` out to take"):
        pretrain(config, tmp_path / "run", records_dir / "train", init_checkpoint=paths["google"])
    assert not (tmp_path / "run").exists()
