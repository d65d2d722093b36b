"""Google's TF1 checkpoints, read and written without a graph: weights, bert_config.json, vocab.txt."""

import contextlib
import errno
import functools
import glob
import math
import re
from pathlib import Path

from kbert.checkpoints.bert_checkpoint import BertCheckpoint
from kbert.checkpoints.bert_config_file import (
    CONFIG_FILE,
    LABELS,
    PROBLEM_TYPE,
    encoder_values,
    read_encoder,
    read_labels,
    read_problem_type,
)
from kbert.checkpoints.conversion.checks import (
    check_sizes,
    require_bert,
    require_berts_vocabulary,
    require_googles_rules,
    require_same,
    require_same_masked_lm,
)
from kbert.checkpoints.conversion.matching import Stored, guess_task, match
from kbert.checkpoints.conversion.names import GOOGLE_TF1, rows
from kbert.checkpoints.conversion.own_keys import casing_key, own_keys, pop_own_keys
from kbert.checkpoints.conversion.resizing import as_bert, with_zero_segment
from kbert.checkpoints.google_vocabulary import TEXT_KEYS, read_google_vocabulary
from kbert.checkpoints.model_variables import part_name, shapes_of_file, with_pooler
from kbert.checkpoints.other_files import ALBERT
from kbert.checkpoints.report import Report
from kbert.checks import SHORTEST_LENGTH
from kbert.config import EncoderConfig
from kbert.files.full_disk import full_disk_code
from kbert.files.json_file import read_json_object
from kbert.files.json_values import json_count, shown_name
from kbert.files.stored_tensor import StoredTensor
from kbert.files.tensorflow_index import require_readable
from kbert.files.whole_file import write_json
from kbert.heads.parts import POOLER
from kbert.tasks import TASKS
from kbert.tokenization.vocabulary import VOCABULARY_FILE

CHECKPOINT_NAME = "bert_model.ckpt"
_INDEX, _DATA = ".index", ".data-"
# The last part of the name of an optimizer's variable: BERT's own (optimization.py, `adam_m`), LAMB's, and
# those of TensorFlow's optimizers, which carry their name. Where the weight itself is there, any name behind
# it is one.
_SLOT = re.compile(r"(adam|lamb)_[mv]|\w*(Adam|LAMB|Momentum|RMSProp|Adagrad|Adafactor|Optimizer)\w*")
# Keys that kbert adds to bert_config.json; the original's reader accepts any key and uses only its own.
_LENGTH = "max_seq_length"
_OWN_KEYS = (LABELS, _LENGTH, PROBLEM_TYPE, *TEXT_KEYS)
# A part of the names in the index of another architecture's checkpoint -> what it is.
_OTHERS = {
    b"transformer/group_0/": f"{ALBERT}; give one of BERT",
    b"electra/": "of ELECTRA in the names of its authors; give it in Hugging Face's format, from the hub or "
    "by convert_electra_original_tf_checkpoint_to_pytorch.py of transformers 4",
}
_MOST_BYTES = 1 << 22  # of an index that are looked at
MOVING_AVERAGE = "a moving average of a weight"
_SLOT_OF_OPTIMIZER = "an optimizer's slot"
_OUTPUTS = ("output_weights", "output_bias")
NOT_IN_FILE = "not in this checkpoint; initialised if a kbert model has it"


