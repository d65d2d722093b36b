"""The weights of a Hugging Face folder: which files, and their tensors by the names of the table.

They are those of PyTorch's classes or of TensorFlow's, which transformers had until version 4: there
`tf_bert_for_masked_lm/bert/encoder/layer_._0/attention/self/query/kernel:0` is
`encoder.layer.0.attention.self.query.weight`, and kernels stand as in Keras, (inputs, outputs).

Source: the documentation of `convert_tf_weight_name_to_pt_weight_name` in transformers 4
(modeling_tf_pytorch_utils.py): `a___b` is b, `_._` separates a list from an index, kernels, tables and gammas
are called weight, betas bias.
"""

import os
import re
from pathlib import Path

from kbert.checkpoints.conversion.matching import Stored
from kbert.checkpoints.hugging_face.torch_file import read_torch_file
from kbert.checkpoints.other_files import ADAPTER, ADAPTER_FILES, HEAD, HEAD_FILES, other_model
from kbert.checkpoints.report import Report
from kbert.files.file_format import require_downloaded
from kbert.files.hdf5_file import read_hdf5
from kbert.files.json_file import read_json_object
from kbert.files.json_values import json_value, shown, shown_name
from kbert.files.path_inside import path_inside
from kbert.files.safetensors_file import read_safetensors, safetensors_metadata
from kbert.files.stored_tensor import StoredTensor

WEIGHT_FILES = (
    "model.safetensors",
    "model.safetensors.index.json",
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
    "tf_model.h5",
    "tf_model.h5.index.json",
)
_BUFFERS = {
    "embeddings.position_ids": "a buffer (0, 1, 2 ...), not a weight",
    "embeddings.token_type_ids": "a buffer of zeros, not a weight",
}
_TIED = {
    "cls.predictions.decoder.weight": "embeddings.word_embeddings.weight",
    "cls.predictions.decoder.bias": "cls.predictions.bias",
    "vocab_projector.weight": "embeddings.word_embeddings.weight",
    "generator_lm_head.weight": "embeddings.word_embeddings.weight",
    "lm_head.decoder.weight": "embeddings.word_embeddings.weight",
    "lm_head.decoder.bias": "lm_head.bias",
    "decoder.weight": "embeddings.tok_embeddings.weight",
}
_DETECTOR = "discriminator_predictions."
_NO_DETECTOR = "part of ELECTRA's head that tells replaced tokens; kbert trains one, but reads none"
# The last part of a name in TensorFlow's classes -> in PyTorch's.
_ENDS = {
    "kernel": "weight",
    "embeddings": "weight",
    "gamma": "weight",
    "weight": "weight",
    "beta": "bias",
    "bias": "bias",
}
_ENCODERS = ("bert", "distilbert", "electra", "roberta", "mpnet")
_OTHER_ENCODERS = ("albert", "camembert", "deberta", "mobilebert", "nomic_bert", "xlnet")
# The layers beside the encoder. Whatever stands in front of them, or of the encoder, is the name of a model.
_HEADS = (
    "cls",
    "classifier",
    "qa_outputs",
    "pre_classifier",
    "vocab_transform",
    "vocab_layer_norm",
    "vocab_projector",
    "discriminator_predictions",
    "generator_predictions",
    "generator_lm_head",
    "lm_head",
    "sequence_summary",
)


def read_weights(folder: Path, prefix: str, table: str, is_tied: bool, report: Report) -> Stored:
    """The tensors of a folder by the names of its family's table.

    Args:
      folder: holds one of WEIGHT_FILES; the first that is there is read.
      prefix: what the encoder's names begin with, if they are those of a class with a head.
      table: the name of its table of words, without this prefix.
      is_tied: whether the masked-LM head has the same table, so that either name stands for both.
      report: takes notes.

    Raises:
      ValueError: for a folder without weights, and for files that are broken or do not belong together.
    """
    present = [name for name in WEIGHT_FILES if (folder / name).is_file()]
    if not present:
        other = other_model(folder)
        raise ValueError(f"{folder} holds no weights ({' or '.join(WEIGHT_FILES)}){other and '; '}{other}.")
    for name in present[1:]:
        report.note(f"{name} is not read, because {present[0]} is there too")
    path = folder / present[0]
    read = _read_shards if path.suffix == ".json" else _read_file
    tensors, originals = read(path, report)
    _refuse_other_answers(folder, tensors, report)
    as_in_keras = originals is not None
    if originals is None:
        tensors, originals = _without_wrapper(tensors, prefix, table, report)
    stored = _stored(tensors, originals, prefix, as_in_keras)
    for alias, name in _TIED.items():
        if is_tied or name.endswith(".bias"):
            _take_tied(stored, alias, name)
    return stored


