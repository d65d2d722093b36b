"""A model + a collection of queries, texts and judgments -> how well it finds what is relevant."""

import itertools
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Union

from absl import logging

from kbert import extras
from kbert.checkpoints import formats
from kbert.checks import require, with_checked_arguments
from kbert.cli.warn_once import warn_once
from kbert.experiments import show_lines
from kbert.experiments.retrieval import failures, retrievers, search
from kbert.experiments.retrieval.collection import read_collection
from kbert.files.output_path import check_output_file, require_local
from kbert.inference import loading, text_answers
from kbert.reports import evaluation_page
from kbert.tasks import ranking_scores

if TYPE_CHECKING:
    from kbert.inference.loaded_model import LoadedModel

DEPTH = 100  # texts that are found for each query
BM25 = "bm25"  # in the place of a model
_AS_IT_IS = (None, (), None)  # neither `do_lower_case`, `allow_unmatched` nor `checkpoint` of a model


@with_checked_arguments
def evaluate_retrieval(
    run_dir: Union[str, os.PathLike, "LoadedModel"],
    corpus_file: str | os.PathLike,
    queries_file: str | os.PathLike,
    qrels_file: str | os.PathLike,
    *,
    retriever: Union[str, os.PathLike, "LoadedModel"] = BM25,
    vectors_dir: str | os.PathLike | None = None,
    html_file: str | os.PathLike | None = None,
    checkpoint: str | int | None = None,
    do_lower_case: bool | None = None,
    allow_unmatched: Sequence[str] | str = (),
) -> dict[str, float]:
    """Judges how well a model finds the relevant texts of queries, by exact search in all texts.

    Args:
      run_dir: the model: a run or any checkpoint, of vectors of texts or a cross-encoder, which ranks the
        first 100 texts of the `retriever`; or "bm25". In Python also a `LoadedModel`.
      corpus_file: the texts: JSON lines with `_id`, `title` and `text`, as BEIR has them. Equal texts are one
        text. One with the id and the words of a query is the query itself, which does not find it.
      queries_file: the queries: JSON lines with `_id` and `text`.
      qrels_file: a TSV file with the relevant texts of each query: query-id, corpus-id, score.
      retriever: what finds the texts for a cross-encoder: "bm25", or a model as `run_dir`.
      vectors_dir: a folder that keeps the vectors of the texts; a stopped evaluation goes on from there.
      html_file: a page to write, with the queries whose relevant texts are not found first.
      checkpoint, do_lower_case, allow_unmatched: of `run_dir`, as for `kbert.load`.

    Returns:
      The means over all judged queries of `ndcg_at_10`, `mrr_at_10`, `map_at_100`, `recall_at_100`,
      `recall_at_10` and `accuracy_at_1`, see `ranking_scores`; the same of BM25 as `baseline_ndcg_at_10` and
      so on, where the package bm25s is installed; `num_queries` and `num_texts`.

    Raises:
      ValueError: before any model is read, for files that are wrong; for a model that compares no texts.

    Examples:
      >>> import kbert, pathlib, tempfile
      >>> folder = pathlib.Path(tempfile.mkdtemp())
      >>> corpus = '{"_id": "a", "text": "the jump"}\\n{"_id": "b", "text": "they walk"}\\n'
      >>> _ = (folder / "corpus.jsonl").write_text(corpus)
      >>> _ = (folder / "queries.jsonl").write_text('{"_id": "1", "text": "they walk"}\\n')
      >>> _ = (folder / "qrels.tsv").write_text("query-id\\tcorpus-id\\tscore\\n1\\tb\\t1\\n")
      >>> files = [folder / name for name in ("corpus.jsonl", "queries.jsonl", "qrels.tsv")]
      >>> kbert.evaluate_retrieval(pretraining_run_dir, *files)["accuracy_at_1"]
      1.0
    """
    show_lines()
    require_local(vectors_dir)
    if html_file:
        models = map(loading.model_path, (run_dir, retriever))
        kept = itertools.chain.from_iterable(map(formats.kept_files, models))
        files = map(Path, (corpus_file, queries_file, qrels_file))
        check_output_file(Path(html_file), [*files, *kept], overwrite=True)
    collection = read_collection(Path(corpus_file), Path(queries_file), Path(qrels_file))
    reading = (do_lower_case, allow_unmatched or (), checkpoint)
    ranking = _ranking(make_retriever(run_dir, retriever, vectors_dir, reading), collection)
    every = search.scores_of_queries(ranking, collection.judgments)
    metrics = ranking_scores.means(every)
    metrics |= _baselines(run_dir, collection, metrics)
    metrics |= {"num_queries": len(collection.queries), "num_texts": len(collection.texts)}
    if html_file:
        sections = failures.failing_queries(collection, ranking, every)
        _write_page(run_dir, corpus_file, metrics, sections, html_file)
    return metrics


