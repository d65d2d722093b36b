"""Files of TensorFlow users: transformers' TF classes, Model Garden, TF Hub. Equal numbers, clear errors."""

import json
import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest
import tensorflow as tf

from kbert.checkpoints.formats import read_checkpoint, write_checkpoint
from kbert.checkpoints.model_garden import published_name
from kbert.checkpoints.vocabulary_source import read_source
from kbert.config import EncoderConfig
from kbert.inference.loading import load
from tests.kbert.checkpoints import foreign_files
from tests.kbert.checkpoints.answers import answers, largest_difference
from tests.kbert.checkpoints.hugging_face.test_folder import read_tensors, same_weights
from tests.kbert.checkpoints.random_checkpoint import numbers, random_checkpoint
from tests.places import SHARED_DATA

SHARED = SHARED_DATA / "golden" / "tensorflow"
GOLDEN = (
    *(
        f"hf_tf/TF{name}"
        for name in (
            "BertForMaskedLM_h5",
            "BertForMaskedLM_shards",
            "BertForMultipleChoice_h5",
            "BertForPreTraining_safetensors",
            "BertForQuestionAnswering_h5",
            "BertForSequenceClassification_h5",
            "BertForSequenceClassification_safetensors",
            "BertForTokenClassification_h5",
            "BertModel_h5",
            "DistilBertForSequenceClassification_h5",
        )
    ),
    "model_garden/classifier",
    "model_garden/encoder_encoder",
    "model_garden/encoder_model",
    "model_garden/pretrainer",
    "tfhub/encoder",
)
# What the libraries call inputs and outputs -> what the stored answers of transformers are called.
NAMES = {
    "attention_mask": "input_mask",
    "token_type_ids": "segment_ids",
    "out_sequence_output": "last_hidden_state",
    "out_pooled_output": "pooler_output",
    "out_mlm_logits": "logits",
}


def expected_of(folder):
    stored = dict(np.load(folder / "expected.npz"))
    stored.setdefault("token_type_ids", np.zeros_like(stored["input_ids"]))
    return {NAMES.get(name, name.removeprefix("out_")): value for name, value in stored.items()}


@pytest.mark.long
@pytest.mark.parametrize("name", GOLDEN)
def test_golden_files_give_the_numbers_of_the_library_that_wrote_them(name, tmp_path):
    folder = SHARED / name
    if not folder.is_dir():
        pytest.skip(f"FIDELITY NOT CHECKED: {folder} is not here (answers of another implementation)")
    expected = expected_of(folder)
    if name == "model_garden/pretrainer":  # its head has no activation, which no file there says
        folder = shutil.copytree(folder, tmp_path / "pretrainer", copy_function=shutil.copyfile)
        config = json.loads((folder / "bert_config.json").read_text())
        (folder / "bert_config.json").write_text(json.dumps(config | {"masked_lm_hidden_act": "linear"}))
    checkpoint, ours = answers(folder, expected)
    if (positions := expected.pop("masked_lm_positions", None)) is not None:
        ours["logits"] = np.take_along_axis(ours["logits"], positions[..., None], axis=1)
    assert largest_difference(ours, expected) < 2e-5
    assert not checkpoint.missing


# ------------------------------------------------------------------------------- files made by hand

ENCODER = foreign_files.random_weights(("pooler",), seed=7)
CLASSIFIER = foreign_files.random_weights(("pooler", "classification"), seed=5)
MASKED_LM = foreign_files.random_weights(("masked_lm",), seed=6)


def without_weights(folder, architecture):
    foreign_files.write_hugging_face(folder, {}, architecture)
    (folder / "model.safetensors").unlink()
    return folder


@pytest.mark.parametrize("model", ["tf_bert_for_sequence_classification", "my_model_3"])
def test_keras_weights_of_a_classifier(tmp_path, model):
    folder = without_weights(tmp_path / "m", "BertForSequenceClassification")
    foreign_files.write_keras_h5(folder / "tf_model.h5", foreign_files.tensorflow_names(CLASSIFIER), model)
    checkpoint, tensors = read_tensors(folder)
    same_weights(tensors, CLASSIFIER)
    assert {how for _, _, how in checkpoint.report.taken} == {"as it is"}


