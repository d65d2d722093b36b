"""Script: prints a few records as text, with masked places marked and answers beside them.

    python -m tfrecords_tools.show_records --input_dir=records --num_records=3

A place that was to be predicted reads [shown->answer]: [MASK->word] is masked, [other->word] is replaced
by a random piece, [word->word] is kept as it was.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from absl import flags

from kbert import command_line
from kbert.features import PRETRAINING_LABELS, Feature
from kbert.manifest import VOCABULARY_FILE_NAME, Manifest, read_manifest
from kbert.tokenization.vocabulary import Vocabulary

_LEGEND = (
    "Predicted places read [shown->answer]: [MASK->word] masked, [other->word] replaced, [word->word] kept."
)


def read_records(input_dir: str | Path, manifest: Manifest) -> Iterator[dict[str, np.ndarray]]:
    """Yields the examples of a folder of records, shard by shard.

    Returns:
      dicts of arrays with the dtypes and shapes of the manifest.

    Raises:
      ValueError: for a shard that is damaged or does not hold what the manifest says.
    """
    import tensorflow as tf  # late: it takes seconds, and a wrong folder has been named by now

    for shard in manifest.shards:
        path = Path(input_dir) / shard.file
        try:
            for record in tf.data.TFRecordDataset(str(path)).as_numpy_iterator():
                example = tf.train.Example.FromString(record)
                yield {
                    name: _values(example, name, feature, path) for name, feature in manifest.features.items()
                }
        except tf.errors.DataLossError as error:
            raise ValueError(f"{path} is damaged ({error.message}); make the records again.") from None


def _values(example, name, feature: Feature, path):
    stored = example.features.feature[name]
    values = stored.float_list.value if feature.dtype == "float32" else stored.int64_list.value
    if len(values) != int(np.prod(feature.shape)):
        raise ValueError(
            f"{path}: feature {name!r} holds {len(values)} values, but the manifest says shape "
            f"{list(feature.shape)}; make the records again."
        )
    return np.array(values, feature.dtype).reshape(feature.shape)


def marked_tokens(example: Mapping[str, np.ndarray], tokens: Sequence[str]) -> list[str]:
    """The tokens of an example without padding, places with an answer as `[shown->answer]`.

    Args:
      example: arrays input_ids, input_mask and, in pretraining records, the masked-LM features.
      tokens: the pieces of the vocabulary in id order.
    """
    length = int(np.sum(example["input_mask"]))
    marked = [tokens[index] for index in example["input_ids"][:length]]
    for position, answer in answers(example):
        marked[position] = f"[{marked[position].strip('[]') or marked[position]}->{tokens[answer]}]"
    return marked


def answers(example: Mapping[str, np.ndarray]) -> list[tuple[int, int]]:
    """The (position, id) of the places to predict: those with a weight."""
    if "masked_lm_weights" not in example:
        return []
    real = example["masked_lm_weights"] > 0
    positions, ids = example["masked_lm_positions"][real], example["masked_lm_ids"][real]
    return list(zip(positions.tolist(), ids.tolist(), strict=True))


def describe_record(example: Mapping[str, np.ndarray], tokens: Sequence[str]) -> str:
    """An example as a few lines for people to read."""
    lines = [" ".join(marked_tokens(example, tokens))]
    length = int(np.sum(example["input_mask"]))
    second = int(np.sum(example["segment_ids"]))
    lines.append(f"  length {length}: first text {length - second}, second {second}, with special tokens")
    if set(PRETRAINING_LABELS) <= set(example):
        label = int(example["next_sentence_labels"][0])
        lines.append(f"  next_sentence_labels {label}: {'random text' if label else 'the real next text'}")
        words = [f"{position}={tokens[answer]}" for position, answer in answers(example)]
        lines.append(f"  answers ({len(words)}): {' '.join(words)}")
    shown = {"input_ids", "input_mask", "segment_ids", *PRETRAINING_LABELS}
    lines += [f"  {name} {example[name].tolist()}" for name in example if name not in shown]
    lines += [f"  WRONG: {problem}" for problem in inconsistencies(example)]
    return "\n".join(lines)


def inconsistencies(example: Mapping[str, np.ndarray]) -> list[str]:
    """Sentences on what does not fit together in an example; none for a sound one."""
    found = []
    mask = example["input_mask"]
    length = int(np.sum(mask))
    if not (np.isin(mask, (0, 1)).all() and mask[:length].all()):
        found.append("input_mask is not ones followed by zeros.")
    if example["segment_ids"][length:].any():
        found.append("segment_ids are not 0 at the padding.")
    if "masked_lm_weights" in example:
        weights, positions = example["masked_lm_weights"], example["masked_lm_positions"]
        count = int(np.sum(weights > 0))
        if not (np.isin(weights, (0, 1)).all() and weights[:count].all()):
            found.append("masked_lm_weights are not ones followed by zeros.")
        if positions[count:].any() or example["masked_lm_ids"][count:].any():
            found.append("masked_lm_positions or masked_lm_ids are not 0 where the weight is 0.")
        real = positions[:count]
        if (np.diff(real) <= 0).any() or (real <= 0).any() or (real >= length - 1).any():
            found.append("masked_lm_positions do not rise, or leave the text between [CLS] and [SEP].")
    return found


def show_records(input_dir: str | Path, num_records: int = 3):
    """Prints the first records of a folder and what its manifest says of them all.

    Raises:
      ValueError: when the folder holds no finished set of records, or a damaged one.
    """
    if num_records < 1:
        raise ValueError(f"num_records={num_records} must be at least 1.")
    manifest = read_manifest(input_dir)
    vocabulary = Vocabulary.from_file(
        Path(input_dir) / VOCABULARY_FILE_NAME, manifest.vocabulary["do_lower_case"]
    )
    print(f"{manifest.num_examples:,} {manifest.kind} examples in {len(manifest.shards)} shards.")
    for name, value in manifest.statistics.items():
        print(f"  {name}: {value}")
    print(_LEGEND)
    for number, example in enumerate(read_records(input_dir, manifest)):
        if number == num_records:
            break
        print(f"\nrecord {number}: {describe_record(example, vocabulary.tokens)}")


def define_flags():
    """Defined on demand, so that a test may import several scripts that share the names of flags."""
    flags.DEFINE_string("input_dir", None, "A folder of records with its manifest.json.")
    flags.DEFINE_integer("num_records", 3, "How many records to print.", lower_bound=1)
    flags.mark_flag_as_required("input_dir")


def main(argv):
    del argv
    show_records(flags.FLAGS.input_dir, flags.FLAGS.num_records)


if __name__ == "__main__":
    define_flags()
    command_line.run(main)
