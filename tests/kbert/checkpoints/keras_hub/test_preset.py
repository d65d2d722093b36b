"""KerasHub presets both ways, against keras_hub itself."""

import dataclasses
import json
import shutil
import sys
import time
from pathlib import Path

import h5py
import numpy as np
import pytest

from kbert.checkpoints.formats import detect_format, local_path, read_checkpoint, write_checkpoint
from kbert.checkpoints.keras_hub import config
from kbert.checkpoints.model_loading import build_model
from kbert.checkpoints.report import Report
from kbert.inference.loading import load
from kbert.scripts.convert_checkpoint import convert_checkpoint
from tests.kbert.checkpoints.foreign_files import SHAPE, TOKENS
from tests.kbert.checkpoints.random_checkpoint import numbers, random_checkpoint

pytestmark = pytest.mark.slow  # KerasHub and the hub's client take long to import

TOLERANCE = 1e-5
LENGTH = 12
LABELS = ("red", "green", "blue")
ARGUMENTS = {
    "vocabulary_size": SHAPE["vocab_size"],
    "num_layers": SHAPE["num_hidden_layers"],
    "num_heads": SHAPE["num_attention_heads"],
    "hidden_dim": SHAPE["hidden_size"],
    "intermediate_dim": SHAPE["intermediate_size"],
    "max_sequence_length": SHAPE["max_position_embeddings"],
}
CLASSES = ("BertBackbone", "BertTextClassifier", "BertMaskedLM")
TASKS = {"BertBackbone": "encoder", "BertTextClassifier": "sequence_classification"}


@pytest.fixture(scope="module")
def keras_hub():
    import keras_hub

    return keras_hub


def tokenizer(keras_hub, **changes):
    settings = {"lowercase": True, "strip_accents": True} | changes
    return keras_hub.models.BertTokenizer(vocabulary=list(TOKENS), **settings)


def build(keras_hub, class_name, dtype="float32", seed=0, **changes):
    """A model of KerasHub's with random numbers, and its preprocessor or tokenizer."""
    backbone = keras_hub.models.BertBackbone(**ARGUMENTS | changes, dtype=dtype)
    model = backbone
    if class_name != "BertBackbone":
        preprocessor = getattr(keras_hub.models, f"{class_name}Preprocessor")
        extra = {"num_classes": 3} if class_name == "BertTextClassifier" else {}
        model = getattr(keras_hub.models, class_name)(
            backbone, preprocessor=preprocessor(tokenizer(keras_hub), sequence_length=LENGTH), **extra
        )
    rng = np.random.default_rng(seed)
    for variable in model.weights:
        mean = 1.0 if variable.path.endswith("gamma") else 0.0
        variable.assign(rng.normal(mean, 0.3, variable.shape))
    return model


def save(keras_hub, model, folder):
    model.save_to_preset(str(folder))
    if type(model).__name__ == "BertBackbone":
        tokenizer(keras_hub).save_to_preset(str(folder))
    return folder


@pytest.fixture(scope="module")
def saved(keras_hub, tmp_path_factory):
    """class name -> (KerasHub's model, the preset that it has written)."""
    root = tmp_path_factory.mktemp("presets")
    models = {name: build(keras_hub, name, seed=seed) for seed, name in enumerate(CLASSES)}
    return {name: (model, save(keras_hub, model, root / name)) for name, model in models.items()}


@pytest.fixture
def preset(saved, tmp_path):
    """A function from a class name to a copy of its preset, to be damaged."""
    return lambda name: Path(shutil.copytree(saved[name][1], tmp_path / f"copy_of_{name}"))


def inputs():
    rng = np.random.default_rng(5)
    mask = np.array([[1] * 9, [1] * 5 + [0] * 4, [1] * 2 + [0] * 7], np.int32)
    return {
        "input_ids": rng.integers(0, len(TOKENS), mask.shape).astype(np.int32),
        "input_mask": mask,
        "segment_ids": rng.integers(0, 2, mask.shape).astype(np.int32),
        "masked_lm_positions": np.array([[1, 8], [3, 0], [1, 1]], np.int32),
    }