def _take_tied(stored, alias, name):
    """Gives a tensor its usual name where the file has the other one alone.

    safetensors.torch.save_model keeps the name that comes first in the alphabet.
    """
    if name not in stored.tensors and alias in stored.tensors:
        stored.tensors[name] = stored.tensors.pop(alias)
        stored.originals[name] = stored.originals.pop(alias, alias)


def _read_file(path, report):
    """(name -> tensor, None), with the names of PyTorch's classes.

    Of TensorFlow's classes the second is name -> name in the file.
    """
    require_downloaded(path)
    if path.suffix == ".h5":
        return _by_pytorch_names(read_hdf5(path))
    if path.suffix != ".safetensors":
        return read_torch_file(path), None
    tensors, declared = read_safetensors(path), safetensors_metadata(path).get("format")
    tensorflow_names = [name for name in tensors if "/" in name or name.endswith(":0")]
    if bool(tensorflow_names) != (declared == "tf") and tensors:
        raise ValueError(
            f"{path} names its tensors as {'TensorFlow' if tensorflow_names else 'PyTorch'} does "
            f"({shown_name((tensorflow_names or list(tensors))[0])}), but its metadata says "
            f"format={shown(declared)}: its kernels may stand either way; save it again with save_pretrained "
            "of the class that made it."
        )
    return _by_pytorch_names(tensors) if tensorflow_names else (tensors, None)


def _read_shards(index, report):
    """As `_read_file`, of all files that an index names."""
    folder, weight_map = index.parent, json_value(read_json_object(index), "weight_map", dict, index)
    if weight_map is None or not all(isinstance(file, str) for file in weight_map.values()):
        raise ValueError(f"{index}: expected weight_map, an object from tensor names to file names.")
    files = sorted(set(weight_map.values()))
    for file in files:
        if not path_inside(folder, file, index, "file").is_file():
            raise ValueError(f"{index} names {shown_name(file)}, which is not there; download all shards.")
    tensors: dict[str, StoredTensor] = {}
    all_originals: dict[str, str] | None = None
    for file in files:
        shard, originals = _read_file(folder / file, report)
        expected = {name for name, shard_file in weight_map.items() if shard_file == file}
        if originals is not None:
            all_originals = (all_originals or {}) | originals
            expected = {_pytorch_name(name) or name for name in expected}
        if difference := sorted(expected - set(shard)) or sorted(set(shard) - expected):
            raise ValueError(
                f"{folder / file} and {index.name} do not belong together: {shown(difference[0])} is only in "
                f"{'the index' if difference[0] in expected else 'the file'}; download both again."
            )
        tensors |= shard
    report.note(f"{len(files)} shards")
    return tensors, all_originals


def _pytorch_name(name):
    """The name that PyTorch's class gives to the same weight, without that of the encoder in front.

    Returns None for a name that is no weight's.
    """
    scopes = re.sub(r"[^/]*___([^/]*)", r"\1", name.removesuffix(":0").replace("_._", "/")).split("/")
    if scopes[-1] not in _ENDS:
        return None
    for marks, first in ((_ENCODERS, 1), (_HEADS, 0)):
        positions = [position for position, scope in enumerate(scopes[:-1]) if scope in marks]
        if positions:
            scopes = scopes[positions[-1] + first :]
            break
    return ".".join([*scopes[:-1], _ENDS[scopes[-1]]])


