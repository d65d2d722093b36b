"""Reads TF2 checkpoints of Model Garden (official/nlp), and TF Hub's BERT encoders, which are made of them.

Both are object checkpoints: TensorFlow stores the graph of the Python objects beside the tensors. Variables
are found by the full names in it. No graph of a SavedModel is loaded or run.

Source of the names: tensorflow/models, official/nlp/modeling (BertEncoder, BertClassifier,
BertTokenClassifier, BertSpanLabeler, BertPretrainerV2), official/nlp/tools/export_tfhub_lib.py; those of 2019
are in official/nlp/bert/tf2_encoder_checkpoint_converter.py.
"""

import re
from pathlib import Path

from kbert.checkpoints import TF_HUB
from kbert.checkpoints.bert_checkpoint import BertCheckpoint
from kbert.checkpoints.bert_config_file import (
    CONFIG_FILE,
    LABELS,
    PROBLEM_TYPE,
    read_encoder,
    read_labels,
    read_problem_type,
)
from kbert.checkpoints.conversion.checks import check_sizes, decide_casing
from kbert.checkpoints.conversion.matching import Stored, guess_task, join_attention_heads, match
from kbert.checkpoints.conversion.names import MODEL_GARDEN
from kbert.checkpoints.google_tf1 import (
    MOVING_AVERAGE,
    NOT_IN_FILE,
    checkpoint_prefix,
    read_tensors,
    require_beside,
)
from kbert.checkpoints.google_vocabulary import TEXT_KEYS, read_google_vocabulary, read_rules
from kbert.checkpoints.model_garden_params import Params
from kbert.checkpoints.model_variables import shapes_of_file
from kbert.checkpoints.other_files import ALBERT
from kbert.checkpoints.report import Report
from kbert.config import EncoderConfig, from_dict
from kbert.files.json_file import read_json_object
from kbert.files.json_values import shown, shown_name
from kbert.heads.parts import MASKED_LM
from kbert.tasks import TASKS
from kbert.tokenization.vocabulary import VOCABULARY_FILE, read_pieces

SAVED_MODEL = "saved_model.pb"
_OBJECT_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"
_SUFFIX = "/.ATTRIBUTES/VARIABLE_VALUE"
# Names of 2019's releases -> today's.
_OLD_NAMES = (
    (r"embedding_postprocessor/(type|position)_embeddings$", r"\1_embeddings/embeddings"),
    (r"^(.*/)?position_embeddings/", "position_embedding/"),
    (r"embedding_postprocessor/layer_norm", "embeddings/layer_norm"),
    (r"(^|/)encoder/layer_", r"\1transformer/layer_"),
    (r"/self_attention_output/", "/self_attention/attention_output/"),
)
_BODY = re.compile(
    r"(?:^|/)((?:word_embeddings|position_embedding|type_embeddings)/embeddings|embeddings/layer_norm/\w+|"
    r"embedding_projection/\w+|transformer/layer_\d+/.+|pooler_transform/\w+)$"
)
_OLD_HEAD = "old_head/"  # until `_name_old_head` knows which it is
# Of a head's variable: its path in the graph of objects, a blank, its full name -> the name in the table.
# Paths depend on who saved the model, so they only tell heads of the same full name. A head's own pooler
# stands in for the encoder's; a "." in the name of an object is ".." in the path.
_HEADS = tuple(
    (re.compile(pattern), name)
    for pattern, name in (
        (r"[ /]cls/predictions/transform/dense/(\w+)$", r"masked_lm/dense/\1"),
        (r"[ /]cls/predictions/transform/LayerNorm/(\w+)$", r"masked_lm/layer_norm/\1"),
        (r"[ /]cls/predictions/output_bias/bias$", "masked_lm/output_bias"),
        (r"[ /]pooler_dense/(\w+)$", r"own_pooler/\1"),
        (r"\.\.pooler_dense/(\w+) ", r"own_pooler/\1"),
        (r"[ /]next_sentence/logits/(\w+)$", r"next_sentence/logits/\1"),
        (r"layer_with_weights-1/\w+ predictions/transform/logits/(\w+)$", r"token_classification/logits/\1"),
        (r" predictions/transform/logits/(\w+)$", rf"{_OLD_HEAD}\1"),
        (r"^(?:model/)?layer_with_weights-1/(kernel|bias) ", rf"{_OLD_HEAD}\1"),  # a Dense of one's own
        (r"/logits/(\w+)$", r"classification/logits/\1"),
    )
)
_NOT_WEIGHTS = re.compile(r"^(optimizer|save_counter|global_step|step|train_step)(/|$)|/\.OPTIMIZER_SLOT/")
_AVERAGE = "/.OPTIMIZER_SLOT/optimizer/average"
_MLM = re.compile(r"(?:^|/)mlm/")  # what TF Hub's encoders carry beside their own variables
# The encoders that Google published for TensorFlow 2: number of pieces -> beginning of the name.
_VOCABULARIES = {
    30522: "bert_en_uncased",
    28996: "bert_en_cased",
    119547: "bert_multi_cased",
    21128: "bert_zh",
}
_LARGE = (24, 1024, 16)