@pytest.mark.parametrize("difference", [0, 1])
def test_a_table_that_a_head_stores_again_must_be_the_same(tmp_path, difference):
    folder = without_weights(tmp_path / "m", "BertForMaskedLM")
    tensors, table = foreign_files.tensorflow_names(MASKED_LM), "bert/embeddings/word_embeddings/weight:0"
    foreign_files.write_keras_h5(folder / "tf_model.h5", tensors, "tf_bert_for_masked_lm")
    with h5py.File(folder / "tf_model.h5", "a") as file:
        file[f"mlm___cls/tf_bert_for_masked_lm/{table}"] = tensors[table] + np.float32(difference)
    if difference:
        with pytest.raises(ValueError, match="mlm___cls.*word_embeddings.* differs from bert/"):
            read_checkpoint(folder)
        return
    checkpoint, read = read_tensors(folder)
    same_weights(read, MASKED_LM)
    assert len(checkpoint.report.left_over) == 1 and "equal to" in checkpoint.report.left_over[0][1]


def test_shards_and_safetensors_in_tensorflows_names(tmp_path):
    folder = without_weights(tmp_path / "m", "BertForSequenceClassification")
    tensors = foreign_files.tensorflow_names(CLASSIFIER)
    places = {name: f"tf_model-0000{1 + index % 2}-of-00002.h5" for index, name in enumerate(tensors)}
    for file in set(places.values()):
        part = {name: value for name, value in tensors.items() if places[name] == file}
        foreign_files.write_keras_h5(folder / file, part)
    index = {"weight_map": {f"tf_bert_1/{name}": file for name, file in places.items()}}
    (folder / "tf_model.h5.index.json").write_text(json.dumps(index))
    same_weights(read_tensors(folder)[1], CLASSIFIER)

    foreign_files.write_keras_h5(folder / "tf_model-00001-of-00002.h5", tensors)  # of another saving
    with pytest.raises(ValueError, match="do not belong together"):
        read_checkpoint(folder)

    foreign_files.write_safetensors(folder / "model.safetensors", tensors, "tf")  # comes before HDF5
    same_weights(read_tensors(folder)[1], CLASSIFIER)


@pytest.mark.parametrize(
    ("names", "made_by"), [(foreign_files.tensorflow_names, "pt"), (foreign_files.hugging_face_names, "tf")]
)
def test_metadata_that_contradict_the_names_are_refused(tmp_path, names, made_by):
    folder = without_weights(tmp_path / "m", "BertModel")
    foreign_files.write_safetensors(folder / "model.safetensors", names(ENCODER), made_by)
    with pytest.raises(ValueError, match=f"its metadata says format='{made_by}'"):
        read_checkpoint(folder)


@pytest.mark.parametrize("has_config", [True, False])
def test_an_encoder_of_model_garden_with_and_without_a_config(tmp_path, has_config):
    named = foreign_files.model_garden_names(ENCODER)
    counter = ("global_step/.ATTRIBUTES/VARIABLE_VALUE", "no weight of the model")
    folder = foreign_files.write_model_garden(tmp_path / "m", named, bert_config=has_config)
    checkpoint, tensors = read_tensors(folder)
    same_weights(tensors, ENCODER)
    assert checkpoint.task == "encoder" and counter in checkpoint.report.left_over
    assert checkpoint.encoder == EncoderConfig(**foreign_files.SHAPE, hidden_act="gelu")


def test_a_config_of_model_garden_may_say_how_texts_are_cut(tmp_path):
    """As that of google-research/bert: the advice about accents names this file."""
    named = foreign_files.model_garden_names(ENCODER)
    keys = {"do_lower_case": True, "strip_accents": False}
    folder = foreign_files.write_model_garden(tmp_path / "m", named, **keys)
    rules = read_checkpoint(folder).vocabulary.rules
    assert (rules.do_lower_case, rules.strip_accents) == (True, False)
    with pytest.raises(ValueError, match="do_lower_case=False contradicts bert_config.json"):
        read_checkpoint(folder, do_lower_case=False)


