import numpy as np

from tfrecords_tools.corpus.tokenized_corpus import TokenizedCorpus


def small() -> TokenizedCorpus:
    return TokenizedCorpus.from_lengths(np.arange(10, 20, dtype=np.uint16), [3, 2, 1, 4], [0, 0, 1, 2])


def documents_of(corpus):
    return [
        [
            corpus.pieces[corpus.sentence_starts[s] : corpus.sentence_starts[s + 1]].tolist()
            for s in range(corpus.document_starts[d], corpus.document_starts[d + 1])
        ]
        for d in range(corpus.num_documents)
    ]


def test_sentences_and_documents_without_pieces_are_dropped():
    corpus = TokenizedCorpus.from_lengths(np.arange(6), [0, 2, 0, 0, 3, 1], [0, 0, 1, 1, 2, 2])
    assert documents_of(corpus) == [[[0, 1]], [[2, 3, 4], [5]]]
    assert (corpus.num_documents, corpus.num_sentences) == (2, 3)


def test_take_gives_the_pieces_of_many_texts():
    flat, lengths = small().take(np.array([3, 0, 9]), np.array([6, 1, 10]))
    assert flat.tolist() == [13, 14, 15, 10, 19] and lengths.tolist() == [3, 1, 1]
    assert flat.dtype == np.uint16


def test_concatenate_keeps_the_documents_in_order():
    corpora = [small(), TokenizedCorpus.from_lengths(np.array([1, 2], np.uint16), [1, 1], [0, 1]), small()]
    joined = TokenizedCorpus.concatenate(corpora)
    assert documents_of(joined) == sum(map(documents_of, corpora), [])


def test_without_leaves_the_other_documents_as_they_are():
    documents = documents_of(small())
    for dropped in ([False] * 3, [True, False, False], [False, True, True], [True] * 3):
        kept = [document for document, drop in zip(documents, dropped, strict=True) if not drop]
        assert documents_of(small().without(np.array(dropped))) == kept


def test_what_is_saved_is_read_back(tmp_path):
    small().save(tmp_path / "block.npz")
    loaded = TokenizedCorpus.load(tmp_path / "block.npz")
    assert documents_of(loaded) == documents_of(small()) and loaded.pieces.dtype == np.uint16
    assert [path.name for path in tmp_path.iterdir()] == ["block.npz"]