def is_object_checkpoint(prefix: Path) -> bool:
    """Whether a checkpoint is one of TensorFlow 2's objects; the index names the graph of objects first."""
    with Path(f"{prefix}.index").open("rb") as file:
        return _OBJECT_GRAPH.encode() in file.read(4096)


def read_model_garden(path: Path, do_lower_case: bool | None, report: Report) -> BertCheckpoint:
    """Reads an encoder, classifier or pretrainer of Model Garden, or an encoder of TF Hub.

    Args:
      path: the folder or prefix of a checkpoint, with vocab.txt and perhaps bert_config.json beside it; or
        the folder of a SavedModel, whose vocabulary is in assets/.
      do_lower_case: the casing, needed only if nothing there says it.
      report: takes every name.

    Raises:
      ValueError: for anything that is missing, broken, or unknown to kbert. Settings are checked before any
        tensor is read.
    """
    is_hub = (path / SAVED_MODEL).is_file()
    # `detect_format` has found one.
    prefix: Path = path / "variables" / "variables" if is_hub else checkpoint_prefix(path)  # type: ignore[assignment]
    folder = path if is_hub else prefix.parent
    if is_hub:
        report.format = TF_HUB
    else:
        report.path = str(prefix)
        require_beside(prefix, VOCABULARY_FILE)
    tensors = read_tensors(prefix, "checkpoint of TensorFlow 2")
    stored, num_attention_heads = _by_table_names(tensors, report)
    file = folder / CONFIG_FILE
    values = read_json_object(file) if file.is_file() else {}
    own = {key: values.pop(key) for key in (LABELS, PROBLEM_TYPE, *TEXT_KEYS) if key in values}
    config = _config(file, values, stored, num_attention_heads, report)
    params = Params(folder)
    params.refuse_others(config.hidden_act, report)

    if is_hub:
        asset, casing = _asset(folder), _declared_casing(tensors)
        tokens, rules = read_pieces(asset), read_rules(own, file)
        vocabulary = decide_casing(tokens, str(asset), *casing, do_lower_case, report, **rules)
    else:
        vocabulary = read_google_vocabulary(folder, do_lower_case, report, own)
    check_sizes(vocabulary, config, str(folder), None, report)
    if name := published_name(config):
        report.note(f"sizes and vocabulary are those of {name} (TF Hub, Model Garden)")

    problem_type = read_problem_type(own, file)
    task, num_labels, heads = guess_task(stored, MODEL_GARDEN, problem_type, report)
    named = read_labels(own, num_labels, file) or params.class_names(num_labels, report)
    labels = named or tuple(map(str, range(num_labels)))
    if MASKED_LM.name in heads:
        config = params.with_masked_lm(config, report)
    shapes, spare = shapes_of_file(config, TASKS[task].from_labels(labels))
    optional = dict.fromkeys(spare, NOT_IN_FILE)
    return BertCheckpoint(
        source=str(path),
        encoder=config,
        task=task,
        labels=labels,
        vocabulary=vocabulary,
        tensors=match(
            stored, MODEL_GARDEN, config, shapes, optional, f"Model Garden checkpoint ({task})", report
        ),
        max_seq_length=config.max_position_embeddings,
        report=report,
        is_numbered=not named,
    )


