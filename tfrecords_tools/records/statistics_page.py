"""Statistics of records -> statistics.json and statistics.html beside them, to look at before training."""

import json
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

import numpy as np

from kbert.features import LABEL_FEATURE, WORD_FEATURE, Feature
from kbert.files.whole_file import write_text
from kbert.manifest import Manifest
from kbert.reports import page
from kbert.tokenization.vocabulary_files import read_vocabulary
from tfrecords_tools.records.record_statistics import (
    EXAMPLES_KEPT,
    PAGE_FILE_NAME,
    STATISTICS_FILE_NAME,
    RecordStatistics,
)
from tfrecords_tools.records.record_text import (
    NEXT_SENTENCE_WORDS,
    describe_labels,
    label_names,
    sequences,
    shown_tokens,
)
from tfrecords_tools.records.stored_records import read_records

_NONE = Feature("int32", ())


def write_statistics(directory: str | Path, manifest: Manifest, statistics: RecordStatistics):
    """Writes statistics.json and statistics.html into a folder of records, each whole or absent.

    Args:
      directory: where the shards and vocab.txt lie; manifest.json need not be there yet.
      manifest: what it says or will say.
      statistics: of all records. Where it holds no examples, they are read from the shards.

    Raises:
      ValueError: when the vocabulary beside the records is not theirs.
    """
    values = statistics.to_json(read_vocabulary(directory, manifest.vocabulary))
    write_text(json.dumps(values, ensure_ascii=False) + "\n", Path(directory) / STATISTICS_FILE_NAME)
    write_page(directory, manifest, values, statistics.examples or None)


def write_page(
    directory: str | Path, manifest: Manifest, values: dict, examples: Iterable[dict] | None = None
):
    """Writes statistics.html into a folder of records.

    Args:
      directory: the folder.
      manifest: its manifest.
      values: the content of statistics.json.
      examples: dicts of arrays by feature name; by default the first records of the folder.
    """
    vocabulary = read_vocabulary(directory, manifest.vocabulary)
    examples = islice(examples or read_records(directory, manifest), EXAMPLES_KEPT)
    lengths = np.array(values["lengths"])
    described = {f"vocabulary: {name}": value for name, value in manifest.vocabulary.items()}
    page.write_page(
        Path(directory) / PAGE_FILE_NAME,
        "records.html",
        title=f"{manifest.kind.replace('_', ' ').capitalize()} records",
        manifest=manifest,
        values={"masking": None, "next_sentence": None} | values,
        sizes=[(Path(directory) / shard.file).stat().st_size for shard in manifest.shards],
        examples=[_shown(example, vocabulary, manifest.settings) for example in examples],
        lengths=_length_facts(lengths, values["max_seq_length"]),
        texts=_texts(values),
        masks_on_average=_mean(np.array(values.get("masking", {}).get("per_record", [0]))),
        # How many examples have text at each position: those that are longer.
        present=lengths[::-1].cumsum()[::-1][1:],
        next_sentence=_next_sentence(values, manifest.settings),
        labels=_labels(values, manifest.settings),
        has_several_labels=bool(manifest.features.get(LABEL_FEATURE, _NONE).shape)
        and WORD_FEATURE not in manifest.features,
        settings=manifest.settings | described,
    )


def _shown(example, vocabulary, settings):
    """(the tokens of each text, the labels in words)."""
    texts = [
        [token for token in shown_tokens(sequence, vocabulary) if token.segment == segment]
        for sequence in sequences(example)
        for segment in (0, 1)
    ]
    return [text for text in texts if text], describe_labels(example, settings)


def _length_facts(counts, size):
    return {
        "of the positions hold text": page.percent(_mean(counts) / size),
        "tokens on average": f"{_mean(counts):.1f}",
        "half are at most": f"{_quantile(counts, 0.5)}",
        "95% are at most": f"{_quantile(counts, 0.95)}",
        f"at the full length of {size}": page.percent(counts[size] / max(1, counts.sum())),
    }


def _texts(values):
    """The counts of the lengths of the first and second texts, up to the longest; nothing without pairs."""
    if not any(values["second_lengths"][1:]):
        return {}
    return {name: np.trim_zeros(values[f"{name}_lengths"], "b") for name in ("first", "second")}


def _next_sentence(values, settings):
    pairing = settings.get("pairing", "sentence_pairs")
    words = NEXT_SENTENCE_WORDS.get(pairing, NEXT_SENTENCE_WORDS["sentence_pairs"])
    counts = values.get("next_sentence", [0, 0])[:2]
    return {word: count / max(1, sum(counts)) for word, count in zip(words, counts, strict=True)}


def _labels(values, settings):
    names, counts = label_names(settings), values.get("labels", [])
    number = max(len(names), len(counts)) if "labels" in values else 0
    names = [*names, *(f"label {index}" for index in range(len(names), number))]
    return dict(zip(names, [*counts, *[0] * (number - len(counts))], strict=False))


def _mean(counts):
    return float(np.arange(len(counts)) @ counts / max(1, counts.sum()))


def _quantile(counts, share):
    """The smallest value that at least this share does not exceed."""
    return int(np.searchsorted(np.cumsum(counts), share * counts.sum()))
