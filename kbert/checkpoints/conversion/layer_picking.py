"""A model of some of the layers of another: what a student starts from."""

import dataclasses
from collections.abc import Sequence

from kbert.checkpoints.bert_checkpoint import BertCheckpoint


def with_layers(checkpoint: BertCheckpoint, layers: Sequence[int]) -> BertCheckpoint:
    """The same model with some of its layers, in the order given; embeddings, pooler and heads stay.

    DistilBERT starts from the layers 0, 2, 4, 7, 9 and 11 of BERT-base
    (huggingface/transformers-research-projects, distillation/scripts/extract.py).

    Args:
      checkpoint: any checkpoint.
      layers: numbers of its layers, counted from 0.

    Raises:
      ValueError: for no layer, or one that the model lacks.
    """
    number = checkpoint.encoder.num_hidden_layers
    wrong = [layer for layer in layers if not 0 <= layer < number]
    if wrong or not layers:
        raise ValueError(
            f"layers {list(layers)} of {checkpoint.source}: it has the layers 0 to {number - 1}; name one or "
            "more of them."
        )
    tensors = {name: t for name, t in checkpoint.tensors.items() if not name.startswith("layer_")}
    for new, old in enumerate(layers):
        prefix = f"layer_{old}/"
        tensors |= {
            f"layer_{new}/{name.removeprefix(prefix)}": tensor
            for name, tensor in checkpoint.tensors.items()
            if name.startswith(prefix)
        }
    note = f"layers {', '.join(map(str, layers))} of {number}"
    report = dataclasses.replace(checkpoint.report, notes=[*checkpoint.report.notes, note])
    encoder = dataclasses.replace(checkpoint.encoder, num_hidden_layers=len(layers))
    recorded = checkpoint.recorded
    if recorded:  # a threshold or a temperature that was chosen for all layers means nothing for some of them
        recorded = dataclasses.replace(recorded, chosen=None)
    return dataclasses.replace(checkpoint, encoder=encoder, tensors=tensors, report=report, recorded=recorded)
