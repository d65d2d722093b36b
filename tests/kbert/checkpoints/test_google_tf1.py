"""Google's TF1 checkpoints, written here by TF1's own Saver."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from kbert.checkpoints import google_tf1
from kbert.checkpoints.conversion.resizing import SEGMENT_TABLE
from kbert.checkpoints.file_settings import with_file_settings
from kbert.checkpoints.formats import read_checkpoint, write_checkpoint
from kbert.config import DatasetConfig, EncoderConfig, FinetuningConfig
from tests.kbert.checkpoints import foreign_files
from tests.kbert.checkpoints.hugging_face.test_folder import read_tensors, same_weights
from tests.kbert.checkpoints.random_checkpoint import random_checkpoint
from tests.places import SHARED_DATA

TINY = SHARED_DATA / "checkpoints" / "tf1_tiny"
HEADS = ("pooler", "masked_lm", "next_sentence")


@pytest.fixture(scope="module")
def pretrained(tmp_path_factory):
    """(weights under kbert's names, folder with a pretraining checkpoint and its Adam slots)."""
    weights = foreign_files.random_weights(HEADS, seed=7)
    folder = tmp_path_factory.mktemp("google") / "uncased_L-2_H-8_A-2"
    foreign_files.write_google(folder, foreign_files.google_names(weights), with_training_state=True)
    return weights, folder


@pytest.fixture
def folder(pretrained, tmp_path):
    """A copy to spoil, under a name that says nothing of the casing."""
    return Path(shutil.copytree(pretrained[1], tmp_path / "model"))


def test_every_weight_is_taken_and_every_slot_is_named(pretrained):
    weights, folder = pretrained
    checkpoint, tensors = read_tensors(folder)
    same_weights(tensors, weights)
    assert checkpoint.task == "pretraining" and not checkpoint.missing
    assert checkpoint.encoder.hidden_act == "gelu"  # the tanh form, in Google's words and in ours
    report = checkpoint.report
    assert len(report.taken) == len(weights)
    left = dict(report.left_over)
    assert left.pop("global_step") == "a counter of training steps"
    assert len(left) == 2 * len(weights) and set(left.values()) == {"an optimizer's slot"}
    turned = [name for name, _, how in report.taken if how == "transposed"]
    assert turned == ["cls/seq_relationship/output_weights"]


def test_a_scope_before_all_names_is_taken_off(tmp_path):
    weights = foreign_files.random_weights(HEADS)
    names = foreign_files.google_names(weights)
    scoped = {f"module/student/{name}": value for name, value in names.items()} | {"global_step": np.int64(3)}
    averaged = f"{next(iter(scoped))}/ExponentialMovingAverage"
    foreign_files.write_google(tmp_path / "uncased_m", scoped | {averaged: np.zeros(3)})
    checkpoint, tensors = read_tensors(tmp_path / "uncased_m")
    same_weights(tensors, weights)
    assert "the names begin with module/student/, which is taken off" in checkpoint.report.notes
    assert {line[0] for line in checkpoint.report.taken} == scoped.keys() - {"global_step"}
    assert "a moving average of a weight" in dict(checkpoint.report.left_over).values()


@pytest.mark.long
@pytest.mark.parametrize(
    "slots",
    [
        ("BERTAdam", "BERTAdam_1"),  # NVIDIA's and Horovod's scripts
        ("adam_m", "adam_v"),
        ("LAMB", "LAMB_1"),
        ("AdamWeightDecayOptimizer", "AdamWeightDecayOptimizer_1"),
        ("Momentum", "ExponentialMovingAverage"),
    ],
)
def test_the_state_of_other_trainings_is_left_out(tmp_path, slots):
    weights = foreign_files.random_weights(HEADS)
    names = foreign_files.google_names(weights)
    state = {f"{name}/{slot}": value for name, value in names.items() for slot in slots}
    numbers = ("bad_steps", "good_steps", "loss_scale", "signal_early_stopping/STOP", "beta1_power_1")
    state |= {name: np.float32(1) for name in numbers}
    foreign_files.write_google(tmp_path / "uncased_m", names | state)
    checkpoint, tensors = read_tensors(tmp_path / "uncased_m")
    same_weights(tensors, weights)
    left = dict(checkpoint.report.left_over)
    assert left.keys() == state.keys() and {left[name] for name in numbers} == {"a number of the training"}


@pytest.mark.parametrize("path", ["", "bert_model.ckpt", "bert_model.ckpt.index"])
def test_a_folder_a_prefix_and_the_index_file_name_the_same_checkpoint(pretrained, path):
    weights, folder = pretrained
    same_weights(read_tensors(folder / path)[1], weights)


def test_what_macos_puts_beside_each_file_is_no_checkpoint(tmp_path):
    weights = foreign_files.random_weights()
    folder = foreign_files.write_google(tmp_path / "uncased_m", foreign_files.google_names(weights))
    for file in [*folder.iterdir()]:
        file.with_name(f"._{file.name}").write_bytes(b"\0\5\26\7")
    same_weights(read_tensors(folder)[1], weights)


def test_the_public_tiny_checkpoint_loads_whole():
    if not TINY.is_dir():
        pytest.skip(f"FIDELITY NOT CHECKED: {TINY} is not here (a TF1 checkpoint of another project)")
    checkpoint, tensors = read_tensors(TINY)
    reader = tf.train.load_checkpoint(str(TINY / "bert_model.ckpt"))
    report = checkpoint.report
    named = {line[0] for line in report.taken} | {line[0] for line in report.left_over}
    assert named == set(reader.get_variable_to_shape_map()) and len(named) == 139
    assert len(report.taken) == len(tensors) == 46 and not report.not_in_file
    for outside, name, how in report.taken:
        value = reader.get_tensor(outside)
        np.testing.assert_array_equal(tensors[name], value.T if how == "transposed" else value)


def classifier(folder, without=(), **config):
    """A classifier with the slots of its optimizer, but for those of some variables."""
    names = foreign_files.google_names(foreign_files.random_weights(("pooler", "classification")))
    slots = {f"{name}/adam_m": value for name, value in names.items() if not name.startswith(without)}
    return foreign_files.write_google(folder / "uncased_m", names | slots, **config)


def test_a_taggers_head_is_refused_by_its_optimizers_slots(tmp_path, caplog):
    """Of dmis-lab/biobert's run_ner.py, under the names of run_classifier.py: its pooler has no gradient."""
    folder = classifier(tmp_path, ("bert/pooler",))
    with pytest.raises(ValueError, match="output_weights was trained without bert/pooler.*=output_weights"):
        read_checkpoint(folder)
    encoder = read_checkpoint(folder, allow_unmatched=["output_weights"])
    assert (encoder.task, encoder.labels) == ("encoder", ())
    assert dict(encoder.report.left_over)["output_bias"] == "the head of a tagger; allowed"
    assert not caplog.text


@pytest.mark.parametrize(
    ("without", "config", "is_warned"),
    [((), {}, False), (("bert/",), {}, True), (("",), {}, True), (("",), {"labels": ["a", "b", "c"]}, False)],
)
def test_a_head_that_may_be_a_taggers_is_warned_of(tmp_path, caplog, without, config, is_warned):
    """Without slots nobody knows; also where the encoder was frozen. kbert's own have their labels."""
    assert read_checkpoint(classifier(tmp_path, without, **config)).task == "sequence_classification"
    assert ("that of a tagger, such as BioBERT's" in caplog.text) is is_warned


FINETUNED = {
    "classification": ("sequence_classification", ("0", "1", "2")),
    "span": ("question_answering", ()),
    "next_sentence": ("next_sentence", ()),
    "": ("encoder", ()),
}


@pytest.mark.parametrize("head", FINETUNED)
def test_finetuned_checkpoints_are_known_by_their_heads(tmp_path, head):
    weights = foreign_files.random_weights(("pooler", head))
    folder = foreign_files.write_google(tmp_path / "m", foreign_files.google_names(weights))
    checkpoint, tensors = read_tensors(folder)
    assert (checkpoint.task, checkpoint.labels) == FINETUNED[head]
    same_weights(tensors, weights)  # the pooler too, which a model of spans has no use for
    if checkpoint.task == "sequence_classification":  # with sigmoids it would have the same tensors
        edit_config(folder, problem_type="multi_label_classification")
        checkpoint = read_checkpoint(folder)
        assert checkpoint.task == "multi_label_classification"
        write_checkpoint(checkpoint, tmp_path / "again", "google", allow_unmatched=["problem_type"])
        assert read_checkpoint(tmp_path / "again").task == "multi_label_classification"
        edit_config(folder, problem_type="several")
        with pytest.raises(ValueError, match="bert_config.json: problem_type='several' is not known"):
            read_checkpoint(folder)
        edit_config(folder, problem_type="single_label_classification")
        assert read_checkpoint(folder).task == "sequence_classification"


@pytest.mark.parametrize(
    ("name", "lower"),
    [
        ("uncased_L-12_H-768_A-12", True),
        ("wwm_uncased_L-24_H-1024_A-16", True),
        ("multilingual_L-12_H-768_A-12", True),
        ("chinese_L-12_H-768_A-12", True),
        ("cased_L-12_H-768_A-12", False),
        ("multi_cased_L-12_H-768_A-12", False),
    ],
)
def test_the_folders_name_tells_the_casing(folder, name, lower):
    renamed = folder.rename(folder.with_name(name))
    checkpoint = read_checkpoint(renamed, allow_unmatched=["do_lower_case"])
    assert checkpoint.vocabulary.do_lower_case is lower
    assert f"do_lower_case={lower}, from the folder's name {name!r}" in str(checkpoint.report)
    if lower:
        with pytest.raises(ValueError, match="do_lower_case=False contradicts the folder's name"):
            read_checkpoint(renamed, do_lower_case=False)
    else:  # a vocabulary without a single upper-case letter speaks against the name
        with pytest.raises(ValueError, match="looks like an uncased vocabulary"):
            read_checkpoint(renamed)


def edit_config(folder, **changes):
    values = json.loads((folder / "bert_config.json").read_text()) | changes
    (folder / "bert_config.json").write_text(json.dumps(values))


def test_a_tokenizer_of_hugging_face_beside_is_followed_or_refused(folder):
    (folder / "tokenizer_config.json").write_text('{"do_lower_case": true, "strip_accents": false}')
    checkpoint = read_checkpoint(folder)
    assert checkpoint.vocabulary.rules.not_googles == {"strip_accents": False}
    assert "do_lower_case=True, from tokenizer_config.json" in str(checkpoint.report)
    edit_config(folder, strip_accents=True)
    with pytest.raises(ValueError, match="tokenizer_config.json says strip_accents=False, but bert_config"):
        read_checkpoint(folder)
    checkpoint = read_checkpoint(folder, allow_unmatched=["strip_accents"])
    assert not checkpoint.vocabulary.rules.not_googles


def truncate(path, share):
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])


