"""Pairs of texts + a corpus -> rows with hard negatives: what a model finds for a query, and is not right.

Reference: sentence-transformers, util/hard_negatives.py, `mine_hard_negatives`.
"""

import itertools
import json
import math
import os
import random
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Union

from absl import logging

from kbert.bounds import Bounds
from kbert.checkpoints import formats
from kbert.checks import require, with_checked_arguments
from kbert.cli.progress import Progress
from kbert.cli.warn_once import warn_once
from kbert.config import DatasetConfig
from kbert.experiments import show_lines
from kbert.experiments.retrieval import retrievers
from kbert.experiments.retrieval.collection import read_corpus, require_named_format
from kbert.experiments.retrieval.evaluation import as_loaded, make_retriever
from kbert.files.compression import find_opener
from kbert.files.file_format import format_by_name
from kbert.files.output_path import check_output_file, require_local, require_parent_folder
from kbert.files.whole_file import whole_file
from kbert.inference import loading
from kbert.input_pipelines.json_rows import MissingColumn
from kbert.input_pipelines.labelled_files import LabelledText, stream_examples, text_cell
from kbert.input_pipelines.labels import NEGATIVE_COLUMN, PAIR_LABELS
from kbert.input_pipelines.repeated_rows import as_read
from kbert.input_pipelines.tables.table_paths import require_one_split

if TYPE_CHECKING:
    from kbert.inference.loaded_model import LoadedModel


