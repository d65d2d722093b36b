"""What a run is made of: frozen dataclasses with defaults, their meaning, validation and JSON.

A JSON file says only what differs from the defaults; unknown keys are errors; one number is changed
with `--override=path.to.field=value`. Nothing here imports TensorFlow, so a wrong config is reported
at once.
"""

import collections
import dataclasses
import difflib
import json
import math
import re
import types
import typing
from dataclasses import dataclass, field
from pathlib import Path

from kbert.files.json_file import read_json
from kbert.files.json_values import is_unicode, shown
from kbert.shipped_configs import configs_directory, find_config

PRESET_DIRECTORY = configs_directory() / "encoders"

ACTIVATIONS = ("gelu", "gelu_erf", "relu", "tanh")
PRECISIONS = ("float32", "mixed_bfloat16", "mixed_float16")
OPTIMIZERS = ("adam_weight_decay", "adamw", "lamb")
PADDINGS = ("auto", "keep", "pack")
DECAYS = ("linear", "polynomial", "cosine", "constant", "budget")
FINETUNING_TASKS = ("sequence_classification",)
# Models without a training script: runs of them come from checkpoints.
CONVERTED_TASKS = (
    "encoder",
    "token_classification",
    "question_answering",
    "multiple_choice",
    "next_sentence",
)

# Keys of Google's multilingual and Chinese `bert_config.json` that describe an unused pooler variant;
# the original reader accepts them and nothing reads them.
UNUSED_BERT_KEYS = (
    "directionality",
    "pooler_fc_size",
    "pooler_num_attention_heads",
    "pooler_num_fc_layers",
    "pooler_size_per_head",
    "pooler_type",
)


# The largest value of each setting: beyond any use, and small enough that what is computed from them stays an
# ordinary number. What is larger is a slip, or a file that is to keep a machine busy.
_LARGEST_STEP = 10**12
_LARGEST_LENGTH = 2**20
_LARGEST_BATCH = 10**7
_LARGEST = {
    "vocab_size": 10_000_000,
    "hidden_size": 65_536,
    "num_hidden_layers": 1000,
    "num_attention_heads": 65_536,
    "intermediate_size": 262_144,
    "max_position_embeddings": _LARGEST_LENGTH,
    "type_vocab_size": 65_536,
    "learning_rate": 3e38,  # of float32
    "weight_decay": 1000,
    "epsilon": 1,
    "decay_power": 100,
    "train_minutes": 1e8,
    "train_batch_size": _LARGEST_BATCH,
    "eval_batch_size": _LARGEST_BATCH,
    "gradient_accumulation_steps": _LARGEST_BATCH,
    "steps_per_call": 10**9,
    "log_every_steps": _LARGEST_STEP,
    "save_checkpoints_steps": _LARGEST_STEP,
    "keep_checkpoints": 10**9,
    "peak_flops": 1e30,
    "num_train_steps": _LARGEST_STEP,
    "eval_every_steps": _LARGEST_STEP,
    "max_eval_steps": _LARGEST_STEP,
    "max_seq_length": _LARGEST_LENGTH,
    "num_train_epochs": 1e6,
    "eval_every_epochs": 1e6,
    "early_stopping_patience": 10**9,
}
_MOST_NUMBERS = 20 * 10**9  # of an encoder


def _require(condition: bool, message: str):
    if not condition:
        raise ValueError(message)


def _check_limits(config, group: str = ""):
    """Refuses settings that are too large. NaN is left to the checks of what is too small."""
    for name, value in vars(config).items():
        if name in _LARGEST and value is not None and value > _LARGEST[name]:
            raise ValueError(f"{group}{name}={shown(value)} must be at most {_LARGEST[name]}.")


