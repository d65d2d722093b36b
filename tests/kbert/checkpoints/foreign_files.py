"""Checkpoints in other projects' formats, written by hand, independently of kbert's own tables and writers.

Random weights are made under kbert's names (which tests/kbert/reference_bert.py computes with, and
conversion/test_names.py compares with real models) and renamed by the code below.
"""

import collections
import json
import pickle
import re
import struct
import sys
import types
import zipfile

import numpy as np
from safetensors.numpy import save_file

from kbert.checkpoints.model_variables import model_shapes, part_name
from kbert.config import EncoderConfig
from kbert.tasks import TASKS

WORDS = "the play jump ##ing ##s a b c , . d e f g h i".split()
TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
SHAPE = {
    "vocab_size": len(TOKENS),
    "hidden_size": 8,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 12,
    "max_position_embeddings": 16,
    "type_vocab_size": 2,
}


def random_weights(heads=("pooler",), num_labels=3, seed=0, **changes):
    """kbert name -> float32 array: the body and the heads asked for."""
    config, labels = EncoderConfig(**SHAPE | changes), tuple(map(str, range(num_labels)))
    names = ("pretraining", "question_answering", "multi_label_classification")
    shapes: dict[str, tuple[int, ...]] = {}
    for task in names:
        if {*heads} <= {part_name(name) for name in shapes}:
            break  # each task's shapes are those of a model, which takes long to build
        shapes |= model_shapes(config, TASKS[task].from_labels(labels), heads)
    rng = np.random.default_rng(seed)
    return {
        name: rng.normal(1.0 if name.endswith("gamma") else 0.0, 0.3, shape).astype(np.float32)
        for name, shape in shapes.items()
    }


# -------------------------------------------------------------------------------- Hugging Face


# kbert's name without its end -> the other one.
_HUGGING_FACE = {
    r"layer_(\d+)/attention/(query|key|value)": r"bert.encoder.layer.\1.attention.self.\2",
    r"layer_(\d+)/attention/output": r"bert.encoder.layer.\1.attention.output.dense",
    r"layer_(\d+)/attention_layer_norm": r"bert.encoder.layer.\1.attention.output.LayerNorm",
    r"layer_(\d+)/feed_forward/(intermediate|output)": r"bert.encoder.layer.\1.\2.dense",
    r"layer_(\d+)/feed_forward_layer_norm": r"bert.encoder.layer.\1.output.LayerNorm",
    r"embeddings/layer_norm": "bert.embeddings.LayerNorm",
    r"embeddings": "bert.embeddings",
    r"pooler/dense": "bert.pooler.dense",
    r"masked_lm/transform": "cls.predictions.transform.dense",
    r"masked_lm/layer_norm": "cls.predictions.transform.LayerNorm",
    r"masked_lm": "cls.predictions",
    r"next_sentence/dense": "cls.seq_relationship",
    r"classification/dense": "classifier",
    r"span/dense": "qa_outputs",
}
_GOOGLE = {
    r"layer_(\d+)/attention/(query|key|value)": r"bert/encoder/layer_\1/attention/self/\2",
    r"layer_(\d+)/attention/output": r"bert/encoder/layer_\1/attention/output/dense",
    r"layer_(\d+)/attention_layer_norm": r"bert/encoder/layer_\1/attention/output/LayerNorm",
    r"layer_(\d+)/feed_forward/(intermediate|output)": r"bert/encoder/layer_\1/\2/dense",
    r"layer_(\d+)/feed_forward_layer_norm": r"bert/encoder/layer_\1/output/LayerNorm",
    r"embeddings/layer_norm": "bert/embeddings/LayerNorm",
    r"embeddings": "bert/embeddings",
    r"pooler/dense": "bert/pooler/dense",
    r"masked_lm/transform": "cls/predictions/transform/dense",
    r"masked_lm/layer_norm": "cls/predictions/transform/LayerNorm",
    r"masked_lm": "cls/predictions",
    r"next_sentence/dense": "cls/seq_relationship",
    r"classification/dense": "",
    r"span/dense": "cls/squad",
}
_MODEL_GARDEN = {
    r"layer_(\d+)/attention/(query|key|value)": r"transformer/layer_\1/self_attention/\2",
    r"layer_(\d+)/attention/output": r"transformer/layer_\1/self_attention/attention_output",
    r"layer_(\d+)/attention_layer_norm": r"transformer/layer_\1/self_attention_layer_norm",
    r"layer_(\d+)/feed_forward/(intermediate|output)": r"transformer/layer_\1/\2",
    r"layer_(\d+)/feed_forward_layer_norm": r"transformer/layer_\1/output_layer_norm",
    r"embeddings/layer_norm": "embeddings/layer_norm",
    r"embeddings/projection": "embedding_projection",
    r"embeddings": "embeddings",
    r"pooler/dense": "pooler_transform",
}