def published_name(config: EncoderConfig) -> str | None:
    """What TF Hub and Model Garden call an encoder of these sizes; None for one that they did not publish.

    BERT-base and BERT-large are under `tensorflow/`, and the small ones, of 2 to 12 layers and 128 to 768
    wide, under `tensorflow/small_bert/`.
    """
    first = _VOCABULARIES.get(config.vocab_size)
    layers, hidden, heads = sizes = config.num_hidden_layers, config.hidden_size, config.num_attention_heads
    is_small = layers in range(2, 13, 2) and hidden in (128, 256, 512, 768) and heads == hidden // 64
    if first is None or not (sizes == _LARGE or is_small):
        return None
    return f"{first}_L-{layers}_H-{hidden}_A-{heads}"


def _by_table_names(tensors, report) -> tuple[Stored, int | None]:
    """The tensors by the names of the table, and the number of attention heads."""
    graph = _object_graph(tensors, report.path)
    full_names = {
        attribute.checkpoint_key: attribute.full_name for node in graph.nodes for attribute in node.attributes
    }
    stored, num_attention_heads = Stored({}), None
    for key, tensor in tensors.items():
        object_path = key.removesuffix(_SUFFIX)
        if key == _OBJECT_GRAPH or _NOT_WEIGHTS.search(object_path) or not tensor.is_float:
            is_average = _AVERAGE in object_path  # optimizer.ema of its configs
            report.left_over.append((key, MOVING_AVERAGE if is_average else "no weight of the model"))
            continue
        name = _table_name(object_path, full_names.get(key, ""))
        if name.startswith(f"{MASKED_LM.name}/") and _MLM.search(object_path):
            report.left_over.append((key, "the masked-LM head (.mlm) that an encoder of TF Hub carries"))
            continue
        _require_one(stored, name, key, report)
        if name.endswith("self_attention/query/kernel") and len(tensor.shape) == 3:
            num_attention_heads = tensor.shape[1]
        stored.tensors[name], stored.originals[name] = join_attention_heads(name, tensor), key
    _refuse_others(stored, full_names, report)
    _name_old_head(stored, tensors, full_names, report)
    own_pooler = [name for name in stored.tensors if name.startswith("own_pooler/")]
    for name in own_pooler:
        encoders = name.replace("own_pooler", "pooler_transform")
        if encoders in stored.tensors:
            del stored.tensors[encoders]
            report.left_over.append((stored.originals[encoders], "the head has a pooler of its own"))
        stored.tensors[encoders] = stored.tensors.pop(name)
        stored.originals[encoders] = stored.originals.pop(name)
    return stored, num_attention_heads


def _require_one(stored, name, key, report):
    """Raises ValueError for a second tensor of a name."""
    if name in stored.tensors:
        raise ValueError(
            f"{report.path}: {shown_name(key)} and {shown_name(stored.original(name))} are both {name}; "
            "give a checkpoint of one model."
        )


def _name_old_head(stored, keys, full_names, report):
    """Gives a head its name that is one dense layer, as those of TensorFlow 2.1 to 2.3: a classifier's, a
    tagger's and a span labeler's had the same full name and place. So it is with a layer of one's own.

    Beside a masked-LM head it is that of the next sentence. Otherwise the slots of the optimizer tell a
    classifier: it alone reads the pooler.
    """
    if f"{_OLD_HEAD}kernel" not in stored.tensors:
        return
    slots = {key.partition("/.OPTIMIZER_SLOT/")[0] for key in keys if "/.OPTIMIZER_SLOT/" in key}
    body, pooler = (
        stored.originals.get(f"{name}/kernel", "").removesuffix(_SUFFIX) in slots
        for name in ("transformer/layer_0/output", "pooler_transform")
    )
    full_name = full_names.get(stored.originals[f"{_OLD_HEAD}kernel"], "")
    is_pair = stored.tensors[f"{_OLD_HEAD}kernel"].shape[-1:] == (2,)
    head = "token_classification" if body else "classification"
    head = "span" if is_pair and full_name.startswith("predictions/") else head
    head = "classification" if pooler else head
    if f"{MASKED_LM.name}/dense/kernel" in stored.tensors:
        head = "next_sentence"
    elif not (body or pooler):
        report.warn(
            f"{report.path}: a classifier of texts, a tagger and a span labeler may all have the head "
            f"{shown_name(full_name)}, and no optimizer's slots tell which it is; read as {head}"
        )
    for name in [name for name in stored.tensors if name.startswith(_OLD_HEAD)]:
        own = name.replace(_OLD_HEAD, f"{head}/logits/")
        _require_one(stored, own, stored.originals[name], report)
        stored.tensors[own] = stored.tensors.pop(name)
        stored.originals[own] = stored.originals.pop(name)