def test_moving_averages_of_model_garden_are_named(tmp_path, monkeypatch):
    class WithAverages(tf.compat.v1.train.AdamOptimizer):
        def _zeros_slot(self, var, slot_name, op_name):
            super()._zeros_slot(var, "average", op_name)
            return super()._zeros_slot(var, slot_name, op_name)

    monkeypatch.setattr(tf.compat.v1.train, "AdamOptimizer", WithAverages)
    named = foreign_files.model_garden_names(ENCODER)
    folder = foreign_files.write_model_garden(tmp_path, named, is_trained=lambda name: True)
    assert "a moving average of a weight" in dict(read_checkpoint(folder).report.left_over).values()


def test_names_of_2019(tmp_path):
    old = {}
    for name, value in foreign_files.model_garden_names(ENCODER).items():
        name = name.replace("transformer/", "encoder/").replace("/attention_output/", "_output/")
        name = name.replace("embeddings/layer_norm", "embedding_postprocessor/layer_norm")
        for kind, table in (("type", "type_embeddings"), ("position", "position_embedding")):
            name = name.replace(f"{table}/embeddings", f"embedding_postprocessor/{kind}_embeddings")
        old[f"bert_model/{name}"] = value
    same_weights(read_tensors(foreign_files.write_model_garden(tmp_path / "m", old))[1], ENCODER)


# As Model Garden 2.20 writes them: task, place, full name, part.
LOGITS = "predictions/transform/logits"
HEADS = {
    "classifier": (
        "sequence_classification",
        "model/layer_with_weights-1/out_proj",
        "sentence_prediction/logits",
        "classification",
    ),
    "classifier in a SavedModel": (
        "sequence_classification",
        "classifier/variables",
        "sentence_prediction/logits",
        "classification",
    ),
    "token classifier": (
        "token_classification",
        "model/layer_with_weights-1",
        LOGITS,
        "token_classification",
    ),
    "token classifier's save_weights": (
        "token_classification",
        "layer_with_weights-1",
        LOGITS,
        "token_classification",
    ),
    "pretrainer": (
        "pretraining",
        "model/classification_heads/0/out_proj",
        "bert/next_sentence/logits",
        "next_sentence",
    ),
}


def dense(place, full_name, kernel, bias):
    return {
        f"{place}/kernel": (f"{full_name}/kernel", kernel),
        f"{place}/bias": (f"{full_name}/bias", bias),
    }


def head_of_masked_lm(weights, place):
    """Its variables, as `write_model_garden` takes them."""
    names = {
        "dense/kernel": ("transform/dense/kernel", "transform/kernel"),
        "dense/bias": ("transform/dense/bias", "transform/bias"),
        "layer_norm/gamma": ("transform/LayerNorm/gamma", "layer_norm/gamma"),
        "layer_norm/beta": ("transform/LayerNorm/beta", "layer_norm/beta"),
        "output_bias.Sbias": ("output_bias/bias", "output_bias"),
    }
    return {
        f"{place}/{name}": (f"bert/cls/predictions/{full_name}", weights[f"masked_lm/{ours}"])
        for name, (full_name, ours) in names.items()
    }


@pytest.mark.parametrize(("task", "place", "full_name", "part"), HEADS.values(), ids=HEADS)
def test_heads_of_model_garden(tmp_path, task, place, full_name, part, caplog):
    outputs = 2 if part == "next_sentence" else 3
    weights = foreign_files.random_weights(("pooler", "masked_lm"), seed=8)
    kernel, bias = np.full((8, outputs), 0.5, np.float32), np.arange(outputs, dtype=np.float32)
    heads = dense(place, full_name, kernel, bias)
    if part == "next_sentence":
        heads |= head_of_masked_lm(weights, "masked_lm")
    named = foreign_files.model_garden_names(weights)
    checkpoint = read_checkpoint(foreign_files.write_model_garden(tmp_path / "m", named, heads))
    assert checkpoint.task == task and not checkpoint.missing and "read as" not in caplog.text
    np.testing.assert_array_equal(checkpoint.tensors[f"{part}/dense/kernel"].read(), kernel)
    np.testing.assert_array_equal(checkpoint.tensors[f"{part}/dense/bias"].read(), bias)
    if part == "next_sentence":
        read = {name: tensor.read() for name, tensor in checkpoint.tensors.items()}
        same_weights(read, weights | {name: read[name] for name in read if name.startswith(part)})


