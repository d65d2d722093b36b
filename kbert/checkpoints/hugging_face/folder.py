"""Reads and writes Hugging Face folders of BERT, DistilBERT and ELECTRA, without torch and transformers.

The weights are those of PyTorch's classes or of TensorFlow's, which transformers had until version 4.
"""

import dataclasses
from pathlib import Path

from kbert.checkpoints.allowance import Allowance
from kbert.checkpoints.bert_checkpoint import BertCheckpoint, zeros
from kbert.checkpoints.conversion.encoder_settings import require_pooler, require_settings
from kbert.checkpoints.conversion.matching import Stored, match
from kbert.checkpoints.conversion.names import rows
from kbert.checkpoints.conversion.vocabulary_checks import check_sizes
from kbert.checkpoints.format_names import HUGGING_FACE as FORMAT
from kbert.checkpoints.hugging_face.config import build_config, parse_config
from kbert.checkpoints.hugging_face.families import (
    FAMILIES,
    has_own_pooler,
    require_readable,
    stored_parts,
    task_of_architecture,
)
from kbert.checkpoints.hugging_face.tensorflow_names import (
    by_pytorch_names,
    is_tensorflow_name,
    pytorch_name,
)
from kbert.checkpoints.hugging_face.tokenizer import read_tokenizer, write_tokenizer
from kbert.checkpoints.hugging_face.torch_file import read_torch_file
from kbert.checkpoints.model_variables import model_shapes, part_of, parts_of, with_pooler
from kbert.checkpoints.other_files import other_model
from kbert.checkpoints.report import Report
from kbert.config import EncoderConfig
from kbert.files.hdf5_file import read_hdf5
from kbert.files.json_file import read_json_object
from kbert.files.json_values import json_value, shown, shown_name
from kbert.files.path_inside import path_inside
from kbert.files.safetensors_file import read_safetensors, safetensors_metadata, write_safetensors
from kbert.files.stored_tensor import StoredTensor
from kbert.files.whole_file import write_json
from kbert.heads.parts import POOLER
from kbert.tasks import TASKS

CONFIG_FILE = "config.json"
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
}
_DETECTOR = "discriminator_predictions."
_NO_DETECTOR = "part of ELECTRA's head that tells replaced tokens; kbert has no such task"
_FRESH = "not in this architecture; initialised if a kbert model has it"


