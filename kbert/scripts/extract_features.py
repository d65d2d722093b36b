r"""Script: a model + a file with one text per line -> vectors of tokens or texts.

  kbert features --run_dir=runs/phase1 --input_file=texts.txt \
      --output_file=features.jsonl --layers=-1,-2,-3,-4
  kbert features --run_dir=runs/phase1 --input_file=texts.txt \
      --output_file=vectors.npz --format=npz --pooling=mean

" ||| " in a line separates the two texts of a pair. A .csv, .tsv or .parquet file has the columns that the
run was trained on, or `text`, and for pairs `text_pair`. The JSON lines have the format of the original
extract_features.py; docs/api.md describes the other formats.
"""

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from kbert.bounds import Bounds
from kbert.checkpoints import formats
from kbert.cli import script
from kbert.cli.declared_flags import declare_flags, flag_values
from kbert.cli.progress import Progress
from kbert.config.pooling_config import Pooling
from kbert.files.compression import find_compression, name_when_unpacked
from kbert.files.file_format import path_problem
from kbert.files.output_path import check_output_file, require_parent_folder
from kbert.inference import feature_extractor, feature_files, loading
from kbert.input_pipelines.unlabelled_files import texts_and_pairs, with_checked_texts
from kbert.runs.columns_of_run import dataset_of_texts
from kbert.scripts.training_flags import Checkpoint

POSITIONS = ("run_dir", "input_file")  # of arguments without a flag
_LONGEST = 128  # tokens, the default of the original extract_features.py
_NUM_LAYERS = 4
Format = Literal["jsonl", "npz", "tfrecord"]


def extract_features(
    extractor, input_file, output_file, format="jsonl", batch_size=32, overwrite=False
) -> int:
    """Writes the features of every line of a file.

    Args:
      extractor: a `FeatureExtractor`.
      input_file: UTF-8 text, plain or compressed, with one text or pair per line. Or a file with columns,
        or JSON lines, see `texts_and_pairs`; a run's are those of its training.
      output_file: the file to write; it appears only when it is complete.
      format: "jsonl", "npz" or "tfrecord", see kbert.inference.feature_files.
      batch_size: texts at a time.
      overwrite: whether an output_file that exists may be replaced; the input_file is never replaced.

    Returns:
      The number of texts.

    Raises:
      ValueError: when the input_file is not a text file in UTF-8, or is the same file as the output_file.
      FileExistsError: when the output_file exists and `overwrite` is not set.
    """
    check_output_file(output_file, [input_file], overwrite)
    dataset = extractor.loaded.dataset
    num_texts = _count(input_file, dataset, extractor.loaded.task)
    progress = Progress("Wrote", "texts", num_texts)
    done = 0
    with feature_files.feature_file(output_file, format, extractor) as write:
        texts = texts_and_pairs(input_file, dataset)
        while batch := list(itertools.islice(texts, batch_size)):
            for features in extractor([text for text, _ in batch], [pair for _, pair in batch]):
                write(done, features)
                done += 1
            progress.report(done)
    progress.report_end(output_file)
    return done


def _count(input_file, dataset, task) -> int:
    """The number of texts. Reads all of them, so that an error in one is found before other work begins."""
    examples = ({"text": text} for text, _ in texts_and_pairs(input_file, dataset))
    return sum(1 for _ in with_checked_texts(examples, input_file, dataset, task and task.files))


def _output_format(output_file, format):
    """The format, or what the name ends in, before the ending of compressed JSON lines.

    Raises:
      ValueError: where they differ, neither says it, or another format than JSON lines would be compressed.
    """
    ending = Path(name_when_unpacked(output_file)).suffix.removeprefix(".")
    named = ending if ending in get_args(Format) else None
    if not (format or named) or named not in (None, format or named):
        beside = f" and --format={format}" if format else ""
        raise ValueError(
            f"--output_file={output_file}{beside}: expected a name that ends in .jsonl, .npz or "
            ".tfrecord, and no other --format than this ending."
        )
    if find_compression(output_file) and (format or named) != "jsonl":
        raise ValueError(
            f"--output_file={output_file}: only JSON lines are written compressed; end the name in "
            f".{format or named}."
        )
    return format or named