@pytest.mark.parametrize(
    ("head", "full_name", "has_pooler"),
    [
        ("next_sentence", "next_sentence/pooler_dense", False),  # v3/uncased_L-12_H-768_A-12, as published
        ("next_sentence", "a_name", False),
        ("sentence_prediction", "sentence_prediction/pooler_dense", True),  # what its train.py writes
    ],
)
def test_the_pooler_of_a_heads_own_stands_in_for_the_encoders(tmp_path, head, full_name, has_pooler):
    """In tf.train.Checkpoint(encoder=..., **{"next_sentence.pooler_dense": layer}): the key has two dots."""
    named = foreign_files.model_garden_names(ENCODER)
    if not has_pooler:
        named = {name: value for name, value in named.items() if not name.startswith("pooler_transform/")}
    kernel, bias = ENCODER["pooler/dense/kernel"] + 1, ENCODER["pooler/dense/bias"] + 1
    heads = dense(f"{head}.pooler_dense", full_name, kernel, bias)
    outputs = np.full((8, 3), 0.5, np.float32), np.zeros(3, np.float32)
    if has_pooler:
        heads |= dense("model/layer_with_weights-1/out_proj", f"{head}/logits", *outputs)
    folder = foreign_files.write_model_garden(tmp_path / "m", named, heads)
    keys = dict(tf.train.list_variables(str(folder / "bert_model.ckpt")))
    assert f"{head}..pooler_dense/kernel/.ATTRIBUTES/VARIABLE_VALUE" in keys

    checkpoint, tensors = read_tensors(folder)
    expected = ENCODER | {"pooler/dense/kernel": kernel, "pooler/dense/bias": bias}
    if has_pooler:
        expected |= {"classification/dense/kernel": outputs[0], "classification/dense/bias": outputs[1]}
    same_weights(tensors, expected)
    assert ("the head has a pooler of its own" in dict(checkpoint.report.left_over).values()) is has_pooler


@pytest.mark.parametrize(
    "names", [("B-PER", "it's, so", "B-Ü"), ("O", "on", "B-人名"), ("😀", 'a "b"', "\\u")]
)
def test_the_names_of_a_taggers_labels_are_those_of_its_training(tmp_path, names):
    """As Model Garden's train.py writes them: PyYAML's flow style, in lines of 80 characters."""
    kernel, bias = np.full((8, 3), 0.5, np.float32), np.zeros(3, np.float32)
    heads = dense("model/layer_with_weights-1", LOGITS, kernel, bias)
    folder = foreign_files.write_model_garden(
        tmp_path / "m", foreign_files.model_garden_names(ENCODER), heads, labels=["a", "b", "c"]
    )
    checkpoint = read_checkpoint(folder)
    assert checkpoint.labels == ("a", "b", "c") and not checkpoint.is_numbered  # kbert's own key comes first
    foreign_files.edit(folder / "bert_config.json", labels=[])
    lists = {"B-PER": """[B-PER, 'it''s, so',\n    "B-\\xDC"]""", "O": """[O, 'on', "B-\\u4EBA\\u540D"]"""}
    lists["😀"] = r"""["\U0001F600", "a \"b\"", "\\u"]"""
    params = folder / "params.yaml"
    params.write_text(f"task:\n  class_names: {lists[names[0]]}\n  model:\n    norm_first: false\n")
    checkpoint = read_checkpoint(folder)
    assert checkpoint.labels == names and not checkpoint.is_numbered
    above = tmp_path / "params.yaml"
    for subdir, expected in (("m", names), ("''", ("0", "1", "2")), ("other", ("0", "1", "2"))):
        # m is the best checkpoint of the training in the folder above, or nothing of it.
        above.write_text(f"{params.read_text()}trainer:\n  best_checkpoint_export_subdir: {subdir}\n")
        aside = params.rename(tmp_path / "aside")
        assert read_checkpoint(folder).labels == expected
        aside.rename(params)
    params.write_text("task:\n  class_names: [O, B-PER]\n")
    with pytest.raises(ValueError, match="has 2 class_names, .* has 3 outputs; .*=class_names"):
        read_checkpoint(folder)
    checkpoint = read_checkpoint(folder, allow_unmatched="class_names")
    assert checkpoint.labels == ("0", "1", "2") and checkpoint.is_numbered