def read_hugging_face(
    path, do_lower_case: bool | None = None, allowance: Allowance | None = None, needs_pooler: bool = True
) -> BertCheckpoint:
    """Reads a folder as transformers writes it.

    Args:
      path: the folder: config.json, the vocabulary, and weights in safetensors, in PyTorch's format or in
        Keras's HDF5 (`tf_model.h5`), in one file or in shards.
      do_lower_case: the casing, needed only if the folder does not say it.
      allowance: names that may stay unmatched.
      needs_pooler: whether an encoder without its pooler is an error.

    Raises:
      ValueError: for anything that is missing, broken, or unknown to kbert. Settings are checked before any
        tensor is read.
    """
    folder, allowance = Path(path), allowance or Allowance()
    report = Report(FORMAT, str(path))
    config = parse_config(read_json_object(folder / CONFIG_FILE), folder / CONFIG_FILE, allowance, report)
    vocabulary, longest = read_tokenizer(folder, do_lower_case, allowance, report)
    check_sizes(vocabulary, config.encoder, str(folder), config.own.vocabulary_size, allowance, report)
    positions = config.encoder.max_position_embeddings
    if longest is not None and longest > positions:
        allowance.conflict(
            "model_max_length",
            f"{folder}: tokenizer_config.json says model_max_length={longest}, but config.json "
            f"max_position_embeddings={positions}",
            report,
        )

    tensors, originals = _read_weights(folder, report)
    stored = _stored(tensors, originals or {}, config)
    name = config.architecture or _guess_architecture(stored, config, report)
    if name == "BertForMaskedLM" and "cls.seq_relationship.weight" in stored.tensors:
        report.note("config.json says BertForMaskedLM, but there is a next-sentence head: it is read too")
        name = "BertForPreTraining"
    num_outputs = _num_outputs(stored, by_tensorflow=originals is not None)
    labels = _labels(config, task_of_architecture(name), num_outputs, folder, report)
    _refuse_other_labels(config, labels, folder / CONFIG_FILE, allowance, report)
    task = task_of_architecture(name, config.problem_type or ("regression" if len(labels) == 1 else None))

    parts = own = parts_of(task, labels)
    if "pooler.dense.weight" in stored.tensors:
        parts = with_pooler(parts)  # part of the encoder, even if this task does not use it
    shapes = model_shapes(config.encoder, parts.values())
    optional = {}
    if POOLER.name in own and not (needs_pooler and has_own_pooler(name)):
        optional |= dict.fromkeys(POOLER.shapes(config.encoder), _FRESH)
    optional |= config.own.may_be_missing()
    encoder, family = config.encoder, FAMILIES[config.model_type]
    if config.model_type == "distilbert":
        optional["embeddings/token_type_embeddings"] = "zeros: DistilBERT adds nothing for segments"
        if POOLER.name in own and has_own_pooler(name):  # else BERT's: a training adds segments to it as well
            encoder = dataclasses.replace(encoder, pooler_hidden_act=family.pooler_hidden_act)
    table_rows = rows(family.table, stored_parts(name, parts), encoder.num_hidden_layers)
    if originals is not None:  # TensorFlow's kernels stand as kbert's
        table_rows = [row._replace(transposed=False) for row in table_rows]
    tensors = match(stored, table_rows, shapes, optional, name, allowance, report)
    if config.model_type == "distilbert":
        tensors["embeddings/token_type_embeddings"] = zeros(shapes["embeddings/token_type_embeddings"])
    report.note(f"architecture {name}, read as kbert's task {task!r}")
    return BertCheckpoint(
        source=str(path),
        encoder=encoder,
        task=task,
        labels=labels,
        vocabulary=vocabulary,
        tensors=tensors,
        max_seq_length=min(longest or positions, positions),
        report=report,
    )


# --------------------------------------------------------------------------------------- weights


def _read_weights(folder, report):
    """(name -> tensor, None), with the names of PyTorch's classes.

    Of TensorFlow's classes, whose kernels stand the other way, the second is name -> name in the file.
    """
    there = [name for name in WEIGHT_FILES if (folder / name).is_file()]
    if not there:
        other = other_model(folder)
        raise ValueError(f"{folder} holds no weights ({' or '.join(WEIGHT_FILES)}){other and '; '}{other}.")
    for name in there[1:]:
        report.note(f"{name} is not read, because {there[0]} is there too")
    path = folder / there[0]
    if path.suffix == ".json":
        return _read_shards(folder, path, report)
    return _read_weight_file(path)


def _read_weight_file(path):
    """As `_read_weights`, of one file."""
    if path.suffix == ".h5":
        return by_pytorch_names(read_hdf5(path))
    if path.suffix != ".safetensors":
        return read_torch_file(path), None
    tensors, declared = read_safetensors(path), safetensors_metadata(path).get("format")
    named = [name for name in tensors if is_tensorflow_name(name)]
    if bool(named) != (declared == "tf") and tensors:
        raise ValueError(
            f"{path} names its tensors as {'TensorFlow' if named else 'PyTorch'} does "
            f"({shown_name((named or list(tensors))[0])}), but its metadata says format={shown(declared)}: "
            "its kernels may stand either way; save it again with save_pretrained of the class that made it."
        )
    return by_pytorch_names(tensors) if named else (tensors, None)