def write_features(
    run_dir: str | Path,
    input_file: str | Path,
    output_file: str | Path,
    layers: Sequence[int] | None = None,
    pooling: Literal["none", Pooling] | None = None,
    combine: Literal["none", "sum", "concat"] = "none",
    format: Format | None = None,
    max_seq_length: Annotated[int, Bounds(1)] | None = None,
    batch_size: Annotated[int, Bounds(1)] = 32,
    checkpoint: str | int | None = None,
    do_lower_case: bool | None = None,
    overwrite: bool = False,
):
    """Writes the features of every text of a file.

    Args:
      run_dir: the model: a run directory, or any checkpoint that kbert reads.
      input_file: one text per line; ' ||| ' separates the two texts of a pair. It may be compressed: .gz,
        .bz2, .xz, .zst. Or a .csv, .tsv or .parquet file with the columns that the run was trained on, or the
        column text, and text_pair for pairs; or JSON lines (.jsonl, .ndjson, .jsonlines, .json) with these
        keys.
      output_file: the file to write; JSON lines may be compressed: .jsonl.gz, .bz2, .xz, .zst.
      layers: layers: 0 is the embeddings, 1 the first layer, -1 the last. By default the last four; of a
        model made for sentence embeddings, with its own pooling, the last.
      pooling: none: a vector for each token; otherwise one vector for each text. By default none; of a model
        made for sentence embeddings its own, with its normalization. SPLADE and ColBERT have none of their
        own, so name one.
      combine: how to combine several layers.
      format: the format of the output file; by default what its name ends in.
      max_seq_length: longest sequence in tokens; longer ones are cut. By default 128, or less if the model
        has fewer positions; of a model made for sentence embeddings its own.
      batch_size: texts at a time.
      checkpoint, do_lower_case: as for `kbert.load`.
      overwrite: replace an `output_file` that exists.
    """
    if not Path(input_file).is_file():
        raise ValueError(
            f"--input_file={input_file} {path_problem(input_file)}; give a file of texts, one per line."
        )
    check_output_file(output_file, [input_file, *formats.kept_files(run_dir)], overwrite)
    require_parent_folder(output_file)
    output_format = _output_format(output_file, format)
    formats.require_checkpoint(run_dir)
    _count(input_file, dataset_of_texts(formats.local_path(run_dir)), None)

    # TensorFlow loads here, after all checks that do not need it.
    model = loading.open_model(run_dir, do_lower_case, checkpoint=checkpoint)
    if max_seq_length is None and not model.own_pooling:
        max_seq_length = min(_LONGEST, model.config.max_position_embeddings)
    if max_seq_length is not None:
        model = model.with_max_seq_length(max_seq_length)
    if pooling is None and model.makes_vectors and not model.own_pooling:
        raise ValueError(
            f"{run_dir} has the task {model.task.name}, whose vectors of texts are no rows of numbers as a "
            "features file has: ask for them in Python, by kbert.load(...).embed(texts). For the encoder's "
            "layers, which are not these vectors, give --pooling=none or another pooling."
        )
    own_pooling: Any = pooling or "none"
    if pooling is None and model.own_pooling:
        own_pooling, layers = model.own_pooling, [-1] if layers is None else layers
        model.vectors.warn_of_named_prompts()
    last_layers = [-1 - layer for layer in range(min(_NUM_LAYERS, model.config.num_hidden_layers))]
    extractor = feature_extractor.FeatureExtractor(
        model, last_layers if layers is None else layers, own_pooling, combine
    )
    extract_features(extractor, input_file, output_file, output_format, batch_size, overwrite)


def define_flags():
    declare_flags(write_features, Checkpoint)


def main():
    write_features(**flag_values(write_features))


if __name__ == "__main__":
    define_flags()
    script.run(main, positions=POSITIONS)