def theirs(model):
    """KerasHub's outputs in one list; places under padding are cut off."""
    names = {
        "token_ids": "input_ids",
        "padding_mask": "input_mask",
        "segment_ids": "segment_ids",
        "mask_positions": "masked_lm_positions",
    }
    features = inputs()
    names = {theirs: ours for theirs, ours in names.items() if theirs in model.input}
    outputs = model({theirs: features[ours] for theirs, ours in names.items()}, training=False)
    if not isinstance(outputs, dict):
        return [np.asarray(outputs)]
    real = features["input_mask"].astype(bool)
    return [np.asarray(outputs["sequence_output"])[real], np.asarray(outputs["pooled_output"])]


def ours(checkpoint):
    """kbert's outputs, in the order of `theirs`."""
    _, model = build_model(checkpoint)
    features = inputs()
    outputs = model({name: features[name] for name in model.input}, training=False)
    real = features["input_mask"].astype(bool)
    if checkpoint.task == "encoder":
        return [np.asarray(outputs["sequence_output"])[real], np.asarray(outputs["pooled_output"])]
    return [np.asarray(outputs["masked_lm_logits" if checkpoint.task == "masked_lm" else "logits"])]


def largest_difference(first, second):
    assert [value.shape for value in first] == [value.shape for value in second]
    return max(float(np.abs(one - other).max()) for one, other in zip(first, second, strict=True))


# ------------------------------------------------------------------------------------ numbers


@pytest.mark.parametrize("name", CLASSES)
def test_a_preset_of_keras_hub_answers_the_same_in_kbert(saved, name):
    model, folder = saved[name]
    assert detect_format(folder) == "keras_hub"
    checkpoint = read_checkpoint(folder)
    assert checkpoint.task == TASKS.get(name, "masked_lm") and not checkpoint.missing
    assert largest_difference(theirs(model), ours(checkpoint)) < TOLERANCE
    assert {line[0] for line in checkpoint.report.taken} == {variable.path for variable in model.weights}
    assert not checkpoint.report.left_over and not checkpoint.report.not_in_file
    assert checkpoint.vocabulary.tokens == tuple(TOKENS) and checkpoint.vocabulary.do_lower_case
    assert checkpoint.max_seq_length == (16 if name == "BertBackbone" else LENGTH)


@pytest.mark.long
@pytest.mark.parametrize("name", CLASSES)
def test_what_kbert_writes_keras_hub_loads_as_it_is(saved, keras_hub, tmp_path, name):
    convert_checkpoint(saved[name][1], tmp_path / "run", "kbert")
    convert_checkpoint(tmp_path / "run", tmp_path / "preset", "keras_hub")
    model = getattr(keras_hub.models, name).from_preset(str(tmp_path / "preset"))
    run, back = read_checkpoint(tmp_path / "run"), read_checkpoint(tmp_path / "preset")
    assert largest_difference(theirs(model), ours(run)) < TOLERANCE
    assert (back.encoder, back.task, back.labels) == (run.encoder, run.task, run.labels)
    assert back.max_seq_length == run.max_seq_length
    assert numbers(back) == numbers(run)

    tokens = keras_hub.models.BertTokenizer.from_preset(str(tmp_path / "preset"))
    text = "The play, jumping: Café a b"
    ids = load(tmp_path / "run").inputs([text])["input_ids"][0, 1:-1]
    np.testing.assert_array_equal(tokens(text), ids)


def test_the_masked_lm_head_of_keras_hub_is_another_one(saved, keras_hub, tmp_path):
    """Exact GELU and epsilon 1e-5, after an encoder with the tanh form and 1e-12."""
    checkpoint = read_checkpoint(saved["BertMaskedLM"][1])
    assert checkpoint.encoder.masked_lm_settings == ("gelu_erf", 1e-5)
    assert (checkpoint.encoder.hidden_act, checkpoint.encoder.layer_norm_eps) == ("gelu", 1e-12)
    plain = dataclasses.replace(checkpoint.encoder, masked_lm_hidden_act=None, masked_lm_layer_norm_eps=None)
    as_google = dataclasses.replace(checkpoint, encoder=plain)
    expected = theirs(saved["BertMaskedLM"][0])
    assert largest_difference(expected, ours(as_google)) > 20 * TOLERANCE

    for format in ("google", "hugging_face"):
        with pytest.raises(ValueError, match="head uses gelu_erf and epsilon 1e-05, but .*gelu and"):
            write_checkpoint(checkpoint, tmp_path / format, format)
        write_checkpoint(checkpoint, tmp_path / format, format, ["masked_lm_settings"])
        assert read_checkpoint(tmp_path / format).encoder == checkpoint.encoder
    with pytest.raises(ValueError, match="head uses gelu and epsilon 1e-12, but KerasHub's Bert.*erf"):
        write_checkpoint(as_google, tmp_path / "preset", "keras_hub")
    write_checkpoint(as_google, tmp_path / "preset", "keras_hub", ["masked_lm_settings"])
    assert read_checkpoint(tmp_path / "preset").encoder == plain  # kbert's own, from metadata.json
    model = keras_hub.models.BertMaskedLM.from_preset(str(tmp_path / "preset"))
    assert largest_difference(theirs(model), expected) < TOLERANCE  # what KerasHub makes of it

    alone = checkpoint.encoder_alone()
    assert alone.encoder == plain
    write_checkpoint(alone, tmp_path / "encoder", "keras_hub")


