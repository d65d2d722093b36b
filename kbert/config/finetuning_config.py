"""A task on labelled text, and how its files are read."""

from dataclasses import dataclass, field
from typing import Annotated, Literal

from kbert.bounds import Bounds
from kbert.checks import Epochs, Layers, Length, Many, Seed, Share, Steps, check_values, require
from kbert.config.frozen_config import FrozenConfig
from kbert.config.lora_config import LoraConfig, is_adapter
from kbert.config.training_config import TrainingConfig
from kbert.files.file_format import DELIMITED, FileFormat
from kbert.files.json_values import require_once, shown
from kbert.files.text_encoding import is_text_encoding

_TagScheme = Literal["auto", "iob1", "iob2", "bioes", "bilou", "bmes", "bmewo", "ioe1", "ioe2", "none"]
_ENCODER = FrozenConfig(embeddings=True, layers=1000)  # without pooler and heads


@dataclass(frozen=True)
class DatasetConfig:
    """How a labelled file is read, with named columns: TSV, CSV, JSONL, parquet or Arrow, by its ending or
    `file_format`. What the task, or the format of the file, does not read is refused where a training begins.

    `text`, `text_pair` and `label` are names of columns. `column_names` names the columns of a file that has
    no header line. TSV files are read without quoting, as GLUE's are written; CSV files with the usual double
    quotes. If `labels` is empty, the sorted labels of the training file are used; the run records them. With
    two labels, F1 is that of `positive_label` (default: the last); with more labels F1 is the macro average.

    `choices` are the columns of the possible answers, for multiple choice; `labels`, where there are any, are
    then as many and in their order. `label_separator` is the text between the labels of one cell, for example
    ";", for multi-label classification; JSONL and tables may hold lists instead.

    `negatives` are the columns of texts that are wrong for `text`, where `text_pair` is the right one, for
    `multiple_negatives_ranking` and the like, and for `sequence_regression`, which makes a pair of each of
    them. `scores` is the column of a teacher's scores, a list of one for `text_pair` and for each of
    `negatives`, as `kbert hard-negatives --cross_encoder` writes it.

    `tag_scheme`, `document` and `sentence` are for token classification: the scheme of a file's tags ("auto"
    finds it, "none" for labels that are no entities); the column that tells which document a line is from;
    and, in a file with a word in each row, the column that tells its sentence, in each row or in the first.

    `skip_short_rows` skips rows of a labelled TSV or CSV file that have too few columns, as some rows of
    GLUE's QQP have, and counts them in a warning. Without it, and in files without labels, such a row is an
    error. `skip_empty_rows` does the same for rows in which nothing stands that is read, such as the `;;;`
    that Excel writes below a table, and lists without words and labels.
    `skip_unlabelled` leaves out rows without a label, and counts them: an empty cell, null, NaN, "-", -1 and
    -100 (unless they are classes, or numbers of the scale) and the like. Without it such a row is an error;
    but an empty cell means that none of several labels holds.

    `delimiter` is the character between the columns of a TSV or CSV file. Without it that is a tab or a comma
    by the format, or another one of `,` `;` `|` and tab where the header line shows it, which is said. With
    `file_format = "csv"` and `delimiter = "\\t"` a file of tabs is read with double quotes. `encoding` is
    that of a file without a byte order mark that is not UTF-8, by Python's name, such as "cp1252".
    """

    text: str = "text"
    text_pair: str | None = None
    label: str = "label"
    choices: tuple[str, ...] = ()
    negatives: tuple[str, ...] = ()
    scores: str | None = None
    column_names: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    positive_label: str | None = None
    label_separator: str | None = None
    file_format: FileFormat | None = None
    tag_scheme: _TagScheme = "auto"
    document: str | None = None
    sentence: str | None = None
    skip_short_rows: bool = False
    skip_unlabelled: bool = False
    skip_empty_rows: bool = False
    delimiter: str | None = None
    encoding: str | None = None

    def __post_init__(self):
        check_values(self, "dataset.")
        require_once(self.labels, "dataset.labels")
        self._check_text_format()
        require(
            self.positive_label is None or not self.labels or self.positive_label in self.labels,
            f"dataset.positive_label={shown(self.positive_label)} is not among "
            f"labels={shown(list(self.labels))}.",
        )
        require(
            self.label_separator != "",
            "dataset.label_separator='' separates nothing; give a text such as \";\", or leave it out.",
        )
        require(
            self.label not in self.text_columns,
            f"dataset.label={shown(self.label)} is also a column of texts: the answer would stand in the "
            "question; name the column of the labels.",
        )
        twice = sorted({name for name in self.text_columns if self.text_columns.count(name) > 1})
        require(
            not twice,
            f"dataset.text, text_pair, choices and negatives name {shown(twice)} twice: a text would be "
            "compared with itself; name another column, or leave dataset.text_pair out for single texts. To "
            "pair texts with themselves, as SimCSE does, write them in two columns.",
        )
        if self.column_names:
            label = () if self.label == type(self).label else (self.label,)  # rows of some tasks have none
            for column in (*self.text_columns, *label):
                require(
                    column in self.column_names,
                    f"dataset column {shown(column)} is not among "
                    f"column_names={shown(list(self.column_names))}.",
                )

    @property
    def text_columns(self) -> tuple[str, ...]:
        """The columns of texts."""
        return tuple(filter(None, (self.text, self.text_pair, *self.choices, *self.negatives)))

    def _check_text_format(self):
        if self.delimiter == "\\t":  # as a shell leaves it
            object.__setattr__(self, "delimiter", "\t")
        require(
            self.delimiter is None or (len(self.delimiter) == 1 and self.delimiter not in '"\r\n\0'),
            f'dataset.delimiter={shown(self.delimiter)} must be one character, such as ";" or "\\t".',
        )
        require(
            self.delimiter is None or self.file_format in (None, *DELIMITED),
            f"dataset.delimiter={shown(self.delimiter)} cuts the lines of TSV and CSV files, but "
            f"dataset.file_format is {shown(self.file_format)}; leave one of them out.",
        )
        require(
            self.encoding is None or is_text_encoding(self.encoding),
            f"dataset.encoding={shown(self.encoding)} is no encoding of text that Python knows; give one "
            "such as utf-8, utf-16, cp1252 (western Windows), cp1251, shift_jis, gb18030.",
        )