@pytest.mark.parametrize(
    ("act", "own", "expected"),
    [
        ("relu", None, "relu"),
        ("GELU", None, None),
        ("null", None, "linear"),
        ("relu", "linear", "linear"),
        ("swish", None, None),
    ],
)
def test_the_activation_of_a_masked_lm_head_is_that_of_its_training(tmp_path, act, own, expected):
    named, heads = foreign_files.model_garden_names(MASKED_LM), head_of_masked_lm(MASKED_LM, "masked_lm")
    said = {"masked_lm_hidden_act": own} if own else {}
    folder = foreign_files.write_model_garden(tmp_path / "m", named, heads, **said)
    (folder / "params.yaml").write_text(f"task:\n  model:\n    mlm_activation: {act}\n")
    if act == "swish":
        with pytest.raises(ValueError, match="params.yaml says mlm_activation: swish, .*=mlm_activation"):
            read_checkpoint(folder)
    checkpoint = read_checkpoint(folder, allow_unmatched="mlm_activation")
    assert checkpoint.encoder.masked_lm_hidden_act == expected


NESTED = "model/layer_with_weights-1/layer_with_weights-0"
OLD_HEADS = {  # place, full name, outputs, which variables have slots, the task
    "classifier": (NESTED, LOGITS, 2, lambda name: True, "sequence_classification"),
    "classifier of three": (NESTED, LOGITS, 3, lambda name: True, "sequence_classification"),
    "span labeler": (NESTED, LOGITS, 2, lambda name: "pooler" not in name, "question_answering"),
    "token classifier": (NESTED, LOGITS, 3, lambda name: "pooler" not in name, "token_classification"),
    "two outputs without slots": (NESTED, LOGITS, 2, lambda name: False, "question_answering"),
    "three outputs without slots": (NESTED, LOGITS, 3, lambda name: False, "sequence_classification"),
    "a frozen encoder": (NESTED, LOGITS, 2, lambda name: "logits" in name, "question_answering"),
    "next sentence": (NESTED.replace("-1", "-2"), LOGITS, 2, lambda name: False, "pretraining"),
    "a span labeler in a SavedModel": ("variables", LOGITS, 2, lambda name: False, "question_answering"),
    # bert_models.py, `classifier_model` of an encoder of TF Hub, and those of 2019; models of one's own.
    "an output layer": (
        "model/layer_with_weights-1",
        "output",
        2,
        lambda name: True,
        "sequence_classification",
    ),
    "an output layer for words": (
        "model/layer_with_weights-1",
        "dense",
        2,
        lambda name: "pooler" not in name,
        "token_classification",
    ),
    "an output layer without slots": (
        "layer_with_weights-1",
        "output",
        2,
        lambda name: False,
        "sequence_classification",
    ),
}