@pytest.mark.long
def test_what_a_preset_has_no_word_for_is_written_down_and_read_back(saved, keras_hub, tmp_path):
    checkpoint = read_checkpoint(saved["BertTextClassifier"][1])
    encoder = dataclasses.replace(
        checkpoint.encoder, hidden_act="gelu_erf", attention_probs_dropout_prob=0.2, initializer_range=0.3
    )
    tensors = {name: tensor for name, tensor in checkpoint.tensors.items() if "classification" not in name}
    changed = dataclasses.replace(checkpoint, encoder=encoder, labels=LABELS, tensors=tensors)
    with pytest.raises(ValueError, match="hidden_act is 'gelu_erf', but KerasHub's .* takes 'gelu'"):
        write_checkpoint(changed, tmp_path / "preset", "keras_hub")
    written = write_checkpoint(changed, tmp_path / "preset", "keras_hub", ["hidden_act"])
    assert {name for name, _ in written.not_in_file} == set(changed.missing)
    back = read_checkpoint(tmp_path / "preset")
    assert back.labels == LABELS and back.encoder == encoder and back.missing == changed.missing

    # Saved by KerasHub again it is KerasHub's: its numbers, its activation, and no head untrained.
    model = keras_hub.models.BertTextClassifier.from_preset(str(tmp_path / "preset"))
    again = read_checkpoint(save(keras_hub, model, tmp_path / "again"))
    assert again.encoder.hidden_act == "gelu" and not again.missing
    assert again.labels == ("LABEL_0", "LABEL_1", "LABEL_2")
    assert largest_difference(theirs(model), ours(again)) < TOLERANCE


TOKENIZERS = [
    ({}, {"max_input_chars_per_word": 100}),
    *(
        pytest.param(settings, {rule: False, "max_input_chars_per_word": 100}, marks=pytest.mark.long)
        for settings, rule in (
            ({"strip_accents": False}, "strip_accents"),
            ({"split_on_cjk": False}, "tokenize_chinese_chars"),
        )
    ),
]


@pytest.mark.parametrize(("settings", "rules"), TOKENIZERS)
def test_settings_of_the_tokenizer_are_followed_and_written(
    saved, preset, keras_hub, tmp_path, settings, rules
):
    folder = preset("BertBackbone")
    tokenizer(keras_hub).save_to_preset(str(folder))
    values = json.loads((folder / "tokenizer.json").read_text())
    values["config"] |= settings  # KerasHub does not write all that it reads
    (folder / "tokenizer.json").write_text(json.dumps(values))
    checkpoint = read_checkpoint(folder)
    assert checkpoint.vocabulary.rules.not_googles == rules
    write_checkpoint(checkpoint, tmp_path / "again", "keras_hub")
    theirs = keras_hub.models.BertTokenizer.from_preset(str(tmp_path / "again"))
    assert {name: getattr(theirs, name) for name in settings} == settings
    assert read_checkpoint(tmp_path / "again").vocabulary.describe() == checkpoint.vocabulary.describe()
    other = checkpoint.vocabulary.with_rules(max_input_chars_per_word=200)
    changed = dataclasses.replace(checkpoint, vocabulary=other)
    write_checkpoint(changed, tmp_path / "google's", "keras_hub")
    assert read_checkpoint(tmp_path / "google's").vocabulary.rules == other.rules