@dataclass(frozen=True)
class EncoderConfig:
    """The shape of a BERT encoder, under the keys of BERT's own `bert_config.json`.

    `hidden_act="gelu"` is the tanh approximation, as in the original code (modeling.py, `gelu`);
    `"gelu_erf"` is the exact form that PyTorch checkpoints use. The initializer, the activation and the
    epsilon live here alone: layers and heads are handed these numbers. The masked-LM head takes the
    encoder's activation and epsilon, unless `masked_lm_hidden_act` and `masked_lm_layer_norm_eps` give it
    its own, as KerasHub's models have.

    Raises:
      ValueError: for numbers that make no encoder.

    Example:
      >>> from kbert import EncoderConfig
      >>> tiny = EncoderConfig(hidden_size=128, num_hidden_layers=2, num_attention_heads=2)
      >>> tiny.vocab_size, tiny.max_position_embeddings
      (30522, 512)
    """

    vocab_size: int = 30522
    hidden_size: int = 768
    num_hidden_layers: int = 12
    num_attention_heads: int = 12
    intermediate_size: int = 3072
    hidden_act: str = "gelu"
    hidden_dropout_prob: float = 0.1
    attention_probs_dropout_prob: float = 0.1
    max_position_embeddings: int = 512
    type_vocab_size: int = 2
    initializer_range: float = 0.02
    layer_norm_eps: float = 1e-12
    masked_lm_hidden_act: str | None = None
    masked_lm_layer_norm_eps: float | None = None

    def __post_init__(self):
        for name in (
            "vocab_size",
            "hidden_size",
            "num_hidden_layers",
            "num_attention_heads",
            "intermediate_size",
            "max_position_embeddings",
            "type_vocab_size",
        ):
            _require(getattr(self, name) > 0, f"{name}={shown(getattr(self, name))} must be positive.")
        _check_limits(self)
        hidden, heads = self.hidden_size, self.num_attention_heads
        below = hidden // heads * heads or heads
        _require(
            hidden % heads == 0,
            f"hidden_size={hidden} is not divisible by num_attention_heads={heads}; choose a multiple "
            f"of {heads}, for example {below} or {below + heads}.",
        )
        for name in ("hidden_act", "masked_lm_hidden_act"):
            value = getattr(self, name)
            _require(
                value in ACTIVATIONS or (value is None and name != "hidden_act"),
                f"{name}={shown(value)} is not known; choose one of {', '.join(ACTIVATIONS)}.",
            )
        for name in ("hidden_dropout_prob", "attention_probs_dropout_prob"):
            value = getattr(self, name)
            _require(0.0 <= value < 1.0, f"{name}={value} must be at least 0 and below 1.")
        _require(
            0 <= self.initializer_range <= 10,
            f"initializer_range={self.initializer_range} must be at least 0 and at most 10.",
        )
        for name in ("layer_norm_eps", "masked_lm_layer_norm_eps"):
            value = getattr(self, name)
            absent = value is None and name != "layer_norm_eps"
            _require(absent or 0 < value <= 1, f"{name}={value} must be above 0 and at most 1.")
        self._check_size()

    def _check_size(self):
        hidden, layers = self.hidden_size, self.num_hidden_layers
        rows = self.vocab_size + self.max_position_embeddings + self.type_vocab_size
        numbers = hidden * (rows + layers * (4 * hidden + 2 * self.intermediate_size))
        _require(
            numbers <= _MOST_NUMBERS,
            f"vocab_size={self.vocab_size}, hidden_size={hidden}, num_hidden_layers={layers} make an encoder "
            f"of {numbers:,} numbers; kbert builds up to {_MOST_NUMBERS:,}.",
        )

    @property
    def masked_lm_settings(self) -> tuple[str, float]:
        """Activation and epsilon of the masked-LM head's transform."""
        own_eps = self.masked_lm_layer_norm_eps
        return (
            self.masked_lm_hidden_act or self.hidden_act,
            self.layer_norm_eps if own_eps is None else own_eps,
        )


