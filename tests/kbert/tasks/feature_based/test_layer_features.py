"""What lies on disk is what the frozen encoder gives: for every word, from every layer."""

import itertools

import numpy as np
import pytest

from kbert.features import ENCODER_INPUTS, layer_feature
from kbert.input_pipelines.records.labelled_records import LabelledRecords
from kbert.tasks import TASKS
from kbert.tasks.feature_based.settings import READS
from kbert.tasks.token_classification.sentence_rows import SentenceRows
from kbert.tasks.token_classification.tagged_sentences import labels_of_sentences, read_tagged_sentences
from kbert.tasks.token_classification.word_windows import WordWindows
from kbert.tokenization.text_inputs import TextInputs
from tests.kbert.tasks.feature_based.small_features import (
    HIDDEN_SIZE,
    NUM_LAYERS,
    ROW,
    WINDOW,
    config_of,
    random_encoder,
    write_files,
)
from tfrecords_tools.create_layer_features import create_layer_features
from tfrecords_tools.show_records import show_records

TASK = TASKS["feature_based_tagging"]


@pytest.fixture(scope="module")
def model():
    return random_encoder()


@pytest.fixture(scope="module")
def dev_file(tmp_path_factory):
    return write_files(tmp_path_factory.mktemp("tagged"))[1]


def states_of(model, inputs):
    """(layers + 1, tokens, hidden_size) of one window, by itself and without padding."""
    states = model.encoder.with_outputs("hidden_states")(inputs)["hidden_states"]
    return np.stack([np.array(state[0]) for state in states])


def expected_vectors(model, sentences, document_context):
    """For each sentence float32 (words, layers + 1, hidden_size), asked for window by window."""
    names = {label: index for index, label in enumerate(labels_of_sentences(sentences, "auto"))}
    windows = WordWindows(TextInputs(model.vocabulary, WINDOW))
    rows, owners = SentenceRows(windows, names, document_context)(sentences)
    found = [{} for _ in sentences]
    for row, owner in enumerate(owners):
        length = int(rows["input_mask"][row].sum())
        states = states_of(model, {name: rows[name][row : row + 1, :length] for name in ENCODER_INPUTS})
        for place in np.flatnonzero(rows["word_ids"][row] >= 0):
            found[owner][int(rows["word_ids"][row, place])] = states[:, place]
    return [np.stack([words[index] for index in range(len(words))]) for words in found], names


