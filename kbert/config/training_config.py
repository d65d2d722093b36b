"""The settings that every kind of training has."""

from dataclasses import dataclass, field
from typing import Annotated, Literal, get_args

from absl import logging

from kbert.bounds import Bounds
from kbert.checks import BatchSize, Many, Rate, Seed, Steps, check_values, require
from kbert.config.distillation_config import DistillationConfig
from kbert.config.encoder_config import EncoderConfig
from kbert.config.frozen_config import FrozenConfig
from kbert.config.lora_config import LoraConfig
from kbert.config.optimizer_config import OptimizerConfig
from kbert.files.json_values import shown

Precision = Literal["float32", "bfloat16", "float16"]
PRECISIONS = get_args(Precision)


@dataclass(frozen=True)
class TrainingConfig:
    """The settings that every kind of training has: batches, optimizer, precision, when to log and save.

    `description` is one line for readers; `kbert configs` shows it. `optimizer` says how weights are updated,
    see OptimizerConfig. `seed` is that of new weights, of the order of examples, of masks and of dropout.
    `precision` is "float32", "bfloat16" or "float16".

    `encoder` may be a preset's name ("bert_mini"), an object of EncoderConfig's keys, or an object with
    `preset` and the keys that differ. If it is left out, the encoder of the `init_checkpoint` is used.

    Steps are optimizer steps; `steps_per_execution` of them run in one call of the graph, or fewer where an
    interval ends. `train_batch_size` is the global batch, over all replicas, and `eval_batch_size` that of
    evaluations. A line of metrics comes every `log_every_steps` steps, a checkpoint every
    `save_checkpoints_steps`, and after half an hour without one; the newest `keep_checkpoints` of them are
    kept. `gradient_accumulation_steps` splits a batch into that many micro-batches and computes them one
    after the other: memory for one of them only, the same result.

    `jit_compile` is XLA: true, false or "auto", see kbert/training/devices/jit.py. The checkpoint with the
    best `best_metric` on the evaluation data is kept in addition to the newest; null takes the task's own
    metric. `peak_flops` is the peak FLOP/s of one device, with which the speed is compared. If it is left
    out, it is looked up by the device's name, or measured.

    `padding` says how the encoder treats padding; the result is the same. "keep" computes padding too. "pack"
    puts several texts into a row: as many rows as each batch needs, or `packed_rows` rows, for the fixed
    shapes that XLA needs. "auto" packs where shapes vary anyway. `recompute_activations` runs each block
    again in the backward pass instead of keeping its activations: less memory, more work, the same result.

    `dropout_prob` replaces the encoder's dropout rates, for one that was pretrained without dropout or is to
    be. `frozen` says which part of the encoder is not trained, see FrozenConfig. `distillation` adds a
    teacher, see `DistillationConfig`.
    """

    description: str = ""
    encoder: EncoderConfig | None = None
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)
    train_batch_size: BatchSize = 32
    eval_batch_size: BatchSize = 32
    steps_per_execution: Many = 10
    log_every_steps: Steps = 50
    save_checkpoints_steps: Steps = 1000
    keep_checkpoints: Many = 2
    best_metric: str | None = None
    precision: Precision = "float32"
    jit_compile: bool | str = "auto"
    gradient_accumulation_steps: BatchSize = 1
    padding: Literal["auto", "keep", "pack"] = "auto"
    packed_rows: BatchSize | None = None
    recompute_activations: bool = False
    dropout_prob: Rate | None = None
    peak_flops: Annotated[float, Bounds(above=0, largest=1e30)] | None = None
    frozen: FrozenConfig = field(default_factory=FrozenConfig)
    seed: Seed = 12345
    distillation: DistillationConfig | None = None

    # Settings of one kind of training, and what they are in the other.
    pad_to_longest = False
    max_eval_steps = -1

    def __post_init__(self):
        self._use_own_spelling()
        check_values(self)
        require(
            isinstance(self.jit_compile, bool) or self.jit_compile == "auto",
            f'jit_compile={shown(self.jit_compile)} is not known; choose true, false or "auto".',
        )
        self._check_padding()
        self._check_frozen()

    def _use_own_spelling(self):
        """Accepts the names of Keras's policies, `mixed_bfloat16` and `mixed_float16`."""
        if str(self.precision).startswith("mixed_"):
            plain = self.precision.removeprefix("mixed_")
            logging.info('precision="%s" is written "%s" in kbert.', self.precision, plain)
            object.__setattr__(self, "precision", plain)

    @property
    def dtype_policy(self) -> str:
        """The Keras policy of the model: variables are float32 in every precision."""
        return self.precision if self.precision == "float32" else f"mixed_{self.precision}"

    def _check_frozen(self):
        if self.encoder is None:
            return
        frozen, layers = self.frozen.layers, self.encoder.num_hidden_layers
        require(
            frozen <= layers,
            f"frozen.layers={shown(frozen)} is more than the encoder's num_hidden_layers={layers}.",
        )
        require(
            self.optimizer.layer_decay == 1.0 or frozen < layers,
            f"optimizer.layer_decay={self.optimizer.layer_decay} needs a layer that is trained, but "
            f"frozen.layers={frozen} freezes all; leave one of them out.",
        )

    def _check_padding(self):
        require(
            self.packed_rows is None or self.padding == "pack",
            f"packed_rows={self.packed_rows} cannot be combined with padding={shown(self.padding)}, only "
            'with padding="pack".',
        )
        require(
            self.packed_rows is None or self.fixed_shapes,
            f"packed_rows={self.packed_rows} needs batches of one shape: set pad_to_longest=false, or "
            "leave out packed_rows.",
        )
        require(
            not (self.jit_compile is True and self.padding == "pack" and self.packed_rows is None),
            'jit_compile=true needs fixed shapes, but padding="pack" takes as many rows as each batch needs: '
            "give packed_rows.",
        )

    def require_settings_read(self):
        """Raises ValueError for a setting that nothing reads."""
        if self.encoder:
            self.encoder.require_settings_read()

    def require_read(self, name: str):
        """Raises ValueError where nothing reads the setting of this full name, which somebody gives."""

    @property
    def needs_weights(self) -> dict[str, bool]:
        """What is done to weights of a checkpoint, after the setting that asks for it -> whether it does."""
        return {"[frozen] keeps": self.frozen != FrozenConfig()}

    @property
    def adapters(self) -> LoraConfig | None:
        """The adapters beside projections; None for none."""
        return None

    def is_updated(self, name: str) -> bool:
        """Whether training changes the variable of this name."""
        return not self.frozen.holds(name)

    def is_reinitialized(self, name: str, num_hidden_layers: int) -> bool:
        """Whether a variable of this name keeps random numbers where a run starts from a checkpoint."""
        return False

    @property
    def trains_whole_encoder(self) -> bool:
        """Whether training changes every layer, the lowest as well: none is frozen."""
        return self.is_updated("embeddings/word_embeddings") and self.is_updated("layer_0/")

    def is_in_checkpoints(self, name: str) -> bool:
        """Whether each checkpoint holds the variable; the run keeps the others once, see base_weights.py."""
        return True

    @property
    def fixed_shapes(self) -> bool:
        """Whether all training batches have the same shape, as XLA needs it."""
        return self.padding != "pack" or self.packed_rows is not None