@dataclass(frozen=True)
class OptimizerConfig:
    """How weights are updated, and the learning rate by step or time; formulas in docs/optimizers.md.

    `adam_weight_decay` is the original's Adam (optimization.py: no bias correction), `adamw` corrects, `lamb`
    is for batches of thousands; `bias_correction` decides otherwise. Variables whose name one of the regular
    expressions `exclude_from_weight_decay` is found in are not decayed. `layer_decay` below 1 lets a layer
    learn at that many times the rate of the layer above it.

    The rate rises linearly from 0 to `learning_rate` over the warm-up steps, then follows `decay` to
    `end_learning_rate`: "linear", "polynomial" (of `decay_power`), "cosine", "constant", or "budget": linear
    in wall-clock time over `train_minutes`, of which `budget_warmup_proportion` warms up, then training ends.

    `global_clipnorm` is the longest that all gradients together may be; null, or Infinity, which is recorded
    as null, leaves them as they are.
    """

    name: str = "adam_weight_decay"
    learning_rate: float = 1e-4
    weight_decay: float = 0.01
    beta_1: float = 0.9
    beta_2: float = 0.999
    epsilon: float = 1e-6
    global_clipnorm: float | None = 1.0
    bias_correction: bool | None = None
    # optimization.py, `create_optimizer`: searched for in the name.
    exclude_from_weight_decay: tuple[str, ...] = ("LayerNorm", "layer_norm", "bias")
    layer_decay: float = 1.0
    decay: str = "linear"
    decay_power: float = 1.0
    end_learning_rate: float = 0.0
    train_minutes: float | None = None
    budget_warmup_proportion: float = 0.06

    def __post_init__(self):
        _require(
            self.name in OPTIMIZERS,
            f"optimizer.name={shown(self.name)} is not known; choose one of {', '.join(OPTIMIZERS)}.",
        )
        self._check_clipnorm()
        for name in ("learning_rate", "epsilon", "decay_power"):
            value = getattr(self, name)
            _require(value > 0, f"optimizer.{name}={value} must be positive.")
        _check_limits(self, "optimizer.")
        for name in ("beta_1", "beta_2"):
            value = getattr(self, name)
            _require(0 <= value < 1, f"optimizer.{name}={value} must be at least 0 and below 1.")
        _require(self.weight_decay >= 0, f"optimizer.weight_decay={self.weight_decay} must not be negative.")
        for pattern in self.exclude_from_weight_decay:
            try:
                re.compile(pattern)
            except (re.error, RecursionError, OverflowError) as error:
                raise ValueError(
                    f"optimizer.exclude_from_weight_decay holds {shown(pattern)}, which is not a regular "
                    f"expression ({error})."
                ) from None
        _require(
            0 < self.layer_decay <= 1,
            f"optimizer.layer_decay={self.layer_decay} must be above 0 and at most 1, which is no decay.",
        )
        self._check_schedule()

    def _check_clipnorm(self):
        norm = self.global_clipnorm
        if norm == math.inf:
            # Infinity is not valid JSON, and 0 * infinity no number: null is the one way to record it.
            object.__setattr__(self, "global_clipnorm", None)
            return
        _require(
            norm is None or 1e-30 <= norm <= 1e30,
            f"optimizer.global_clipnorm={norm} must lie between 1e-30 and 1e+30; null switches clipping off.",
        )

    def _check_schedule(self):
        _require(
            self.decay in DECAYS,
            f"optimizer.decay={shown(self.decay)} is not known; choose one of {', '.join(DECAYS)}.",
        )
        _require(
            self.decay_power == 1 or self.decay == "polynomial",
            f'optimizer.decay_power={self.decay_power} needs decay="polynomial", not {shown(self.decay)}.',
        )
        _require(
            0 <= self.end_learning_rate <= self.learning_rate,
            f"optimizer.end_learning_rate={self.end_learning_rate} must lie between 0 and "
            f"learning_rate={self.learning_rate}.",
        )
        _require(
            self.end_learning_rate == 0 or self.decay != "constant",
            f"optimizer.end_learning_rate={self.end_learning_rate} is never reached with "
            'decay="constant"; leave it out.',
        )
        _require(
            (self.train_minutes is not None) == (self.decay == "budget"),
            f"optimizer.train_minutes={self.train_minutes} does not go with decay={shown(self.decay)}: "
            'decay="budget" needs train_minutes, and nothing else takes it.',
        )
        _require(
            self.train_minutes is None or self.train_minutes > 0,
            f"optimizer.train_minutes={self.train_minutes} must be positive.",
        )
        _require(
            0 <= self.budget_warmup_proportion < 1,
            f"optimizer.budget_warmup_proportion={self.budget_warmup_proportion} must be at least 0 and "
            "below 1.",
        )

    @property
    def corrects_bias(self) -> bool:
        """Whether moments are corrected for having begun at 0."""
        if self.bias_correction is None:
            return self.name != "adam_weight_decay"
        return self.bias_correction


