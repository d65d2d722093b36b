"""Ways to find the texts of a query: by vectors, by BM25, by a cross-encoder that reads the first ones."""

import hashlib
import logging as standard_logging
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from absl import logging
from scipy import sparse

from kbert import __version__, extras
from kbert.cli.progress import Progress
from kbert.experiments.retrieval.search import Best
from kbert.experiments.retrieval.search_words import WORD, with_blanks
from kbert.files.whole_file import whole_file

# Of a corpus: so many vectors are in memory, counted by progress, kept in a file, and compared with so many
# queries at a time.
TEXTS_AT_ONCE, QUERIES_AT_ONCE = 512, 2048


class VectorRetriever:
    """Compares the vectors of a model, by exact search.

    Args:
      loaded: a `LoadedModel` that embeds texts.
      vectors_dir: a folder that keeps the vectors of the corpus, in parts. A search that was stopped goes on
        there, and another one of this version of kbert with the same weights and texts reads them.
    """

    def __init__(self, loaded, vectors_dir: str | Path | None = None):
        self._loaded, self._folder = loaded, Path(vectors_dir) if vectors_dir else None
        if self._folder:
            self._folder.mkdir(parents=True, exist_ok=True)

    def find(self, queries: list[str], texts: list[str], k: int, own_texts=None, judgments=()) -> Best:
        """The k most similar texts of each query; `own_texts` and `judgments` as for `Best`."""
        embedded = self._loaded.embed(queries, task="query")
        starts = range(0, len(queries), QUERIES_AT_ONCE)
        blocks = [embedded[start : start + QUERIES_AT_ONCE] for start in starts]
        best = Best(len(queries), min(k, len(texts)), own_texts, judgments)
        for first, vectors in self.parts(texts):
            for start, block in zip(starts, blocks, strict=True):
                scores = self._loaded.similarity(block, vectors)
                best.add(scores, np.arange(first, first + scores.shape[1]), start)
        return best

    def parts(self, texts: list[str]) -> Iterator[tuple[int, Any]]:
        """(the position of its first text, the vectors as `embed` gives them) of each part of a corpus."""
        progress, weights = Progress("Embedded", "texts", len(texts)), self._folder and self._fingerprint()
        for first in range(0, len(texts), TEXTS_AT_ONCE):
            part = texts[first : first + TEXTS_AT_ONCE]
            yield first, self._kept(part, weights)
            progress.report(first + len(part))

    def _kept(self, texts, weights):
        if self._folder is None:
            return self._loaded.embed(texts, task="document")
        content = hashlib.sha256(repr((weights, texts)).encode("utf-8", "surrogatepass")).hexdigest()
        path = self._folder / f"vectors-{content[:32]}.npz"
        if path.is_file() and (vectors := _read(path)) is not None:
            return vectors
        vectors = self._loaded.embed(texts, task="document")
        with whole_file(path) as aside, open(aside, "wb") as file:
            _write(vectors, file)
        return vectors

    def _fingerprint(self):
        """Of all that the vectors depend on beside the texts."""
        loaded, content = self._loaded, hashlib.sha256()
        settings = (
            __version__,
            loaded.max_seq_length,
            loaded.task.get_config(),
            loaded.vocabulary.describe(),
        )
        content.update(repr(settings).encode())
        if not hasattr(loaded, "config"):  # a LiteRT file, with its weights and settings inside
            content.update(Path(loaded.source).read_bytes())
            return content.hexdigest()
        content.update(repr((loaded.config, loaded.precision, loaded.vectors)).encode())
        for variable in loaded.model.weights:  # not the seeds of dropout, which no two models share
            content.update(np.ascontiguousarray(variable.numpy()).tobytes())
        return content.hexdigest()


def _write(vectors, file):
    if sparse.issparse(vectors):
        sparse.save_npz(file, vectors)
    elif isinstance(vectors, list):  # a matrix of each text
        np.savez(file, tokens=np.concatenate(vectors), lengths=[len(matrix) for matrix in vectors])
    else:
        np.savez(file, vectors=vectors)


def _read(path):
    """The vectors of a file; None where it is damaged, as a copy that was broken off is."""
    try:
        with open(path, "rb") as file, np.load(file) as arrays:
            if "vectors" in arrays:
                return arrays["vectors"]
            if "tokens" in arrays:
                return np.split(arrays["tokens"], np.cumsum(arrays["lengths"])[:-1])
            file.seek(0)
            return sparse.csr_array(sparse.load_npz(file))
    except (EOFError, KeyError, ValueError, zipfile.BadZipFile, zlib.error) as error:
        logging.warning("%s cannot be read (%s); its vectors are computed again.", path, error)
        return None


class Bm25Retriever:
    """BM25 by the package bm25s, with its defaults (k1 1.5, b .75, Lucene's form): words of two characters or
    more, in lower case, of any language, none left out; see `with_blanks` for scripts that have none."""

    def __init__(self):
        extras.require("bm25", "BM25")

    def find(self, queries: list[str], texts: list[str], k: int, own_texts=None, judgments=()) -> Best:
        """The k best texts of each query, of those with a word of it; as that of `VectorRetriever`."""
        import bm25s  # late: an extra

        standard_logging.getLogger("bm25s").setLevel(standard_logging.WARNING)
        index, best = bm25s.BM25(), Best(len(queries), min(k, len(texts)), own_texts, judgments)
        words = _bm25_words(texts)
        if not words.vocab:  # no text has a word
            return best
        index.index(words, show_progress=False)
        without, progress = 0, Progress("Ranked by BM25", "queries", len(queries))
        for number, query in enumerate(_bm25_words(queries, return_ids=False)):
            known = [word for word in query if word in index.vocab_dict]
            without += not known
            if known:
                scores = index.get_scores(known)
                best.add(np.where(scores > 0, scores, -np.inf)[None], np.arange(len(texts)), number)
            progress.report(number + 1)
        if without:
            logging.warning("BM25: %s of %s queries share no word with any text.", without, len(queries))
        return best


def _bm25_words(texts, **kwargs):
    import bm25s  # late: an extra

    spaced = [with_blanks(text) for text in texts]
    return bm25s.tokenize(spaced, token_pattern=WORD, stopwords=None, show_progress=False, **kwargs)


class RerankingRetriever:
    """A cross-encoder reads a query with each of the first texts of another retriever.

    Args:
      loaded: a `LoadedModel` that gives a pair of texts a number.
      first: the retriever of the first texts.

    Attributes:
      loaded, first: the arguments.
    """

    def __init__(self, loaded, first):
        self.loaded, self.first = loaded, first

    def find(self, queries: list[str], texts: list[str], k: int, own_texts=None, judgments=()) -> Best:
        """The k first texts, by the number that the cross-encoder gives each before its activation: a sigmoid
        makes large ones equal."""
        ranking = self.first.find(queries, texts, k, own_texts)
        best = Best(len(queries), ranking.scores.shape[1])  # no text is left out here
        scores = np.full(ranking.scores.shape, -np.inf, np.float32)
        progress = Progress("Ranked", "queries", len(queries))
        for number, (query, positions) in enumerate(zip(queries, ranking.positions, strict=True)):
            some = positions[positions >= 0]
            some_texts = [texts[position] for position in some]
            for answer in self.loaded.rank(query, some_texts, raw_scores=True):
                scores[number, answer["index"]] = answer["score"]
            progress.report(number + 1)
        best.add(scores, ranking.positions)
        return best
