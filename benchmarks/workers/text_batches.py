"""A text as batches and first weights, the same for every contestant of time_to_quality.py."""

import dataclasses
from pathlib import Path

import numpy as np

from benchmarks.corpora import data_tool, text_files, vocabulary_file
from benchmarks.workers import process_tree
from benchmarks.workers.adamw import adamw
from kbert.config import EncoderConfig

VOCAB_SIZE, BATCH_SIZE, SEQ_LENGTH, PREDICTIONS, LEARNING_RATE = 8000, 32, 128, 20, 1e-3


def prepare(folder: Path, input_files: str | None, num_batches: int, dupe_factor: int) -> dict:
    """Makes vocabulary, records, batches and first weights of the text.

    Args:
      folder: an existing folder.
      input_files: text, a paragraph a line; None for that of the quickstart.
      num_batches: how many batches at most; fewer where the records have fewer.
      dupe_factor: how many times each text is masked with other masks.

    Returns:
      The settings that all contestants have in common, without the schedule.
    """
    from benchmarks.workers.starting_point import write_weights
    from kbert.manifest import read_manifest
    from kbert.tokenization.vocabulary import Vocabulary

    files = text_files(input_files, folder)
    vocab_file = vocabulary_file(None, files, VOCAB_SIZE, folder)
    command = data_tool(
        "create_pretraining_data",
        *(f"--input_files={files}", f"--vocab_file={vocab_file}", f"--output_dir={folder}/records"),
        *(f"--max_seq_length={SEQ_LENGTH}", f"--max_predictions_per_seq={PREDICTIONS}"),
        f"--dupe_factor={dupe_factor}",
    )
    process_tree.run(command, cores=2)
    manifest = read_manifest(folder / "records")
    vocabulary = Vocabulary.from_file(vocab_file, do_lower_case=True)
    encoder = EncoderConfig(
        vocab_size=len(vocabulary),
        hidden_size=256,
        num_hidden_layers=4,
        num_attention_heads=4,
        intermediate_size=1024,
        max_position_embeddings=SEQ_LENGTH,
    )
    print(
        f"{manifest.num_examples:,} examples of {SEQ_LENGTH} tokens, {len(vocabulary):,} pieces", flush=True
    )
    return write_weights(folder, encoder, vocabulary, keras_hub=False) | {
        "encoder": dataclasses.asdict(encoder),
        "batches": write_batches(folder, manifest, num_batches),
        "optimizer": adamw(LEARNING_RATE),
    }


def write_batches(folder: Path, manifest, num_batches: int) -> str:
    """The batches in their order: name -> array [steps, batch, ...], as an .npz file; returns its path."""
    from kbert.input_pipelines.batches import training_batches
    from kbert.input_pipelines.records.record_reader import RecordRows

    read = training_batches(RecordRows(folder / "records", manifest), BATCH_SIZE, seed=1)
    batches = list(read.take(num_batches).as_numpy_iterator())
    path = folder / "batches.npz"
    np.savez(path, **{name: np.stack([batch[name] for batch in batches]) for name in batches[0]})
    return str(path)