@dataclass(frozen=True)
class TrainingConfig:
    """What every kind of training has: batches, optimizer, precision, and when to look and save.

    `encoder` may be a preset's name ("bert_mini"), an object of EncoderConfig's keys, or an object with
    `preset` and the keys that differ; left out, it comes with the `init_checkpoint`. Steps are optimizer
    steps; `steps_per_call` of them run in one graph call, which is cut short where an interval ends.
    `train_batch_size` is the global batch, over all replicas; `gradient_accumulation_steps` cuts it into as
    many parts that are worked on one after the other, for the memory of one, with the same result.
    `jit_compile` is XLA: true, false or "auto", see kbert/training/devices/jit.py. The checkpoint with the
    best `best_metric` on the evaluation data is kept beside the newest; null takes the task's own metric.
    `deterministic_ops` forbids TensorFlow's kernels to add up in an order that changes from run to run, as
    some do on a GPU; on a CPU they do not anyway (docs/runs.md).
    `peak_flops` is the peak FLOP/s of one device, which speed is compared with; left out, it is known by the
    device's name, or measured.

    `padding` is what becomes of padding inside the encoder, with the same result: "keep", "pack" (several
    texts in a row; as many rows as each batch needs, or `packed_rows`, for XLA's fixed shapes), or "auto":
    pack where shapes vary anyway. `recompute_activations` runs each block again for its gradient instead of
    keeping what is inside: less memory, more work, the same result.
    """

    description: str = ""
    encoder: EncoderConfig | None = None
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)
    train_batch_size: int = 32
    eval_batch_size: int = 32
    steps_per_call: int = 10
    log_every_steps: int = 50
    save_checkpoints_steps: int = 1000
    keep_checkpoints: int = 2
    best_metric: str | None = None
    precision: str = "float32"
    jit_compile: bool | str = "auto"
    gradient_accumulation_steps: int = 1
    padding: str = "auto"
    packed_rows: int | None = None
    recompute_activations: bool = False
    peak_flops: float | None = None
    deterministic_ops: bool = False
    seed: int = 12345

    def __post_init__(self):
        for name in (
            "train_batch_size",
            "eval_batch_size",
            "steps_per_call",
            "log_every_steps",
            "save_checkpoints_steps",
            "keep_checkpoints",
            "gradient_accumulation_steps",
        ):
            _require(getattr(self, name) > 0, f"{name}={shown(getattr(self, name))} must be positive.")
        _check_limits(self)
        _require(
            isinstance(self.jit_compile, bool) or self.jit_compile == "auto",
            f'jit_compile={shown(self.jit_compile)} is not known; choose true, false or "auto".',
        )
        _require(
            self.precision in PRECISIONS,
            f"precision={shown(self.precision)} is not known; choose one of {', '.join(PRECISIONS)}.",
        )
        _require(
            self.peak_flops is None or self.peak_flops > 0, f"peak_flops={self.peak_flops} must be positive."
        )
        _require(0 <= self.seed < 2**32, f"seed={shown(self.seed)} must lie between 0 and {2**32 - 1}.")
        self._check_padding()

    def _check_padding(self):
        _require(
            self.padding in PADDINGS,
            f"padding={shown(self.padding)} is not known; choose one of {', '.join(PADDINGS)}.",
        )
        _require(
            self.packed_rows is None or self.padding == "pack",
            f"packed_rows={self.packed_rows} does not go with padding={shown(self.padding)}, only with "
            'padding="pack".',
        )
        _require(
            self.packed_rows is None or 0 < self.packed_rows <= self.train_batch_size,
            f"packed_rows={shown(self.packed_rows)} must lie between 1 and "
            f"train_batch_size={self.train_batch_size}.",
        )
        _require(
            self.packed_rows is None or self.fixed_shapes,
            f"packed_rows={self.packed_rows} needs batches of one shape: set pad_to_longest=false and leave "
            "out length_buckets, or leave out packed_rows.",
        )
        _require(
            not (self.jit_compile is True and self.padding == "pack" and self.packed_rows is None),
            'jit_compile=true needs fixed shapes, and padding="pack" takes as many rows as each batch needs: '
            "give packed_rows.",
        )

    @property
    def fixed_shapes(self) -> bool:
        """Whether all training batches have the same shape, as XLA wants them."""
        return self.padding != "pack" or self.packed_rows is not None