def as_saved_model(folder):
    (folder / "variables").mkdir()
    for file in folder.glob("bert_model.ckpt*"):
        file.rename(folder / "variables" / file.name.replace("bert_model.ckpt", "variables"))
    (folder / "saved_model.pb").touch()


def with_names(*names):
    def make(folder):
        foreign_files.write_google(folder, {f"{name}/gamma": np.ones(2, np.float32) for name in names})
        (folder / "bert_config.json").unlink()

    return make


def without(*names):
    return lambda folder: [(folder / name).unlink() for name in names]


WRONG = {
    "SavedModel": (as_saved_model, r"is a SavedModel of TF1, .* into /.*/model/variables, and give that"),
    "ALBERT": (
        with_names("bert/encoder/mapping", "bert/encoder/transformer/group_0/inner_group_0/LayerNorm"),
        "bert_model.ckpt is a checkpoint of ALBERT, whose layers share their weights",
    ),
    "ELECTRA": (with_names("discriminator", "electra/embeddings/LayerNorm"), "of ELECTRA in the names of"),
    "NEZHA": (
        lambda folder: edit_config(folder, use_relative_position=True),
        "bert_config.json: use_relative_position is set, and kbert lacks NEZHA's",
    ),
    "no config, no vocabulary": (
        without("bert_config.json", "vocab.txt"),
        "bert_model.ckpt needs bert_config.json and vocab.txt beside it, .*; copy them from the model that",
    ),
    "no vocabulary": (without("vocab.txt"), "bert_model.ckpt needs vocab.txt beside it, .*; copy it from"),
    "no data": (
        lambda folder: [
            (folder / "bert_model.ckpt.index").rename(folder / "model.ckpt-9.index"),
            (folder / "bert_model.ckpt.data-00000-of-00001").unlink(),
        ],
        "model.ckpt-9 is not a whole TF1 checkpoint",
    ),
    "two checkpoints": (
        lambda folder: [
            shutil.copy(file, folder / file.name.replace("bert_model.ckpt", "model.ckpt-906"))
            for file in folder.glob("bert_model*")
        ],
        "holds 2 checkpoints of TensorFlow; give one of them, .*model.ckpt-906 or .*bert_model.ckpt",
    ),
    "narrow tables": (
        lambda folder: edit_config(folder, embedding_size=4),
        "bert_config.json: embedding_size=4 should equal hidden_size=8: there is no projection",
    ),
    "vocabulary size": (
        lambda folder: edit_config(folder, vocab_size=19),
        "has 21 tokens, but the config's vocab_size is 19: ids would fall outside the token table",
    ),
    "one layer too many": (
        lambda folder: edit_config(folder, num_hidden_layers=1),
        "holds 16 tensors that BERT checkpoint .* does not have: bert/encoder/layer_1/.* and 12 more",
    ),
    "truncated index": (
        lambda folder: truncate(folder / "bert_model.ckpt.index", 0.6),
        r"bert_model.ckpt is not a whole TF1 checkpoint \(.*\); download it again",
    ),
    "labels": (
        lambda folder: edit_config(folder, labels=["a"]),
        "bert_config.json names 1 labels, but the classifier has 0 outputs",
    ),
}


