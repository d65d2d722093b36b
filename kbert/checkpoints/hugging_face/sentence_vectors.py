"""What a sentence-transformers folder lists behind its Transformer: how texts become vectors.

Each module is a folder with a config.json; a Dense has weights beside it.
"""

from pathlib import Path
from typing import NamedTuple

from kbert.checkpoints.hugging_face.folder_keys import check_keys
from kbert.checkpoints.hugging_face.torch_file import read_torch_file
from kbert.checkpoints.report import Report
from kbert.config.dense_config import DENSE_ACTIVATIONS, DenseConfig
from kbert.config.pooling_config import JOIN, POOLINGS, PoolingConfig
from kbert.files.file_format import require_downloaded
from kbert.files.json_file import read_json_object
from kbert.files.json_values import json_count, json_texts, json_value, shown, shown_name
from kbert.files.safetensors_file import read_safetensors
from kbert.files.stored_tensor import StoredTensor

OF_TEXTS, OF_TOKENS = "sentence_embedding", "token_embeddings"  # what a module reads and writes
WITH_CONFIG = ("Pooling", "SpladePooling", "Dense", "MultiVectorMask")  # every version writes theirs
DENSE_FILES = {"model.safetensors": read_safetensors, "pytorch_model.bin": read_torch_file}
# "pooling_mode_<theirs>" of 1_Pooling/config.json -> the mode of kbert's SequencePooling, in the order in
# which several stand behind each other.
POOLING_MODES = {
    "cls_token": "cls",
    "max_tokens": "max",
    "mean_tokens": "mean",
    "mean_sqrt_len_tokens": "mean_sqrt_len",
    "weightedmean_tokens": "weightedmean",
    "lasttoken": "lasttoken",
}
NEWER_MODES = {"mean_sqrt_len_tokens": "mean_sqrt_len"}  # the words of `pooling_mode` that are others here
_TORCH = {name: f"torch.nn.modules.activation.{name}" for name in DENSE_ACTIVATIONS}
_TORCH["Identity"] = "torch.nn.modules.linear.Identity"


class Module(NamedTuple):
    """A module of modules.json.

    Fields:
      kind: the last name of its type, such as "Pooling".
      folder: where its files lie.
    """

    kind: str
    folder: Path

    @property
    def file(self) -> Path:
        return self.folder / "config.json"


class Chain(NamedTuple):
    """Dense layers and normalizations one behind the other.

    Fields:
      dense: the layers; one whose input was scaled says so.
      normalize: whether the vectors are brought to length 1 at the end.
      tensors: name as in `VectorDense`, such as "dense_0/kernel" -> tensor.
      outsides: the same name -> file and name there.
    """

    dense: tuple[DenseConfig, ...]
    normalize: bool
    tensors: dict[str, StoredTensor]
    outsides: dict[str, str]


def read_chain(modules: list[Module], vectors: str, width: int | None, report: Report) -> Chain:
    """Reads Dense and Normalize modules.

    Args:
      modules: these alone, in order.
      vectors: what they read and write, `OF_TEXTS` or `OF_TOKENS`.
      width: that of the vectors; None where the folder does not say it.
      report: takes notes, and knows what is allowed.

    Raises:
      ValueError: for a module of other vectors, a Dense that does not fit, and what kbert does not have.
    """
    dense, tensors, outsides, normalize = [], {}, {}, False
    for module in modules:
        settings = read_json_object(module.file) if module.file.is_file() else {}
        check_keys(f"{module.kind}/config.json", settings, module.file, report)
        # Without a name; a ColBERT's Dense has another default (MultiVectorEncoder, for files of PyLate).
        theirs = vectors if module.kind == "Dense" else OF_TEXTS
        for key in ("module_input_name", "module_output_name"):
            theirs = settings.get(key) or theirs
            if theirs != vectors:
                report.conflict(key, f"{module.file}: {key}={shown(theirs)}, but here it is {vectors!r}")
        if module.kind == "Normalize":
            normalize = True
            continue
        config, stored = _read_dense(module, settings, width, normalize, report)
        for name, (outside, tensor) in stored.items():
            own = f"{name.replace('/', f'_{len(dense)}/')}"
            tensors[own], outsides[own] = tensor, outside
        width, normalize = config.units, False
        dense.append(config)
    return Chain(tuple(dense), normalize, tensors, outsides)


def _read_dense(module, settings, width, normalize, report):
    path = module.file
    inputs, units = (json_count(settings, f"{end}_features", path) for end in ("in", "out"))
    if inputs is None or units is None:
        raise ValueError(f"{path} says no in_features and out_features of its Dense; download it again.")
    if width not in (None, inputs):
        raise ValueError(
            f"{path}: in_features={inputs}, but the vectors before this Dense have {width} numbers; use the "
            "files of one model."
        )
    config = DenseConfig(
        units,
        _activation(settings, path, report),
        json_value(settings, "bias", bool, path, True),
        json_value(settings, "use_residual", bool, path, False),
        normalize,
    )
    file = next((module.folder / name for name in DENSE_FILES if (module.folder / name).is_file()), None)
    if file is None:
        raise ValueError(f"{module.folder} holds no weights ({' or '.join(DENSE_FILES)}); download it again.")
    require_downloaded(file)
    return config, _dense_tensors(config, inputs, DENSE_FILES[file.name](file), file)