def checkpoint_prefix(path) -> Path | None:
    """The prefix of TensorFlow's checkpoint at `path`: a prefix, its `.index` file, or a folder with one.

    Returns None when there is none. Raises ValueError for a folder that holds several, without names that
    begin with a dot: macOS puts one beside each file.
    """
    path = Path(path)
    if path.name.endswith(_INDEX) and path.is_file():
        return path.with_name(path.name.removesuffix(_INDEX))
    if Path(f"{path}{_INDEX}").is_file():
        return path
    if not path.is_dir():
        return None
    # Others write files of the ending .index too, such as faiss.
    names = {CHECKPOINT_NAME, *(file.name.rpartition(_DATA)[0] for file in path.glob(f"[!.]*{_DATA}*"))}
    names = {name for name in names if (path / f"{name}{_INDEX}").is_file()}
    if not names and (path / CONFIG_FILE).is_file() and not (path / "config.json").is_file():
        names = {file.name.removesuffix(_INDEX) for file in path.glob(f"[!.]*{_INDEX}")}  # without its data
    prefixes = [path / name for name in sorted(names, key=lambda name: (len(name), name))]
    if len(prefixes) > 1:
        raise ValueError(
            f"{path} holds {len(prefixes)} checkpoints of TensorFlow; give one of them, such as "
            f"{' or '.join(str(prefix) for prefix in prefixes[-2:])}."
        )
    return prefixes[0] if prefixes else None


def read_google(path: Path, do_lower_case: bool | None, report: Report) -> BertCheckpoint:
    """Reads a checkpoint of google-research/bert: pretrained, or fine-tuned by its run_*.py.

    Args:
      path: the folder, or the prefix `.../bert_model.ckpt`; bert_config.json and vocab.txt lie beside it.
      do_lower_case: the casing. If it is None, bert_config.json, a tokenizer_config.json beside it, the
        folder's name or the vocabulary shows it.
      report: takes every name.

    Raises:
      ValueError: for anything that is missing, broken, or unknown to kbert. Settings are checked before any
        tensor is read.
    """
    prefix: Path = checkpoint_prefix(path)  # type: ignore[assignment]  # `detect_format` has found one
    report.path, folder = str(prefix), prefix.parent
    with Path(f"{prefix}{_INDEX}").open("rb") as file:
        names = file.read(_MOST_BYTES)
    if other := next((what for name, what in _OTHERS.items() if name in names), None):
        raise ValueError(f"{prefix} is a checkpoint {other}.")
    require_beside(prefix, CONFIG_FILE, VOCABULARY_FILE)
    config_file = folder / CONFIG_FILE
    values = read_json_object(config_file)
    own = {key: values.pop(key) for key in _OWN_KEYS if key in values}
    recorded = pop_own_keys(values, config_file)
    length = json_count(own, _LENGTH, config_file, SHORTEST_LENGTH)
    config = read_encoder(values, config_file, report)
    require_bert(config, config_file)

    vocabulary = read_google_vocabulary(folder, do_lower_case, report, own)
    check_sizes(vocabulary, config, str(folder), recorded.vocabulary_size, report)

    tensors = read_tensors(prefix, "TF1 checkpoint")
    tensors, originals = _without_wrapper(tensors, report)
    stored = Stored(tensors, originals, _training_state(tensors))
    _refuse_taggers(stored, own, report)
    problem_type = read_problem_type(own, config_file)
    task, num_labels, _ = guess_task(stored, GOOGLE_TF1, problem_type, report)
    named = read_labels(own, num_labels, config_file)
    labels = named or tuple(map(str, range(num_labels)))
    shapes, spare = shapes_of_file(config, TASKS[task].from_labels(labels))
    optional = dict.fromkeys(spare, NOT_IN_FILE)
    optional |= recorded.may_be_missing()
    checkpoint = BertCheckpoint(
        source=str(prefix),
        encoder=config,
        task=task,
        labels=labels,
        vocabulary=vocabulary,
        tensors=match(stored, GOOGLE_TF1, config, shapes, optional, f"BERT checkpoint ({task})", report),
        max_seq_length=min(length or config.max_position_embeddings, config.max_position_embeddings),
        report=report,
        is_numbered=not named,
    )
    return with_zero_segment(checkpoint)


def require_beside(prefix: Path, *names: str):
    """Refuses a checkpoint without these files beside it. ValueError that names those that are missing."""
    missing = [name for name in names if not (prefix.parent / name).is_file()]
    if missing:
        raise ValueError(
            f"{prefix} needs {' and '.join(missing)} beside it, in {prefix.parent}; copy "
            f"{'them' if missing[1:] else 'it'} from the model that this one was trained from."
        )