def _read_shards(folder, index, report):
    places = json_value(read_json_object(index), "weight_map", dict, index)
    if places is None or not all(isinstance(file, str) for file in places.values()):
        raise ValueError(f"{index}: expected weight_map, an object from tensor names to file names.")
    files = sorted(set(places.values()))
    for file in files:
        if not path_inside(folder, file, index, "file").is_file():
            raise ValueError(f"{index} names {shown_name(file)}, which is not there; download all shards.")
    tensors: dict[str, StoredTensor] = {}
    all_originals: dict[str, str] | None = None
    for file in files:
        shard, originals = _read_weight_file(folder / file)
        expected = {name for name, place in places.items() if place == file}
        if originals is not None:
            all_originals = (all_originals or {}) | originals
            expected = {pytorch_name(name) or name for name in expected}
        if expected != set(shard):
            lacking = sorted(expected - set(shard))
            name = lacking[0] if lacking else sorted(set(shard) - expected)[0]
            raise ValueError(
                f"{folder / file} and {index.name} do not belong together: {shown(name)} is only in "
                f"{'the index' if lacking else 'the file'}; download both again."
            )
        tensors |= shard
    report.note(f"{len(files)} shards")
    return tensors, all_originals


def _stored(tensors, originals, config) -> Stored:
    """Removes the model's prefix from the names, and gives old names of layer norms their present form."""
    prefix = f"{config.model_type}."
    plain: dict[str, StoredTensor] = {}
    shown_names: dict[str, str] = {}
    for original, tensor in tensors.items():
        name = original.removeprefix(prefix)
        for old, new in ((".gamma", ".weight"), (".beta", ".bias")):
            if name.endswith(f"LayerNorm{old}"):
                name = name.removesuffix(old) + new
        if name in plain:
            raise ValueError(
                f"{shown(original)} and {shown(shown_names[name])} are names of the same tensor."
            )
        plain[name] = tensor
        shown_names[name] = originals.get(original, original)
    # Some files keep the output bias only under the decoder's name.
    bias, alias = "cls.predictions.bias", "cls.predictions.decoder.bias"
    if bias not in plain and alias in plain:
        plain[bias] = plain.pop(alias)
        shown_names[bias] = shown_names.pop(alias)
    twice = {name: pytorch_name(name) for name, original in originals.items() if name == original}
    tied = _TIED | {name: twin for name, twin in twice.items() if twin in plain}
    ignored = _BUFFERS | {name: _NO_DETECTOR for name in plain if name.startswith(_DETECTOR)}
    return Stored(plain, shown_names, ignored=ignored, tied=tied)


def _num_outputs(stored, by_tensorflow):
    """How many outputs the classifier has; None without one."""
    names = ("classifier.weight", "classifier.out_proj.weight")
    head = next((stored.tensors[name] for name in names if name in stored.tensors), None)
    return head.shape[-1 if by_tensorflow else 0] if head is not None and head.shape else None


def _guess_architecture(stored, config, report):
    """The class of an old checkpoint whose config names none, according to the heads in the file."""
    kind = FAMILIES[config.model_type].name
    names = stored.tensors
    if "cls.predictions.bias" in names:
        name = "ForPreTraining" if "cls.seq_relationship.weight" in names else "ForMaskedLM"
    elif "vocab_projector.bias" in names or "generator_lm_head.bias" in names:
        name = "ForMaskedLM"
    elif "cls.seq_relationship.weight" in names:
        name = "ForNextSentencePrediction"
    elif "qa_outputs.weight" in names:
        name = "ForQuestionAnswering"
    elif "classifier.weight" in names or "classifier.out_proj.weight" in names:
        poolers = {"pooler.dense.weight", "pre_classifier.weight", "classifier.out_proj.weight"}
        name = "ForSequenceClassification" if poolers & names.keys() else "ForTokenClassification"
    else:
        name = "Model"
    report.note(f"config.json names no architecture; its tensors are those of {kind}{name}")
    require_readable(kind + name, report.path)
    return kind + name


def _labels(config, task, num_outputs, folder, report):
    if not TASKS[task].checkpoint.has_labels:
        return ()
    if config.labels is not None:
        if num_outputs not in (None, len(config.labels)):
            raise ValueError(
                f"{folder}: config.json names {len(config.labels)} labels (id2label), but the classifier has "
                f"{num_outputs} outputs; use config and weights of one model."
            )
        return config.labels
    count = num_outputs or 2
    report.note(f"config.json names no labels; the {count} outputs are called LABEL_0, LABEL_1 ...")
    return tuple(f"LABEL_{index}" for index in range(count))


