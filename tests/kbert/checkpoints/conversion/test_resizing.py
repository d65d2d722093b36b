"""More positions and other vocabularies: old rows and answers stay, new rows are what they should be."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

import kbert
from kbert.checkpoints import model_loading
from kbert.checkpoints.bert_checkpoint import RecordedTask
from kbert.checkpoints.conversion.resizing import (
    OUTPUT_BIAS,
    POSITION_TABLE,
    WORD_TABLE,
    resize_vocabulary,
    with_layers,
    with_positions,
    with_vocabulary,
)
from kbert.checkpoints.convert import convert
from kbert.checkpoints.formats import read_checkpoint, write_checkpoint
from kbert.config import DatasetConfig
from kbert.encoder import BertEncoder
from kbert.files.stored_tensor import stored_array
from kbert.inference.loading import load
from kbert.scripts.convert_checkpoint import convert_checkpoint
from kbert.tasks import TASKS
from kbert.tasks.pretraining.objectives import Pretraining
from kbert.tokenization.base_vocabulary import BERT_TOKENS
from kbert.tokenization.vocabulary import Vocabulary
from tests.kbert.checkpoints.random_checkpoint import MODERNBERT, numbers, random_checkpoint

RNG = np.random.default_rng(13)
TEXTS = ["jump the a", "walked and [MASK]"]


def logits(model):
    inputs = model.inputs(TEXTS, with_masks=True)
    inputs["masked_lm_positions"] = tf.constant([[1, 2], [3, 1]])
    return model.model(inputs)["masked_lm_logits"].numpy()


@pytest.mark.parametrize("format", ["kbert", "google"])
def test_a_resized_checkpoint_of_any_format_answers_as_before(pretraining_run, tmp_path, format):
    tokens = pretraining_run.vocabulary().tokens
    added = Vocabulary([*tokens, "brand", "new"], do_lower_case=True)
    added.write(tmp_path / "vocab.txt")
    casing = True if format == "google" else None
    read, _ = convert_checkpoint(
        pretraining_run.path,
        tmp_path / "resized",
        format,
        max_position_embeddings=70,
        vocab_file=tmp_path / "vocab.txt",
    )
    assert any("position table resized from 32 to 70 rows" in note for note in read.notes)
    assert any("22 kept, 2 new with the mean" in note for note in read.notes)
    before, after = load(pretraining_run.path), load(tmp_path / "resized", casing)
    assert after.config.max_position_embeddings == 70 and after.config.vocab_size == len(tokens) + 2
    assert after.vocabulary.tokens == added.tokens
    old, new = logits(before), logits(after)
    np.testing.assert_allclose(new[..., :-2], old, atol=1e-5)
    np.testing.assert_allclose(new[..., -1], old.mean(axis=-1), atol=1e-5)
    long = after.with_max_seq_length(70).inputs(["jump the a " * 30])
    assert long["input_ids"].shape == (1, 70)
    assert np.isfinite(after.encoder(long)["pooled_output"]).all()


def test_max_seq_length_follows_the_positions_only_where_it_was_all_of_them(pretraining_run):
    checkpoint = read_checkpoint(pretraining_run.path)
    assert checkpoint.max_seq_length == 24
    assert with_positions(checkpoint, 70).max_seq_length == 24
    assert with_positions(checkpoint, 20).max_seq_length == 20
    assert with_positions(with_positions(checkpoint, 24), 64).max_seq_length == 64
    assert [with_positions(checkpoint, size).trained_positions for size in (70, 20)] == [24, 20]


def test_a_model_with_rotary_positions_gets_longer_without_a_table():
    checkpoint = random_checkpoint("encoder", **MODERNBERT)
    longer = with_positions(checkpoint, 64)
    assert longer.encoder.max_position_embeddings == 64 and numbers(longer) == numbers(checkpoint)
    assert longer.report.notes[-1] == "longest sequence changed from 16 to 64 tokens"
    with pytest.raises(
        ValueError, match="its layers are of several kinds .normalize_first=True, local_attention=8."
    ):
        with_layers(checkpoint, [0])
    encoder = BertEncoder(longer.encoder)
    assert model_loading.initialize(encoder, longer)["fresh"] == []


@pytest.mark.parametrize(
    ("task", "settings", "name"),
    [
        ("token_classification", {"head": "bilstm", "layers": "weighted_all"}, "scalar_mix/layer_weights"),
        ("replaced_token_detection", {}, "generator/layer_2/"),
    ],
)
def test_heads_that_follow_the_number_of_layers_need_all(tmp_path, task, settings, name):
    labels = ("a", "b") if task == "token_classification" else ()
    task_class = TASKS[task]
    made = task_class.from_dataset(DatasetConfig(labels=labels), task_class.read_settings(settings))
    recorded = RecordedTask(made.get_config(), DatasetConfig(labels=labels))
    checkpoint = dataclasses.replace(random_checkpoint(task, labels, num_hidden_layers=3), recorded=recorded)
    tensors = {key: stored_array(np.zeros(shape, np.float32)) for key, shape in checkpoint.shapes.items()}
    write_checkpoint(dataclasses.replace(checkpoint, tensors=tensors), tmp_path / "run", "kbert")
    with pytest.raises(ValueError, match=rf"{name}.* would have no place beside 2 of 3 layers.*encoder_only"):
        convert(tmp_path / "run", tmp_path / "out", layers=[0, 2])
    convert(tmp_path / "run", tmp_path / "out", layers=[0, 2], encoder_only=True)
    assert read_checkpoint(tmp_path / "out").encoder.num_hidden_layers == 2


def test_a_training_with_more_positions_starts_with_the_trained_ones_repeated(pretraining_run):
    checkpoint = read_checkpoint(pretraining_run.path)
    longer = dataclasses.replace(checkpoint.encoder, max_position_embeddings=40, hidden_dropout_prob=0.3)
    assert model_loading.encoder_for_checkpoint(longer, checkpoint) == longer
    model = Pretraining().build_model(BertEncoder(longer))
    found = model_loading.initialize(model, checkpoint)
    assert not found["fresh"]
    table = checkpoint.tensors[POSITION_TABLE].read()
    ours = model.encoder.embeddings.position_embeddings.numpy()
    # Its 12 steps began with random weights, on records of 24 tokens: the rows behind are random still.
    np.testing.assert_array_equal(ours, table[np.arange(40) % 24])

    shorter = dataclasses.replace(checkpoint.encoder, max_position_embeddings=16)
    with pytest.raises(ValueError, match=r"max_position_embeddings \(16 here, 32 there\)"):
        model_loading.encoder_for_checkpoint(shorter, checkpoint)


def weights(rows=5):
    return {
        WORD_TABLE: RNG.normal(size=(rows, 3)).astype(np.float32),
        POSITION_TABLE: RNG.normal(size=(4, 3)).astype(np.float32),
        OUTPUT_BIAS: RNG.normal(size=(rows,)).astype(np.float32),
        "pooler/dense/kernel": RNG.normal(size=(3, 3)).astype(np.float32),
    }


def test_tokens_keep_their_rows_wherever_they_stand_now_and_new_ones_get_the_mean():
    old = weights(rows=7)  # two rows more than tokens: they are nobody's, and not part of the mean
    new = resize_vocabulary(old, "abcde", "ecxay")
    for name in (WORD_TABLE, OUTPUT_BIAS):
        table = old[name]
        mean = table[:5].mean(axis=0)
        np.testing.assert_allclose(new[name], [table[4], table[2], mean, table[0], mean], atol=1e-7)
        np.testing.assert_array_equal(new[name][[0, 1, 3]], table[[4, 2, 0]])
        assert new[name].dtype == np.float32
    assert new["pooler/dense/kernel"] is old["pooler/dense/kernel"]
    del old[OUTPUT_BIAS]
    assert OUTPUT_BIAS not in resize_vocabulary(old, "abcde", "ab")


LOWER, BOTH = ["the", "cat", "ran"], ["the", "cat", "ran", "The", "Cat"]


@pytest.mark.parametrize(
    ("old", "new", "do_lower_case", "is_other"),
    [
        (LOWER, BOTH, True, True),
        (BOTH, [*LOWER, "dog"], False, True),
        (BOTH, LOWER, False, False),  # trimmed to texts without capitals
        (BOTH, [*BOTH, "Dog"], True, False),  # as the model was before, which somebody allowed
        (LOWER, [*LOWER, "dog"], True, False),
    ],
)
def test_a_vocabulary_of_the_other_casing_is_refused(old, new, do_lower_case, is_other):
    old, new = (Vocabulary([*BERT_TOKENS, *tokens], do_lower_case) for tokens in (old, new))
    checkpoint = random_checkpoint("masked_lm", vocabulary=old)
    if is_other:
        with pytest.raises(ValueError, match="of another casing than there: .* give one of the same casing"):
            with_vocabulary(checkpoint, new)
    else:
        assert with_vocabulary(checkpoint, new).vocabulary.tokens == new.tokens


@pytest.mark.parametrize("layers", [0, 1, "0,1", [1.0], ["0"]])
def test_layers_are_whole_numbers_in_a_list(pretraining_run, tmp_path, layers):
    with pytest.raises(ValueError, match="must be a list of whole numbers"):
        kbert.convert(pretraining_run.path, tmp_path / "less", layers=layers)


def test_layers_may_be_an_array(pretraining_run, tmp_path):
    kbert.convert(pretraining_run.path, tmp_path / "all", layers=np.arange(1))
    assert read_checkpoint(tmp_path / "all").encoder.num_hidden_layers == 1