def test_a_padded_token_table_and_the_empty_token_of_chinese(saved, keras_hub, tmp_path):
    tokens = [*TOKENS[:-1], ""]
    model = build(keras_hub, "BertBackbone", vocabulary_size=24)
    model.save_to_preset(str(tmp_path / "theirs"))
    keras_hub.models.BertTokenizer(vocabulary=tokens).save_to_preset(str(tmp_path / "theirs"))
    checkpoint = read_checkpoint(tmp_path / "theirs", allow_unmatched=["do_lower_case"])
    assert checkpoint.vocabulary.tokens == tuple(tokens) and checkpoint.encoder.vocab_size == 24
    write_checkpoint(checkpoint, tmp_path / "ours", "keras_hub")
    assert read_checkpoint(tmp_path / "ours").vocabulary.describe() == checkpoint.vocabulary.describe()
    text = (tmp_path / "ours" / "assets" / "tokenizer" / "vocabulary.txt").read_text()
    assert "\n\n" not in text
    assert keras_hub.models.BertTokenizer.from_preset(str(tmp_path / "ours")).vocabulary == tokens
    assert json.loads((tmp_path / "ours" / "metadata.json").read_text())["kbert_vocabulary_size"] == 21


@pytest.mark.long
@pytest.mark.parametrize(("pooling", "normalize"), [("mean", True), ("cls", False), ("max", True)])
def test_a_sentence_embedder_gives_its_own_vectors(keras_hub, tmp_path, pooling, normalize):
    backbone = build(keras_hub, "BertBackbone")
    length = {"sequence_length": LENGTH}
    preprocessor = keras_hub.models.BertTextEmbedderPreprocessor(tokenizer(keras_hub), **length)
    model = keras_hub.models.BertTextEmbedder(
        backbone, preprocessor=preprocessor, pooling_mode=pooling, normalize=normalize
    )
    model.save_to_preset(str(tmp_path / "preset"))
    texts = ["the play", "jumping, a b c"]
    loaded = load(tmp_path / "preset")
    assert (loaded.vectors.mode, loaded.vectors.normalize) == (pooling, normalize)
    assert loaded.max_seq_length == LENGTH
    vectors = model.predict(texts, verbose=0)
    np.testing.assert_allclose(loaded.similarity(vectors, vectors), vectors @ vectors.T, atol=TOLERANCE)
    np.testing.assert_allclose(loaded.embed(texts), model.predict(texts, verbose=0), atol=TOLERANCE)


# -------------------------------------------------------------------------------------- failures


CLASSIFIER = {"registered_name": "mine>Task", "module": "antigravity"}
# file -> keys that are set in its "config", or those in upper case beside it; what the refusal says.
WRONG_SETTINGS = {
    "another model": ("config", {"registered_name": "keras_hub>GemmaBackbone"}, ["GemmaBackbone", "reads"]),
    "somebody's class": ("task", CLASSIFIER, ["mine>Task", "reads KerasHub's BertTextClassifier"]),
    "a list for a class": ("task", {"registered_name": ["BertMaskedLM"]}, ["should be a text, received"]),
    "two backbones": (
        "config",
        {"config": {"num_layers": 3}},
        ["task.json", "another backbone", "one preset"],
    ),
    "quantized": (
        "config",
        {"config": {"dtype": {"class_name": "PolicyMap"}}},
        ["'PolicyMap'", "take float"],
    ),
    "a new argument": ("config", {"config": {"rotary": True}}, ["'rotary'", "expected the arguments"]),
    "an activation": ("task", {"config": {"activation": "tanh"}}, ["'tanh'", "unmatched=activation"]),
    "another suffix": ("tokenizer", {"config": {"suffix_indicator": "@@"}}, ["suffix_indicator", "@@", "##"]),
    "special tokens": (
        "tokenizer",
        {"config": {"special_tokens_in_strings": True}},
        ["special_tokens_in_strings", "True"],
    ),
    "cut otherwise": (
        "preprocessor",
        {"config": {"truncate": "waterfall"}},
        ["unmatched=truncate"],
    ),
    "padded ids": ("tokenizer", {"config": {"sequence_length": 8}}, ["sequence_length is 8"]),
    "only accents": ("tokenizer", {"config": {"lowercase": False}}, ["allow_unmatched=do_lower_case"]),
    "one label": ("metadata", {"kbert_labels": ["red"]}, ["kbert_labels should list 3 names", "['red']"]),
}


