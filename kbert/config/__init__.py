"""The settings of a run: frozen dataclasses with defaults, documentation and checks, and their files.

A config file contains only what differs from the defaults. Unknown keys are errors. A single value is changed
with `--override=path.to.field=value`. Nothing here imports TensorFlow, so a wrong config is reported at once.
"""

from kbert.config.config_file import (
    FlagOverride,
    config_with_settings,
    load_config,
    require_not_overridden,
)
from kbert.config.devices import Devices
from kbert.config.distillation_config import DistillationConfig
from kbert.config.encoder_config import ACTIVATIONS, EncoderConfig
from kbert.config.finetuning_config import DRAWN_ROWS, DatasetConfig, FinetuningConfig
from kbert.config.frozen_config import FrozenConfig
from kbert.config.lora_config import LoraConfig
from kbert.config.optimizer_config import OPTIMIZERS, OptimizerConfig
from kbert.config.plain_values import from_dict, to_dict
from kbert.config.presets import encoder_presets
from kbert.config.pretraining_config import PhaseConfig, PretrainingConfig
from kbert.config.training_config import PRECISIONS, TrainingConfig

__all__ = [
    "ACTIVATIONS",
    "DRAWN_ROWS",
    "OPTIMIZERS",
    "PRECISIONS",
    "DatasetConfig",
    "Devices",
    "DistillationConfig",
    "EncoderConfig",
    "FinetuningConfig",
    "FrozenConfig",
    "LoraConfig",
    "OptimizerConfig",
    "PhaseConfig",
    "PretrainingConfig",
    "TrainingConfig",
    "encoder_presets",
    "FlagOverride",
    "from_dict",
    "load_config",
    "require_not_overridden",
    "config_with_settings",
    "to_dict",
]