@with_checked_arguments
def hard_negatives(
    run_dir: Union[str, os.PathLike, "LoadedModel"],
    pairs_file: str | os.PathLike,
    output_file: str | os.PathLike,
    *,
    corpus_file: str | os.PathLike | None = None,
    cross_encoder: Union[str, os.PathLike, "LoadedModel", None] = None,
    num_negatives: Annotated[int, Bounds(1)] = 3,
    range_min: Annotated[int, Bounds(0)] = 0,
    range_max: Annotated[int, Bounds(1)] | None = None,
    relative_margin: Annotated[float, Bounds(0)] | None = 0.05,
    sampling_strategy: Literal["top", "random"] = "top",
    seed: Annotated[int, Bounds(0)] = 0,
    text: str = "text",
    text_pair: str = "text_pair",
    vectors_dir: str | os.PathLike | None = None,
    overwrite: bool = False,
    checkpoint: str | int | None = None,
    do_lower_case: bool | None = None,
    allow_unmatched: Sequence[str] | str = (),
) -> int:
    """Writes a row of each pair with texts that are like its query and not among its positives, nor one of
    these with a title, or in other capitals or blanks.

    Args:
      run_dir: what finds the texts: a run or any checkpoint, of vectors of texts or a cross-encoder, or
        "bm25". In Python also a `LoadedModel`.
      pairs_file: rows of a query and its positive; a query may have several rows. A file with labels is
        refused: those of other rows than positives would be lost.
      output_file: a .jsonl file, or a .jsonl.gz, with text, text_pair (as the corpus has it, with its title),
        negative_1, negative_2 and so on, no text twice in other capitals or blanks. Where a cross-encoder
        scores, also `scores`: its numbers, before its activation, of the positive and of each negative.
      corpus_file: more texts for negatives, beside all positives: JSON lines with "_id", "title" and "text".
      cross_encoder: a model that scores anew what was found, and the positives. In Python also a
        `LoadedModel`.
      num_negatives: how many negatives a row gets. A pair with fewer is left out, and counted.
      range_min: how many of the best texts that could be negatives are left out: some of them may be right.
      range_max: how many of the best texts are looked at, without the query's positives; by default ten for
        each negative (one, without a margin), `range_min`, and as many as the query has positives.
      relative_margin: a negative's score is at most that of the query's worst positive, less this share of
        its amount; .05 is the rule of NV-Retriever (arXiv 2407.15831). A cross-encoder's scores are
        compared as its activation gives them. none allows any score: for queries
        with many positives, all of them known.
      sampling_strategy: top takes the best, random any of them.
      seed: of the random ones.
      text: the column of the queries.
      text_pair: the column of the positives.
      vectors_dir: a folder that keeps the vectors of the texts; a stopped search goes on from there.
      overwrite: replace an `output_file` that exists.
      checkpoint, do_lower_case, allow_unmatched: of `run_dir`, as for `kbert.load`.

    Returns:
      The number of rows.

    Raises:
      ValueError: before any model is read, for files that are wrong and numbers that leave no text.

    Examples:
      >>> import kbert, pathlib, tempfile
      >>> folder = pathlib.Path(tempfile.mkdtemp())
      >>> pairs = "text,text_pair\\nthe jump,the jump\\nthey walk,they walk\\n"
      >>> _ = (folder / "pairs.csv").write_text(pairs)
      >>> rows = folder / "rows.jsonl"
      >>> kbert.hard_negatives(pretraining_run_dir, folder / "pairs.csv", rows, num_negatives=1)
      2
    """
    show_lines()
    require(
        not seed or sampling_strategy == "random",
        f'seed={seed} is for sampling_strategy="random", and it is "{sampling_strategy}"; leave it out.',
    )
    if format_by_name(Path(output_file)) != "jsonl":
        raise ValueError(f"output_file={output_file} must end in .jsonl or .jsonl.gz: it holds JSON lines.")
    output_file, read = Path(output_file), [Path(path) for path in (pairs_file, corpus_file) if path]
    models = map(loading.model_path, filter(None, (run_dir, cross_encoder)))
    kept = itertools.chain.from_iterable(map(formats.kept_files, models))
    check_output_file(output_file, [*read, *kept], overwrite)
    require_parent_folder(output_file)
    require_local(vectors_dir)
    require_one_split(Path(pairs_file))
    require_named_format(Path(pairs_file))
    pairs = _read_pairs(Path(pairs_file), text, text_pair)
    corpus = [*read_corpus(Path(corpus_file)).values()] if corpus_file else []
    pairs = _as_in_corpus(pairs, corpus)
    positives: dict[str, list[str]] = {}
    spellings: dict[str, list[str]] = {}  # those of a query share its positives
    for pair in pairs:
        positives[pair.text] = spellings.setdefault(as_read(pair.text), [])
        positives[pair.text].append(pair.text_pair)
    texts = list(dict.fromkeys(text for own in positives.values() for text in own))
    alone = {text.whole: text.alone for text in corpus}
    texts = list(dict.fromkeys([*texts, *alone]))
    if range_max is not None and num_negatives > range_max - range_min:
        raise ValueError(
            f"range_min={range_min} and range_max={range_max} leave fewer texts than num_negatives="
            f"{num_negatives}; raise range_max, or lower the others."
        )
    reading = (do_lower_case, allow_unmatched or (), checkpoint)
    retriever = make_retriever(run_dir, vectors_dir=vectors_dir, reading=reading)
    judge = None if cross_encoder is None else as_loaded(cross_encoder)
    if isinstance(retriever, retrievers.RerankingRetriever):
        if judge:
            raise ValueError(
                f"run_dir={run_dir} is a cross-encoder, as cross_encoder={cross_encoder} is, and one of them "
                'scores what BM25 finds; leave the other out (run_dir="bm25").'
            )
        # It never reads a positive that its first one misses.
        judge, retriever = retriever.loaded, retriever.first
    if judge:
        judge.rank("", [])  # refuses a model that ranks no texts, before the search
    # With a corpus a positive may be there in two forms.
    forms = {query: len(dict.fromkeys(own)) * (1 + bool(corpus)) for query, own in positives.items()}
    usual = range_min + num_negatives * (1 if relative_margin is None else 10)
    ends = {query: usual + number if range_max is None else range_max for query, number in forms.items()}
    ranking = retriever.find([*positives], texts, max(ends[query] + forms[query] for query in ends))
    rng, negatives = random.Random(seed), {}
    serving = judge.task.serving if judge else None
    activated = serving.activated if serving else float
    progress = Progress("Ranked", "queries", len(positives)) if judge else None
    for number, (query, own) in enumerate(positives.items()):
        # No deeper, where another query has more positives: a cross-encoder reads each of them.
        candidates = _scored(ranking, number, texts, ends[query] + forms[query])
        if judge:
            every = list(dict.fromkeys([*candidates, *own]))
            ranked = judge.rank(query, every, raw_scores=True)
            candidates = {answer["text"]: answer["score"] for answer in ranked}
            progress.report(number + 1)
        chosen = _choose(query, own, candidates, alone, relative_margin, activated)
        chosen = chosen[range_min : ends[query]]
        if sampling_strategy == "random" and len(chosen) > num_negatives:
            chosen = [chosen[index] for index in sorted(rng.sample(range(len(chosen)), num_negatives))]
        # Of vectors or BM25 they are no lesson of a teacher, and nothing else reads them.
        negatives[query] = chosen[:num_negatives], candidates if judge else None
    return _write(pairs, negatives, num_negatives, output_file, relative_margin)