@pytest.mark.parametrize(
    ("place", "full_name", "outputs", "is_trained", "task"), OLD_HEADS.values(), ids=OLD_HEADS
)
def test_heads_of_one_layer_are_told_by_what_was_trained(
    tmp_path, caplog, place, full_name, outputs, is_trained, task
):
    """Those of 2.1 to 2.3 (official/nlp/modeling/networks) are a model of one dense layer at one place."""
    kernel, bias = np.full((8, outputs), 0.5, np.float32), np.arange(outputs, dtype=np.float32)
    heads = dense(place, full_name, kernel, bias)
    if task == "pretraining":
        heads |= head_of_masked_lm(MASKED_LM, "model/layer_with_weights-1")
    named = foreign_files.model_garden_names(ENCODER)
    folder = foreign_files.write_model_garden(tmp_path / "m", named, heads, is_trained=is_trained)
    checkpoint = read_checkpoint(folder)
    assert checkpoint.task == task
    (found,) = (
        tensor
        for name, tensor in checkpoint.tensors.items()
        if name.endswith("dense/kernel") and not name.startswith("pooler")
    )
    np.testing.assert_array_equal(found.read(), kernel)
    is_open = not is_trained("transformer/layer_0/output/kernel") and task != "pretraining"
    assert ("no optimizer's slots tell which it is" in caplog.text) is is_open


def test_a_head_of_ones_own_beside_another_is_refused(tmp_path):
    """One of them was taken."""
    kernel, bias = np.full((8, 2), 0.5, np.float32), np.zeros(2, np.float32)
    heads = dense("model/layer_with_weights-1", "output", kernel, bias)
    heads |= dense("model/layer_with_weights-2/out_proj", "sentence_prediction/logits", kernel, bias)
    named = foreign_files.model_garden_names(ENCODER)
    folder = foreign_files.write_model_garden(tmp_path / "m", named, heads)
    with pytest.raises(ValueError, match="are both classification/logits/.*; give a checkpoint of one model"):
        read_checkpoint(folder)


@pytest.mark.parametrize(
    ("sizes", "name"),
    [
        ((30522, 768, 12, 12), "bert_en_uncased_L-12_H-768_A-12"),
        ((28996, 1024, 24, 16), "bert_en_cased_L-24_H-1024_A-16"),
        ((30522, 128, 2, 2), "bert_en_uncased_L-2_H-128_A-2"),
        ((30522, 384, 6, 12), None),
        ((30000, 768, 12, 12), None),
    ],
)
def test_published_encoders_have_a_name(sizes, name):
    keys = ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads")
    assert published_name(EncoderConfig(**dict(zip(keys, sizes, strict=True)))) == name


@pytest.mark.parametrize("do_lower_case", [True, False])
def test_an_encoder_of_tf_hub(tmp_path, do_lower_case, caplog):
    named = foreign_files.model_garden_names(ENCODER)
    tokens = [piece if do_lower_case else piece.title() for piece in foreign_files.TOKENS[5:]]
    tokens = [*foreign_files.TOKENS[:5], *tokens]
    checkpoint, read = read_tensors(
        foreign_files.write_tf_hub(tmp_path / "hub", named, do_lower_case, tokens)
    )
    same_weights(read, ENCODER)
    assert checkpoint.vocabulary.do_lower_case == do_lower_case
    assert checkpoint.encoder.num_attention_heads == 2 and checkpoint.report.format == "tf_hub"
    assert read_source(None, tmp_path / "hub").rules == checkpoint.vocabulary.rules
    write_checkpoint(checkpoint, tmp_path / "out", "hugging_face")
    same_weights(read_tensors(tmp_path / "out")[1], ENCODER)
    if do_lower_case:
        load(tmp_path / "hub").embed("a")
        assert "takes the mean of all tokens. LaBSE and others made for vectors" in caplog.text


def test_an_encoder_of_tf_hub_with_its_masked_lm(tmp_path):
    """As all since 2020 (export_tfhub_lib.py, `with_mlm`): `.mlm` is beside the encoder, which stays one."""
    named, head = foreign_files.model_garden_names(ENCODER), head_of_masked_lm(MASKED_LM, "")
    folder = foreign_files.write_tf_hub(tmp_path / "hub", named, mlm=dict(head.values()))
    checkpoint, read = read_tensors(folder)
    same_weights(read, ENCODER)
    assert checkpoint.task == "encoder" and not checkpoint.missing
    left = [name for name, why in checkpoint.report.left_over if "masked-LM head (.mlm)" in why]
    assert len(left) == 5 and all(name.startswith("mlm/variables/") for name in left)


# ---------------------------------------------------------------------------------------- refusals