@dataclass(frozen=True)
class PhaseConfig:
    """What one phase of a pretraining changes of the run's own settings; null leaves them.

    Each phase has records, warm-up and decay of its own, over its own `num_train_steps`. `fresh_optimizer`
    sets the moments to 0 and begins to count updates anew, as where the original recipe started a second
    run from the first one's weights; without it they go on.
    """

    num_train_steps: int | None = None
    num_warmup_steps: int | None = None
    train_batch_size: int | None = None
    gradient_accumulation_steps: int | None = None
    learning_rate: float | None = None
    length_buckets: tuple[int, ...] | None = None
    fresh_optimizer: bool = False


@dataclass(frozen=True)
class PretrainingConfig(TrainingConfig):
    """Masked LM + next sentence; lengths come from the records, vocabulary and casing from their manifest.

    `length_buckets` are lengths such as [32, 64, 96, 128]: batches then hold examples of like length, cut to
    it, and shorter ones more of them, so that each has about as many tokens as `train_batch_size` examples
    of the longest. Shapes vary, so it does not go with `jit_compile`.

    `phases`, a list of PhaseConfig's keys, trains several phases in a row, such as 128 and then 512 tokens:
    steps are counted on, and the run's `num_train_steps` is that of a phase which names none.
    """

    num_train_steps: int = 100_000
    num_warmup_steps: int = 10_000
    eval_every_steps: int = 10_000
    max_eval_steps: int = 100
    length_buckets: tuple[int, ...] = ()
    phases: tuple[PhaseConfig, ...] = ()

    def __post_init__(self):
        super().__post_init__()
        for name in ("num_train_steps", "eval_every_steps", "max_eval_steps"):
            _require(getattr(self, name) > 0, f"{name}={shown(getattr(self, name))} must be positive.")
        _require(
            0 <= self.num_warmup_steps <= self.num_train_steps,
            f"num_warmup_steps={shown(self.num_warmup_steps)} must lie between 0 and "
            f"num_train_steps={self.num_train_steps}.",
        )
        _require(
            not (self.jit_compile is True and self.length_buckets),
            "jit_compile=true needs fixed shapes: leave length_buckets out.",
        )
        _require(
            not (self.gradient_accumulation_steps > 1 and self.length_buckets),
            "length_buckets gives batches of many sizes, which gradient_accumulation_steps cannot cut into "
            "equal parts: leave one of them out.",
        )
        _require(
            not (self.optimizer.decay == "budget" and self.phases),
            'optimizer.decay="budget" ends the training with its time, so it does not go with phases: leave '
            "one of them out.",
        )
        for number, phase in enumerate(self.phases):
            try:
                self.of_phase(phase)
            except ValueError as error:
                raise ValueError(f"phases.{number}: {error}") from None

    def of_phase(self, phase: PhaseConfig) -> "PretrainingConfig":
        """The settings of a phase, as of a run of its own."""
        changes = {name: value for name, value in vars(phase).items() if value is not None}
        del changes["fresh_optimizer"]
        if "learning_rate" in changes:
            rate = changes.pop("learning_rate")
            changes["optimizer"] = dataclasses.replace(self.optimizer, learning_rate=rate)
        return dataclasses.replace(self, phases=(), **changes)

    @property
    def phase_configs(self) -> tuple["PretrainingConfig", ...]:
        """The settings of every phase in order; those of the run itself where it names no phases."""
        return tuple(self.of_phase(phase) for phase in self.phases) or (self,)

    @property
    def fixed_shapes(self) -> bool:
        return super().fixed_shapes and not self.length_buckets


