"""Conversions on disk: whole or absent, whatever happens; nothing is written over that is not asked for."""

import errno
import shutil
from pathlib import Path

import pytest
import tensorflow as tf

from kbert.checkpoints.formats import read_checkpoint, write_checkpoint
from kbert.scripts.convert_checkpoint import convert_checkpoint

STORED = Path(__file__).with_name("stored")
FOR_GOOGLE = ["hidden_act"]


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def content(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# ------------------------------------------------------------------------------- a full disk


def full(*arguments, **named):
    raise OSError(errno.ENOSPC, "No space left on device")


def full_for_tensorflow(*arguments, **named):
    message = "No space left on device; bert_model.ckpt.data-00000-of-00001\nTraceback ..."
    raise tf.errors.ResourceExhaustedError(None, None, message)


WRITING = "kbert.checkpoints.hugging_face.folder_writing"
# What writes the weights, and what writes the rest, of each format.
WRITES = {
    "google, weights": ("google", "tensorflow.raw_ops.SaveV2", full_for_tensorflow),
    "google, config": ("google", "kbert.checkpoints.google_tf1.write_json", full),
    "hugging_face, weights": (
        "hugging_face",
        f"{WRITING}.write_safetensors",
        full,
    ),
    "hugging_face, config": (
        "hugging_face",
        f"{WRITING}.write_json",
        full,
    ),
    "kbert, weights": ("kbert", "kbert.runs.checkpoint.write_safetensors", full),
    "kbert, vocabulary": ("kbert", "kbert.tokenization.base_vocabulary.whole_file", full),
    "the report": ("hugging_face", "kbert.checkpoints.report.write_text", full),
}


@pytest.mark.parametrize(("name", "overwrite"), [*((name, False) for name in WRITES), ("the report", True)])
def test_a_full_disk_is_one_sentence_and_leaves_what_was_there(tmp_path, monkeypatch, name, overwrite):
    format, function, failing = WRITES[name]
    target = tmp_path / "new" / "out"
    if overwrite:
        convert_checkpoint(STORED / "BertForPreTraining", target, "hugging_face")
    before = content(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(function, failing)
        with pytest.raises(OSError, match=rf"{target} could not be written: .*No space left") as error:
            convert_checkpoint(STORED / "BertModel", target, format, FOR_GOOGLE, overwrite=overwrite)
    assert "\n" not in str(error.value)
    assert content(tmp_path) == before and names(tmp_path) == (["new"] if overwrite else [])


# ----------------------------------------------------------------------------- writing over


@pytest.mark.parametrize("format", [None, "kbert", "hugging_face"])
@pytest.mark.parametrize("file", ["metrics.jsonl", "chosen.json", ".git/HEAD", "onnx/model.safetensors"])
def test_what_is_no_conversion_is_never_replaced(tmp_path, file, format):
    """Also beside one: a hub's clone, what an evaluation chose, another library's model."""
    target = tmp_path / "out"
    if format:
        convert_checkpoint(STORED / "BertModel", target, format)
    (target / file).parent.mkdir(parents=True, exist_ok=True)
    (target / file).write_text("{}")
    before = content(target)
    with pytest.raises(ValueError, match=rf"out holds what is not a conversion, such as \['{file}'\], and"):
        convert_checkpoint(STORED / "BertModel", target, "hugging_face", overwrite=True)
    assert content(target) == before
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ValueError, match="file holds what is not a conversion"):
        write_checkpoint(read_checkpoint(STORED / "BertModel"), tmp_path / "file", "kbert", overwrite=True)
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("format", ["kbert", "hugging_face", "google", "keras_hub"])
def test_a_conversion_is_replaced_by_another(tmp_path, format):
    for source in ("BertForMaskedLM_bin", "BertModel"):
        allowed = ["hidden_act", "layer_norm_eps", "masked_lm_settings"]
        convert_checkpoint(STORED / source, tmp_path / "out", format, allowed, overwrite=True)
    assert names(tmp_path) == ["out"] and read_checkpoint(tmp_path / "out").task == "encoder"


@pytest.mark.parametrize("target", [".", "..", "gone/..", "mount", "file/out"])
def test_a_folder_that_cannot_be_made_is_refused_before_anything_is_read(tmp_path, monkeypatch, target):
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "file").write_text("")
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr("kbert.checkpoints.formats.read_checkpoint", None)
    monkeypatch.setattr("os.path.ismount", lambda path: Path(path).name == "mount")
    sentence = "that you are in|that does not exist|mount is a mount point|here/file is no folder"
    with pytest.raises(ValueError, match=f"({sentence}).*; (give|choose) "):
        convert_checkpoint(STORED / "BertModel", target, "kbert")


def test_a_link_leads_to_the_new_folder(tmp_path):
    (tmp_path / "disk" / "out").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "disk" / "out")
    for _ in range(2):
        convert_checkpoint(STORED / "BertModel", tmp_path / "link" / ".." / "out", "kbert", overwrite=True)
        convert_checkpoint(STORED / "BertModel", tmp_path / "link", "kbert", overwrite=True)
    assert names(tmp_path) == ["disk", "link"] and names(tmp_path / "disk") == ["out"]
    assert (tmp_path / "link").is_symlink() and read_checkpoint(tmp_path / "link").tensors


@pytest.mark.parametrize("place", ["", "inner", "link", "vocabulary"])
def test_a_checkpoint_is_never_written_over_itself(tmp_path, place):
    target = tmp_path / "model"
    convert_checkpoint(STORED / "BertModel", target, "hugging_face")
    source = target
    if place == "inner":
        source = Path(shutil.copytree(STORED / "BertModel", target / "inner"))
    if place == "vocabulary":
        source = STORED / "BertModel"
    if place == "link":
        source = tmp_path / "link"
        source.symlink_to(target)
    vocab_file = target / "vocab.txt" if place == "vocabulary" else None
    before = content(target)
    with pytest.raises(ValueError, match="would replace .*, which is read; choose another folder"):
        convert_checkpoint(source, target, "hugging_face", vocab_file=vocab_file, overwrite=True)
    assert content(target) == before
