"""`kbert.convert`: a checkpoint of one format as one of another."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from kbert.checkpoints import KBERT, Format, file_settings, formats
from kbert.checkpoints.conversion import resizing
from kbert.checks import require, with_checked_arguments
from kbert.config import FinetuningConfig, config_with_settings
from kbert.runs.run_file import require_no_config
from kbert.tokenization.vocabulary import read_pieces, require_wordpiece


@with_checked_arguments
def convert(
    source: str | Path,
    target: str | Path,
    format: Format = KBERT,
    allow_unmatched: Sequence[str] | str = (),
    do_lower_case: bool | None = None,
    encoder_only: bool = False,
    takes_pairs: bool | None = None,
    max_position_embeddings: int | None = None,
    vocab_file: str | Path | None = None,
    overwrite: bool = False,
    layers: Sequence[int] = (),
    config: FinetuningConfig | str | Path | None = None,
):
    """Reads a checkpoint and writes it in another format, as `kbert convert` does with these flags.

    A model with the weights that are in memory is written by `LoadedModel.save`.

    Args:
      source: the checkpoint to read, a path or name as for `kbert.load`.
      target: the folder to make.
      format: the format to write; kbert is a run of 0 steps.
      allow_unmatched, do_lower_case: as for `kbert.load`.
      encoder_only: leave out all heads.
      takes_pairs: whether a classifier takes pairs of texts; only runs of kbert record this.
      max_position_embeddings: rows of the new table of positions; additional ones repeat the trained. A model
        that cuts texts before the end of its table cuts them there still.
      vocab_file: a new vocabulary, of the same casing; new tokens get the mean of the old ones.
      overwrite: replace an earlier conversion in `target`.
      layers: keep only these layers, counted from 0, for example 0,2,5.
      config: of a checkpoint of another library: a fine-tuning config of its task, whose task_settings,
        [dataset] and max_seq_length the run gets; for example that of SQuAD v2.0, to answer that there is no
        answer.

    Returns:
      (report of the reading, report of the writing).

    Raises:
      ValueError, OSError: when the conversion fails; `target` is then unchanged.

    Examples:
      >>> import kbert, os, tempfile
      >>> folder = os.path.join(tempfile.mkdtemp(), "hf")
      >>> read, written = kbert.convert(run_dir, folder, "hugging_face")
      >>> kbert.load(folder).task.name
      'sequence_classification'
    """
    formats.require_free(
        target, overwrite, inputs=[path for path in (source, vocab_file) if path is not None]
    )
    if config is not None:
        require(
            takes_pairs is None and not encoder_only,
            "config says what the model answers: leave out takes_pairs and encoder_only.",
        )
        _require_run("config", format)
        require_no_config(formats.local_path(source), config)
        config = config_with_settings(FinetuningConfig, config, {})
    checkpoint = formats.read_checkpoint(source, do_lower_case, allow_unmatched)
    if encoder_only:
        checkpoint = checkpoint.encoder_alone()
    if takes_pairs is not None:
        _require_pairs(checkpoint, takes_pairs, format)
        checkpoint = dataclasses.replace(checkpoint, takes_pairs=takes_pairs)
    if layers is not None and len(layers):  # an array has no truth value
        fewer = resizing.with_layers(checkpoint, tuple(layers))
        _require_same_heads(checkpoint, fewer)
        checkpoint = fewer
    if max_position_embeddings is not None:
        longest = checkpoint.max_seq_length
        checkpoint = resizing.with_positions(checkpoint, max_position_embeddings)
        if checkpoint.max_seq_length != longest:
            warn_of_chosen(checkpoint, format, f"texts of up to {longest} tokens")
    if config is not None:
        checkpoint = file_settings.with_file_settings(checkpoint, config)
    if vocab_file is not None:
        own = require_wordpiece(checkpoint.vocabulary, "--vocab_file")
        vocabulary = own.with_tokens(read_pieces(vocab_file), str(vocab_file))
        checkpoint = resizing.with_vocabulary(checkpoint, vocabulary)
        warn_of_chosen(checkpoint, format, "another vocabulary")
    if format == KBERT and (config, max_position_embeddings) != (None, None):
        checkpoint.model_task.check_examples([], checkpoint.max_seq_length)  # a length that leaves room
    written = formats.write_checkpoint(checkpoint, target, format, allow_unmatched, overwrite)
    return checkpoint.report, written


def warn_of_chosen(checkpoint, format, chosen_for: str):
    """Warns where a run gets a temperature or thresholds that were chosen for something else."""
    chosen = checkpoint.known_task.chosen
    if format == KBERT and chosen:
        checkpoint.report.warn(
            f"what was chosen for {checkpoint.source} ({', '.join(chosen.settings)}) is kept; it was chosen "
            f"for {chosen_for}",
            "; evaluate the run with keep_chosen to choose anew",
        )


def _require_same_heads(checkpoint, fewer):
    """Refuses heads whose variables follow the number of layers: the weights of a mix of all, a generator."""
    ours, theirs = checkpoint.shapes, fewer.shapes
    for name in ours.keys() & checkpoint.tensors.keys():
        if not name.startswith("layer_") and ours[name] != theirs.get(name):
            raise ValueError(
                f"{checkpoint.source}: {name} of shape {ours[name]} would have no place beside "
                f"{fewer.encoder.num_hidden_layers} of {checkpoint.encoder.num_hidden_layers} layers; take "
                "all of them, or leave out all heads with encoder_only (--encoder_only)."
            )


def _require_pairs(checkpoint, takes_pairs, format):
    """Raises ValueError where nothing could record whether texts or pairs are answered."""
    _require_run(f"takes_pairs={takes_pairs}", format)
    require(
        "takes_pairs" in checkpoint.known_task.task_config,
        f"takes_pairs={takes_pairs} is for classifiers and regressions; {checkpoint.source} has the task "
        f"{checkpoint.task}; leave it out.",
    )


def _require_run(argument, format):
    require(
        format == KBERT,
        f"{argument} is recorded by runs of kbert only, and format={format}; leave it out.",
    )
