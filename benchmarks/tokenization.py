r"""Benchmark: text -> WordPiece ids, kbert beside Hugging Face tokenizers and TF-Text.

  python -m benchmarks.tokenization
  python -m benchmarks.tokenization --input_files='corpus/*.txt' --vocab_file=vocab.txt

Without --input_files it reads the documentation that comes with CPython; without --vocab_file it learns
one from the text. TensorFlow's contestants run in two ways: `call` is a tf.function on one batch after
the other; `tf.data` maps over batches in parallel, as training does, and includes the making of the
iterator (a tenth of a second, so give it some megabytes). Hugging Face's `encode_batch` keeps offsets and
masks as well; `encode_batch_fast` leaves the offsets out.
"""

import functools
import multiprocessing
import os
import random
import statistics
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from absl import flags

from benchmarks.report import close
from kbert import command_line
from kbert.tokenization.vocabulary import Vocabulary
from tfrecords_tools.corpus.documents import input_files, read_lines

FLAGS = flags.FLAGS

THREADS = (1, 2)
LINES_PER_BATCH = 512
VOCAB_SIZE = 8000

# Each line tests a rule of the original BERT on which tokenizers have been seen to differ.
ADVERSARIAL = (
    "", "The plainest line there is.", "naïve café, Ångström", "e\u0301 a\u030a o\u0302\u0323",
    "ΑΣ ΣΑΣ Σ", "İstanbul ISIK ı", "Straße GROẞ", "ﬁne ½ Ⅳ ™ ª", "\uff21\uff22 \uff11\uff12 \uff71",
    "ne\u2028w\u2029lines", "con\x00tr\x07ol\x7f \x85 \x0b tab\there",
    "so\u00adft zero\u200bwidth \ufeffmark \u202aformat", "un\ufffdknown \ue000 private",
    "的a學b \uf900 \U00020000", "한국어 ガ \u314e\u1112 \u1112\u1161\u11ab",
    "\uff01\uff0c\u3002\uff1f\u3001\u300c",
    "\u3000wide\u2003spaces\xa0", "$+<=>^`|~ €°§", "“quoted” — and… ‘so’", "😀❤\ufe0f👩\u200d💻",
    "[MASK] [CLS] [UNK] ##ing", "a" * 101, "ab" * 100, "abc" * 67, "é" * 60, "กำ คำ", "हिन्दी भाषा",
    "\u0130\u0307 \u01c5 \u01c4", "\u1e9b\u0323 \u212a \u212b \u2126",
)  # fmt: skip


def define_flags():
    flags.DEFINE_string("input_files", None, "Text files, globs allowed; by default CPython's documentation.")
    flags.DEFINE_string("vocab_file", None, "An uncased vocab.txt; by default one learned from the text.")
    flags.DEFINE_float(
        "megabytes", 4.0, "Text to tokenize, drawn at random from the lines.", lower_bound=0.01
    )
    flags.DEFINE_integer("repetitions", 5, "Timed runs of every contestant.", lower_bound=1)


def main(argv):
    del argv
    lines = draw_lines(corpus_lines(FLAGS.input_files), FLAGS.megabytes * 1e6)
    vocabulary = (
        Vocabulary.from_file(FLAGS.vocab_file, do_lower_case=True)
        if FLAGS.vocab_file
        else learned_vocabulary(lines)
    )
    num_bytes = sum(len(line.encode("utf-8")) for line in lines)
    print(f"{len(lines):,} lines, {num_bytes / 1e6:.1f} MB, {len(vocabulary):,} pieces, uncased", flush=True)
    spawn = multiprocessing.get_context("spawn")
    results = {}
    for threads in THREADS:
        with ProcessPoolExecutor(1, mp_context=spawn) as process:
            measured = process.submit(measure, lines, vocabulary.tokens, threads, FLAGS.repetitions).result()
        results[threads] = {
            name: {
                "speeds": sorted(num_bytes / 1e6 / seconds for seconds in facts["seconds"]),
                "cpu_speed": num_bytes / 1e6 / statistics.median(facts["cpu_seconds"]),
                "different": facts["different"],
                "adversarial": facts["adversarial"],
            }
            for name, facts in measured.items()
        }
    print(table(results, len(lines)))
    close("tokenization", {}, **summary(results))


def corpus_lines(patterns) -> list[str]:
    """The non-empty lines of the files, or the sentences that come with CPython."""
    if patterns:
        return [line for file in input_files(patterns) for line in read_lines(file) if line]
    return [sentence for document in _embedded_documents() for sentence in document.sentences]


def write_embedded_text(path: Path) -> Path:
    """Writes the text that comes with CPython: a sentence a line, a blank line between documents."""
    text = "\n\n".join("\n".join(document.sentences) for document in _embedded_documents())
    path.write_text(text + "\n", encoding="utf-8")
    return path