def make_retriever(model, first=BM25, vectors_dir=None, reading=_AS_IT_IS):
    """The retriever of a model, see `evaluate_retrieval`.

    Args:
      model: a path, a name, or a loaded model.
      first: what finds the texts for a cross-encoder.
      vectors_dir: a folder for vectors.
      reading: `do_lower_case`, `allow_unmatched` and `checkpoint` of the model.

    Raises:
      ValueError: for a model that was trained for other answers than vectors or a number for a pair; for a
        `first`, a `vectors_dir` or a `reading` that the model has no use for.
    """
    require(
        model != BM25 or reading == _AS_IT_IS,
        "checkpoint, do_lower_case and allow_unmatched are of a model, and BM25 is none; leave them out.",
    )
    if model == BM25 and Path(BM25).exists():
        warn_once(f"{BM25} is the ranking function; the folder of this name is ./{BM25}.")
    loaded = None if model == BM25 else as_loaded(model, reading)
    if loaded and loaded.task.serving is not None and "prediction" in loaded.task.serving.answers:
        loaded.rank("", [])  # refuses a number of a single text, before the search
        return retrievers.RerankingRetriever(loaded, make_retriever(first, vectors_dir=vectors_dir))
    if first != BM25:
        raise ValueError(
            f"retriever={first} is for a cross-encoder, and {model} finds texts itself; leave it out."
        )
    if loaded:
        _require_vectors(loaded)
        return retrievers.VectorRetriever(loaded, vectors_dir)
    if vectors_dir:
        raise ValueError(f"vectors_dir={vectors_dir} keeps vectors, and BM25 has none; leave it out.")
    return retrievers.Bm25Retriever()


def _require_vectors(loaded):
    task = loaded.task
    if task.files is not None and task.pooling is None and task.text_vectors is None:
        raise ValueError(
            f"{loaded.source} has the task {task.name}, which compares no texts; a search takes a model of "
            "vectors, or a cross-encoder that gives a pair one number. To search by its encoder alone, write "
            "that with kbert convert --encoder_only."
        )


def as_loaded(model, reading=_AS_IT_IS):
    """The model of a path or a run, whose weights are read when they are needed; one that is loaded as it is.
    ValueError for anything else. `reading` is that of `make_retriever`."""
    if isinstance(model, text_answers.TextAnswers) and reading == _AS_IT_IS:
        return model
    return loading.open_any(model, *reading)


def _ranking(retriever, collection):
    """The `Best` texts of each query; a query that is a text of the corpus does not find itself."""
    return retriever.find(
        collection.queries, collection.texts, DEPTH, collection.own_texts, collection.judgments
    )


def _baselines(model, collection, metrics):
    """Those of BM25, which everybody asks for; before it, which may take long, the model's own are said."""
    if model == BM25:
        return {}
    try:
        extras.require("bm25", "the baseline, BM25,")
    except ValueError as missing:
        logging.info("%s", missing)
        return {}
    own = ", ".join(f"{name} {value:.4f}" for name, value in metrics.items())
    logging.info("%s. The baseline, BM25, is next.", own)
    ranking = _ranking(retrievers.Bm25Retriever(), collection)
    means = ranking_scores.means(search.scores_of_queries(ranking, collection.judgments))
    return {f"baseline_{name}": value for name, value in means.items()}


def _write_page(model, corpus_file, metrics, sections, path):
    folder = Path(loading.model_path(model))
    counted = f"{metrics['num_queries']:,} queries in {metrics['num_texts']:,} texts"
    evaluation_page.write_evaluation_page(
        folder, str(corpus_file), None, "ndcg_at_10", metrics, sections, Path(path), counted
    )
