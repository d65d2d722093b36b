"""Queries, texts and judgments in the files of BEIR. Standard library only."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from absl import logging

from kbert.files.text_file import read_lines
from kbert.input_pipelines.file_problems import FileProblems
from kbert.input_pipelines.json_rows import parse_object, text_problem

_HEADER = ["query-id", "corpus-id", "score"]
_MOST_SHOWN = 5


class Collection(NamedTuple):
    """What a search is judged by. Equal texts are one text, equal queries stay apart.

    Fields:
      texts: the different texts of the corpus.
      text_ids: the id of each; of equal texts the first.
      queries: the judged queries.
      query_ids: the id of each.
      judgments: for each query the gains of its relevant texts, above 0, by position in `texts`.
    """

    texts: list[str]
    text_ids: list[str]
    queries: list[str]
    query_ids: list[str]
    judgments: list[dict[int, float]]


def read_collection(corpus_file: str | Path, queries_file: str | Path, qrels_file: str | Path) -> Collection:
    """Reads `corpus.jsonl` (`_id`, `title`, `text`), `queries.jsonl` (`_id`, `text`) and `qrels/NAME.tsv`
    (`query-id`, `corpus-id`, `score`), as BEIR has them (github.com/beir-cellar/beir).

    A title stands before its text, with a blank between them. Queries without a line in the qrels are left
    out: a file of queries may hold those of several splits. Empty texts are texts like any other, and said.

    Raises:
      ValueError: naming all lines that are wrong; for ids that stand twice or are unknown, and for a judged
        query without a relevant text.
    """
    corpus, queries = read_corpus(corpus_file), _read_texts(queries_file, _query)
    first: dict[str, int] = {}
    position_of = {name: first.setdefault(text, len(first)) for name, text in corpus.items()}
    judged: dict[str, dict[int, float]] = {}
    problems = FileProblems(qrels_file)
    for where, query, text, gain in _read_qrels(qrels_file, problems):
        unknown = [(query, queries, queries_file), (text, corpus, corpus_file)]
        missing = [f"{name!r} is no _id in {file}" for name, known, file in unknown if name not in known]
        if missing:
            problems.add(ValueError(f"{where}: {', and '.join(missing)}."))
            continue
        gains = judged.setdefault(query, {})
        if gain > 0:
            gains[position_of[text]] = max(gain, gains.get(position_of[text], 0.0))
    if alone := [query for query, gains in judged.items() if not gains]:
        problems.add(
            f"{qrels_file}: {len(alone):,} queries have no text with a score above 0: "
            f"{', '.join(alone[:_MOST_SHOWN])}; leave their lines out."
        )
    problems.raise_all()
    if not judged:
        raise ValueError(f"{qrels_file} has no judgments; expected a line for each query and relevant text.")
    text_ids = {position: name for name, position in reversed(position_of.items())}
    return Collection(
        list(first), [text_ids[n] for n in range(len(first))],
        [queries[name] for name in judged], list(judged), list(judged.values()),
    )  # fmt: skip


def read_corpus(path: str | Path) -> dict[str, str]:
    """id -> text, with its title before it, of a `corpus.jsonl`. ValueError as `read_collection`."""
    return _read_texts(path, _text)


def _text(row) -> tuple[str | None, str]:
    title = row.get("title")
    if title and isinstance(title, str):
        return text_problem(row, "text"), f"{title} {row.get('text')}".strip()
    wrong = None if title in (None, "") else "has a 'title' that is not a string"
    return wrong or text_problem(row, "text"), row.get("text", "")


def _query(row) -> tuple[str | None, str]:
    return text_problem(row, "text"), row.get("text", "")


def _read_texts(path, read) -> dict[str, str]:
    texts: dict[str, str] = {}
    problems, empty = FileProblems(path), []
    for number, line in enumerate(read_lines(path), start=1):
        row = parse_object(line, str(path), number, "with _id and text")
        wrong, text = read(row)
        name = row.get("_id")
        if not isinstance(name, str | int) or isinstance(name, bool):
            wrong = f"has no '_id' that is a string, only {', '.join(map(repr, list(row)[:8]))}"
        elif str(name) in texts:
            wrong = f"has the _id {str(name)!r} a second time"
        elif not wrong and not text.strip():
            empty.append(number)
        if wrong:
            problems.add(ValueError(f"{path} line {number} {wrong}."))
            if problems.is_full:
                break
        texts[str(name)] = text
    if empty:
        shown = ", ".join(map(str, empty[:_MOST_SHOWN]))
        logging.warning("%s: %s texts are empty (line %s).", path, f"{len(empty):,}", shown)
    problems.raise_all()
    if not texts:
        raise ValueError(f"{path} is empty; expected an object with _id and text in each line.")
    return texts


def _read_qrels(path, problems) -> Iterator[tuple[str, str, str, float]]:
    lines = read_lines(path)
    header = next(lines, "").split("\t")
    if header != _HEADER:
        raise ValueError(
            f"{path} line 1 is {header}; expected {_HEADER}, with tabs between them, and below it a line for "
            "each judgment."
        )
    for number, line in enumerate(lines, start=2):
        where, cells = f"{path} line {number}", line.split("\t")
        try:
            query, text, score = cells
            yield where, query, text, float(score)
        except ValueError:
            problems.add(ValueError(f"{where}: expected two ids and a number, received {cells}."))
        if problems.is_full:
            return