def _no_label(record, dataset, where):
    """None: pairs have no label. A reader with one, as of a file of training, refuses a header once more."""


def _read_pairs(path, text, text_pair):
    dataset, labelled = DatasetConfig(text=text, text_pair=text_pair), []

    def read(record, label, where):
        if unread := [name for name in record if NEGATIVE_COLUMN.fullmatch(name)]:
            warn_once(
                f"{path} has {', '.join(map(repr, unread))}, which is not read: negatives come from the "
                "corpus and from all positives."
            )
        labelled.extend((where, name) for name in PAIR_LABELS if name in record.keys() - {text, text_pair})
        return LabelledText(text_cell(record, text, where), text_cell(record, text_pair, where), None)

    try:
        pairs = list(
            stream_examples(
                path,
                dataset,
                (text, text_pair),
                read,
                with_labels=False,
                read_label=_no_label,
            )
        )
    except MissingColumn as error:
        named = "\n  Name the columns of queries and positives by text and text_pair (--text, --text_pair)."
        raise ValueError(f"{error.what}{named}") from None
    if labelled:
        raise ValueError(
            f"{labelled[0][0]} has a column {labelled[0][1]!r}, which may say that the two texts do not "
            "belong together, and each row is taken as a query and its positive; write the positives without "
            "this column."
        )
    if empty := sum(not (pair.text.strip() and (pair.text_pair or "").strip()) for pair in pairs):
        raise ValueError(f"{path}: {empty:,} pairs have an empty text; leave them out.")
    return pairs


def _as_in_corpus(pairs, corpus):
    """The pairs with their positives as the corpus has them, with a title: a document is one text. One that
    several titles have stays as it is."""
    forms: dict[str, dict[str, str]] = {as_read(pair.text_pair): {} for pair in pairs}
    for text in corpus:
        for form in forms.keys() & {as_read(text.alone), as_read(text.whole)}:
            forms[form].setdefault(as_read(text.whole), text.whole)
    whole = {form: next(iter(texts.values())) for form, texts in forms.items() if len(texts) == 1}
    return [pair._replace(text_pair=whole.get(as_read(pair.text_pair), pair.text_pair)) for pair in pairs]


def _scored(ranking, number, texts, depth):
    """text -> score of the first `depth` texts that were found for a query, the best first."""
    positions, scores = ranking.positions[number][:depth], ranking.scores[number][:depth].tolist()
    return {
        texts[position]: score for position, score in zip(positions, scores, strict=True) if position >= 0
    }


def _choose(query, own, candidates, alone, margin, activated):
    """The texts that may be negatives, the best first; `alone` are texts of a corpus without their titles."""
    worst, limit = min(candidates.get(text, -math.inf) for text in own), math.inf
    if margin is not None and math.isfinite(worst):
        limit = activated(worst) - abs(activated(worst)) * margin
    elif margin is not None:
        limit = -math.inf  # a positive below all that was found is below all that could be a negative
    ordered = sorted(candidates, key=candidates.__getitem__, reverse=True)
    known = {*map(as_read, (query, *own))}
    chosen: dict[str, str] = {}
    for text in ordered:
        if (
            activated(candidates[text]) <= limit
            and text.strip()
            and known.isdisjoint((as_read(text), as_read(alone.get(text, text))))
        ):
            chosen.setdefault(as_read(text), text)
    return [*chosen.values()]


def _write(pairs, negatives, number, path, margin) -> int:
    rows = 0
    with whole_file(path) as aside, find_opener(path)(aside, "wt", encoding="utf-8", newline="\n") as file:
        for pair in pairs:
            chosen, scores = negatives[pair.text]
            if len(chosen) < number:
                continue
            row = {"text": pair.text, "text_pair": pair.text_pair}
            row |= {f"negative_{n}": text for n, text in enumerate(chosen, start=1)}
            if scores is not None:
                row["scores"] = [scores[text] for text in (pair.text_pair, *chosen)]
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
            rows += 1
        if not rows:
            raise ValueError(
                f"no pair has {number} negatives; lower num_negatives, range_min or relative_margin, or "
                "raise range_max."
            )
    if left := len(pairs) - rows:
        logging.warning(
            "%s of %s pairs have fewer than %d negatives; left out. A larger range_max gives more of them "
            "some%s.", left, len(pairs), number, "" if margin is None else ", and relative_margin=none",
        )  # fmt: skip
    return rows