def h5(change):
    """Makes a folder whose tf_model.h5 is changed by `change(path)`."""

    def make(folder):
        path = without_weights(folder, "BertModel") / "tf_model.h5"
        foreign_files.write_keras_h5(path, foreign_files.tensorflow_names(ENCODER))
        change(path)

    return make


def edited(edit):
    """The same with `edit(pooler)`, the group of the pooler, whose bias is gone."""

    def change(path):
        with h5py.File(path, "a") as file:
            pooler = file["bert/tf_bert_model/bert/pooler/dense"]
            del pooler["bias:0"]
            edit(pooler)

    return h5(change)


def in_another_file(pooler):
    outside = Path(pooler.file.filename).parent / "outside.bin"
    outside.write_bytes(b"\0" * 32)
    pooler.create_dataset("bias:0", (8,), "float32", external=[(str(outside), 0, 32)])


def compressed(pooler):
    pooler.create_dataset("bias:0", data=np.zeros(8, np.float32), chunks=(8,), compression="gzip")


def never_written(pooler):
    pooler.create_dataset("bias:0", (1 << 40,), "float32", chunks=(1 << 20,))


def linked(pooler):
    pooler["bias:0"] = h5py.ExternalLink("/etc/passwd", "/x")


def as_pytorch(path):
    tensors = foreign_files.tensorflow_names(ENCODER)
    turned = {name: value.T if "kernel" in name else value for name, value in tensors.items()}
    foreign_files.write_keras_h5(path, turned)


def half(path):
    tensors = foreign_files.tensorflow_names(ENCODER)
    foreign_files.write_keras_h5(path, dict(list(tensors.items())[:9]))


def garden(named=None, **config):
    if named is None:
        named = foreign_files.model_garden_names(ENCODER)
    return lambda folder: foreign_files.write_model_garden(folder, named, **config)


def trained(line):
    """A folder with the file of settings that Model Garden's train.py writes."""

    def make(folder):
        garden(bert_config=False)(folder)
        settings = ["encoder:", "  bert:", "    norm_first: false", f"    {line}", "  type: bert"]
        (folder / "params.yaml").write_text("\n".join(settings))

    return make


def beside(name):
    """A folder without weights that kbert knows, but with this file."""

    def make(folder):
        file = without_weights(folder, "BertModel") / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"x")

    return make


def alone(*names):
    def make(folder):
        folder.mkdir()
        for name in names:
            (folder / name).write_bytes(b"x")

    return make


def two_assets(folder):
    foreign_files.write_tf_hub(folder, foreign_files.model_garden_names(ENCODER))
    (folder / "assets" / "more").write_text("x")