def _embedded_documents():
    from tfrecords_tools.corpus import embedded_text

    return embedded_text.documents(embedded_text.standard_library_folder())


def draw_lines(lines, num_bytes) -> list[str]:
    """Random lines, always the same ones, until there are `num_bytes`; all lines if there are fewer."""
    lines = random.Random(0).sample(lines, len(lines))
    for index, line in enumerate(lines):
        num_bytes -= len(line.encode("utf-8"))
        if num_bytes <= 0:
            return lines[: index + 1]
    return lines


def learned_vocabulary(lines, vocab_size=VOCAB_SIZE) -> Vocabulary:
    from tfrecords_tools.build_vocabulary import count_words
    from tfrecords_tools.vocabulary.wordpiece_learner import learn_wordpieces

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "lines.txt")
        file.write_text("\n".join(lines), encoding="utf-8")
        words = count_words([file], do_lower_case=True, max_words_in_memory=2_000_000)
    return Vocabulary(learn_wordpieces(words.counts, vocab_size), do_lower_case=True)


# ------------------------------------------------------------------------------ one process


def measure(lines, tokens, threads, repetitions) -> dict:
    """Times every contestant in this process, which must be a fresh one.

    Returns:
      contestant -> {"seconds" and "cpu_seconds" (of all threads): of every repetition, "different": lines
      whose ids are not kbert's, "adversarial": the same among `ADVERSARIAL`}.
    """
    # Both libraries size their thread pools once, so this comes before they are imported.
    os.environ["RAYON_NUM_THREADS"] = str(threads)
    os.environ["TOKENIZERS_PARALLELISM"] = "true" if threads > 1 else "false"
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(threads)
    graphs, python = tensorflow_tokenizers(tokens), hugging_face_tokenizers(tokens)

    text_batches = _batches(lines)
    tensor_batches = [tf.constant(batch) for batch in text_batches]
    dataset = tf.data.Dataset.from_tensor_slices(tf.constant(lines)).batch(LINES_PER_BATCH)
    contestants = {}
    for name, tokenize in graphs.items():
        contestants[f"{name}, call"] = functools.partial(_run_batches, tokenize, tensor_batches)
        contestants[f"{name}, tf.data"] = _dataset_run(dataset, tokenize, threads)
    for name, encode in python.items():
        contestants[name] = functools.partial(_run_batches, encode, text_batches)

    for run in contestants.values():  # traces, and fills caches
        run()
    seconds, cpu_seconds = ({name: [] for name in contestants} for _ in range(2))
    for repetition in range(repetitions):
        # Every other round in reverse, so that no contestant always follows the same one.
        for name in list(contestants)[:: 1 if repetition % 2 == 0 else -1]:
            start, cpu_start = time.perf_counter(), time.process_time()
            contestants[name]()
            seconds[name].append(time.perf_counter() - start)
            cpu_seconds[name].append(time.process_time() - cpu_start)

    ids_of = {name: _tensor_ids(tokenize) for name, tokenize in graphs.items()}
    ids_of |= {name: _encoding_ids(encode) for name, encode in python.items()}
    kbert_ids, kbert_adversarial = ids_of["kbert"](lines), ids_of["kbert"](list(ADVERSARIAL))
    different = {name: _count_different(ids(lines), kbert_ids) for name, ids in ids_of.items()}
    adversarial = {
        name: _count_different(ids(list(ADVERSARIAL)), kbert_adversarial) for name, ids in ids_of.items()
    }
    return {
        name: {
            "seconds": seconds[name],
            "cpu_seconds": cpu_seconds[name],
            "different": different[_tokenizer_of(name)],
            "adversarial": adversarial[_tokenizer_of(name)],
        }
        for name in contestants
    }


def tensorflow_tokenizers(tokens) -> dict:
    """Name -> tf.function from string [batch] to ragged ids [batch, (pieces)]."""
    import tensorflow as tf
    import tensorflow_text as tf_text

    from kbert.tokenization.wordpiece_tokenizer import WordPieceTokenizer

    ids = tf.range(len(tokens), dtype=tf.int64)
    entries = tf.lookup.KeyValueTensorInitializer(tf.constant(tokens), ids)
    bert = tf_text.BertTokenizer(tf.lookup.StaticVocabularyTable(entries, 1), lower_case=True)
    fast = tf_text.FastBertTokenizer(list(tokens), token_out_type=tf.int32, lower_case_nfd_strip_accents=True)
    tokenizers = {
        "kbert": WordPieceTokenizer(Vocabulary(tokens, do_lower_case=True)),
        "TF-Text BertTokenizer": lambda texts: bert.tokenize(texts).merge_dims(1, 2),
        "TF-Text FastBertTokenizer": lambda texts: fast.tokenize(texts),
    }
    signature = [tf.TensorSpec([None], tf.string)]
    return {name: tf.function(tokenizer, input_signature=signature) for name, tokenizer in tokenizers.items()}