# Settings that draw rows of a labelled file, each time that a training reads it. Records hold all rows.
DRAWN_ROWS = ("dev_split", "max_train_examples")


@dataclass(frozen=True)
class FinetuningConfig(TrainingConfig):
    """A task on labelled text. Steps = int(examples / batch x epochs), as in the original scripts.

    `task` names the task, and `dataset` says how its files are read, see DatasetConfig. `num_train_epochs`
    may be a fraction. The learning rate rises over `warmup_proportion` of the steps; with
    `optimizer.decay = "budget"` over `optimizer.budget_warmup_proportion` of the time.

    `pad_to_longest` pads each training batch to its longest text (rounded up to a multiple of 16) instead of
    `max_seq_length`: less work on a CPU, but shapes vary, so it cannot be combined with `jit_compile=true`.
    `task_settings` are settings of this task alone, such as the step between windows; see
    `Task.settings_class`. The model is evaluated at the end, and during training every `eval_every_steps`
    steps or `eval_every_epochs` epochs (0.5: twice per epoch), but not less than half of that before the end.
    `dev_split` holds out this share of the training file for that, by label, where there is no development
    file; `dev_split_seed` chooses which examples, whatever the `seed` of the training. `reinit_layers` of the
    topmost layers, and with `reinit_pooler` the pooler, begin with new random numbers instead of those of the
    checkpoint (arXiv 2006.05987, section 5). `max_train_examples` trains on at most so many examples of a
    file, for a quick try: drawn like those of `dev_split`, by label and by `dev_split_seed`, from what that
    leaves. `lora` trains small adapters in the place of the encoder, see LoraConfig. `freeze_encoder` trains
    the head alone, on outputs of the encoder that are computed once, without dropout; labelled files only.
    Training stops early after `early_stopping_patience` evaluations in a row without an improvement; the best
    checkpoint is then the run's default checkpoint.
    """

    task: str = "sequence_classification"
    dataset: DatasetConfig = field(default_factory=DatasetConfig)
    task_settings: dict = field(default_factory=dict)
    max_seq_length: Length = 128
    num_train_epochs: Epochs = 3.0
    warmup_proportion: Share = 0.1
    reinit_layers: Layers = 0
    reinit_pooler: bool = False
    lora: LoraConfig | None = None
    freeze_encoder: bool = False
    pad_to_longest: bool = True
    eval_every_steps: Steps | None = None
    eval_every_epochs: Epochs | None = None
    early_stopping_patience: Many | None = None
    dev_split: Annotated[float, Bounds(above=0, below=1)] | None = None
    dev_split_seed: Seed = 0
    max_train_examples: Steps | None = None

    def __post_init__(self):
        super().__post_init__()
        require(
            self.eval_every_steps is None or self.eval_every_epochs is None,
            "eval_every_steps and eval_every_epochs both set when to evaluate: give one of them.",
        )
        require(
            bool(self.early_stopping_patience is None or self.eval_every_steps or self.eval_every_epochs),
            "early_stopping_patience counts evaluations during training: give eval_every_steps or "
            "eval_every_epochs, for example 0.5.",
        )
        require(
            self.optimizer.decay != "budget" or self.warmup_proportion == FinetuningConfig.warmup_proportion,
            f'warmup_proportion={self.warmup_proportion} is not read with optimizer.decay="budget"; leave it '
            "out, or set optimizer.budget_warmup_proportion.",
        )
        self._check_reinit()
        self._check_lora()
        self._check_freeze_encoder()
        require(
            not self.dev_split_seed or any(getattr(self, name) for name in DRAWN_ROWS),
            f"dev_split_seed={self.dev_split_seed} chooses the examples of {' and of '.join(DRAWN_ROWS)}, "
            "but none of them is set; leave it out.",
        )
        require(
            not (self.jit_compile is True and self.pad_to_longest),
            "jit_compile=true needs fixed shapes: set pad_to_longest=false as well.",
        )

    def _check_reinit(self):
        if self.encoder is None:
            return
        layers = self.encoder.num_hidden_layers
        require(
            self.reinit_layers + self.frozen.layers <= layers,
            f"reinit_layers={shown(self.reinit_layers)} and frozen.layers={self.frozen.layers} are "
            f"together more than the encoder's num_hidden_layers={layers}: a layer cannot be "
            "initialised again and be frozen.",
        )

    def _check_lora(self):
        if self.lora is None:
            return
        require(
            self.frozen == FrozenConfig(),
            "lora freezes the whole encoder: leave out [frozen], or train a part of it without lora.",
        )
        require(
            self.reinit_layers == 0,
            f"reinit_layers={shown(self.reinit_layers)} layers would keep random numbers, because lora "
            "freezes the encoder; leave one of them out.",
        )

    def _check_freeze_encoder(self):
        if not self.freeze_encoder:
            return
        changes = {
            "frozen": self.frozen != FrozenConfig(),
            "lora": self.lora,
            "distillation": self.distillation,
            "reinit_layers": self.reinit_layers,
            "optimizer.layer_decay": self.optimizer.layer_decay != 1.0,
            "recompute_activations": self.recompute_activations,
            'padding="pack"': self.padding == "pack",
        }
        conflicts = [name for name, value in changes.items() if value]
        require(
            not conflicts,
            f"freeze_encoder leaves nothing of the encoder to train: leave out {', '.join(conflicts)}.",
        )

    @property
    def needs_weights(self):
        return super().needs_weights | {
            "lora adapts": self.lora is not None,
            "freeze_encoder keeps": self.freeze_encoder,
            "reinit_layers replaces a part of": self.reinit_layers > 0,
            "reinit_pooler replaces a part of": self.reinit_pooler,
        }

    @property
    def adapters(self):
        return self.lora

    def is_updated(self, name):
        if self.lora is None and not self.freeze_encoder:
            return super().is_updated(name)
        return is_adapter(name) or not _ENCODER.holds(name)

    def is_in_checkpoints(self, name):
        return self.lora is None or self.is_updated(name)

    def is_reinitialized(self, name, num_hidden_layers):
        if name.startswith("pooler/"):
            return self.reinit_pooler
        if is_adapter(name):  # no checkpoint has any
            return True
        above = FrozenConfig(layers=num_hidden_layers - self.reinit_layers)
        return name.startswith("layer_") and not above.holds(name)

    @property
    def fixed_shapes(self) -> bool:
        return super().fixed_shapes and not self.pad_to_longest
