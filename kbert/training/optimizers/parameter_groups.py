"""Weight decay and share of the learning rate of each variable, decided by its name."""

import re

_LAYER = re.compile(r"(?:^|/)layer_(\d+)/")
_EMBEDDINGS = re.compile(r"(?:^|/)embeddings/")


def is_decayed(name: str, exclude_from_weight_decay) -> bool:
    """Whether weight decay applies to a variable of this name.

    Args:
      name: the variable's name, for example `layer_0/attention/query/kernel`.
      exclude_from_weight_decay: regular expressions, searched for anywhere in the name; a variable that
        matches one is not decayed (google-research/bert, optimization.py, `_do_use_weight_decay`).
    """
    return not any(re.search(pattern, name) for pattern in exclude_from_weight_decay)


def rate_shares(names, layer_decay: float) -> list[float]:
    """Each variable's share of the learning rate: `layer_decay` to the power of its depth below the head.

    The pooler and the heads have depth 0, the top layer has depth 1, the layer below it 2, and the embeddings
    one more than the lowest layer. (google-research/electra, model/optimization.py, `_get_layer_lrs`, is the
    same, except that everything below the head has one power more.) The output matrix of the masked-LM head
    is the table of word embeddings, so it has the depth of the embeddings.

    Args:
      names: names of variables, with `layer_<i>/` for those of layer i and `embeddings/`.
      layer_decay: 1.0 gives every variable the full learning rate.

    Raises:
      ValueError: when `layer_decay` is not 1 and no name has a layer.
    """
    if layer_decay == 1.0:
        return [1.0 for _ in names]
    layers = [_LAYER.search(name) for name in names]
    indices = [int(match[1]) for match in layers if match]
    if not indices:
        raise ValueError(
            f"optimizer.layer_decay={layer_decay} needs variables with their layer in the name, such as "
            f"layer_0/attention/query/kernel, but none of the {len(layers)} has one, for example "
            f"{next(iter(names), None)!r}; set layer_decay=1.0."
        )
    num_layers = max(indices) + 1
    shares = []
    for name, match in zip(names, layers, strict=True):
        if match:
            depth = num_layers - int(match[1])
        else:
            depth = num_layers + 1 if _EMBEDDINGS.search(name) else 0
        shares.append(layer_decay**depth)
    return shares
