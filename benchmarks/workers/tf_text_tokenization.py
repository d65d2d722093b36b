"""TF-Text's tokenizers by tf.data, as a worker of tokenization.py."""

from pathlib import Path

from benchmarks.peers.turns import Turns
from benchmarks.workers.kbert_tokenization import tokenize_in_turns
from benchmarks.workers.tensorflow_threads import tensorflow_with


def run_worker():
    turns = Turns()
    tf = tensorflow_with(turns.settings["threads"])
    import tensorflow_text as tf_text

    tokens = Path(turns.settings["vocab_file"]).read_text(encoding="utf-8").split("\n")[:-1]
    if turns.settings["precision"] == "BertTokenizer":
        ids = tf.lookup.KeyValueTensorInitializer(tokens, tf.range(len(tokens), dtype=tf.int64))
        bert = tf_text.BertTokenizer(tf.lookup.StaticVocabularyTable(ids, 1), lower_case=True)
        tokenize_in_turns(turns, tf, lambda texts: bert.tokenize(texts).merge_dims(1, 2))
    else:
        fast = tf_text.FastBertTokenizer(tokens, token_out_type=tf.int32, lower_case_nfd_strip_accents=True)
        tokenize_in_turns(turns, tf, fast.tokenize)


if __name__ == "__main__":
    run_worker()
