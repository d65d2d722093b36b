"""Google's TF1 checkpoints, read and written without a graph: weights, bert_config.json, vocab.txt."""

import dataclasses
import errno
import glob
import math
import re
from pathlib import Path

from kbert.checkpoints.allowance import Allowance
from kbert.checkpoints.bert_checkpoint import BertCheckpoint
from kbert.checkpoints.conversion.encoder_settings import (
    require_no_projection,
    require_pooler,
    require_settings,
)
from kbert.checkpoints.conversion.matching import Stored, match
from kbert.checkpoints.conversion.names import GOOGLE_TF1, rows
from kbert.checkpoints.conversion.own_keys import own_keys, take_own_keys
from kbert.checkpoints.conversion.vocabulary_checks import check_sizes, decide_casing
from kbert.checkpoints.format_names import GOOGLE as FORMAT
from kbert.checkpoints.model_variables import model_shapes, parts_of, with_pooler
from kbert.checkpoints.report import Report
from kbert.config import EncoderConfig, from_dict
from kbert.files.full_disk import code_of_full_disk
from kbert.files.json_file import read_json_object
from kbert.files.json_values import json_texts, json_value, require_once, shown_name
from kbert.files.stored_tensor import StoredTensor
from kbert.files.whole_file import write_json
from kbert.heads.parts import MASKED_LM, POOLER
from kbert.tasks import TASKS
from kbert.tokenization.vocabulary import Vocabulary

CONFIG_FILE = "bert_config.json"
CHECKPOINT_NAME = "bert_model.ckpt"
_INDEX = ".index"
# The variables of optimizers: BERT's own (optimization.py, `adam_m`), LAMB's, and those of TensorFlow's
# AdamOptimizer; and the counters of training.
_SLOTS = re.compile(r".+/(adam_m|adam_v|lamb_m|lamb_v|Adam|Adam_1)|beta[12]_power")
_COUNTERS = ("global_step",)
# Like tokenization.py, `validate_case_matches_checkpoint`: the folder's name shows the casing.
_CASED_FOLDER = re.compile(r"(^|[_-])(multi_)?cased([_-]|$)")
_UNCASED_FOLDER = re.compile(r"(^|[_-])uncased([_-]|$)|^(multilingual|chinese)_L-")
# Keys that kbert adds to bert_config.json; the original's reader accepts any key and uses only its own.
_OWN_KEYS = ("do_lower_case", "labels")


def checkpoint_prefix(path) -> Path | None:
    """The prefix of TensorFlow's checkpoint at `path`: a prefix, its `.index` file, or a folder with one.

    Returns None when there is none. Raises ValueError for a folder that holds several.
    """
    path = Path(path)
    if path.name.endswith(_INDEX) and path.is_file():
        return path.with_name(path.name.removesuffix(_INDEX))
    if Path(f"{path}{_INDEX}").is_file():
        return path
    if not path.is_dir():
        return None
    prefixes = [Path(str(file).removesuffix(_INDEX)) for file in sorted(path.glob(f"*{_INDEX}"))]
    if path / CHECKPOINT_NAME in prefixes:
        return path / CHECKPOINT_NAME
    if len(prefixes) > 1:
        raise ValueError(
            f"{path} holds {len(prefixes)} checkpoints of TensorFlow; give one of them: "
            f"{', '.join(str(prefix) for prefix in prefixes[:4])}."
        )
    return prefixes[0] if prefixes else None


