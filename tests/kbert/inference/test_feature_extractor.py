"""Features of tokens and texts against the NumPy reference, in Python and on disk."""

import gzip
import json

import keras
import numpy as np
import pytest
import tensorflow as tf

import kbert
from kbert.cli.warn_once import warn_once
from kbert.config.pooling_config import PoolingConfig
from kbert.config.sparse_pooling_config import SparsePoolingConfig
from kbert.inference.feature_extractor import FeatureExtractor
from kbert.scripts.extract_features import extract_features, write_features
from tests.kbert.inference.random_model import TEXTS, random_model, reference_states

pytestmark = pytest.mark.usefixtures("eager")


@pytest.fixture(scope="module")
def model():
    return random_model()


def test_token_features_of_chosen_layers_equal_the_numpy_reference(model):
    loaded, weights = model
    extract = FeatureExtractor(loaded, layers=[-1, 0, 2])
    for text, features in zip(TEXTS, extract(TEXTS), strict=True):
        states = reference_states(loaded, weights, text)
        assert features.tokens[0] == "[CLS]" and features.tokens[-1] == "[SEP]"
        assert [loaded.vocabulary.ids[token] for token in features.tokens] == features.input_ids.tolist()
        expected = np.stack([states[3], states[0], states[2]], axis=1)
        assert features.values.dtype == np.float32
        np.testing.assert_allclose(features.values, expected, atol=1e-5)
    assert len(features.tokens) < 24 == max(len(f.tokens) for f in extract(TEXTS)), "one text was cut"


POOLED = {
    "none": lambda states: states,
    "cls": lambda states: states[0],
    "mean": lambda states: states.mean(axis=0),
    "max": lambda states: states.max(axis=0),
    "mean_sqrt_len": lambda states: states.sum(axis=0) / np.sqrt(len(states)),
}


# Each of both: layers are pooled one by one, and then combined whatever the pooling was.
@pytest.mark.long
@pytest.mark.parametrize(
    ("pooling", "combine"),
    [("cls", "sum"), ("mean", "none"), ("max", "concat"), ("mean_sqrt_len", "sum"), ("none", "concat")],
)
def test_pooling_and_combination_equal_the_numpy_reference(model, pooling, combine):
    loaded, weights = model
    extract = FeatureExtractor(loaded, [-1, -2], pooling, combine)
    for text, features in zip(TEXTS[:3], extract(TEXTS[:3]), strict=True):
        last, before = (POOLED[pooling](reference_states(loaded, weights, text)[layer]) for layer in (-1, -2))
        expected = {"none": np.stack([last, before]), "sum": last + before,
                    "concat": np.concatenate([last, before], axis=-1)}[combine]  # fmt: skip
        np.testing.assert_allclose(features.values, expected, atol=1e-5)


@pytest.mark.parametrize("combine", ["none", "sum", "concat"])
def test_normalize_scales_what_is_combined(model, combine):
    """Not the vector of each layer before: two of these behind each other have the length 1.414."""
    both, scaled = (
        FeatureExtractor(model[0], [-1, 0], "mean", combine, normalize)(TEXTS[0]).values
        for normalize in (None, True)
    )
    np.testing.assert_allclose(scaled, both / np.linalg.norm(both, axis=-1, keepdims=True), atol=1e-5)


@pytest.mark.parametrize("layers", [-1, "-1", [1.5], [None]])
def test_layers_are_whole_numbers_in_a_list(model, layers):
    with pytest.raises(ValueError, match="expected whole numbers in a list"):
        FeatureExtractor(model[0], layers)


@pytest.mark.parametrize("pooling", [None, "median", 3, SparsePoolingConfig()])
def test_a_way_to_pool_that_nobody_knows_is_refused(model, pooling):
    """None is the `own_pooling` of a model that has none."""
    with pytest.raises(ValueError, match="is not known; choose one of none, .* own_pooling of a model that"):
        FeatureExtractor(model[0], pooling=pooling)


@pytest.mark.parametrize("thing", [None, 3, ("a", "b"), keras.Sequential()], ids=lambda x: type(x).__name__)
def test_what_is_no_model_is_refused(thing):
    for ask in (FeatureExtractor, lambda model: kbert.evaluate(model, "dev.tsv")):
        with pytest.raises(ValueError, match=f"a {type(thing).__name__} as the model; expected a path"):
            ask(thing)