@dataclass(frozen=True)
class DatasetConfig:
    """How a labelled file is read: TSV, CSV or JSONL (by its ending), with named columns.

    `column_names` names the columns of a file that has no header line. TSV files are read with quoting
    off, as GLUE's are written; CSV files with the usual double quotes. An empty `labels` takes the
    sorted labels of the training file; the run records them. `positive_label` is what F1 counts for two
    labels (default: the last); with more labels F1 is the macro average.
    """

    text: str = "text"
    text_pair: str | None = None
    label: str = "label"
    column_names: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    positive_label: str | None = None
    file_format: str | None = None

    def __post_init__(self):
        repeated = sorted(name for name, count in collections.Counter(self.labels).items() if count > 1)
        _require(not repeated, f"dataset.labels repeats {shown(repeated)}; name each label once.")
        _require(
            self.file_format in (None, "tsv", "csv", "jsonl"),
            f"dataset.file_format={shown(self.file_format)} is not known; choose tsv, csv or jsonl.",
        )
        _require(
            self.positive_label is None or not self.labels or self.positive_label in self.labels,
            f"dataset.positive_label={shown(self.positive_label)} is not among "
            f"labels={shown(list(self.labels))}.",
        )
        if self.column_names:
            for column in filter(None, (self.text, self.text_pair, self.label)):
                _require(
                    column in self.column_names,
                    f"dataset column {shown(column)} is not among "
                    f"column_names={shown(list(self.column_names))}.",
                )


