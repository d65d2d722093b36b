"""Statistics of records -> statistics.json and statistics.html beside them, to look at before training.

The page is one file that needs nothing else: pictures are SVG inside it, and there are no scripts.
"""

import json
import textwrap
from collections.abc import Iterable, Mapping
from html import escape
from itertools import islice
from pathlib import Path

import numpy as np

from kbert.features import PRETRAINING_RECORDS
from kbert.files.whole_file import write_text
from kbert.input_pipelines.records.record_vocabulary import read_vocabulary
from kbert.manifest import Manifest
from kbert.reporting.bar_pictures import bars, histogram, percent, rates
from kbert.reporting.html_page import facts, page, section, table
from tfrecords_tools.records.record_statistics import (
    EXAMPLES_KEPT,
    PAGE_FILE_NAME,
    STATISTICS_FILE_NAME,
    RecordStatistics,
)
from tfrecords_tools.records.record_text import (
    NEXT_SENTENCE_WORDS,
    label_names,
    labels_in_words,
    places,
    sequences,
)
from tfrecords_tools.records.stored_records import read_records


def write_statistics(directory: str | Path, manifest: Manifest, statistics: RecordStatistics):
    """Writes statistics.json and statistics.html into a folder of records, each whole or absent.

    Args:
      directory: where the shards and vocab.txt lie; manifest.json need not be there yet.
      manifest: what it says or will say.
      statistics: of all records. Where it holds no examples, they are read from the shards.

    Raises:
      ValueError: when the vocabulary beside the records is not theirs.
    """
    values = statistics.to_json(read_vocabulary(directory, manifest))
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
    tokens = read_vocabulary(directory, manifest).tokens
    examples = list(islice(examples or read_records(directory, manifest), EXAMPLES_KEPT))
    sizes = [(Path(directory) / shard.file).stat().st_size for shard in manifest.shards]
    sections = [
        section("Examples", _examples_section(examples, tokens, manifest)),
        section("Lengths", _lengths_section(values)),
    ]
    if "masking" in values:
        sections.append(section("Masks", _masks_section(values)))
    if "next_sentence" in values:
        sections.append(section(*_next_sentence_section(values, manifest.settings)))
    if "labels" in values:
        sections.append(section("Labels", _labels_section(values, manifest.settings)))
    sections += [
        section("Pieces", _pieces_section(values)),
        section("How they were made", _settings_section(manifest)),
        section("Files", _files_section(manifest, sizes)),
    ]
    title = f"{manifest.kind.replace('_', ' ').capitalize()} records"
    note = (
        f"Vocabulary of {manifest.vocabulary['size']:,} pieces "
        f"({'lower-cased' if manifest.vocabulary['do_lower_case'] else 'cased'}). Hold the pointer over a "
        "bar for its numbers."
    )
    text = page(title, _lead(values, sum(sizes)), note, sections, _STYLE)
    write_text(text, Path(directory) / PAGE_FILE_NAME)


# ------------------------------------------------------------------------------ sections


def _lead(values, num_bytes):
    lead = (
        f"<b>{values['records']:,}</b> examples of up to {values['max_seq_length']} tokens, "
        f"{_bytes(num_bytes)} on disk. <b>{percent(values['fill_rate'])}</b> of all places hold "
        f"text, the others are padding; "
        f"{percent(values['unknown_share'], 2)} of the text is unknown to the vocabulary"
    )
    if "masking" in values:
        lead += f"; {percent(_masked_share(values))} of the tokens, special ones included, are masked"
    return lead + "."


def _masked_share(values):
    """Of all tokens, as masked_lm_prob is; an older statistics.json gives a share of the text instead."""
    return values["masking"]["places"] / max(1, values["tokens"])


_KIND_WORDS = {
    "masked": "hidden: the record shows [MASK]",
    "replaced": "replaced by a random piece",
    "kept": "shown unchanged, but still to be predicted",
}