def _renamed(name, table):
    """(the other name without its end, the end); None for the first where the table has none."""
    stem, end = name.rsplit("/", 1)
    matches = ((re.fullmatch(pattern, stem), theirs) for pattern, theirs in table.items())
    return next((match.expand(theirs) for match, theirs in matches if match), None), end


def hugging_face_names(weights, prefix="bert."):
    """Hugging Face name -> array, kernels transposed."""
    ends = {"kernel": "weight", "gamma": "weight", "beta": "bias", "output_bias": "bias"}
    tensors = {}
    for name, value in weights.items():
        stem, end = _renamed(name, _HUGGING_FACE)
        end = f"{end}.weight" if end.endswith("_embeddings") else ends.get(end, end)
        value = np.ascontiguousarray(value.T if name.endswith("kernel") else value)
        tensors[f"{stem}.{end}".replace("bert.", prefix, 1)] = value
    return tensors


def write_hugging_face(folder, tensors, architecture="BertModel", tokens=TOKENS, tokenizer=None, **config):
    """config.json, vocab.txt, tokenizer_config.json if given, and model.safetensors."""
    folder.mkdir(parents=True, exist_ok=True)
    values = SHAPE | {"hidden_act": "gelu", "model_type": "bert"} | config
    if architecture:
        values["architectures"] = [architecture]
    (folder / "config.json").write_text(json.dumps(values))
    (folder / "vocab.txt").write_text("\n".join(tokens) + "\n")
    if tokenizer is not None:
        (folder / "tokenizer_config.json").write_text(json.dumps(tokenizer))
    write_safetensors(folder / "model.safetensors", tensors)
    return folder


def write_safetensors(path, tensors, made_by="pt"):
    save_file(
        {name: np.array(array, order="C") for name, array in tensors.items()}, path, {"format": made_by}
    )


def edit(path, **values):
    """Changes keys of a JSON file, or makes one of them."""
    old = json.loads(path.read_text()) if path.is_file() else {}
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(old | values))


# ------------------------------------------------------------------------------------- PyTorch

_STORAGES = {
    "float32": "FloatStorage",
    "float16": "HalfStorage",
    "bfloat16": "BFloat16Storage",
    "int64": "LongStorage",
}


def _fake_torch(monkeypatch):
    """Modules with torch's names, so that pickles can refer to torch's classes and functions."""
    torch, utils = types.ModuleType("torch"), types.ModuleType("torch._utils")
    for storage in _STORAGES.values():
        setattr(torch, storage, type(storage, (), {"__module__": "torch"}))

    def _rebuild_tensor_v2(*arguments):
        raise AssertionError("only its name is used")

    _rebuild_tensor_v2.__module__, _rebuild_tensor_v2.__qualname__ = "torch._utils", "_rebuild_tensor_v2"
    utils._rebuild_tensor_v2 = _rebuild_tensor_v2
    torch._utils = utils
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "torch._utils", utils)
    return torch


class _Tensor:
    def __init__(self, rebuild, *arguments):
        self.rebuild, self.arguments = rebuild, arguments

    def __reduce__(self):
        return self.rebuild, self.arguments


class _StoragePlace:
    def __init__(self, *pid):
        self.pid = pid


class _TorchPickler(pickle.Pickler):
    def persistent_id(self, thing):
        return thing.pid if isinstance(thing, _StoragePlace) else None


