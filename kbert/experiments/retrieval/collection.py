"""Queries, texts and judgments in the files of BEIR."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from absl import logging

from kbert.config import DatasetConfig
from kbert.files.file_format import format_by_name
from kbert.files.json_values import shown
from kbert.input_pipelines.file_problems import FileProblems
from kbert.input_pipelines.json_rows import MissingColumn, require_column
from kbert.input_pipelines.labelled_files import stream_examples, text_cell
from kbert.input_pipelines.labels import plain_number
from kbert.input_pipelines.repeated_rows import as_read
from kbert.input_pipelines.tables.table_paths import find_format
from kbert.input_pipelines.text_lines import text_lines

_COLUMNS = DatasetConfig()
_MOST_SHOWN = 5


class CorpusText(NamedTuple):
    """A text of a corpus: alone, and as it is found, its title before it."""

    alone: str
    whole: str


class Collection(NamedTuple):
    """What a search is judged by. Equal texts are one text, equal queries stay apart.

    Fields:
      texts: the different texts of the corpus.
      text_ids: the id of each, of equal texts the first; then those of relevant texts that the corpus lacks.
      queries: the judged queries.
      query_ids: the id of each.
      judgments: for each query the gains of its relevant texts, above 0, by position in `text_ids`.
      own_texts: for each query the position of the text that is the query itself, with its id and its words
        (`as_read`), as in ArguAna and Quora; -1 where there is none, or where that is judged relevant.
    """

    texts: list[str]
    text_ids: list[str]
    queries: list[str]
    query_ids: list[str]
    judgments: list[dict[int, float]]
    own_texts: list[int]


def read_collection(corpus_file: str | Path, queries_file: str | Path, qrels_file: str | Path) -> Collection:
    """Reads `corpus.jsonl` (`_id`, `title`, `text`), `queries.jsonl` (`_id`, `text`) and `qrels/NAME.tsv`
    (`query-id`, `corpus-id`, `score`), as BEIR has them (github.com/beir-cellar/beir). Without a `score`, as
    in NanoBEIR, each text is relevant.

    A title stands before its text, with a blank between them. Queries without a line in the qrels are left
    out: a file of queries may hold those of several splits. Empty texts are texts like any other, and said.
    So are relevant texts that the corpus lacks, as ArguAna's does: nothing finds them, and they count.

    Raises:
      ValueError: naming all lines that are wrong; for ids that stand twice, for unknown queries, where most
        relevant texts are unknown, and for a judged query without a relevant text.
    """
    corpus = read_corpus(corpus_file)
    queries = _read_texts(queries_file, lambda record, where: text_cell(record, "text", where))
    first: dict[str, int] = {}
    position_of = {name: first.setdefault(text.whole, len(first)) for name, text in corpus.items()}
    scores = _read_scores(Path(qrels_file), queries, queries_file)
    missing = _missing(scores, corpus, qrels_file, corpus_file)
    position_of |= {name: position for position, name in enumerate(missing, len(first))}
    judged = {query: _gains(own, position_of) for query, own in scores.items()}
    if alone := [query for query, gains in judged.items() if not gains]:
        raise ValueError(
            f"{qrels_file}: {len(alone):,} queries have no text with a score above 0: "
            f"{', '.join(alone[:_MOST_SHOWN])}; leave their lines out."
        )
    text_ids = {position: name for name, position in reversed(position_of.items())}
    are_own = {name: as_read(queries[name]) in map(as_read, corpus.get(name, ())) for name in judged}
    own_texts = [
        position_of[name] if are_own[name] and position_of[name] not in gains else -1
        for name, gains in judged.items()
    ]
    return Collection(
        list(first), [text_ids[n] for n in range(len(text_ids))],
        [queries[name] for name in judged], list(judged), list(judged.values()), own_texts,
    )  # fmt: skip


def _missing(scores, corpus, qrels_file, corpus_file) -> list[str]:
    """The relevant texts that a corpus lacks. ValueError where most are, as in a file of another corpus. One
    that is judged and not relevant changes no number."""
    relevant = {name: None for own in scores.values() for name, gain in own.items() if gain > 0}
    missing = [name for name in relevant if name not in corpus]
    shown_ids = ", ".join(map(repr, missing[:_MOST_SHOWN]))
    if 2 * len(missing) > len(relevant):
        raise ValueError(
            f"{qrels_file}: {len(missing):,} of the {len(relevant):,} relevant texts are no _id in "
            f"{corpus_file} ({shown_ids}); give the whole corpus of these judgments."
        )
    if missing:
        logging.warning(
            "%s: %s relevant texts are no _id in %s (%s); as in BEIR, nothing finds them, and they count.",
            qrels_file, f"{len(missing):,}", corpus_file, shown_ids,
        )  # fmt: skip
    return missing


def _gains(scores, position_of) -> dict[int, float]:
    """Position -> gain of the relevant texts; of equal texts the largest counts."""
    gains: dict[int, float] = {}
    for text, gain in scores.items():
        if gain > 0:
            gains[position_of[text]] = max(gain, gains.get(position_of[text], 0.0))
    return gains


def read_corpus(path: str | Path) -> dict[str, CorpusText]:
    """id -> text of a `corpus.jsonl`. ValueError as `read_collection`."""
    return _read_texts(path, _with_title)


def _with_title(record, where) -> CorpusText:
    text = text_cell(record, "text", where)
    title = text_cell(record, "title", where) if record.get("title") else ""
    return CorpusText(text, f"{title} {text}".strip() if title else text)


def _read_texts(path, read) -> dict:
    texts: dict = {}
    empty = []

    def read_row(record, label, where):
        require_column(record, "_id", where)
        name = record["_id"]
        if not isinstance(name, str | int) or isinstance(name, bool):
            raise ValueError(f"{where} has no '_id' that is a string.")
        if str(name) in texts:
            raise ValueError(f"{where} has the _id {str(name)!r} a second time.")
        texts[str(name)] = read(record, where)
        if not "".join(texts[str(name)]).strip():
            empty.append(where.removeprefix(f"{path} "))

    for _ in _stream(path, _COLUMNS, ("_id", "text"), read_row, ("title",)):
        pass
    if empty:
        some = ", ".join(empty[:_MOST_SHOWN])
        logging.warning("%s: %s texts are empty (%s).", path, f"{len(empty):,}", some)
    return texts


def _read_scores(path, queries, queries_file) -> dict[str, dict[str, float]]:
    """query -> text -> its score; the last of several counts, as in BEIR's GenericDataLoader."""
    judged: dict[str, dict[str, float]] = {}
    changed = []
    for query, texts, gain in _read_judgments(path, queries, queries_file):
        scores = judged.setdefault(query, {})
        changed += [f"{query} {text}" for text in texts if scores.get(text, gain) != gain]
        scores |= dict.fromkeys(texts, gain)
    if changed:
        logging.warning(
            "%s: %s pairs stand there again with another score (%s); the last one counts, as in BEIR.",
            path, f"{len(changed):,}", ", ".join(changed[:_MOST_SHOWN]),
        )  # fmt: skip
    return judged