def _without_wrapper(tensors, report):
    """(name without the scope that a program put before all of them -> tensor, name -> name in the file)."""
    table = GOOGLE_TF1["body"][0].outside
    scopes = [name.removesuffix(table) for name in tensors if name.endswith(f"/{table}")]
    if len(scopes) != 1 or table in tensors:
        return tensors, {}
    originals = {name.removeprefix(scopes[0]): name for name in tensors}
    if len(originals) < len(tensors):
        return tensors, {}
    report.note(f"the names begin with {shown_name(scopes[0])}, which is taken off")
    return {name: tensors[original] for name, original in originals.items()}, originals


def _training_state(tensors):
    """Name -> what it is, of variables that are not the model's: slots of optimizers, single numbers."""
    state = {}
    for name, tensor in tensors.items():
        owner, _, last = name.rpartition("/")
        if owner and last == "ExponentialMovingAverage":
            state[name] = MOVING_AVERAGE
        elif owner and (owner in tensors or _SLOT.fullmatch(last)):
            state[name] = _SLOT_OF_OPTIMIZER
        elif tensor.shape == ():  # global_step, beta1_power, loss_scale, bad_steps
            state[name] = (
                f"a {'counter of training steps' if last == 'global_step' else 'number of the training'}"
            )
    return state


def _refuse_taggers(stored, own, report):
    """Refuses the head of a tagger, which others save under the names of run_classifier.py's.

    A tagger reads the vectors of tokens, so the optimizer has slots for its encoder and none for its pooler.

    Source: dmis-lab/biobert, run_ner.py, `create_model`; google-research/bert, optimization.py, which leaves
    out variables without a gradient.
    """
    if _OUTPUTS[0] not in stored.tensors:
        return
    slots = [name for name, reason in stored.ignored.items() if reason == _SLOT_OF_OPTIMIZER]
    scopes = (f"{_OUTPUTS[0]}/", "bert/encoder/", "bert/pooler/")
    head, encoder, pooler = (any(name.startswith(scope) for name in slots) for scope in scopes)
    if head and encoder and not pooler:
        report.conflict(
            _OUTPUTS[0],
            f"{report.path}: {_OUTPUTS[0]} was trained without bert/pooler, which has no slots of an "
            "optimizer: it is a tagger's head, such as that of BioBERT's run_ner.py, and kbert reads "
            "run_classifier.py's; where it is allowed, the encoder is read alone",
        )
        for name in _OUTPUTS:
            if stored.tensors.pop(name, None) is not None:
                report.left_over.append((stored.original(name), "the head of a tagger; allowed"))
    elif not (pooler or "labels" in own):
        report.warn(
            f"{report.path}: {_OUTPUTS[0]} is read as run_classifier.py's head; that of a tagger, such as "
            "BioBERT's run_ner.py, has the same names",
            ", and is no classifier of texts",
        )


def read_tensors(prefix: Path, kind: str) -> dict[str, StoredTensor]:
    """The tensors of a TensorFlow checkpoint by name; each is read when it is asked for.

    Args:
      prefix: the path without `.index`.
      kind: what the checkpoint is, for the error message.

    Raises:
      ValueError: when it is not whole, also later, when a tensor is read.
    """
    import tensorflow as tf

    @contextlib.contextmanager
    def in_one_sentence(name=""):
        try:
            yield
        # What TensorFlow's reader raises for files that are cut short, damaged or missing.
        except (tf.errors.OpError, OSError, RuntimeError, ValueError, IndexError) as error:
            reason = f"{shown_name(name)}: {_first_line(error)}" if name else _first_line(error)
            raise ValueError(f"{prefix} is not a whole {kind} ({reason}); download it again.") from None

    with in_one_sentence():
        require_readable(prefix)
        reader = tf.train.load_checkpoint(str(prefix))
        shapes, dtypes = reader.get_variable_to_shape_map(), reader.get_variable_to_dtype_map()
        _require_room(prefix, shapes, dtypes)

    def read(name):
        with in_one_sentence(name):
            return reader.get_tensor(name)

    return {
        name: StoredTensor(tuple(shapes[name]), dtypes[name].name, functools.partial(read, name))
        for name in sorted(shapes)
    }


