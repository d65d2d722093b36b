"""Weights of transformers' TensorFlow classes: their names, in the form of PyTorch's.

`tf_bert_for_masked_lm/bert/encoder/layer_._0/attention/self/query/kernel:0` is
`encoder.layer.0.attention.self.query.weight`. Kernels stand as in Keras, (inputs, outputs).

Source: the documentation of `convert_tf_weight_name_to_pt_weight_name` in transformers 4
(modeling_tf_pytorch_utils.py): `a___b` is b, `_._` separates a list from an index, kernels, tables and gammas
are called weight, betas bias.
"""

import re

from kbert.files.stored_tensor import StoredTensor

_ENDS = {
    "kernel": "weight",
    "embeddings": "weight",
    "gamma": "weight",
    "weight": "weight",
    "beta": "bias",
    "bias": "bias",
}
_ENCODERS = ("bert", "distilbert", "electra")
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
)


def pytorch_name(name: str) -> str | None:
    """The name that PyTorch's class gives to the same weight, without that of the encoder in front.

    Returns None for a name that is no weight's.
    """
    parts = re.sub(r"[^/]*___([^/]*)", r"\1", name.removesuffix(":0").replace("_._", "/")).split("/")
    if parts[-1] not in _ENDS:
        return None
    for marks, first in ((_ENCODERS, 1), (_HEADS, 0)):
        places = [place for place, part in enumerate(parts[:-1]) if part in marks]
        if places:
            parts = parts[places[-1] + first :]
            break
    return ".".join([*parts[:-1], _ENDS[parts[-1]]])


def is_tensorflow_name(name: str) -> bool:
    """Whether a weight is called as TensorFlow's classes call it: `.../kernel:0`, not `....weight`."""
    return "/" in name or name.endswith(":0")


def by_pytorch_names(
    tensors: dict[str, StoredTensor],
) -> tuple[dict[str, StoredTensor], dict[str, str]]:
    """The tensors of a TensorFlow file by the names that PyTorch's class has for them.

    Returns:
      (name -> tensor, with the axes as they are; name -> name in the file). A table that a head shares with
      the encoder is stored twice: the second keeps the name that it has in the file.
    """
    named: dict[str, StoredTensor] = {}
    originals: dict[str, str] = {}
    for original, tensor in tensors.items():
        name = pytorch_name(original) or original
        if name in named:
            name = original
        named[name], originals[name] = tensor, original
    return named, originals