def _state_dict(torch, arrays, legacy):
    state = collections.OrderedDict()
    for index, (name, array) in enumerate(arrays.items()):
        kind = getattr(torch, _STORAGES[array.dtype.name])
        pid = ("storage", kind, str(index), "cpu", array.size) + ((None,) if legacy else ())
        strides = tuple(stride // array.itemsize for stride in array.copy(order="C").strides)
        hooks = collections.OrderedDict()
        state[name] = _Tensor(
            torch._utils._rebuild_tensor_v2, _StoragePlace(*pid), 0, array.shape, strides, False, hooks
        )
    return state


def write_torch_zip(path, arrays, monkeypatch, state=None):
    """A state dict as torch.save writes it since 1.6. `state` replaces the pickled object."""
    with monkeypatch.context() as patch, zipfile.ZipFile(path, "w") as archive:
        torch = _fake_torch(patch)
        with archive.open("archive/data.pkl", "w") as file:
            _TorchPickler(file, 2).dump(_state_dict(torch, arrays, False) if state is None else state)
        archive.writestr("archive/byteorder", "little")
        for index, array in enumerate(arrays.values()):
            archive.writestr(f"archive/data/{index}", np.ascontiguousarray(array).tobytes())
        archive.writestr("archive/version", "3\n")


def write_torch_legacy(path, arrays, monkeypatch):
    """A state dict as torch.save wrote it before 1.6."""
    with monkeypatch.context() as patch, path.open("wb") as file:
        torch = _fake_torch(patch)
        for value in (0x1950A86A20F9469CFC6C, 1001, {"protocol_version": 1001, "little_endian": True}):
            pickle.dump(value, file, 2)
        _TorchPickler(file, 2).dump(_state_dict(torch, arrays, True))
        pickle.dump([str(index) for index in range(len(arrays))], file, 2)
        for array in arrays.values():
            file.write(struct.pack("<q", array.size) + np.ascontiguousarray(array).tobytes())


# ---------------------------------------------------------------------------------- Google TF1


def google_names(weights):
    """TF1 name -> array; the two matrices called output_weights are transposed."""
    tensors = {}
    for name, value in weights.items():
        stem, end = _renamed(name, _GOOGLE)
        if stem in ("cls/seq_relationship", "cls/squad", ""):
            value = value.T if end == "kernel" else value
            end = "output_weights" if end == "kernel" else "output_bias"
        tensors[f"{stem}/{end}".lstrip("/")] = value
    return tensors


def write_google(folder, tensors, tokens=TOKENS, with_training_state=False, **config):
    """A folder as TF1's own Saver writes it, with bert_config.json and vocab.txt."""
    import tensorflow as tf

    folder.mkdir(parents=True, exist_ok=True)
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        variables = {}
        for name, value in tensors.items():
            variables[name] = tf.compat.v1.Variable(value, name=name, use_resource=False)
            if with_training_state:
                for slot in ("adam_m", "adam_v"):
                    zeros = np.zeros_like(value)
                    variables[f"{name}/{slot}"] = tf.compat.v1.Variable(zeros, use_resource=False)
        if with_training_state:
            variables["global_step"] = tf.compat.v1.Variable(np.int64(20), use_resource=False)
        session.run(tf.compat.v1.global_variables_initializer())
        saver = tf.compat.v1.train.Saver(variables)
        saver.save(session, str(folder / "bert_model.ckpt"), write_state=False)
    (folder / "bert_config.json").write_text(json.dumps(SHAPE | {"hidden_act": "gelu"} | config))
    (folder / "vocab.txt").write_text("\n".join(tokens) + "\n")
    return folder


# ------------------------------------------------------------------- TensorFlow's own, since 2019


def tensorflow_names(weights):
    """Name in transformers' TensorFlow classes -> array, kernels as they are."""
    tensors = {}
    for name, value in google_names(weights).items():
        name = name.replace("encoder/layer_", "encoder/layer_._").replace("cls/", "mlm___cls/")
        name = name.replace("predictions/output_bias", "predictions/bias")
        name = {"output_weights": "classifier/kernel", "output_bias": "classifier/bias"}.get(name, name)
        table = name.removeprefix("bert/embeddings/")
        ends = {
            "word_embeddings": "weight",
            "position_embeddings": "embeddings",
            "token_type_embeddings": "embeddings",
        }
        name = f"{name}/{ends[table]}" if table in ends else name
        tensors[f"{name}:0"] = value.T if name == "classifier/kernel" else value
    return tensors


def write_keras_h5(path, tensors, model="tf_bert_model"):
    """Weights as Keras 2 saves them: a group for each layer of the model, then the variables' whole names."""
    import h5py

    with h5py.File(path, "w") as file:
        for name, value in tensors.items():
            file[f"{name.split('/')[0]}/{model}/{name}"] = value


def model_garden_names(weights, num_heads=2):
    """Full name in Model Garden -> array, attention with an axis for its heads. A task's head is left out."""
    tables = {"word": "word_embeddings", "posi": "position_embedding", "toke": "type_embeddings"}
    tensors = {}
    for name, value in weights.items():
        stem, end = _renamed(name, _MODEL_GARDEN)
        if stem is None:
            continue
        if name.endswith("attention/output/kernel"):
            value = value.reshape(num_heads, -1, value.shape[-1])
        elif re.search("attention/(query|key|value)/", name):
            value = value.reshape(*value.shape[:-1], num_heads, -1)
        is_table = end.endswith("_embeddings")
        tensors[f"{tables[end[:4]]}/embeddings" if is_table else f"{stem}/{end}"] = value
    return tensors


def _put(tree, place, variable):
    """Sets `tree.a.b = variable` for the place "a/b"; TensorFlow writes a slash inside of a name as ".S"."""
    import tensorflow as tf

    *parents, last = place.split("/")
    for part in parents:
        if not hasattr(tree, part):
            setattr(tree, part, tf.train.Checkpoint())
        tree = getattr(tree, part)
    setattr(tree, last.replace(".S", "/"), variable)


def write_model_garden(
    folder, named, heads=None, tokens=TOKENS, bert_config=True, is_trained=lambda name: False, **config
):
    """An object checkpoint, bert_config.json (if `bert_config`) and vocab.txt.

    Args:
      named: full name -> array, of the encoder; the place of each variable says nothing.
      heads: place in the checkpoint -> (full name, array).
      is_trained: the name of a variable -> whether the optimizer has slots for it.
      config: changes of bert_config.json.
    """
    import tensorflow as tf

    folder.mkdir(parents=True, exist_ok=True)
    root = tf.train.Checkpoint(global_step=tf.Variable(3, dtype=tf.int64))
    variables = []
    for number, (name, value) in enumerate(named.items()):
        variables.append(tf.Variable(value, name=name))
        _put(root, f"model/layer_with_weights-0/variable_{number}", variables[-1])
    for place, (name, value) in (heads or {}).items():
        variables.append(tf.Variable(value, name=name))
        _put(root, place, variables[-1])
    trained = [variable for variable in variables if is_trained(variable.name)]
    if trained:
        root.optimizer = tf.compat.v1.train.AdamOptimizer(0.0)
        root.optimizer.apply_gradients((tf.zeros_like(variable), variable) for variable in trained)
    root.write(str(folder / "bert_model.ckpt"))
    (folder / "vocab.txt").write_text("\n".join(tokens) + "\n")
    if bert_config:
        (folder / "bert_config.json").write_text(json.dumps(SHAPE | {"hidden_act": "gelu"} | config))
    return folder


def write_tf_hub(folder, named, do_lower_case=True, tokens=TOKENS, mlm=None):
    """A SavedModel with an encoder's variables, its vocabulary as an asset, and its casing.

    With `mlm`, full name -> array of a head's variables, these are beside it in a model of both.
    """
    import tensorflow as tf

    vocab_file = folder.parent / "pieces"
    vocab_file.write_text("\n".join(tokens) + "\n")
    root = tf.train.Checkpoint()
    root.variables = [tf.Variable(value, name=name) for name, value in named.items()]
    if mlm:
        root.mlm = tf.train.Checkpoint()
        head = [tf.Variable(value, name=name) for name, value in mlm.items()]
        root.mlm.variables = [*root.variables, *head]
    root.vocab_file = tf.saved_model.Asset(str(vocab_file))
    root.do_lower_case = tf.Variable(do_lower_case)
    tf.saved_model.save(root, str(folder))
    vocab_file.unlink()
    return folder