def _require_room(prefix, shapes, dtypes):
    """Refuses a tensor that is larger than the data files: TensorFlow allocates memory before it reads."""
    size = sum(file.stat().st_size for file in prefix.parent.glob(f"{glob.escape(prefix.name)}.data-*"))
    for name, shape in shapes.items():
        if math.prod(shape) * dtypes[name].size > size:
            raise ValueError(f"{shown_name(name)} of shape {shape} does not fit into {size} bytes of data")


def _first_line(error):
    return shown_name(str(error).split("\n")[0].rstrip("."))


# --------------------------------------------------------------------------------------- writing


def write_google(checkpoint: BertCheckpoint, folder: Path, report: Report):
    """Writes bert_model.ckpt.*, bert_config.json and vocab.txt as google-research/bert reads them.

    Args:
      checkpoint: the model; only the tensors that it has are written.
      folder: an empty folder.
      report: takes every name. What the original's code does not have and the user may allow:
        `layer_norm_eps`, `hidden_act`, `masked_lm_settings`, `pooler_hidden_act`, `strip_accents`,
        `tokenize_chinese_chars`, and kbert's names of variables.

    Raises:
      ValueError: for a model whose numbers the original's code would not reproduce.
    """
    checkpoint, library = as_bert(checkpoint), "the original's code"
    config = checkpoint.encoder
    require_bert(config, library)
    vocabulary = require_berts_vocabulary(checkpoint.vocabulary, library)
    require_same(checkpoint, "layer_norm_eps", EncoderConfig.layer_norm_eps, library, report)
    if config.hidden_act == "gelu_erf":
        report.conflict(
            "hidden_act",
            "hidden_act='gelu_erf', which the original's code does not know: its 'gelu' is the tanh form",
        )
    require_same_masked_lm(checkpoint, library, report)
    require_same(checkpoint, "pooler_hidden_act", "tanh", library, report)
    require_googles_rules(vocabulary, library, report)
    parts = with_pooler(checkpoint.parts)
    table_rows = {row.kbert: row for row in rows(GOOGLE_TF1, parts, config.num_hidden_layers)}
    arrays = {}
    for name, tensor in checkpoint.tensors.items():
        row = table_rows.get(name)
        if row is None:
            report.conflict(name, f"the original has no variable for {name}")
            report.left_over.append((name, "the original has no variable for it; allowed"))
            continue
        arrays[row.outside] = tensor.as_float32(row.transposed).read()
        report.taken.append((row.outside, name, "transposed" if row.transposed else "as it is"))
    report.not_in_file.extend((name, "never trained, not written") for name in checkpoint.missing)
    _save(folder / CHECKPOINT_NAME, arrays)

    values = encoder_values(config)
    values |= {"do_lower_case": vocabulary.do_lower_case, **vocabulary.rules.not_googles}
    has_head = any(part_name(name) not in ("body", POOLER.name) for _, name, _ in report.taken)
    if checkpoint.labels and has_head:
        values[LABELS] = list(checkpoint.labels)
        if checkpoint.problem_type:
            values[PROBLEM_TYPE] = checkpoint.problem_type
    if checkpoint.max_seq_length < config.max_position_embeddings:
        values[_LENGTH] = checkpoint.max_seq_length
    values |= casing_key(vocabulary)
    write_json(values | own_keys(checkpoint, has_head), folder / CONFIG_FILE)
    vocabulary.write(folder / VOCABULARY_FILE)


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
        raise OSError(full_disk_code(error) or errno.EIO, reason) from None