def read_google(
    path, do_lower_case: bool | None = None, allowance: Allowance | None = None
) -> BertCheckpoint:
    """Reads a checkpoint of google-research/bert: pretrained, or fine-tuned by its run_*.py.

    Args:
      path: the folder, or the prefix `.../bert_model.ckpt`; bert_config.json and vocab.txt lie beside it.
      do_lower_case: the casing. If it is None, bert_config.json, the folder's name or the vocabulary shows
        it.
      allowance: names that may stay unmatched.

    Raises:
      ValueError: for anything that is missing, broken, or unknown to kbert. Settings are checked before any
        tensor is read.
    """
    prefix, allowance = checkpoint_prefix(path), allowance or Allowance()
    if prefix is None:
        raise ValueError(f"{path} holds no TF1 checkpoint (no {CHECKPOINT_NAME}.index).")
    folder = prefix.parent
    report = Report(FORMAT, str(prefix))
    values = read_json_object(folder / CONFIG_FILE)
    own = {key: values.pop(key) for key in _OWN_KEYS if key in values}
    recorded = take_own_keys(values, folder / CONFIG_FILE)
    config = from_dict(EncoderConfig, values, where=str(folder / CONFIG_FILE))
    require_no_projection(config, folder / CONFIG_FILE)

    tokens = Vocabulary.from_file(folder / "vocab.txt", do_lower_case=True).tokens
    declared, declared_by = casing_of_folder(folder, own)
    vocabulary = decide_casing(
        tokens, str(folder / "vocab.txt"), declared, declared_by, do_lower_case, allowance, report
    )
    check_sizes(vocabulary, config, str(folder), recorded.vocabulary_size, allowance, report)

    stored = _stored(read_tensors(prefix, "TF1 checkpoint"))
    task, required, num_labels = _task(stored, report)
    labels = json_texts(own, "labels", folder / CONFIG_FILE) or [str(index) for index in range(num_labels)]
    require_once(labels, f"{folder / CONFIG_FILE}: labels")
    if len(labels) != num_labels:
        raise ValueError(
            f"{folder / CONFIG_FILE} names {len(labels)} labels, but the classifier has {num_labels} "
            "outputs; use config and weights of one model."
        )
    parts = with_pooler(required)
    shapes = model_shapes(config, parts.values())
    optional = {
        name: "not in this checkpoint; initialised if a kbert model has it"
        for part in parts.values()
        if part.name not in required
        for name in part.shapes(config)
    }
    optional |= recorded.may_be_missing()
    table_rows = rows(GOOGLE_TF1, parts, config.num_hidden_layers)
    tensors = match(stored, table_rows, shapes, optional, f"BERT checkpoint ({task})", allowance, report)
    return BertCheckpoint(
        source=str(prefix),
        encoder=config,
        task=task,
        labels=tuple(labels),
        vocabulary=vocabulary,
        tensors=tensors,
        max_seq_length=config.max_position_embeddings,
        report=report,
    )


def casing_of_folder(folder: Path, own: dict) -> tuple[bool | None, str]:
    """(do_lower_case, what says it): the config's own key, or the name of the folder; else (None, "")."""
    do_lower_case = json_value(own, "do_lower_case", bool, folder / CONFIG_FILE)
    if do_lower_case is not None:
        return do_lower_case, CONFIG_FILE
    name = folder.resolve().name
    if _UNCASED_FOLDER.search(name):
        return True, f"the folder's name {name!r}"
    if _CASED_FOLDER.search(name):
        return False, f"the folder's name {name!r}"
    return None, ""


def read_tensors(prefix: Path, kind: str) -> dict[str, StoredTensor]:
    """The tensors of a TensorFlow checkpoint by name; each is read when it is asked for.

    Args:
      prefix: the path without `.index`.
      kind: what the checkpoint is, for the error message.

    Raises:
      ValueError: when it is not whole, also later, when a tensor is read.
    """
    import tensorflow as tf

    broken = f"{prefix} is not a whole {kind}"
    try:
        reader = tf.train.load_checkpoint(str(prefix))
        shapes, dtypes = reader.get_variable_to_shape_map(), reader.get_variable_to_dtype_map()
        _require_room(prefix, shapes, dtypes)
    except _reading_errors(tf) as error:
        raise ValueError(f"{broken} ({_first_line(error)}); download it again.") from None

    def reader_of(name):
        def read():
            try:
                return reader.get_tensor(name)
            except _reading_errors(tf) as error:
                raise ValueError(
                    f"{broken} ({shown_name(name)}: {_first_line(error)}); download it again."
                ) from None

        return read

    return {
        name: StoredTensor(tuple(shapes[name]), dtypes[name].name, reader_of(name)) for name in sorted(shapes)
    }


def _require_room(prefix, shapes, dtypes):
    """Refuses a tensor that is larger than the data files: TensorFlow allocates memory before it reads."""
    size = sum(file.stat().st_size for file in prefix.parent.glob(f"{glob.escape(prefix.name)}.data-*"))
    for name, shape in shapes.items():
        if math.prod(shape) * dtypes[name].size > size:
            raise ValueError(f"{shown_name(name)} of shape {shape} does not fit into {size} bytes of data")


def _reading_errors(tf):
    """What TensorFlow's reader raises for files that are cut short, damaged or missing."""
    return tf.errors.OpError, RuntimeError, ValueError, IndexError


def _first_line(error):
    return str(error).split("\n")[0].rstrip(".")


def _stored(tensors) -> Stored:
    ignored = {name: "an optimizer's slot" for name in tensors if _SLOTS.fullmatch(name)}
    ignored |= {name: "a counter of training steps" for name in _COUNTERS if name in tensors}
    return Stored(tensors, ignored=ignored)


