"""A file of tagged words -> examples: sentences with their labels, each with its document."""

import collections
import dataclasses
import functools
import hashlib
import itertools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from absl import logging

from kbert.cli.warn_once import warn_once
from kbert.config import DatasetConfig
from kbert.files.file_format import FORMATS, format_by_name
from kbert.input_pipelines.data_files import reading_dataset
from kbert.input_pipelines.input_columns import WHOLE_TEXTS
from kbert.input_pipelines.label_checks import judge_labels, with_judged_labels
from kbert.input_pipelines.label_lists import listed_words
from kbert.input_pipelines.label_names import sorted_labels
from kbert.input_pipelines.labelled_files import schema_labels
from kbert.input_pipelines.labels import class_name, listed_label
from kbert.input_pipelines.tables.table_paths import find_format
from kbert.tasks.files import ROW_SETTINGS, Files, warn_of_absent
from kbert.tasks.token_classification.conll_files import (
    DOCUMENT_MARK,
    FileSentence,
    read_conll,
)
from kbert.tasks.token_classification.json_sentences import read_json_sentences
from kbert.tasks.token_classification.tag_schemes import (
    OUTSIDE,
    find_scheme,
    from_iob2,
    is_tag,
    other_beginnings,
    scheme_of_labels,
    scheme_problem,
    split_tag,
    to_iob2,
)
from kbert.tasks.token_classification.word_rows import read_sentence_rows, read_word_rows


class Document:
    """The sentences of a document, as words. Its examples share it, so a file is held in memory once.

    Args:
      sentences: the words of each sentence.
    """

    def __init__(self, sentences: list[tuple[str, ...]]):
        self.sentences = sentences

    @functools.cached_property
    def _digest(self):
        return hashlib.sha256(repr(self.sentences).encode("utf-8", "surrogatepass")).hexdigest()

    def __eq__(self, other):
        return isinstance(other, Document) and self._digest == other._digest

    def __hash__(self):
        return hash(self._digest)

    def __repr__(self):
        """What tells it from others in a fingerprint of examples, wherever in its file it stands."""
        return f"document {self._digest}"


class TaggedSentence(NamedTuple):
    """An example.

    Args:
      words: its words.
      document: the `Document` that it is from.
      position: which sentence of the document it is.
      labels: one for each word; tags of entities are in the `scheme_of_labels` that the dataset lists, IOB2
        where it lists none; None where nobody says them.
    """

    words: tuple[str, ...]
    document: Document
    position: int
    labels: tuple[str, ...] | None