@dataclass(frozen=True)
class FinetuningConfig(TrainingConfig):
    """A task on labelled text. Steps = int(examples / batch x epochs), as in the original scripts.

    `dropout_prob` replaces the encoder's dropout rates, for an encoder that was pretrained without.
    `pad_to_longest` pads each training batch to its longest text (rounded up to a multiple of 16)
    instead of `max_seq_length`: less work on a CPU, but shapes vary, so it does not go with
    `jit_compile`. Evaluation comes at the end, and before that every `eval_every_steps` steps or
    `eval_every_epochs` (0.5: twice an epoch). `early_stopping_patience` evaluations in a row that are no
    better than the best end the training; the best checkpoint is then the run's answer.
    """

    task: str = "sequence_classification"
    dataset: DatasetConfig = field(default_factory=DatasetConfig)
    max_seq_length: int = 128
    num_train_epochs: float = 3.0
    warmup_proportion: float = 0.1
    dropout_prob: float | None = None
    pad_to_longest: bool = True
    eval_every_steps: int | None = None
    eval_every_epochs: float | None = None
    early_stopping_patience: int | None = None

    def __post_init__(self):
        super().__post_init__()
        for name in ("eval_every_steps", "eval_every_epochs", "early_stopping_patience"):
            value = getattr(self, name)
            _require(value is None or value > 0, f"{name}={shown(value)} must be positive.")
        _require(
            self.eval_every_steps is None or self.eval_every_epochs is None,
            "eval_every_steps and eval_every_epochs say the same: give one of them.",
        )
        _require(
            self.early_stopping_patience is None or self.eval_every_steps or self.eval_every_epochs,
            "early_stopping_patience counts evaluations during training: give eval_every_steps or "
            "eval_every_epochs, for example 0.5.",
        )
        _require(
            self.task in FINETUNING_TASKS + CONVERTED_TASKS,
            f"task={shown(self.task)} is not known; choose one of {', '.join(FINETUNING_TASKS)}.",
        )
        _require(self.max_seq_length >= 4, f"max_seq_length={shown(self.max_seq_length)} must be at least 4.")
        _require(self.num_train_epochs > 0, f"num_train_epochs={self.num_train_epochs} must be positive.")
        _require(
            0.0 <= self.warmup_proportion <= 1.0,
            f"warmup_proportion={self.warmup_proportion} must lie between 0 and 1.",
        )
        _require(
            self.dropout_prob is None or 0.0 <= self.dropout_prob < 1.0,
            f"dropout_prob={self.dropout_prob} must be at least 0 and below 1.",
        )
        _require(
            not (self.jit_compile is True and self.pad_to_longest),
            "jit_compile=true needs fixed shapes: set pad_to_longest=false as well.",
        )

    @property
    def fixed_shapes(self) -> bool:
        return super().fixed_shapes and not self.pad_to_longest


# ---------------------------------------------------------------------------------------- JSON


def encoder_presets() -> list[str]:
    """The names under configs/encoders, for example `bert_tiny`."""
    return sorted(path.stem for path in PRESET_DIRECTORY.glob("*.json"))


def load_encoder_config(path: str | Path) -> EncoderConfig:
    """Reads a `bert_config.json`. Raises ValueError on an unknown key or an impossible shape."""
    return from_dict(EncoderConfig, _read_json(path), where=str(path))


def load_config(config_class, path: str | Path, overrides=(), vocab_size: int | None = None):
    """Reads `config_class` from a JSON file and applies `--override` strings `a.b=value`, in order.

    Args:
      config_class: PretrainingConfig or FinetuningConfig.
      path: a JSON file.
      overrides: strings such as `optimizer.learning_rate=3e-5`.
      vocab_size: the size of the vocabulary at hand, for an encoder that names a preset's shape but no
        `vocab_size` of its own.

    Raises:
      ValueError: for a missing file, broken JSON, an unknown key, a value of another type, or values
        that do not fit together; the sentence names file and key.
    """
    values = _read_json(find_config(path))
    for override in overrides:
        _apply_override(values, override)
    encoder = values.get("encoder")
    if isinstance(encoder, str):
        encoder = values["encoder"] = {"preset": encoder}
    if isinstance(encoder, dict) and vocab_size is not None:
        encoder.setdefault("vocab_size", vocab_size)
        _require(
            isinstance(encoder["vocab_size"], int) and encoder["vocab_size"] >= vocab_size,
            f"{path}: encoder.vocab_size={shown(encoder['vocab_size'])} is smaller than the vocabulary, "
            f"which has {vocab_size} pieces; leave it out to take the vocabulary's size.",
        )
    return from_dict(config_class, values, where=str(path))


def to_dict(config) -> dict:
    """The JSON-ready form of a config, which `from_dict` reads back equal."""
    return json.loads(json.dumps(dataclasses.asdict(config), allow_nan=False))


