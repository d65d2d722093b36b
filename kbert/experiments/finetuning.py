"""A labelled file or records + a checkpoint -> a run directory."""

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from kbert.checkpoints.report import unmatched_patterns
from kbert.checks import with_checked_arguments
from kbert.config import Devices, FinetuningConfig, config_with_settings
from kbert.distillation import teacher
from kbert.experiments import finetuning_run, show_lines
from kbert.experiments.finetuning_checks import require_settings_read, require_trainable
from kbert.experiments.finetuning_data import LabelledPaths, open_data, reads_early
from kbert.experiments.init import Init, require_place
from kbert.input_pipelines.data_files import LabelledData, data_as_files
from kbert.manifest import read_manifest
from kbert.tasks.file_columns import require_read
from kbert.tokenization.base_vocabulary import BaseVocabulary
from kbert.tokenization.vocabulary_files import read_vocabulary

_NAME_COLUMNS = "Name the columns: kbert.finetune(..., text='review', label='stars'), or rename them."


@with_checked_arguments
def finetune(
    config: FinetuningConfig | str | Path,
    run_dir: str | Path,
    train_file: LabelledData = None,
    dev_file: LabelledData = None,
    init_checkpoint: str | Path | None = None,
    *,
    train_dir: str | Path | None = None,
    dev_dir: str | Path | None = None,
    other_dev_files: Mapping[str, LabelledData] | None = None,
    from_scratch: bool = False,
    vocabulary: BaseVocabulary | None = None,
    do_lower_case: bool | None = None,
    allow_unmatched: Sequence[str] | str = (),
    **settings,
):
    """Fine-tunes a checkpoint on labelled examples, as `kbert finetune` does with the flags of these names.

    A run that was stopped or killed goes on with the same call, from its newest checkpoint. Afterwards
    `kbert.load(run_dir)` is the model.

    Args:
      config: TOML file, or the config.json of a run, with model, optimizer, batches and epochs. In Python
        also a `FinetuningConfig`. "configs/finetuning/small_data.toml" is made for a few hundred to a few
        thousand texts, in columns called text and label. With an `init_checkpoint` its encoder must be None
        or the same as the checkpoint's.
      run_dir: folder for checkpoints and metrics; a run in it is resumed.
      train_file: labelled file, such as .tsv, .csv, .jsonl, or .parquet (a pattern in quotes for several); or
        a folder of `datasets`. In Python also data in memory: a DataFrame, columns such as {"text": texts,
        "label": labels}, or a list of dicts, a row each. The settings `text`, `text_pair` and `label` name
        the columns.
      dev_file: labelled file for evaluation. In Python also data in memory.
      init_checkpoint, do_lower_case, allow_unmatched: the checkpoint to start from, as for `kbert.load`.
      train_dir: instead of `train_file`: records of kbert finetuning-data.
      dev_dir: instead of `dev_file`: records of kbert finetuning-data.
      other_dev_files: name -> further data to evaluate on, see `LabelledPaths`.
      from_scratch: use vocabulary and encoder shape of `init_checkpoint` but not its weights: a control
        experiment that shows how much pretraining helps.
      vocabulary: the `Vocabulary` of a run without `init_checkpoint`; by default that of `train_dir`, or of
        the teacher.
      **settings: the fields of `Devices`, such as strategy="mirrored"; and settings of the config by name,
        such as num_train_epochs=3, learning_rate=3e-5, dev_split=0.1, text_pair="text_pair",
        task="sequence_regression".

    Returns:
      (task, metrics): the `Task`, and the metrics on the development data, with the score of the best
        constant answer on them (`baseline_accuracy`); None without development data.

    Raises:
      ValueError: before any heavy work, when files, labels, lengths and the encoder do not match, or a
        setting is unknown.

    Examples:
      >>> import kbert, os, tempfile
      >>> columns = {"text": ["jump the a", "walk a"] * 8, "label": ["loud", "quiet"] * 8}
      >>> folder = os.path.join(tempfile.mkdtemp(), "run")
      >>> task, metrics = kbert.finetune("configs/finetuning/small_data.toml", folder, columns,
      ...                                init_checkpoint=run_dir, max_seq_length=16, num_train_epochs=1)
      >>> sorted(kbert.load(folder).predict("jump a")["probabilities"])
      ['loud', 'quiet']
    """
    show_lines()
    devices, changes = Devices.taken_from(settings)
    init = Init(init_checkpoint, do_lower_case, unmatched_patterns(allow_unmatched), from_scratch, vocabulary)
    read_config = functools.partial(config_with_settings, FinetuningConfig, config, changes)
    settled, init = with_vocabulary(read_config, init, train_dir)
    others = other_dev_files or {}
    sources = {"the training data": train_file, "the development data": dev_file}
    sources |= {f"the data {name!r}": source for name, source in others.items()}
    with data_as_files(sources, _NAME_COLUMNS) as (train, dev, *other_paths):
        paths = LabelledPaths(train, dev, train_dir, dev_dir, dict(zip(others, other_paths, strict=True)))
        return _finetune(settled, run_dir, paths, init, devices)


def with_vocabulary(
    read_config: Callable, init: Init, train_dir: str | Path | None = None
) -> tuple[FinetuningConfig, Init]:
    """The config, and the start with the vocabulary of a run from random weights: the given one, that of the
    records, or that of the teacher. An encoder without a `vocab_size` gets its size.

    Args:
      read_config: function from the number of tokens, or None where they are a checkpoint's, to the config.
      init: what the run starts from.
      train_dir: as for `finetune`.

    Raises:
      ValueError: for a vocabulary beside a checkpoint, and for another casing than the vocabulary's.
    """
    if init.checkpoint:
        if init.vocabulary:
            raise ValueError(
                f"init_checkpoint={init.checkpoint} brings its own vocabulary; leave vocabulary out, or "
                "change that of the checkpoint first (kbert convert --vocab_file)."
            )
        return read_config(None), init
    vocabulary = init.vocabulary
    if not vocabulary and train_dir:
        vocabulary = read_vocabulary(train_dir, read_manifest(train_dir).vocabulary)
    if not vocabulary:
        config = read_config(None)
        if not config.distillation or config.distillation.init_layers:
            return config, init
        read = teacher.read_teacher(config.distillation, init.do_lower_case, init.allow_unmatched)
        vocabulary = read.checkpoint.vocabulary
    init.require_casing(vocabulary, train_dir or "the training")
    return read_config(len(vocabulary)), dataclasses.replace(init, vocabulary=vocabulary)


def _finetune(config: FinetuningConfig, run_dir, paths: LabelledPaths, init: Init, devices: Devices):
    """Checks what needs no TensorFlow, then trains."""
    require_trainable(config, paths)
    require_read(config.task, config.dataset, () if paths.has_records else paths.files)
    require_settings_read(config)
    init.require_weights(config)
    require_place(run_dir, devices)
    data = open_data(config, paths, run_dir) if reads_early(config, paths) else None
    init.require_checkpoint(run_dir, config.distillation)  # last: it may ask a server for a name
    return finetuning_run.run_finetuning(config, run_dir, paths, init, devices, data)
