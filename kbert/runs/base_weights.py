"""The weights that a run with adapters (LoRA) does not train: kept once, and merged with the adapters.

run_dir/base/step-00000000/ has the form of a checkpoint. Checkpoints of such a run hold adapters, pooler and
heads alone; with these weights the run is whole, and does not need the checkpoint that it began from.
"""

from pathlib import Path

import numpy as np

from kbert.config.lora_config import LoraConfig, is_adapter
from kbert.files.safetensors_file import read_safetensors
from kbert.files.stored_tensor import StoredTensor
from kbert.runs import checkpoint

_FOLDER = "base"


def write_base(run_path, weights: dict):
    """Writes the weights (name -> variable) that the run does not train, in the place of any before."""
    checkpoint.save_checkpoint(
        Path(run_path) / _FOLDER, step=0, weights=weights, slots={}, state={"examples_consumed": 0}, keep=1
    )


def base_file(run_path, began_from) -> Path:
    """The file with the weights that a run does not train.

    Args:
      run_path: the run's folder.
      began_from: the `init_checkpoint` of run.json, for the error.

    Raises:
      ValueError: when it is missing or damaged.
    """
    folder = checkpoint.step_folder(Path(run_path) / _FOLDER, 0)
    try:
        checkpoint.verify(folder, [checkpoint.WEIGHTS_FILE])
    except checkpoint.DamagedCheckpoint as error:
        raise ValueError(
            f"{error} A run with adapters (lora) needs the weights in {folder.parent}, which are those of "
            f"{began_from}: restore the folder from a copy."
        ) from None
    return folder / checkpoint.WEIGHTS_FILE


def merged_weights(base: Path, trained: Path, lora: LoraConfig) -> dict[str, StoredTensor]:
    """Name -> tensor of the plain model that answers as the adapted one does: W + (alpha / rank) A B.

    Args:
      base: the file of `base_file`.
      trained: the weights of a checkpoint of the same run.
      lora: the run's.
    """
    stored = read_safetensors(trained)
    adapters = {name: tensor for name, tensor in stored.items() if is_adapter(name)}
    merged = read_safetensors(base) | {name: t for name, t in stored.items() if name not in adapters}
    for name in adapters:
        layer, _, which = name.rpartition("/")
        if which == "lora_a":
            first, second = adapters[name], adapters[f"{layer}/lora_b"]
            merged[f"{layer}/kernel"] = _merged_kernel(merged[f"{layer}/kernel"], first, second, lora.scale)
    return merged


def _merged_kernel(kernel, first, second, scale):
    def read():
        return kernel.read() + np.float32(scale) * (first.read() @ second.read())

    return StoredTensor(kernel.shape, kernel.dtype, read)