def hugging_face_tokenizers(tokens) -> dict:
    """Name -> function from a list of texts to a list of encodings."""
    try:
        from tokenizers import BertWordPieceTokenizer
    except ModuleNotFoundError:
        raise ValueError("the peer `tokenizers` is not installed; pip install 'kbert[peers]'.") from None
    tokenizer = BertWordPieceTokenizer({token: i for i, token in enumerate(tokens)}, lowercase=True)
    bare = tokenizer._tokenizer  # the class above does not show encode_batch_fast
    return {
        "Hugging Face encode_batch": functools.partial(tokenizer.encode_batch, add_special_tokens=False),
        "Hugging Face encode_batch_fast": functools.partial(bare.encode_batch_fast, add_special_tokens=False),
    }


def _batches(lines):
    return [lines[start : start + LINES_PER_BATCH] for start in range(0, len(lines), LINES_PER_BATCH)]


def _run_batches(tokenize, batches):
    for batch in batches:
        tokenize(batch)


def _dataset_run(dataset, tokenize, threads):
    """A function that runs the whole dataset once, in the graph, and counts the pieces."""
    import tensorflow as tf

    options = tf.data.Options()
    options.threading.private_threadpool_size = threads
    ids = dataset.map(tokenize, num_parallel_calls=threads).with_options(options)
    return lambda: ids.reduce(0, lambda total, batch: total + tf.size(batch.flat_values)).numpy()


def _tensor_ids(tokenize):
    return lambda lines: [ids for batch in _batches(lines) for ids in tokenize(batch).to_list()]


def _encoding_ids(encode):
    return lambda lines: [encoding.ids for encoding in encode(lines)]


def _count_different(ids, expected) -> int:
    return sum(got != wanted for got, wanted in zip(ids, expected, strict=True))


def _tokenizer_of(contestant):
    """The contestant's name without the way it was run."""
    return contestant.removesuffix(", call").removesuffix(", tf.data")


# ------------------------------------------------------------------------------ report


def table(results, num_lines) -> str:
    """One row for every contestant and number of threads."""
    rows = [
        f"{'':<36}{'':>8}{'MB/s,':>8}{'slowest to':>14}{'MB per CPU':>12}{'lines with':>12}{'of the':>13}",
        f"{'contestant':<36}{'threads':>8}{'median':>8}{'fastest':>14}{'second':>12}{'other ids':>12}"
        f"{'adversarial':>13}",
    ]
    for threads, contestants in results.items():
        rows.append("")
        for name, facts in contestants.items():
            speeds = facts["speeds"]
            spread = f"{speeds[0]:.1f} to {speeds[-1]:.1f}"
            adversarial = f"{facts['adversarial']} of {len(ADVERSARIAL)}"
            rows.append(
                f"{name:<36}{threads:>8}{statistics.median(speeds):>8.2f}{spread:>14}"
                f"{facts['cpu_speed']:>12.2f}{facts['different']:>12,}{adversarial:>13}"
            )
    rows.append(
        f"\nIds are compared with kbert's, on {num_lines:,} lines and {len(ADVERSARIAL)} adversarial ones.\n"
        "On a machine with other work, MB per CPU second is the steadier number."
    )
    return "\n".join(rows)


def summary(results) -> dict:
    """The closing JSON: MB/s in the faster way of running, for every number of threads."""
    by_threads = {}
    for threads, contestants in results.items():
        best = {}
        for name, facts in contestants.items():
            tokenizer = _tokenizer_of(name)
            best[tokenizer] = max(best.get(tokenizer, 0.0), statistics.median(facts["speeds"]))
        by_threads[threads] = best
    rivals, same_ids = _rivals(results[THREADS[0]])
    ratios = {
        threads: best["kbert"] / max(best[name] for name in rivals) for threads, best in by_threads.items()
    }
    first, *others = THREADS
    closing = _figures(by_threads[first], ratios[first], first)
    return (
        closing
        | {"ratio_to": "best of " + ", ".join(rivals), "a_peer_has_the_same_ids": same_ids}
        | {
            f"threads_{threads}": _figures(by_threads[threads], ratios[threads], threads)
            for threads in others
        }
    )


def _figures(best, ratio, threads):
    peers = {name: round(speed, 2) for name, speed in best.items() if name != "kbert"}
    return {"threads": threads, "kbert": round(best["kbert"], 2), "peers": peers, "ratio": round(ratio, 2)}


def _rivals(contestants):
    """The peers that give kbert's ids on every adversarial line; Hugging Face's where there are none."""
    peers = {_tokenizer_of(name): facts for name, facts in contestants.items()}
    del peers["kbert"]
    exact = [name for name, facts in peers.items() if facts["adversarial"] == 0]
    return (exact, True) if exact else ([name for name in peers if name.startswith("Hugging Face")], False)


if __name__ == "__main__":
    define_flags()
    command_line.run(main)
