"""A model + a collection of queries, texts and judgments -> how well it finds what is relevant."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Union

import numpy as np
from absl import logging

from kbert.experiments import show_lines
from kbert.experiments.retrieval.collection import Collection, read_collection
from kbert.experiments.retrieval.ranking_scores import DEPTH, ranking_scores
from kbert.experiments.retrieval.retrievers import Bm25Retriever, RerankingRetriever, VectorRetriever
from kbert.tasks.pages.content import Card, Cards, Fact, MarkedText, Section, shortened

if TYPE_CHECKING:
    from kbert.inference.loaded_model import LoadedModel

MOST_QUERIES = 30  # on a page
_SHOWN_TEXTS = 3


def evaluate_retrieval(
    run_dir: Union[str, os.PathLike, "LoadedModel"],
    corpus_file: str | os.PathLike,
    queries_file: str | os.PathLike,
    qrels_file: str | os.PathLike,
    *,
    retriever: Union[str, os.PathLike, "LoadedModel"] = "bm25",
    vectors_dir: str | os.PathLike | None = None,
    html_file: str | os.PathLike | None = None,
) -> dict[str, float]:
    """Judges how well a model finds the relevant texts of queries, by exact search in all texts.

    Args:
      run_dir: the model: a run or any checkpoint, of vectors of texts or a cross-encoder, which ranks the
        first 100 texts of the `retriever`; or "bm25". In Python also a `LoadedModel`.
      corpus_file: the texts: JSON lines with `_id`, `title` and `text`, as BEIR has them. Equal texts are one
        text.
      queries_file: the queries: JSON lines with `_id` and `text`.
      qrels_file: a TSV file with the relevant texts of each query: query-id, corpus-id, score.
      retriever: what finds the texts for a cross-encoder: "bm25", or a model as `run_dir`.
      vectors_dir: a folder that keeps the vectors of the texts; a stopped evaluation goes on from there.
      html_file: a page to write, with the queries whose relevant texts are not found first.

    Returns:
      The means over all judged queries of `ndcg_at_10`, `mrr_at_10`, `map_at_100`, `recall_at_100`,
      `recall_at_10` and `accuracy_at_1`, see `ranking_scores`; the same of BM25 as `baseline_ndcg_at_10` and
      so on, where the package bm25s is installed; `num_queries` and `num_texts`.

    Raises:
      ValueError: before any model is read, for files that are wrong; for a model that compares no texts.
    """
    show_lines()
    collection = read_collection(Path(corpus_file), Path(queries_file), Path(qrels_file))
    found = make_retriever(run_dir, retriever, vectors_dir).find(collection.queries, collection.texts, DEPTH)
    every = scores_of_queries(found, collection)
    metrics = _means(every) | _baselines(run_dir, collection)
    metrics |= {"num_queries": len(collection.queries), "num_texts": len(collection.texts)}
    if html_file:
        _write_page(run_dir, corpus_file, metrics, failures(collection, found, every), html_file)
    return metrics


def make_retriever(model, first="bm25", vectors_dir=None):
    """The retriever of a model, see `evaluate_retrieval`."""
    if model == "bm25":
        return Bm25Retriever()
    loaded = loaded_model(model)
    serving = loaded.task.serving
    if serving is None or serving.one_text_output is not None:
        return VectorRetriever(loaded, vectors_dir)
    if vectors_dir and first == "bm25":
        raise ValueError(f"{loaded.source} gives no vectors that vectors_dir could keep; leave it out.")
    return RerankingRetriever(loaded, make_retriever(first, vectors_dir=vectors_dir))


def loaded_model(model):
    """A `LoadedModel` as it is, or that of a path."""
    from kbert.inference.loaded_model import LoadedModel
    from kbert.inference.loading import load

    return model if isinstance(model, LoadedModel) else load(model)


def scores_of_queries(found, collection: Collection) -> list[dict[str, float]]:
    """`ranking_scores` of each query."""
    every = []
    for scores, positions, gains in zip(found.scores, found.positions, collection.judgments, strict=True):
        some = positions >= 0
        ranked = [gains.get(int(position), 0.0) for position in positions[some]]
        every.append(ranking_scores(scores[some], np.array(ranked), np.array([*gains.values()])))
    return every


def _means(every):
    return {name: float(np.mean([scores[name] for scores in every])) for name in every[0]}


def _baselines(model, collection):
    """Those of BM25, which everybody asks for."""
    if model == "bm25":
        return {}
    try:
        found = Bm25Retriever().find(collection.queries, collection.texts, DEPTH)
    except ValueError as missing:
        logging.info("no baseline: %s", missing)
        return {}
    means = _means(scores_of_queries(found, collection))
    return {f"baseline_{name}": value for name, value in means.items()}


def failures(collection: Collection, found, every) -> list[Section]:
    """The section of a page with the queries of the lowest nDCG, and what was found in the place of what."""
    order = np.argsort([scores["ndcg_at_10"] for scores in every], kind="stable")[:MOST_QUERIES]
    cards = [_card(collection, found, every, int(number)) for number in order]
    note = f"The {len(cards)} queries of the lowest nDCG@10: the texts found first, and a relevant one."
    return [Section("Queries that fail", note, Cards(cards))]


def _card(collection, found, every, number):
    gains, positions = collection.judgments[number], found.positions[number].tolist()
    shown = [position for position in positions[:_SHOWN_TEXTS] if position >= 0]
    best = max(gains, key=lambda position: (position in positions, gains[position]))
    rank = f"rank {positions.index(best) + 1}" if best in positions else f"not among the first {DEPTH}"
    texts = [MarkedText(f"query {collection.query_ids[number]}", collection.queries[number])]
    texts += [
        MarkedText(
            f"{place}: {collection.text_ids[position]}, {'relevant' if position in gains else 'not judged'}",
            shortened(collection.texts[position], 300),
        )
        for place, position in enumerate(shown, start=1)
    ]
    if best not in shown:
        relevant = f"relevant: {collection.text_ids[best]}, {rank}"
        texts.append(MarkedText(relevant, shortened(collection.texts[best], 300)))
    facts = [Fact("nDCG@10", f"{every[number]['ndcg_at_10']:.3f}"), Fact("relevant texts", str(len(gains)))]
    return Card(tuple(texts), tuple(facts))


def _write_page(model, corpus_file, metrics, sections, path):
    from kbert.reports.evaluation_page import write_evaluation_page  # late: it draws

    folder = Path(getattr(model, "source", model))
    counted = f"{metrics['num_queries']:,} queries in {metrics['num_texts']:,} texts"
    write_evaluation_page(
        folder, str(corpus_file), None, "ndcg_at_10", metrics, sections, Path(path), counted
    )
