"""kbert's tokenizers by tf.data, and that of the data tools, as a worker of tokenization.py."""

from pathlib import Path

from benchmarks.peers.turns import Turns
from benchmarks.workers.tensorflow_threads import tensorflow_with

_LINES_PER_BATCH = 512


def tokenize_in_turns(turns: Turns, tf, tokenize):
    """Tokenizes all lines in each step; at the end reports their ids.

    Args:
      turns: with the settings of tokenization.py.
      tf: TensorFlow.
      tokenize: string [batch] -> ragged ids [batch, (pieces)].
    """
    settings = turns.settings
    lines = Path(settings["lines_file"]).read_text(encoding="utf-8").split("\n")
    lines_per_batch = int(settings["options"][0]) if settings["options"] else _LINES_PER_BATCH
    options = tf.data.Options()
    options.threading.private_threadpool_size = settings["threads"]

    def ids_of(texts):
        batches = tf.data.Dataset.from_tensor_slices(tf.constant(texts)).batch(lines_per_batch)
        return batches.map(tokenize, num_parallel_calls=settings["threads"]).with_options(options)

    dataset = ids_of(lines)

    @tf.function
    def count_pieces():
        return dataset.reduce(0, lambda total, batch: total + tf.size(batch.flat_values))

    def lists(texts):
        return [ids for batch in ids_of(texts) for ids in batch.to_list()]

    turns.ready(tensorflow=tf.__version__)
    turns.repeat(
        lambda: count_pieces().numpy(),
        lambda: {"lines": lists(lines), "adversarial": lists(settings["adversarial"])},
    )


def tokenize_as_the_data_tools_do(turns: Turns):
    """Tokenizes all lines in each step with a new `ChunkTokenizer`, on one thread."""
    import numpy as np

    from tfrecords_tools.corpus.chunk_tokenizer import ChunkTokenizer
    from tfrecords_tools.pretraining.tokenization_stage import TEXT_BYTES_AT_ONCE
    from tfrecords_tools.work.worker_pool import byte_batches

    vocabulary = _vocabulary(turns.settings)
    lines = Path(turns.settings["lines_file"]).read_bytes().split(b"\n")

    def ids_of(texts):
        tokenize = ChunkTokenizer(vocabulary)
        return [tokenize(batch) for batch in byte_batches(texts, TEXT_BYTES_AT_ONCE)]

    def lists(texts):
        batches = (np.split(pieces, np.cumsum(lengths)[:-1]) for pieces, lengths in ids_of(texts))
        return [ids.tolist() for batch in batches for ids in batch]

    turns.ready(numpy=np.__version__)
    adversarial = [text.encode() for text in turns.settings["adversarial"]]
    turns.repeat(
        lambda: sum(len(pieces) for pieces, _ in ids_of(lines)),
        lambda: {"lines": lists(lines), "adversarial": lists(adversarial)},
    )


def run_worker():
    turns = Turns()
    if turns.settings["precision"] == "data_tools":
        tokenize_as_the_data_tools_do(turns)
        return
    tf = tensorflow_with(turns.settings["threads"])
    from kbert.tokenization.text_ops import core_ops
    from kbert.tokenization.tokenizer import build_tokenizer

    with core_ops(turns.settings["precision"] == "core_ops"):
        tokenize_in_turns(turns, tf, build_tokenizer(_vocabulary(turns.settings)))


def _vocabulary(settings):
    from kbert.tokenization.bpe.bpe_vocabulary import BytePairVocabulary
    from kbert.tokenization.sentencepiece.sentencepiece_vocabulary import SentencePieceVocabulary
    from kbert.tokenization.vocabulary import Vocabulary

    if settings["precision"] == "bpe":
        folder = Path(settings["bpe_folder"])
        return BytePairVocabulary.from_files(folder / "vocab.json", folder / "merges.txt")
    if settings["precision"] == "sentencepiece":
        return SentencePieceVocabulary.from_file(settings["sentencepiece_model"])
    return Vocabulary.from_file(settings["vocab_file"], do_lower_case=True)


if __name__ == "__main__":
    run_worker()