def _refuse_other_labels(config, labels, path, allowance, report):
    """Refuses `num_labels` and `label2id` that say something else than a task's labels."""
    if not labels:
        return
    if config.num_labels not in (None, len(labels)):
        allowance.conflict(
            "num_labels",
            f"{path}: num_labels={config.num_labels}, but there are {len(labels)} labels, {shown(labels)}",
            report,
        )
    ids = {name: str(index) for index, name in enumerate(labels)}
    if config.label2id is not None and {name: str(it) for name, it in config.label2id.items()} != ids:
        allowance.conflict(
            "label2id",
            f"{path}: label2id is {shown(config.label2id)}, but the labels are {shown(labels)}",
            report,
        )


# --------------------------------------------------------------------------------------- writing


def write_hugging_face(checkpoint: BertCheckpoint, folder: Path, allowance: Allowance) -> Report:
    """Writes what `transformers` loads with `AutoModel...` and `AutoTokenizer.from_pretrained(folder)`.

    Args:
      checkpoint: the model; only the tensors that it has are written.
      folder: an empty folder.
      allowance: the settings that this format cannot express: `masked_lm_settings`, `pooler_hidden_act`;
        for DistilBERT also `layer_norm_eps` and the segment table.

    Returns:
      The report of the writing.

    Raises:
      ValueError: for settings that the class of transformers does not have, and for a task that has no class.
    """
    report = Report(FORMAT, str(folder))
    require_settings(checkpoint, "transformers", allowance, report)
    values = build_config(checkpoint)
    architecture, model_type = values["architectures"][0], values["model_type"]
    family = FAMILIES[model_type]
    if has_own_pooler(architecture):
        require_pooler(checkpoint, family.pooler_hidden_act, architecture, allowance, report)
    if model_type == "distilbert":
        _require_distilbert(checkpoint, allowance, report)
    parts, of_encoder = stored_parts(architecture, checkpoint.parts), {"body"}
    if model_type == "bert":  # its pooler is part of the encoder, the others' of a head
        parts, of_encoder = with_pooler(parts), {"body", POOLER.name}
    prefix = "" if architecture.endswith("Model") else f"{model_type}."
    tensors = {}
    for row in rows(family.table, parts, checkpoint.encoder.num_hidden_layers):
        outside = row.outside
        if part_of(row.kbert) in of_encoder:
            outside = f"{prefix}{outside}"
        if row.kbert not in checkpoint.tensors:
            if row.kbert in checkpoint.shapes:
                report.not_in_file.append((row.kbert, "never trained, not written"))
            continue
        tensors[outside] = checkpoint.tensors[row.kbert].as_float32(row.transposed)
        report.taken.append((outside, row.kbert, "transposed" if row.transposed else "as it is"))
    left = checkpoint.tensors.keys() - {kbert for _, kbert, _ in report.taken}
    report.left_over.extend((name, f"{architecture} has no such variable") for name in sorted(left))
    write_safetensors(folder / "model.safetensors", tensors, {"format": "pt"})
    write_json(values, folder / CONFIG_FILE)
    write_tokenizer(folder, checkpoint.vocabulary, checkpoint.max_seq_length)
    hidden_act = values.get("hidden_act", values.get("activation"))
    report.note(f"architecture {architecture}; hidden_act {hidden_act!r}")
    return report


def _require_distilbert(checkpoint, allowance, report):
    """Refuses what DistilBERT does not have: another epsilon than its own, and vectors of segments."""
    if checkpoint.encoder.layer_norm_eps != EncoderConfig.layer_norm_eps:
        allowance.conflict(
            "layer_norm_eps",
            f"layer_norm_eps={checkpoint.encoder.layer_norm_eps}, but DistilBERT always takes "
            f"{EncoderConfig.layer_norm_eps} and would give other numbers",
            report,
        )
    name = "embeddings/token_type_embeddings"
    segments = checkpoint.tensors.get(name)
    if segments is not None and segments.read().any():
        allowance.conflict(
            name,
            f"{name} is not zero, because it was trained, but DistilBERT has no segments and would give "
            "other numbers; a training with frozen.embeddings=true, or with adapters, leaves it at zero",
            report,
        )
