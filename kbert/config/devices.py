"""On which devices a training runs."""

import dataclasses
from dataclasses import dataclass
from typing import Annotated, Literal

from kbert.bounds import Bounds
from kbert.checks import check_values, require
from kbert.files.json_values import shown


@dataclass(frozen=True)
class Devices:
    """The devices of a training: arguments of `kbert.finetune` and `kbert.pretrain`, flags of their commands.

    Args:
      strategy: who shares the work. auto: the workers of TF_CONFIG if several, else all GPUs, else one
        device. mirrored: all GPUs of this machine, or logical devices of its CPU. multi_worker: several
        processes.
      num_devices: Devices of the mirrored strategy; by default all GPUs.
      cluster: How multi_worker finds its workers: by TF_CONFIG, or by Slurm's variables.
      tpu: Name or address of the TPU; "local" on a TPU virtual machine.

    Raises:
      ValueError: for an unknown strategy or cluster, no devices, and for what the strategy does not read.
    """

    strategy: Literal["auto", "one_device", "mirrored", "multi_worker", "tpu"] = "auto"
    num_devices: Annotated[int, Bounds(1)] | None = None
    cluster: Literal["tf_config", "slurm"] = "tf_config"
    tpu: str | None = None

    def __post_init__(self):
        check_values(self)
        for name, strategy in (("cluster", "multi_worker"), ("tpu", "tpu")):
            value = getattr(self, name)
            require(
                value == getattr(Devices, name) or self.strategy == strategy,
                f"{name}={shown(value)} is read with strategy={strategy} only, and strategy is "
                f"{self.strategy}; set it too, or leave {name} out.",
            )

    @classmethod
    def taken_from(cls, settings: dict) -> tuple["Devices", dict]:
        """(the devices that keyword arguments name, the other arguments)."""
        names = {field.name for field in dataclasses.fields(cls)}
        own = {name: value for name, value in settings.items() if name in names}
        return cls(**own), {name: value for name, value in settings.items() if name not in names}