def _examples_section(examples, tokens, manifest):
    blocks = []
    if "masked_lm_ids" in manifest.features:
        legend = " ".join(
            f"<span><mark class='{kind}'>{_MARK_SAMPLES[kind]}</mark> {words}</span>"
            for kind, words in _KIND_WORDS.items()
        )
        blocks.append(
            "<p>The first records, piece by piece; “##” continues the word before it. At a marked place "
            f"the model has to predict the piece after the arrow.</p>\n<p class='legend'>{legend}</p>"
        )
    elif manifest.kind == PRETRAINING_RECORDS:
        blocks.append(
            "<p>The first records, piece by piece; “##” continues the word before it. Nothing is masked "
            "here: masks are drawn anew whenever the records are read.</p>"
        )
    else:
        blocks.append("<p>The first records, piece by piece; “##” continues the word before it.</p>")
    for example in examples:
        texts = [
            [place for place in places(sequence, tokens) if place.segment == segment]
            for sequence in sequences(example)
            for segment in (0, 1)
        ]
        lines = "<br>\n".join(" ".join(map(_marked, text)) for text in texts if text)
        words = "".join(
            f"<p class='note'>{escape(line)}</p>" for line in labels_in_words(example, manifest.settings)
        )
        blocks.append(f"<div class='sentence record'>{lines}{words}</div>")
    return "\n".join(blocks)


_MARK_SAMPLES = {"masked": "MASK→word", "replaced": "other→word", "kept": "word→word"}


def _marked(place):
    if place.answer is None:
        return escape(place.shown)
    return f"<mark class='{place.kind}'>{escape(str(place)[1:-1].replace('->', '→', 1))}</mark>"


def _lengths_section(values):
    counts = np.array(values["lengths"])
    size = values["max_seq_length"]
    text = _facts_of_lengths(counts, size)
    text += (
        "<p>Every example takes the same number of places; the model computes all of them, text or padding. "
        "A low fill means that shorter sequences, or several texts in one, would train faster. Examples at "
        "the full length may have been cut there.</p>"
    )
    text += histogram(counts, "Share of the examples by length, special tokens included", "tokens")
    has_second = sum(values["second_lengths"][1:]) > 0
    if has_second:
        for name, key in (("first", "first_lengths"), ("second", "second_lengths")):
            text += histogram(_trimmed(values[key]), f"Length of the {name} text alone", "tokens")
    return text


def _facts_of_lengths(counts, size):
    return facts(
        {
            "of the places hold text": percent(_mean(counts) / size),
            "tokens on average": f"{_mean(counts):.1f}",
            "half are at most": f"{_quantile(counts, 0.5)}",
            "95% are at most": f"{_quantile(counts, 0.95)}",
            f"at the full length of {size}": percent(counts[size] / max(1, counts.sum())),
        }
    )


def _masks_section(values):
    masking = values["masking"]
    total = max(1, masking["places"])
    kinds = [
        ("shown as [MASK]", masking["shown_as_mask"] / total, "var(--first)"),
        ("replaced by a random piece", masking["shown_random"] / total, "var(--second)"),
        ("shown unchanged", masking["shown_unchanged"] / total, "var(--third)"),
    ]
    per_record = np.array(masking["per_record"])
    lengths = np.array(values["lengths"])
    # How many examples have text at each place: those that are longer.
    present = lengths[::-1].cumsum()[::-1][1:]
    return (
        facts(
            {
                "places to predict": f"{masking['places']:,}",
                "of the tokens": percent(_masked_share(values)),
                "in an example, on average": f"{_mean(per_record):.1f}",
            }
        )
        + "<p>At these places the model learns. Most are hidden behind [MASK]; some show a random piece, "
        "some the right one, so that the model has to judge every place it reads. BERT's shares are 80, 10 "
        "and 10%. (A random piece that happens to be the right one counts as unchanged.)</p>"
        + bars(kinds)
        + histogram(per_record, "Share of the examples by number of places to predict", "places")
        + "<p>All places should be predicted about equally often, except [CLS] and [SEP], which never are: "
        "the first place is always [CLS], and [SEP] is at the end of each text.</p>"
        + rates(masking["positions"], present, "How often a place is predicted, where it holds text")
        + "<p>The pieces to predict most often; they should be the text's most frequent ones.</p>"
        + _piece_list(masking["most_masked"], masking["places"])
    )


def _next_sentence_section(values, settings):
    zeros, ones = values["next_sentence"][:2]
    pairing = settings.get("pairing", "sentence_pairs")
    words = NEXT_SENTENCE_WORDS.get(pairing, NEXT_SENTENCE_WORDS["sentence_pairs"])
    if pairing == "sentence_order":
        title = "Sentence order"
        meaning = (
            "The model also learns in which order two neighbouring texts stand. A single sentence has no "
            "order: it is joined by a random text, which counts as swapped."
        )
    else:
        title = "Next sentence"
        meaning = (
            "The model also learns whether the second text follows the first in its document. The "
            "original's algorithm gives more random texts than real ones: the last part of a document has "
            "no next one."
        )
    total = max(1, zeros + ones)
    shares = [(words[0], zeros / total, "var(--first)"), (words[1], ones / total, "var(--second)")]
    return title, f"<p>{meaning}</p>" + bars(shares)