def _by_pytorch_names(tensors):
    """(name in PyTorch's class -> tensor with the axes as they are, name -> name in the file).

    A table that a head shares with the encoder is stored twice: the second keeps the name that it has in the
    file.
    """
    renamed: dict[str, StoredTensor] = {}
    originals: dict[str, str] = {}
    for original, tensor in tensors.items():
        name = _pytorch_name(original) or original
        if name in renamed:
            name = original
        renamed[name], originals[name] = tensor, original
    return renamed, originals


def _without_wrapper(tensors, prefix, table, report):
    """(name -> tensor, name -> name in the file), without what a program put before the names.

    DistributedDataParallel puts `module.` there, torch.compile `_orig_mod.`, and a class of one's own what it
    calls its encoder. Where the encoder's table of words stands, or the head's that is the same, shows it.
    """
    marks = (table, *(alias for alias, name in _TIED.items() if name == table))
    fronts = (sorted(_names_before(mark, tensors, prefix), key=len) for mark in marks)
    wrappers = next(filter(None, fronts), [])
    if not wrappers or not wrappers[0]:
        return tensors, {}
    if wrappers[0].split(".")[-2] in {*_ENCODERS, *_OTHER_ENCODERS} - {prefix[:-1]}:
        raise ValueError(
            f"{report.path}: the encoder's tensors begin with {shown_name(wrappers[0])}, but those of the "
            f"family in config.json with {prefix}; use config, with its model_type, and weights of one "
            "model. Where a program of your own calls the encoder so, save it with its own save_pretrained."
        )
    if len(wrappers) > 1:
        raise ValueError(
            f"{report.path} holds several encoders: their names begin with "
            f"{', '.join(map(shown_name, wrappers))}; "
            "save the one that you mean with its own save_pretrained."
        )
    wrapper = wrappers[0]
    originals: dict[str, str] = {}
    for name in tensors:
        # A head may stand beside the encoder: module.classifier beside module.encoder.
        plain = name[os.path.commonprefix([name, wrapper]).rfind(".") + 1 :]
        if plain in originals:
            raise ValueError(f"{shown(originals[plain])} and {shown(name)} are names of the same tensor.")
        originals[plain] = name
    report.note(f"the names begin with {shown_name(wrapper)}, which is taken off")
    return {name: tensors[original] for name, original in originals.items()}, originals


def _names_before(mark, tensors, prefix):
    fronts = {name.removesuffix(mark) for name in tensors if f".{name}".endswith(f".{mark}")}
    return {front.removesuffix(prefix) if f".{front}".endswith(f".{prefix}") else front for front in fronts}


def _refuse_other_answers(folder, tensors, report):
    """Refuses weights beside an adapter, which transformers would add to them, and those with its names; and
    those beside a classifier of SetFit, which answers in their place."""
    for files, what in ((ADAPTER_FILES, ADAPTER), (HEAD_FILES, HEAD)):
        other = next((name for name in files if (folder / name).is_file()), None)
        if other:
            report.conflict(other, f"{folder} also holds {other}, {what}")
    inside = next((name for name in tensors if ".lora_" in name or ".base_layer." in name), None)
    if inside:
        report.conflict(inside, f"{folder} holds {shown_name(inside)}, {ADAPTER}")


def _stored(tensors, originals, prefix, as_in_keras):
    """Removes the model's prefix from the names, and gives old names of layer norms their present form."""
    plain: dict[str, StoredTensor] = {}
    names_in_file: dict[str, str] = {}
    for original, tensor in tensors.items():
        name = original.removeprefix(prefix)
        for old, new in ((".gamma", ".weight"), (".beta", ".bias")):
            if name.endswith(f"LayerNorm{old}"):
                name = name.removesuffix(old) + new
        if name in plain:
            raise ValueError(
                f"{shown(original)} and {shown(names_in_file[name])} are names of the same tensor."
            )
        plain[name] = tensor
        names_in_file[name] = originals.get(original, original)
    keras_names = originals if as_in_keras else {}
    twice = {name: _pytorch_name(name) for name, original in keras_names.items() if name == original}
    tied = _TIED | {name: twin for name, twin in twice.items() if twin in plain}
    ignored = _BUFFERS | {name: _NO_DETECTOR for name in plain if name.startswith(_DETECTOR)}
    return Stored(plain, names_in_file, ignored, tied, as_in_keras)