class TaggedFiles(Files):
    """CoNLL columns, JSON lines or tables of words with a label each."""

    settings = (
        *(name for name in ROW_SETTINGS if name != "text_pair"),
        *("labels", "tag_scheme", "document", "sentence"),
    )

    def needless_settings(self, path, dataset):
        """Those of the format; CoNLL columns have their own delimiter, marks of documents, and order, and a
        word alone cannot be left out of its sentence."""
        read = _reader(path, dataset)
        if read is not read_conll:
            words = {"skip_unlabelled": "with a sentence in each row"} if read is read_word_rows else {}
            return super().needless_settings(path, dataset) | words
        named = {} if dataset.column_names else dict.fromkeys(("text", "label"), "with column_names")
        rows = ("document", "skip_short_rows", "skip_unlabelled", "skip_empty_rows")
        return {"delimiter": "in CSV files"} | dict.fromkeys(rows, "in files with named columns") | named

    def read_examples(self, path, dataset, with_labels=True):
        """`TaggedSentence`s, see `read_tagged_sentences`; where the dataset lists no labels, those of the
        file are judged at its end, see `judge_labels`."""
        are_tags = dataset.tag_scheme != "none"
        judge = functools.partial(judge_labels, mend="Give these words their tag", may_be_rare=are_tags)
        sentences = read_tagged_sentences(path, dataset, with_labels)
        is_known = dataset.labels or not with_labels
        return sentences if is_known else with_judged_labels(sentences, self.labels, judge, path)

    def needs_tensorflow(self, path, dataset):
        """JSON lines and tables may hold texts, whose words TensorFlow finds."""
        return _reader(path, dataset) is read_json_sentences

    def dataset_of_texts(self, dataset):
        """Without the names of CoNLL columns, which hold words."""
        return dataclasses.replace(dataset, text="text", column_names=()) if dataset.column_names else dataset

    def require_texts(self, path, dataset, texts):
        """Refuses words that stand as labelled files have them: printed lists in CSV, a word in each line."""
        file_format = dataset.file_format or format_by_name(path)
        if file_format == "csv":
            are_words = all(map(listed_words, texts))
        else:
            are_words = file_format in (None, "tsv") and _are_words(texts, dataset)
        if texts and are_words:
            raise ValueError(
                f"{path} has {texts[0][:80]!r} where a text is expected, words as labelled files have them; "
                f"texts are answered whole: {WHOLE_TEXTS}. kbert evaluate takes labelled files."
            )

    def complete_dataset(self, dataset, examples, path=None):
        """The dataset; if it lists no labels, with those of the examples and of the schema of their file, see
        `labels_of_tags`."""
        if dataset.labels:
            return dataset
        names = {label for sentence in examples for label in sentence.labels or ()}
        labels = labels_of_tags(names, dataset.tag_scheme)
        classes = schema_labels(path, dataset) if path else ()
        whole = labels_of_tags(names, dataset.tag_scheme, classes)
        warn_of_absent(path, [label for label in whole if label not in labels])
        return dataclasses.replace(dataset, labels=whole)

    def labels(self, example):
        return example.labels or ()

    def texts(self, example):
        """Its words, between blanks."""
        return (" ".join(example.words),)

    def content(self, example):
        """Its words and labels, wherever in a document they stand."""
        return " ".join(example.words), example.labels

    def groups(self, examples):
        """The documents; the sentences, where a file has but one document."""
        documents = collections.defaultdict(list)
        for example in examples:
            documents[id(example.document)].append(example.words)
        if len(documents) == 1:
            return [repr(example.words) for example in examples]
        texts = {document: repr(sentences) for document, sentences in documents.items()}
        return [texts[id(example.document)] for example in examples]


def _are_words(lines, dataset):
    """Whether lines are CoNLL columns: several, of as many cells, and a column that has labels alone."""
    lines = [line for line in lines if line.strip() and not line.startswith(("#", DOCUMENT_MARK))]
    cells = [line.split() for line in lines]
    widths = {*map(len, cells)}
    if len(cells) < 2 or len(widths) > 1 or 1 in widths:
        return False
    return any(
        all(cell in dataset.labels or is_tag(cell) for cell in column) for column in zip(*cells, strict=True)
    )


def read_tagged_sentences(
    path: str | Path, dataset: DatasetConfig, with_labels: bool = True
) -> Iterator[TaggedSentence]:
    """Yields the sentences of a file, a document in memory at a time.

    By its format (`find_format`) a file has JSON lines, or columns of a table with the same values, or CSV
    with a sentence in each row; with `dataset.sentence` any file with named columns has a word in each row.
    Everything else, TSV too, is CoNLL columns. With `dataset.tag_scheme = "auto"` the tags are read once more
    before, to find their scheme.

    Raises:
      ValueError: naming file and line, for whatever does not fit: see `read_conll`, `read_json_sentences`,
        `read_word_rows`, `read_sentence_rows` and `find_scheme`; for tags that break the scheme, and for a
        label that `dataset.labels` does not list.
    """
    path = path if isinstance(path, Path) else Path(path)
    read = _reader(path, dataset)
    scheme = dataset.tag_scheme
    if with_labels and scheme == "auto":
        scheme = find_scheme(
            ((sentence.tags, sentence.locations) for sentence in read(path, dataset, True)), path
        )
    own = scheme_of_labels(dataset.labels)
    if with_labels:
        _say_scheme(path, scheme, own, dataset.labels)
    sentences = read(path, dataset, with_labels)
    others: list[str] = []  # where an entity begins as in another scheme
    joined: list[str] = []  # where one begins that the model's labels cannot tell from the one before it
    seen, again = set(), []  # documents; where one goes on behind others
    for name, group in itertools.groupby(sentences, key=lambda sentence: sentence.document):
        together = list(group)
        again += [together[0].locations[0]] if name in seen else []
        seen.add(name)
        document = Document([sentence.words for sentence in together])
        for position, sentence in enumerate(together):
            labels = _checked_labels(sentence, scheme, own, dataset, joined) if with_labels else None
            others += [sentence.locations[at] for at in other_beginnings(sentence.tags or (), scheme)]
            yield TaggedSentence(sentence.words, document, position, labels)
    _warn_of_beginnings(scheme, others, joined)
    if again and with_labels:
        warn_once(
            f"{again[0]}: a document goes on whose sentences ended before, the first of {len(again):,} such "
            "places; each part is a document of its own, which dev_split may put on the other side. Sort the "
            f"rows by {dataset.document!r}."
        )