def _object_graph(tensors, path):
    from google.protobuf.message import DecodeError
    from tensorflow.core.protobuf import trackable_object_graph_pb2

    if _OBJECT_GRAPH not in tensors:
        raise ValueError(
            f"{path} is a SavedModel of TF1, as modules of TF Hub's first format are: put the model's "
            f"bert_config.json and vocab.txt (often in {path}/assets) into {path}/variables, and "
            "give that folder."
        )
    try:
        return trackable_object_graph_pb2.TrackableObjectGraph.FromString(tensors[_OBJECT_GRAPH].read())
    except (DecodeError, TypeError):
        raise ValueError(
            f"{path} has no graph of objects that can be read; it is damaged: download it again."
        ) from None


def _table_name(object_path, full_name):
    for old, new in _OLD_NAMES:
        full_name = re.sub(old, new, full_name)
    if body := _BODY.search(full_name):
        return body[1]
    for pattern, name in _HEADS:
        if head := pattern.search(f"{object_path} {full_name}"):
            return head.expand(name)
    return object_path


def _refuse_others(stored, full_names, report):
    """Says what a checkpoint is that is no BERT encoder of Model Garden."""
    if (
        "word_embeddings/embeddings" in stored.tensors
        and "transformer/layer_0/output/kernel" in stored.tensors
    ):
        return
    names = [full_names.get(key) or key for key in stored.originals.values()]
    if any("layer_._" in name for name in names):
        raise ValueError(
            f"{report.path} is a model of transformers' TensorFlow classes without its config; in Python "
            "with transformers 4, load it into the class that made it (from_pretrained, or load_weights) and "
            "write it by model.save_pretrained(FOLDER); then give FOLDER."
        )
    if not names:
        what = "without weights, such as a preprocessor of TF Hub"
    elif any("transformer/self_attention" in name or "albert" in name for name in names):
        what = ALBERT
    else:
        what = f"without a BERT encoder of Model Garden or TF Hub (it holds {shown(names[:3])})"
    raise ValueError(f"{report.path} is a checkpoint {what}; give one of a BERT encoder.")


def _config(file, values, stored, num_attention_heads, report) -> EncoderConfig:
    """From bert_config.json; without one, from the shapes: nothing else differs among these encoders."""
    tensors = stored.tensors
    if file.is_file():
        config = read_encoder(values, file, report)
        if num_attention_heads not in (None, config.num_attention_heads):
            raise ValueError(
                f"{file} says num_attention_heads={config.num_attention_heads}, but the checkpoint has "
                f"{num_attention_heads}; use config and weights of one model."
            )
        return config
    try:
        vocab_size, width = tensors["word_embeddings/embeddings"].shape
        projection = tensors.get("embedding_projection/kernel")
        values = {
            "vocab_size": vocab_size,
            "hidden_size": projection.shape[1] if projection else width,
            "embedding_size": width,
            "num_hidden_layers": len({name for name in tensors if name.endswith("/output_layer_norm/gamma")}),
            "num_attention_heads": num_attention_heads,
            "intermediate_size": tensors["transformer/layer_0/intermediate/kernel"].shape[1],
            "max_position_embeddings": tensors["position_embedding/embeddings"].shape[0],
            "type_vocab_size": tensors["type_embeddings/embeddings"].shape[0],
        }
    except (KeyError, ValueError, IndexError) as error:
        raise ValueError(f"{report.path} lacks a table of an encoder ({error}); download it again.") from None
    report.note("no bert_config.json: sizes from the shapes, activation and epsilon those of these encoders")
    return from_dict(EncoderConfig, values, where=report.path)


def _asset(folder):
    files = [file for file in sorted((folder / "assets").glob("[!.]*")) if file.is_file()]
    if len(files) != 1:
        raise ValueError(
            f"{folder / 'assets'} has {len(files)} files; expected the vocabulary of an encoder, alone: "
            "a SavedModel of TF Hub with WordPieces."
        )
    return files[0]


def _declared_casing(tensors) -> tuple[bool | None, str]:
    """(do_lower_case, where it stands) of a SavedModel of TF Hub."""
    stored = tensors.get(f"do_lower_case{_SUFFIX}")
    return (None, "") if stored is None else (bool(stored.read()), "the SavedModel's variable do_lower_case")