def dense_names(config: DenseConfig, width: int) -> dict[str, str]:
    """Name in `VectorDense`, without the layer's number -> in torch, of a layer on vectors of this width."""
    names = {"dense/kernel": "linear.weight"}
    names |= {"dense/bias": "linear.bias"} if config.use_bias else {}
    return names | ({"residual/kernel": "residual.weight"} if config.needs_matrix(width) else {})


def _dense_tensors(config, width, stored, file):
    names = dense_names(config, width)
    if stored.keys() != set(names.values()):
        raise ValueError(
            f"{file} holds {shown_name(', '.join(sorted(stored)))}; by its config.json this Dense has "
            f"{', '.join(names.values())}."
        )
    tensors = {}
    for name, outside in names.items():
        tensor, is_matrix = stored[outside], name.endswith("kernel")
        expected = (config.units, width) if is_matrix else (config.units,)
        if tensor.shape != expected or not tensor.is_float:
            raise ValueError(
                f"{file}: {outside} is {tensor.dtype} of shape {tensor.shape}; its "
                f"config.json says {expected}."
            )
        tensors[name] = (
            f"{file.parent.name}: {outside}",
            tensor.as_float32(is_matrix, f"{file}: {outside}"),
        )
    return tensors


def _activation(settings, path, report):
    if "activation_function" not in settings:
        return "Tanh"  # as sentence-transformers takes it
    name = json_value(settings, "activation_function", str, path)
    if name is None:
        return "Identity"
    known = name.rsplit(".", 1)[-1]
    if not name.startswith("torch.nn.") or known not in DENSE_ACTIVATIONS:
        report.conflict(
            "activation_function",
            f"{path}: activation_function={shown(name)}, but kbert has torch's "
            f"{', '.join(DENSE_ACTIVATIONS)}",
        )
        return "Identity"
    return known


def dense_values(config: DenseConfig, width: int, vectors: str) -> dict:
    """The config.json of a Dense on vectors of this width."""
    values = {
        "in_features": width,
        "out_features": config.units,
        "bias": config.use_bias,
        "activation_function": _TORCH[config.activation],
    }
    return values | module_names(vectors) | ({"use_residual": True} if config.use_residual else {})


def module_names(vectors: str) -> dict:
    """What config.json says of the vectors that a module reads and writes. Those of texts go without saying:
    sentence-transformers before 6 has no other, and its Dense refuses the keys."""
    return {} if vectors == OF_TEXTS else {"module_input_name": vectors, "module_output_name": vectors}


def read_pooling(module: Module, report: Report) -> dict:
    """{"mode", "include_prompt", "width"} of a Pooling; width is that of a token's vector, or None."""
    path = module.file
    settings = read_json_object(path)
    check_keys("Pooling/config.json", settings, path, report)
    older = json_count(settings, "word_embedding_dimension", path)
    return {
        "mode": _pooling_mode(settings, path),
        "include_prompt": json_value(settings, "include_prompt", bool, path, True),
        "width": json_count(settings, "embedding_dimension", path) or older,
    }


def _pooling_mode(settings, path):
    if "pooling_mode" in settings:  # the newer spelling: one word, or several
        chosen = settings["pooling_mode"]
        chosen = [chosen] if isinstance(chosen, str) else json_texts(settings, "pooling_mode", path, [])
        modes = [NEWER_MODES.get(name, name) for name in chosen]
    else:
        chosen = [
            key.removeprefix("pooling_mode_")
            for key in settings
            if key.startswith("pooling_mode_") and json_value(settings, key, bool, path, False)
        ]
        modes = [mode for name, mode in POOLING_MODES.items() if name in chosen]
        if not chosen:  # as sentence-transformers takes it
            return PoolingConfig.mode
    if not modes or not set(modes) <= set(POOLINGS) or len(modes) != len(chosen):
        raise ValueError(
            f"{path} pools by {shown_name(' and '.join(chosen) or 'nothing')}; kbert pools by "
            f"{', '.join(POOLINGS)}, or by several of them."
        )
    return JOIN.join(modes)


def pooling_values(pooling: PoolingConfig, width: int) -> dict:
    """The config.json of a Pooling: of the modes the seven booleans, which all versions read; a list where
    these have another order, or one of them twice."""
    values: dict = {"word_embedding_dimension": width, "include_prompt": pooling.include_prompt}
    if [mode for mode in POOLING_MODES.values() if mode in pooling.modes] == list(pooling.modes):
        return values | {
            f"pooling_mode_{theirs}": ours in pooling.modes for theirs, ours in POOLING_MODES.items()
        }
    back = {ours: theirs for theirs, ours in NEWER_MODES.items()}
    return values | {"pooling_mode": [back.get(mode, mode) for mode in pooling.modes]}