def _task(stored, report):
    """(task, its parts, which must be complete, number of labels), according to the heads in the file."""
    names = stored.tensors
    heads = {part for part in GOOGLE_TF1 if GOOGLE_TF1[part][0].outside in names} - {"body", POOLER.name}
    num_labels = 0
    for fine_tuned in ({"span"}, {"classification"}):  # pretraining heads may still be in the file
        heads = fine_tuned if fine_tuned <= heads else heads
    if "classification" in heads:
        num_labels = names[GOOGLE_TF1["classification"][0].outside].shape[0]
    reads_pooled = heads - {"span", MASKED_LM.name} or not heads
    task = TASKS.of_parts(heads | ({POOLER.name} if reads_pooled else set()))
    if num_labels == 1:
        task = TASKS.with_problem_type(task, "regression")
    report.note(f"heads: {', '.join(sorted(heads)) or 'none'}; read as kbert's task {task!r}")
    return task, parts_of(task, tuple(map(str, range(num_labels)))), num_labels


# --------------------------------------------------------------------------------------- writing


def write_google(checkpoint: BertCheckpoint, folder: Path, allowance: Allowance) -> Report:
    """Writes bert_model.ckpt.*, bert_config.json and vocab.txt as google-research/bert reads them.

    Args:
      checkpoint: the model; only the tensors that it has are written.
      folder: an empty folder.
      allowance: what the original's code does not have and the user allows: `layer_norm_eps`, `hidden_act`,
        `masked_lm_settings`, `pooler_hidden_act`, and kbert's names of variables.

    Returns:
      The report of the writing.

    Raises:
      ValueError: for a model whose numbers the original's code would not reproduce.
    """
    report = Report(FORMAT, str(folder))
    config = checkpoint.encoder
    require_no_projection(config, "the original's code")
    if config.layer_norm_eps != EncoderConfig.layer_norm_eps:
        allowance.conflict(
            "layer_norm_eps",
            f"layer_norm_eps={config.layer_norm_eps}, but the original's code always takes "
            f"{EncoderConfig.layer_norm_eps} and would give other numbers",
            report,
        )
    if config.hidden_act == "gelu_erf":
        allowance.conflict(
            "hidden_act",
            "hidden_act='gelu_erf', which the original's code does not know: its 'gelu' is the tanh form",
            report,
        )
    require_settings(checkpoint, "the original's code", allowance, report)
    require_pooler(checkpoint, "tanh", "the original's code", allowance, report)
    parts = with_pooler(checkpoint.parts)
    table_rows = {row.kbert: row for row in rows(GOOGLE_TF1, parts, config.num_hidden_layers)}
    arrays = {}
    for name, tensor in checkpoint.tensors.items():
        row = table_rows.get(name)
        if row is None:
            allowance.conflict(name, f"the original has no variable for {name}", report)
            report.left_over.append((name, "the original has no variable for it; allowed"))
            continue
        arrays[row.outside] = tensor.as_float32(row.transposed).read()
        report.taken.append((row.outside, name, "transposed" if row.transposed else "as it is"))
    report.not_in_file.extend((name, "never trained, not written") for name in checkpoint.missing)
    _save(folder / CHECKPOINT_NAME, arrays)

    values = dataclasses.asdict(config)
    for name in ("layer_norm_eps", "pooler_hidden_act"):  # the original has no such keys
        if values[name] == getattr(EncoderConfig, name):
            del values[name]
    values = {name: value for name, value in values.items() if value is not None}
    values["do_lower_case"] = checkpoint.vocabulary.do_lower_case
    if checkpoint.labels:
        values["labels"] = list(checkpoint.labels)
    write_json(values | own_keys(checkpoint), folder / CONFIG_FILE)
    checkpoint.vocabulary.write(folder / "vocab.txt")
    return report


def _save(prefix, arrays):
    import tensorflow as tf

    names = sorted(arrays)
    try:
        tf.raw_ops.SaveV2(
            prefix=str(prefix),
            tensor_names=names,
            shape_and_slices=[""] * len(names),
            tensors=[tf.constant(arrays[name]) for name in names],
        )
    except tf.errors.OpError as error:  # a full disk, most often
        # Removes the name of TensorFlow's operation at both ends of the message.
        reason = re.sub(r"\{\{.*?\}\} | \[Op:.*?\]", "", _first_line(error))
        raise OSError(code_of_full_disk(error) or errno.EIO, reason) from None