SMALL = np.zeros((2, 2), np.float32)
ALBERT = {"word_embeddings/embeddings": SMALL, "transformer/self_attention/query/kernel": SMALL}
KERAS_CHECKPOINT = {
    name.removesuffix(":0"): value for name, value in foreign_files.tensorflow_names(ENCODER).items()
}
WRONG = {
    "no HDF5": (h5(lambda path: path.write_bytes(b"no")), "is not a whole HDF5 file"),
    "cut short": (h5(lambda path: path.write_bytes(path.read_bytes()[:3000])), "is not a whole HDF5 file"),
    "linked": (edited(linked), "holds a link to elsewhere"),
    "an array in another file": (edited(in_another_file), "is stored in another file"),
    "compressed": (edited(compressed), "is compressed or was never written"),
    "never written": (edited(never_written), "is compressed or was never written"),
    "kernels as PyTorch's": (h5(as_pytorch), r"of shape \(12, 8\), not float of shape \(8, 12\)"),
    "half the variables": (h5(half), "has no tensors for"),
    "sizes": (garden(hidden_size=4), r"not float of shape \(21, 4\)"),
    "attention heads": (garden(num_attention_heads=4), "num_attention_heads=4, but the checkpoint has 2"),
    "embedding_size": (garden(embedding_size=4), r"not float of shape \(21, 4\)"),
    "norms in front": (garden(norm_first=True), "norm_first is set, and kbert lacks"),
    "norms in front of a training": (trained("norm_first: true"), "norm_first: true, .*=norm_first"),
    "another activation": (
        trained("hidden_activation: 'relu'"),
        "params.yaml says hidden_activation: relu, but kbert takes gelu; .* bert_config.json .hidden_act",
    ),
    "no encoder": (garden({"dense/kernel": SMALL}), "without a BERT encoder of Model Garden"),
    "ALBERT": (garden(ALBERT), "of ALBERT, whose layers share their weights"),
    "save_weights": (garden(KERAS_CHECKPOINT), "transformers' TensorFlow classes without its config; "),
    "preprocessor": (
        lambda folder: foreign_files.write_tf_hub(folder, {}),
        "without weights, such as a preprocessor",
    ),
    "two assets": (two_assets, "has 2 files; expected the vocabulary"),
    "Flax": (beside("flax_model.msgpack"), "is weights of Flax: .*from_flax=True"),
    "export of kbert": (beside("assets.extra/kbert.json"), "export of kbert: ask it by kbert serve"),
    "checkpoints of a run": (
        beside("step-00000004/optimizer.safetensors"),
        r"kbert\.load\(RUN, checkpoint=STEP\)\.save\(FOLDER\)",
    ),
    "a run without its file": (
        beside("checkpoints/step-00000004/state.json"),
        r"is part of a run of kbert, whose run.json is missing: copy the whole folder",
    ),
    "ONNX": (beside("model.onnx"), "is an ONNX graph, without a model to train"),
    "ONNX in its folder": (beside("onnx/model.onnx"), "onnx/model.onnx is an ONNX graph"),
    "LiteRT": (beside("model_float32.tflite"), "is a LiteRT file, which answers texts.*: load the run"),
    "GGUF": (beside("model-Q4_K_M.gguf"), "is a file of llama.cpp.*: give the model's safetensors"),
    "Composer's": (
        beside("ep0-ba10-rank0.pt"),
        "is a checkpoint as programs of PyTorch save it in training .*: write it in Hugging Face's format",
    ),
    "Keras's weights": (beside("weights.h5"), "is weights that Keras saved: .* call it tf_model.h5"),
    "TF1 beside a config.json": (
        beside("model.ckpt-1000.data-00000-of-00001"),
        "is of a checkpoint of TensorFlow: put its config beside it under the name bert_config.json",
    ),
    "of bert4keras": (alone("best_model.h5"), "of bert4keras, save_weights_as_checkpoint writes Google's"),
    "Keras 3's weights": (alone("a.weights.h5"), r"is weights that Keras 3 saved.*save_to_preset\(FOLDER\)"),
    "Keras 3's model": (beside("bert.keras"), r"is a model that Keras 3 saved.*save_to_preset\(FOLDER\)"),
    "PyTorch's weights": (
        alone("pytorch_model.bin", "bert_config.json"),
        "pytorch_model.bin is weights of PyTorch without their config: .* called bert_config.json",
    ),
    "archive": (alone("4.tar.gz"), "4.tar.gz is an archive: unpack it, and give the folder of the model"),
    "SavedModel of transformers": (beside("saved_model/1/saved_model.pb"), "is a SavedModel of transformers"),
}


@pytest.mark.parametrize(("make", "sentence"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_one_sentence(tmp_path, make, sentence):
    make(tmp_path / "model")
    with pytest.raises(ValueError, match=sentence) as error:
        write_checkpoint(read_checkpoint(tmp_path / "model"), tmp_path / "out", "kbert")
    assert "\n" not in str(error.value) and not (tmp_path / "out").exists()


@pytest.mark.parametrize("bert_config", [True, False])
def test_narrow_tables_of_model_garden(tmp_path, bert_config):
    model = random_checkpoint("encoder", embedding_size=4)
    weights = {name: tensor.read() for name, tensor in model.tensors.items()}
    named = foreign_files.model_garden_names(weights)
    foreign_files.write_model_garden(
        tmp_path / "m", named, hidden_act="gelu", embedding_size=4, bert_config=bert_config
    )
    read = read_checkpoint(tmp_path / "m")
    assert read.encoder == model.encoder and numbers(read) == numbers(model)