def test_pairs_and_single_texts_may_stand_side_by_side(model):
    loaded, weights = model
    extract = FeatureExtractor(loaded)
    pairs = [("jump", "the a"), ("walk", None), ("", "play"), ("jump the a", None)]
    features = extract([text for text, _ in pairs], [pair for _, pair in pairs])
    for (text, pair), found in zip(pairs, features, strict=True):
        assert found.tokens.count("[SEP]") == (1 if pair is None else 2)
        expected = reference_states(loaded, weights, text, pair)[-1]
        np.testing.assert_allclose(found.values[:, 0], expected, atol=1e-5)


# ---------------------------------------------------------------------------------------- files

LINES = ["jump the a", "walk ||| the play", "", "a ||| the ||| turn", "  open \xa0é ☺  "]


@pytest.fixture
def input_file(tmp_path):
    path = tmp_path / "texts.txt"
    path.write_bytes("\n".join(LINES).encode() + b"\nask\r\n")
    return path


def split_lines():
    """What the original reads out of the file: stripped lines, split at the last separator."""
    texts = ["jump the a", "walk", "", "a ||| the", "open \xa0é ☺", "ask"]
    return texts, [None, "the play", None, "turn", None, None]


@pytest.mark.slow
def test_json_lines_have_the_form_of_the_original(model, input_file, tmp_path):
    extractor = FeatureExtractor(model[0], [-1, -2])
    assert extract_features(extractor, input_file, tmp_path / "out.jsonl", batch_size=4) == 6
    lines = (tmp_path / "out.jsonl").read_text(encoding="ascii").splitlines()
    for index, (line, features) in enumerate(zip(lines, extractor(*split_lines()), strict=True)):
        # extract_features.py, `main`: this order, this rounding, these separators.
        written = json.loads(line)
        assert line == json.dumps(written)
        assert list(written) == ["linex_index", "features"] and written["linex_index"] == index
        tokens = written["features"]
        assert [(list(one), one["token"]) for one in tokens] == [
            (["token", "layers"], token) for token in features.tokens
        ]
        assert all([list(layer) for layer in one["layers"]] == [["index", "values"]] * 2 for one in tokens)
        assert all([layer["index"] for layer in one["layers"]] == [-1, -2] for one in tokens)
        values = np.array([[layer["values"] for layer in one["layers"]] for one in tokens])
        np.testing.assert_allclose(values, features.values, atol=1e-5)
        assert (values == values.round(6)).all()


@pytest.mark.slow
def test_a_numpy_archive_of_tokens(model, input_file, tmp_path):
    loaded, _ = model
    tokens = FeatureExtractor(loaded, [-1, 0])
    extract_features(tokens, input_file, tmp_path / "tokens.npz", "npz", batch_size=2)
    expected = tokens(*split_lines())
    with np.load(tmp_path / "tokens.npz") as archive:
        assert set(archive) == {"layers", "input_ids", "row_splits", "values"}
        assert archive["layers"].tolist() == [-1, 0]
        splits, ids, values = archive["row_splits"], archive["input_ids"], archive["values"]
    assert len(splits) == 7 and splits[-1] == len(ids) == len(values)
    for index, features in enumerate(expected):
        place = slice(splits[index], splits[index + 1])
        np.testing.assert_array_equal(ids[place], features.input_ids)
        np.testing.assert_allclose(values[place], features.values, atol=1e-5)


def test_tfrecords(model, input_file, tmp_path):
    loaded, _ = model
    extractor = FeatureExtractor(loaded, [-1, -2])
    extract_features(extractor, input_file, tmp_path / "out.tfrecord", "tfrecord")
    records = list(tf.data.TFRecordDataset(str(tmp_path / "out.tfrecord")).as_numpy_iterator())
    for index, (record, features) in enumerate(zip(records, extractor(*split_lines()), strict=True)):
        feature = tf.train.Example.FromString(record).features.feature
        assert feature["linex_index"].int64_list.value[0] == index
        assert list(feature["input_ids"].int64_list.value) == features.input_ids.tolist()
        assert tuple(feature["shape"].int64_list.value) == features.values.shape
        np.testing.assert_allclose(feature["values"].float_list.value, features.values.ravel(), atol=1e-5)