def from_dict(config_class, values, where: str = "config"):
    """Builds a (nested) config dataclass from plain JSON values.

    Raises:
      ValueError: naming `where`, the key, what was received and what was expected.
    """
    if config_class is EncoderConfig:
        values = _expand_encoder(values, where)
    _require(isinstance(values, dict), f"{where}: expected an object of settings, received {shown(values)}.")
    hints = typing.get_type_hints(config_class)
    for key in values:
        if key not in hints:
            close = difflib.get_close_matches(key[:100], hints, n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            raise ValueError(
                f"{where}: unknown key {shown(key)} for {config_class.__name__}.{hint} "
                f"Known keys: {', '.join(hints)}."
            )
    converted = {key: _convert(hints[key], value, f"{where}: {key}") for key, value in values.items()}
    try:
        return config_class(**converted)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


def _expand_encoder(values, where):
    """Replaces a preset name, or an object with `preset`, by the full set of keys."""
    if isinstance(values, str):
        values = {"preset": values}
    if not isinstance(values, dict):
        return values
    values = {key: value for key, value in values.items() if key not in UNUSED_BERT_KEYS}
    values.pop("description", None)
    preset = values.pop("preset", None)
    if preset is None:
        return values
    _require(
        preset in encoder_presets(),  # a name, never a path
        f"{where}: unknown encoder preset {shown(preset)}; choose one of {', '.join(encoder_presets())}.",
    )
    path = PRESET_DIRECTORY / f"{preset}.json"
    return {**_expand_encoder(_read_json(path), str(path)), **values}


def _convert(hint, value, where):
    if isinstance(hint, types.UnionType):
        kinds = typing.get_args(hint)
        if value is None and type(None) in kinds:
            return None
        kinds = [kind for kind in kinds if kind is not type(None)]
        if len(kinds) > 1:
            names = " or ".join(kind.__name__ for kind in kinds)
            _require(type(value) in kinds, f"{where}: expected {names}, received {shown(value)}.")
            return value
        (hint,) = kinds
    if dataclasses.is_dataclass(hint):
        return from_dict(hint, value, where)
    if typing.get_origin(hint) is tuple:
        _require(isinstance(value, list | tuple), f"{where}: expected a list, received {shown(value)}.")
        return tuple(_convert(typing.get_args(hint)[0], item, where) for item in value)
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return _as_float(value)
    if not isinstance(value, hint) or (hint is int and isinstance(value, bool)):
        raise ValueError(f"{where}: expected {hint.__name__}, received {shown(value)}.")
    if hint is str and not is_unicode(value):
        raise ValueError(f"{where}: {shown(value)} holds half a surrogate pair; expected a text.")
    return value


def _as_float(value):
    try:
        return float(value)
    except OverflowError:  # more than 1.8e308: the limits refuse it by name
        return math.inf if value > 0 else -math.inf


def _read_json(path):
    path = Path(path)
    _require(path.is_file(), f"config file {path} does not exist; give the path of a JSON file.")
    values = read_json(path)
    _require(isinstance(values, dict), f"{path}: expected an object of settings, received {shown(values)}.")
    return values


def _apply_override(values, override):
    flag = f"--override={shown(override)}"
    name, separator, text = override.partition("=")
    _require(
        bool(separator and name),
        f"{flag} must look like path.to.field=value, for example optimizer.learning_rate=3e-5.",
    )
    *parents, leaf = name.split(".")
    for parent in parents:
        if isinstance(values, list):  # phases.0.num_train_steps
            known = parent in map(str, range(len(values)))
            _require(known, f"{flag}: there is no {shown(parent)} in a list of {len(values)}.")
            child = values[int(parent)]
        else:
            child = values.setdefault(parent, {})
        if isinstance(child, str):  # an encoder preset: keep it and change one of its keys
            child = values[parent] = {"preset": child}
        _require(isinstance(child, dict | list), f"{flag}: {shown(parent)} holds no settings.")
        values = child
    _require(isinstance(values, dict), f"{flag} must name a setting, not a list's entry.")
    values[leaf] = _override_value(text, flag)


def _override_value(text, flag):
    """The JSON value of a text, or the text itself, so that words need no quotes."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text
    except RecursionError:
        raise ValueError(f"{flag} is nested too deeply to be read.") from None
    except ValueError as error:  # a number of thousands of digits
        raise ValueError(f"{flag}: {error}.") from None