def _reader(path, dataset):
    if dataset.sentence:
        return read_word_rows
    file_format = find_format(path, reading_dataset(path, dataset).file_format)
    if file_format in (None, "tsv"):
        return read_conll
    return read_json_sentences if FORMATS[file_format].has_values else read_sentence_rows


def _say_scheme(path, scheme, own, labels):
    if scheme in ("none", own):
        return
    advice = f' For a model that was trained in {scheme} itself set dataset.tag_scheme = "none".'
    logging.info(
        "%s: the tags are in %s and are read as the same entities in %s.%s",
        path, scheme, own, advice if labels and {scheme, own} == {"iob1", "iob2"} else "",
    )  # fmt: skip


def _warn_of_beginnings(scheme, others, joined):
    if others:
        logging.warning(
            "%s: an entity begins with %s- where %s has %s-; it is read as a beginning, as conlleval and "
            "seqeval do.",
            _shown_places(others), *(("B", scheme, "I") if scheme == "iob1" else ("I", scheme, "B")),
        )  # fmt: skip
    if joined:
        logging.warning(
            "%s: an entity begins right behind another of its type, for which the model has no B-; both "
            "count as one.",
            _shown_places(joined),
        )  # fmt: skip


def _shown_places(locations):
    more = len(locations) - 1
    return f"{locations[0]} and {more:,} more place{'s' * (more > 1)}" if more else locations[0]


def _checked_labels(sentence: FileSentence, scheme, own, dataset, joined):
    """The labels of a sentence, checked, in the scheme `own`; `joined` gets where one is joined to the entity
    before it."""
    tags, locations = tuple(class_name(tag, dataset.labels) for tag in sentence.tags), sentence.locations
    if scheme != "none":
        if problem := scheme_problem(tags, scheme):
            index, why = problem
            raise ValueError(
                f"{locations[index]}: {why}. Fix the file; a config sets the scheme it is in as "
                "dataset.tag_scheme."
            )
        tags = to_iob2(tags, scheme)
        if own != "iob2":
            tags = from_iob2(tags, own)
        if own == "iob1":
            tags = tuple(
                _known_tag(*each, dataset.labels, joined) for each in zip(tags, locations, strict=True)
            )
    for tag, where in zip(tags, locations, strict=True):
        listed_label(tag, dataset, where)
    return tags


def _known_tag(tag, where, labels, joined):
    """I in the place of B, where a model in IOB1 has no B of a type: no two of its training touched."""
    prefix, kind = split_tag(tag)
    if prefix != "B" or tag in labels or f"I-{kind}" not in labels:
        return tag
    joined.append(where)
    return f"I-{kind}"


def labels_of_tags(names: Iterable[str], scheme: str, classes: Sequence[str] = ()) -> tuple[str, ...]:
    """The labels of a model: O first, the others sorted.

    For every type of entity both B and I are there, also where the file has entities of one word alone, so
    that other files of the same types can be read.

    Args:
      names: the labels of the words of a training file.
      scheme: `dataset.tag_scheme`.
      classes: those of its schema, in any scheme; counted where they hold all of the names' types.
    """
    names, classes = {*names}, [*filter(str.strip, classes)]
    if scheme == "none":
        names |= {*classes} if names <= {*classes} else set()
    else:
        types, known = ({split_tag(tag)[1] for tag in filter(is_tag, tags)} for tags in (names, classes))
        types = known if types <= known else types
        names |= {OUTSIDE, *(f"{prefix}-{kind}" for kind in types - {""} for prefix in "BI")}
    first = (OUTSIDE,) if OUTSIDE in names else ()
    return (*first, *sorted_labels(names - {OUTSIDE}))