def test_features_of_a_file_are_those_of_the_columns_of_the_run(pair_run, tmp_path):
    file = tmp_path / "rows.csv"
    file.write_text("text,sentence,other\nwalk,jump the a,play\n")
    extractor = FeatureExtractor(kbert.load(pair_run.path), pooling="cls")
    extract_features(extractor, file, tmp_path / "out.npz", "npz")
    expected = extractor(["jump the a"], ["play"])[0].values
    np.testing.assert_allclose(np.load(tmp_path / "out.npz")["values"], [expected], atol=1e-6)


@pytest.mark.long
def test_the_default_prompt_stands_once_before_each_text(caplog):
    warn_once.cache_clear()
    pooling = PoolingConfig("mean", True, prompts={"query": "the "}, default_prompt_name="query")
    loaded, _ = random_model(own_pooling=pooling)
    extract, plain = FeatureExtractor(loaded, pooling=pooling), random_model()[0]
    assert extract("jump").tokens == ["[CLS]", "the", "jump", "[SEP]"]
    assert "begin with it already" not in caplog.text
    assert extract("the jump").tokens.count("the") == 2 and "begin with it already" in caplog.text
    np.testing.assert_allclose(extract("jump").values[0], loaded.embed("jump"), atol=1e-5)
    assert (
        plain.inputs("the jump")["input_ids"].numpy().tolist()
        == loaded.inputs("jump")["input_ids"].numpy().tolist()
    )


@pytest.mark.long
@pytest.mark.parametrize("length", [10, 24])
def test_vectors_of_a_file_are_those_of_embed_at_every_length(length, tmp_path, caplog):
    """Texts beyond the model's own length are cut where `embed` and exports cut them; a prompt that a search
    would put before them is said."""
    warn_once.cache_clear()
    prompts = {"query": "the ", "document": ""} if length == 10 else {"query": "", "document": ""}
    loaded, _ = random_model(max_seq_length=length, own_pooling=PoolingConfig("mean", True, prompts=prompts))
    loaded.save(tmp_path / "model", "hugging_face")
    texts = ["jump", "walk the a play " * 20]
    (tmp_path / "texts.txt").write_text("\n".join(texts))
    write_features(tmp_path / "model", tmp_path / "texts.txt", tmp_path / "vectors.npz")
    vectors = np.load(tmp_path / "vectors.npz")["values"][:, 0]
    np.testing.assert_allclose(vectors, kbert.load(tmp_path / "model").embed(texts), atol=1e-5)
    assert ("No prompt stands before the texts, but the model has query:" in caplog.text) == (length == 10)
    with pytest.raises(ValueError, match="layers is empty"):
        write_features(tmp_path / "model", tmp_path / "texts.txt", tmp_path / "other.npz", layers=[])


def test_json_lines_are_compressed_as_the_name_says(model, input_file, tmp_path):
    extractor = FeatureExtractor(model[0], [-1], pooling="mean")
    for name in ("a.jsonl", "a.jsonl.gz"):
        extract_features(extractor, input_file, tmp_path / name)
    unpacked = gzip.decompress((tmp_path / "a.jsonl.gz").read_bytes())
    assert unpacked == (tmp_path / "a.jsonl").read_bytes()


@pytest.mark.parametrize("format", ["npz", "tfrecord"])
def test_only_json_lines_are_compressed(format, input_file, tmp_path):
    for name, said in ((f"a.{format}.gz", None), (f"a.{format}.gz", format), ("a.gz", format)):
        with pytest.raises(ValueError, match="only JSON lines are written compressed"):
            write_features(tmp_path, input_file, tmp_path / name, format=said)


def test_a_model_of_vectors_reads_each_text_by_itself():
    """Two texts in a row were in no training of it, and `embed` gives no such vector."""
    pooling = PoolingConfig("mean", True)
    loaded, _ = random_model(own_pooling=pooling)
    extract = FeatureExtractor(loaded, pooling=pooling)
    assert len(extract(["jump", "walk"], [None, None])) == 2
    with pytest.raises(ValueError, match="makes a vector of each text by itself, and one .* 'play'"):
        extract(["jump", "walk"], [None, "play"])
    assert len(FeatureExtractor(loaded, pooling="mean")(["jump"], ["play"])[0].tokens) == 5
    for unread, normalize in (("none", True), (pooling, True), (pooling, False)):
        with pytest.raises(ValueError, match=f"normalize={normalize} is for the vectors of a mode"):
            FeatureExtractor(loaded, pooling=unread, normalize=normalize)