def _labels_section(values, settings):
    names, counts = label_names(settings), values["labels"]
    counts = counts + [0] * (len(names) - len(counts))
    names = list(names) + [f"label {index}" for index in range(len(names), len(counts))]
    total = max(1, sum(counts))
    shares = [
        (f"{name}: {count:,}", count / total, "var(--first)")
        for name, count in zip(names, counts, strict=True)
    ]
    return (
        f"<p>What the model should answer. Always answering the most frequent label is right in "
        f"{percent(max(counts, default=0) / total)}: a trained model has to do better.</p>" + bars(shares)
    )


def _pieces_section(values):
    return (
        facts(
            {
                "tokens of text": f"{values['text_tokens']:,}",
                "unknown ([UNK])": percent(values["unknown_share"], 2),
                "pieces of the vocabulary occur": f"{values['pieces_used']:,} of {values['vocab_size']:,}",
            }
        )
        + "<p>[UNK] stands for characters that the vocabulary cannot write; more than one in a hundred hints "
        "at a vocabulary made for another language or casing. The most frequent pieces:</p>"
        + _piece_list(values["frequent_pieces"], values["text_tokens"])
    )


def _settings_section(manifest):
    settings = [[name, _plain(value)] for name, value in manifest.settings.items()]
    vocabulary = [[f"vocabulary: {name}", _plain(value)] for name, value in manifest.vocabulary.items()]
    counts = [[name, _plain(value)] for name, value in manifest.statistics.items()]
    text = table(["setting", "value"], settings + vocabulary, num_text_columns=2)
    if counts:
        text += "<p>What was counted while they were made:</p>" + table(["", ""], counts, num_text_columns=2)
    return text


def _files_section(manifest, sizes):
    rows = [
        [shard.file, f"{shard.num_examples:,}", _bytes(size)]
        for shard, size in zip(manifest.shards, sizes, strict=True)
    ]
    return (
        "<p>To read more of them: <code>kbert show-records --input_dir=…</code></p>"
        "<details><summary>"
        f"{len(rows):,} shards</summary>{table(['file', 'examples', 'size'], rows)}</details>"
    )


def _piece_list(pieces, total):
    most = max((count for _, count in pieces), default=1)
    items = "".join(
        f"<li style='--share:{count / most:.3f}' title='{count:,}'><b>{escape(piece)}</b>"
        f"<span>{percent(count / max(1, total), 2)}</span></li>"
        for piece, count in pieces
    )
    return f"<ol class='pieces'>{items}</ol>\n"


# ------------------------------------------------------------------------------ numbers


def _mean(counts):
    return float(np.arange(len(counts)) @ counts / max(1, counts.sum()))


def _quantile(counts, share):
    """The smallest value that at least this share does not exceed."""
    return int(np.searchsorted(np.cumsum(counts), share * counts.sum()))


def _trimmed(counts):
    """Without the values above the largest that occurs."""
    return np.trim_zeros(np.asarray(counts), "b") if any(counts) else np.zeros(1, np.int64)


def _plain(value):
    if isinstance(value, Mapping | list | tuple):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}" if abs(value) >= 10_000 else str(value)
    return "" if value is None else str(value)


def _bytes(number):
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if number >= scale:
            return f"{number / scale:.1f} {unit}"
    return f"{number} bytes"


_STYLE = textwrap.dedent("""
    .record { margin: .8rem 0; font-size: .92rem; line-height: 1.75; overflow-wrap: anywhere; }
    .record p { margin: 0; }
    .legend span { display: inline-block; margin-right: 1.4rem; }
    .masked { background: color-mix(in srgb, var(--first) 22%, transparent); }
    .replaced { background: color-mix(in srgb, var(--second) 28%, transparent); }
    .kept { background: color-mix(in srgb, var(--third) 24%, transparent); }
    .pieces { columns: 9.5rem; column-gap: 1.6rem; list-style: none; padding: 0; font-size: .88rem; }
    .pieces li { display: flex; justify-content: space-between; break-inside: avoid; padding: 0 .35rem;
                 border-radius: 3px; margin-bottom: 2px;
                 background: linear-gradient(90deg, color-mix(in srgb, var(--first) 24%, transparent)
                 calc(var(--share) * 100%), transparent 0); }
    .pieces b { font-weight: 600; overflow-wrap: anywhere; }
    .pieces span { color: var(--pale); font-variant-numeric: tabular-nums; padding-left: .6rem; }
    td { overflow-wrap: anywhere; }
    """)