def batches_of(folder, settings, batch_size=4):
    records = LabelledRecords(folder, TASK, ROW, settings=TASK.read_settings(settings))
    return records, list(records.evaluation_batches(batch_size, True).as_numpy_iterator())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("document_context", "stored", "tolerance"),
    [(False, "float32", 0.0), (True, "float16", 2**-11), (False, "bfloat16", 2**-8)],
)
def test_every_word_of_the_file_has_its_vectors(
    model, dev_file, tmp_path, document_context, stored, tolerance
):
    settings = {"document_context": document_context, "reads": "weighted_sum_all"}
    config = config_of(settings)
    manifest = create_layer_features(
        config, dev_file, tmp_path / "dev", model=model, stored=stored, batch_size=3
    )
    sentences = list(read_tagged_sentences(dev_file, config.dataset))
    expected, names = expected_vectors(model, sentences, document_context)
    assert manifest.num_examples > len(sentences) == manifest.statistics["source_examples"]

    sizes = {"num_hidden_layers": NUM_LAYERS, "hidden_size": HIDDEN_SIZE, "stored": stored}
    _, batches = batches_of(tmp_path / "dev", config.task_settings | sizes)
    rows = [{name: values[row] for name, values in batch.items()} for batch in batches
            for row in range(len(batch["input_ids"]))]  # fmt: skip
    layers = range(1, NUM_LAYERS + 1)
    for sentence, vectors in zip(sentences, expected, strict=True):
        parts = list(itertools.islice(rows, -(-len(sentence.words) // ROW)))
        rows = rows[len(parts) :]
        words = [part["word_ids"] >= 0 for part in parts]
        assert all(
            (row["input_mask"] > 0).tolist() == at.tolist() for row, at in zip(parts, words, strict=True)
        )
        together = {
            name: np.concatenate([part[name][: at.sum()] for part, at in zip(parts, words, strict=True)])
            for name in parts[0] if name != "example_weights"
        }  # fmt: skip
        assert together["word_ids"].tolist() == list(range(len(sentence.words)))
        assert together["label_ids"].tolist() == [names[label] for label in sentence.labels]
        for layer in layers:
            np.testing.assert_allclose(
                together[layer_feature(layer)], vectors[:, layer], rtol=tolerance, atol=2e-5
            )
        for part, at in zip(parts, words, strict=True):
            assert not any(part[layer_feature(layer)][at.sum() :].any() for layer in layers)
    assert not rows


def test_a_short_sentence_has_the_first_piece_of_each_word(model, tmp_path):
    """Worked out without windows: [CLS], the pieces, [SEP]."""
    path = tmp_path / "one.conll"
    path.write_text("walked X B-ORG\na X O\ntalking X O\n", encoding="utf-8")
    create_layer_features(config_of(), path, tmp_path / "out", model=model)
    ids = model.vocabulary.ids
    pieces = ["[CLS]", "walk", "##ed", "a", "talk", "##ing", "[SEP]"]
    inputs = np.array([[ids[piece] for piece in pieces]], np.int32)
    states = states_of(model, {"input_ids": inputs, "input_mask": 0 * inputs + 1, "segment_ids": 0 * inputs})
    sizes = {"num_hidden_layers": NUM_LAYERS, "hidden_size": HIDDEN_SIZE}
    for reads, layer in (("embeddings", 0), ("second_to_last", 3), ("last", 4)):
        _, (batch,) = batches_of(tmp_path / "out", config_of({"reads": reads} | sizes).task_settings)
        vectors = batch[layer_feature(layer)][0]
        np.testing.assert_allclose(vectors[:3], states[layer][[1, 3, 4]], atol=2e-5)
        assert batch["input_ids"][0, :3].tolist() == [ids[piece] for piece in ("walk", "a", "talk")]
        assert set(batch) == {
            *ENCODER_INPUTS,
            "label_ids",
            "word_ids",
            "example_weights",
            layer_feature(layer),
        }


@pytest.mark.slow
def test_each_model_reads_its_own_layers_of_the_same_records(model, dev_file, tmp_path):
    create_layer_features(config_of(), dev_file, tmp_path / "dev", model=model)
    sizes = {"num_hidden_layers": NUM_LAYERS, "hidden_size": HIDDEN_SIZE}
    for reads in READS:
        settings = config_of({"reads": reads} | sizes).task_settings
        records, batches = batches_of(tmp_path / "dev", settings)
        layers = TASK.read_settings(settings).layers
        read = {name for name in batches[0] if name.startswith("layer_output")}
        assert read == {layer_feature(layer) for layer in layers}
        tagger = TASK.of_dataset(records.dataset, TASK.read_settings(settings))
        assert set(tagger.features(ROW)) | {"example_weights"} == set(batches[0])


def test_records_are_shown_without_their_numbers(model, dev_file, tmp_path, capsys):
    create_layer_features(config_of(), dev_file, tmp_path / "dev", model=model)
    show_records(tmp_path / "dev", num_records=2)
    shown = capsys.readouterr().out
    assert "layer_output_4: float32 of shape [10, 16], at most " in shown and len(shown) < 5_000
    assert "labels of words (" in shown


def test_the_size_is_said_before_and_a_full_disk_refused(model, dev_file, tmp_path, monkeypatch, caplog):
    config = config_of()
    words = sum(len(one.words) for one in read_tagged_sentences(dev_file, config.dataset))
    usage = type("Usage", (), {"free": 1000})
    monkeypatch.setattr("tfrecords_tools.create_layer_features.shutil.disk_usage", lambda path: usage)
    monkeypatch.setattr(model.encoder, "with_outputs", None)  # the encoder is not asked for anything
    with caplog.at_level("INFO", logger="absl"), pytest.raises(ValueError, match="its disk has 0 MB left"):
        create_layer_features(config, dev_file, tmp_path / "dev", model=model, stored="float16")
    megabytes = words * (NUM_LAYERS + 1) * HIDDEN_SIZE * 2 / 1e6
    assert f"{words:,} vectors of 5 layers x 16 numbers as float16: {megabytes:,.1f} MB" in caplog.text
    assert not (tmp_path / "dev").exists()


def test_a_task_that_reads_texts_is_refused(model, dev_file, tmp_path):
    config = config_of(task="token_classification", task_settings={})
    with pytest.raises(ValueError, match="task='token_classification' reads texts, not stored features"):
        create_layer_features(config, dev_file, tmp_path / "dev", model=model)
    assert not (tmp_path / "dev").exists()