def require_refusal(folder, out, facts):
    started = time.thread_time()
    with pytest.raises(ValueError) as failure:
        convert_checkpoint(folder, out, "kbert")
    message = str(failure.value)
    assert all(fact in message for fact in facts) and "\n" not in message, message
    assert time.thread_time() - started < 10 and not out.exists()
    assert "antigravity" not in sys.modules


@pytest.mark.parametrize("case", WRONG_SETTINGS)
def test_wrong_settings_are_refused_in_one_sentence(preset, tmp_path, case):
    folder = preset("BertTextClassifier")
    name, changes, facts = WRONG_SETTINGS[case]
    path = folder / f"{name}.json"
    values = json.loads(path.read_text())
    inner = values.get("config", {}) | changes.get("config", {})
    path.write_text(json.dumps(values | changes | {"config": inner}))
    require_refusal(folder, tmp_path / "run", [str(folder), *facts])


def test_outputs_that_go_through_a_sigmoid_are_several_labels_or_a_score(preset):
    folder = preset("BertTextClassifier")
    path = folder / "task.json"
    values = json.loads(path.read_text())
    values["config"]["activation"] = "sigmoid"
    path.write_text(json.dumps(values))
    several = read_checkpoint(folder)
    assert (several.task, several.activation) == ("multi_label_classification", None)
    assert len(several.labels) == values["config"]["num_classes"] > 1
    values["config"]["num_classes"] = 1
    path.write_text(json.dumps(values))
    metadata = folder / "metadata.json"
    metadata.write_text(json.dumps({**json.loads(metadata.read_text()), "kbert_labels": ["one"]}))
    score = config.parse_preset(folder, Report("keras_hub", str(folder)))
    assert (score.task, score.activation) == ("sequence_regression", "sigmoid")


# ------------------------------------------- files that are damaged, reach elsewhere, or grow


def test_what_changes_no_number_is_read(preset, saved):
    """Groups in a circle, and a preprocessor that is longer than the positions."""
    folder = preset("BertTextClassifier")
    with h5py.File(folder / "model.weights.h5", "a") as file:
        file["again"] = file["/"]
    text = (folder / "preprocessor.json").read_text()
    (folder / "preprocessor.json").write_text(
        text.replace(f'"sequence_length": {LENGTH}', '"sequence_length": 17')
    )
    checkpoint = read_checkpoint(folder)
    assert numbers(checkpoint) == numbers(read_checkpoint(saved["BertTextClassifier"][1]))
    assert checkpoint.max_seq_length == 16


# ----------------------------------------------------------------------------------- preset names


def test_a_preset_s_name_is_found_in_the_cache(saved, tmp_path, monkeypatch):
    variants = tmp_path / "models" / "keras" / "bert" / "keras" / "bert_tiny_en_uncased"
    shutil.copytree(saved["BertBackbone"][1], variants / "3")
    (variants / "3.complete").touch()
    monkeypatch.setenv("KAGGLEHUB_CACHE", str(tmp_path))
    # kagglehub names its callers to the server, and looks through all of the stack for them.
    monkeypatch.setattr("kagglehub.clients.get_user_agent", lambda: "kbert")
    for name in ("keras_hub://bert_tiny_en_uncased", "kaggle://keras/bert/keras/bert_tiny_en_uncased/3"):
        assert local_path(name) == variants / "3"
    checkpoint = read_checkpoint(name)
    assert checkpoint.source == checkpoint.report.path == name and not checkpoint.missing


def test_a_regression_is_a_classifier_of_one_output_there(keras_hub, tmp_path):
    model = random_checkpoint("sequence_regression", hidden_act="gelu_erf")
    allowed = ["hidden_act", "layer_norm_eps"]
    write_checkpoint(model, tmp_path / "preset", "keras_hub", allowed)
    assert keras_hub.models.BertTextClassifier.from_preset(str(tmp_path / "preset")).num_classes == 1
    back = read_checkpoint(tmp_path / "preset")
    assert back.task == "sequence_regression" and numbers(back) == numbers(model)