def _read_judgments(path, queries, queries_file) -> Iterator[tuple[str, list[str], float]]:
    """(query, texts, gain) of each line. Without scores, as in NanoBEIR, each text is relevant; some of its
    files have a list of texts in a line."""
    names = ("query-id", "corpus-id", "score")

    def read_row(record, label, where):
        # Beside other columns, these may hold the scores.
        for column in names if record.keys() - {*names} else names[:2]:
            require_column(record, column, where)
        query, texts = str(record["query-id"]), record["corpus-id"]
        if query not in queries:
            raise ValueError(
                f"{where}: {query!r} is no _id in {queries_file}; leave such lines out, or give all "
                "of its rows."
            )
        gain = plain_number(record.get("score", 1))
        if gain is None:
            raise ValueError(f"{where}: score={shown(record['score'])} is no finite number.")
        return query, list(map(str, texts if isinstance(texts, list) else [texts])), gain

    columns = dataclasses.replace(_COLUMNS, text="query-id", label="score")
    if format_by_name(path) == "tsv" and _is_quoted(path):
        columns = dataclasses.replace(columns, file_format="csv", delimiter="\t")
    yield from _stream(path, columns, names[:2], read_row, names[2:])


def _is_quoted(path) -> bool:
    """Whether the marks of a TSV file stand around cells, as BEIR reads and writes it; one that alone begins
    a cell is part of an id."""
    cells = (cell for line in text_lines(path, None, FileProblems(path)) for cell in line.split("\t"))
    return all(cell.rstrip("\r\n")[1:].endswith('"') for cell in cells if cell.startswith('"'))


def require_named_format(path: Path):
    """Raises ValueError for the name of a file that tells no format, where no config says it."""
    if find_format(path) is None:
        raise ValueError(f"{path}: cannot tell the format from the name; end it in .jsonl or .tsv.")


def _stream(path, dataset, names, read_row, optional=()):
    """What `read_row` makes of each row of a file with columns of these names, which no config changes."""
    require_named_format(path)
    try:
        yield from stream_examples(path, dataset, names, read_row, with_labels=False, optional=optional)
    except MissingColumn as error:
        are_judgments = dataset.label == "score"
        expected = f"Expected the columns {', '.join((*names, *['score'] * are_judgments))}"
        advice = " TREC's files have no such line: add it, and leave their column of zeros out."
        raise ValueError(
            f"{error.what}\n  {expected}; in a TSV file the first line names them, with tabs between."
            + advice * are_judgments
        ) from None