@pytest.mark.parametrize(("spoil", "sentence"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_one_sentence(folder, tmp_path, spoil, sentence):
    spoil(folder)
    with pytest.raises(ValueError, match=sentence) as error:
        # The data file is read when the tensors are asked for.
        write_checkpoint(read_checkpoint(folder), tmp_path / "out", "kbert")
    assert "\n" not in str(error.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model"]


def test_a_name_that_tensorflow_cannot_read_is_printable(folder, monkeypatch):
    def damaged(path):
        raise ValueError("Invalid size in bundle entry: key a\x01; key b\x1b[2J\n[[{{node}}]]")

    monkeypatch.setattr(tf.train, "load_checkpoint", damaged)
    with pytest.raises(ValueError, match="is not a whole TF1 checkpoint .*key b.*download it again") as error:
        read_checkpoint(folder)
    assert str(error.value).isprintable()


# --------------------------------------------------------------------------------- writing


def test_what_is_written_is_what_tf1_reads(pretrained, tmp_path):
    weights, folder = pretrained
    write_checkpoint(read_checkpoint(folder), tmp_path / "out", "google")
    names = foreign_files.google_names(weights)
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        variables = {
            name: tf.compat.v1.get_variable(name.replace("/", "_"), value.shape, use_resource=False)
            for name, value in names.items()
        }
        tf.compat.v1.train.Saver(variables).restore(session, str(tmp_path / "out" / "bert_model.ckpt"))
        for name, value in names.items():
            np.testing.assert_array_equal(session.run(variables[name]), value, err_msg=name)
    config = json.loads((tmp_path / "out" / "bert_config.json").read_text())
    assert config.items() >= (foreign_files.SHAPE | {"hidden_act": "gelu"}).items()
    assert "layer_norm_eps" not in config
    assert (tmp_path / "out" / "vocab.txt").read_text() == (folder / "vocab.txt").read_text()


@pytest.mark.parametrize(
    ("setting", "config", "sentence"),
    [
        ("hidden_act", {"hidden_act": "gelu"}, "'gelu_erf', which the original's code does not know"),
        (
            "layer_norm_eps",
            {"hidden_act": "gelu_new", "layer_norm_eps": 1e-6},
            "layer_norm_eps is 1e-06, but the original's code always takes 1e-12",
        ),
    ],
)
def test_numbers_that_the_original_would_not_reproduce_are_refused(tmp_path, setting, config, sentence):
    tensors = foreign_files.hugging_face_names(foreign_files.random_weights(), prefix="")
    source = foreign_files.write_hugging_face(tmp_path / "m", tensors, **config)
    checkpoint = read_checkpoint(source)
    with pytest.raises(ValueError, match=sentence):
        write_checkpoint(checkpoint, tmp_path / "out", "google")
    assert [path.name for path in tmp_path.iterdir()] == ["m"]
    write_checkpoint(checkpoint, tmp_path / "out", "google", allow_unmatched=[setting])
    assert read_checkpoint(tmp_path / "out").encoder == checkpoint.encoder
    written = json.loads((tmp_path / "out" / "bert_config.json").read_text())
    assert written["hidden_act"] == "gelu"  # all that the original's get_activation knows of the two
    assert written["kbert_encoder"] == {setting: getattr(checkpoint.encoder, setting)}


SAME_ENCODER = {  # what google-research/bert reads in the same way
    "keys of others": {"model_type": "bert", "pad_token_id": 0, "backward_compatible": False},
    "keys of kbert's presets": {"preset": "bert_tiny", "description": "mine"},
    "capitals": {"hidden_act": "GELU"},
}


@pytest.mark.parametrize("changes", SAME_ENCODER.values(), ids=SAME_ENCODER)
def test_a_config_is_read_as_the_original_reads_it(folder, caplog, changes):
    expected = read_checkpoint(folder).encoder
    assert not caplog.text
    edit_config(folder, **changes)
    assert read_checkpoint(folder).encoder == expected
    assert ("knows model_type, pad_token_id, nor does" in caplog.text) is ("model_type" in changes)
    edit_config(folder, hidden_act=None)
    assert read_checkpoint(folder).encoder.hidden_act == "linear"


def test_sizes_are_never_a_presets(folder):
    values = json.loads((folder / "bert_config.json").read_text())
    del values["num_hidden_layers"]
    (folder / "bert_config.json").write_text(json.dumps(values | {"preset": "bert_tiny"}))
    with pytest.raises(ValueError, match="bert/encoder/layer_2"):  # the original's default is 12 layers
        read_checkpoint(folder)


def test_an_epsilon_that_the_original_ignores_is_refused_by_name(folder):
    edit_config(folder, layer_norm_eps=1e-5)
    with pytest.raises(ValueError, match="layer_norm_eps=1e-05, which the original.*=layer_norm_eps"):
        read_checkpoint(folder)
    allowed = read_checkpoint(folder, allow_unmatched=["layer_norm_eps"])
    assert allowed.encoder.layer_norm_eps == EncoderConfig.layer_norm_eps
    edit_config(folder, kbert_encoder={"layer_norm_eps": 1e-5})
    assert read_checkpoint(folder).encoder.layer_norm_eps == 1e-5


def test_one_segment_is_written_twice_and_read_as_googles_code_takes_it(tmp_path):
    """Google's code multiplies the table with one_hot(segment, 1), which is zero for the second text."""
    one = random_checkpoint("masked_lm", type_vocab_size=1, hidden_act="gelu")
    write_checkpoint(one, tmp_path / "out", "google")
    written = read_checkpoint(tmp_path / "out")
    (row,) = one.tensors[SEGMENT_TABLE].read()
    np.testing.assert_array_equal(written.tensors[SEGMENT_TABLE].read(), [row, row])

    prefix = tmp_path / "out" / "bert_model.ckpt"
    arrays = {name: tensor.read() for name, tensor in google_tf1.read_tensors(prefix, "it").items()}
    arrays["bert/embeddings/token_type_embeddings"] = row[None]
    google_tf1._save(prefix, arrays)
    edit_config(tmp_path / "out", type_vocab_size=1)
    read = read_checkpoint(tmp_path / "out")
    assert read.encoder.type_vocab_size == 2
    np.testing.assert_array_equal(read.tensors[SEGMENT_TABLE].read(), [row, 0 * row])


@pytest.mark.parametrize("says_names", [False, True])
def test_a_config_orders_the_labels_of_a_file_that_only_numbers_them(tmp_path, caplog, says_names):
    """As get_labels() of a DataProcessor may give ["1", "0", "2"]; a file that names them is right."""
    weights = foreign_files.random_weights(("pooler", "classification"))
    said = {"labels": ["0", "1", "2"]} if says_names else {}
    folder = foreign_files.write_google(tmp_path / "uncased", foreign_files.google_names(weights), **said)
    config = FinetuningConfig(
        task="sequence_classification", dataset=DatasetConfig(labels=("1", "0", "2")), max_seq_length=16
    )
    read = with_file_settings(read_checkpoint(folder), config)
    assert read.labels == (("0", "1", "2") if says_names else ("1", "0", "2"))
    assert ("0 is '1', 1 is '0'" in caplog.text) is not says_names
