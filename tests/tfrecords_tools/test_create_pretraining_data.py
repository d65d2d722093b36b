import gzip
import itertools
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from kbert import extras
from kbert.checkpoints.hugging_face.tokenizer import write_tokenizer
from kbert.checkpoints.hugging_face.tokenizer_wordpiece import MPNET_TOKENS
from kbert.input_pipelines.masking import PieceMasker
from kbert.input_pipelines.records.record_folders import PretrainingRecords
from kbert.manifest import read_manifest
from kbert.tasks.pretraining.objectives import MaskedLM
from kbert.tokenization.base_vocabulary import BERT_TOKENS
from kbert.tokenization.tokenizer import build_tokenizer
from kbert.tokenization.vocabulary import Vocabulary
from kbert.tokenization.wordpiece_tokenizer import WordPieceTokenizer
from tests import warm_processes
from tests.places import REPOSITORY, SHARED_DATA
from tests.tfrecords_tools import small_corpus
from tests.tfrecords_tools.pretraining import reference_sampling
from tfrecords_tools import create_pretraining_data as script
from tfrecords_tools.corpus.documents import TextFormat, plan_units, read_documents
from tfrecords_tools.corpus.problems import Problems
from tfrecords_tools.corpus.tokenized_corpus import TokenizedCorpus
from tfrecords_tools.create_pretraining_data import create_pretraining_data
from tfrecords_tools.pretraining import sampling_stage, tokenization_stage, writing_stage
from tfrecords_tools.pretraining.pretraining_settings import PretrainingSettings
from tfrecords_tools.records.check_records import check_records
from tfrecords_tools.records.record_text import inconsistencies
from tfrecords_tools.records.stored_records import read_records
from tfrecords_tools.show_records import show_records
from tfrecords_tools.vocabulary.tokenizer_learners import learn_bpe, learn_unigram

SMALL = {"max_seq_length": 32, "max_predictions_per_seq": 5, "dupe_factor": 2, "num_shards": 2}


@pytest.fixture
def corpus(tmp_path):
    return small_corpus.write_corpus(tmp_path)


@pytest.fixture
def small_blocks(monkeypatch):
    """So that a small corpus is many pieces of work, and pairs come from a sample of the blocks."""
    monkeypatch.setattr(tokenization_stage, "BLOCK_BYTES", 300)
    monkeypatch.setattr(sampling_stage, "PARTNER_BLOCKS", 2)
    monkeypatch.setattr(sampling_stage, "BUCKET_BYTES", 2000)
    monkeypatch.setattr(writing_stage, "_EXAMPLES_AT_ONCE", 7)


def contents(folder):
    return {path.name: path.read_bytes() for path in sorted(Path(folder).iterdir())}


def records_of(folder):
    return list(read_records(folder, read_manifest(folder)))


def unmasked(example):
    """The pieces of an example before masking."""
    ids = example["input_ids"].copy()
    if "masked_lm_ids" in example:
        real = example["masked_lm_weights"] > 0
        ids[example["masked_lm_positions"][real]] = example["masked_lm_ids"][real]
    return ids[: example["input_mask"].sum()].tolist()


def texts_of(example):
    """The pieces of both texts, without special tokens."""
    ids, second = unmasked(example), int(example["segment_ids"].sum())
    first = len(ids) - second
    return ids[1 : first - 1], ids[first:-1]


def write_numbered_corpus(folder, num_documents=20, seed=0):
    """A corpus in which every word stands once, so that a piece tells its document and its place."""
    rng = random.Random(seed)
    documents, number = [], 0
    for _ in range(num_documents):
        sentences = []
        for _ in range(rng.randint(1, 12)):
            length = rng.randint(1, 14)
            sentences.append(range(number, number + length))
            number += length
        documents.append(sentences)
    text = "\n\n".join("\n".join(" ".join(f"w{n}" for n in s) for s in d) for d in documents)
    (folder / "numbered.txt").write_text(text + "\n", encoding="utf-8")
    Vocabulary([*BERT_TOKENS, *(f"w{n}" for n in range(number))], True).write(folder / "numbers.txt")
    document_of = {n + 5: d for d, sentences in enumerate(documents) for s in sentences for n in s}
    return (folder / "numbered.txt", folder / "numbers.txt"), document_of


# ------------------------------------------------------------------------------ the records


@pytest.mark.slow
def test_every_record_is_two_texts_of_the_corpus_with_the_right_label(tmp_path, small_blocks):
    files, document_of = write_numbered_corpus(tmp_path)
    create_pretraining_data(*files, tmp_path / "out", **SMALL | {"dupe_factor": 10})
    seen, lengths = set(), Counter()
    for example in records_of(tmp_path / "out"):
        assert not inconsistencies(example, len(document_of) + 5)
        first, second = texts_of(example)
        for text in (first, second):
            assert text == list(range(text[0], text[-1] + 1)), "a text is a run of pieces"
        is_random = document_of[first[0]] != document_of[second[0]]
        assert bool(example["next_sentence_labels"][0]) == is_random
        assert is_random or first[-1] < second[0]
        seen.update(first, second)
        lengths[len(first) + len(second) + 3] += 1
    assert seen == set(document_of), "all of the corpus is there"
    assert max(lengths) <= 32 and lengths[32] > sum(lengths.values()) / 2


def test_full_sentences_have_every_piece_once_a_pass_and_no_label(tmp_path, small_blocks):
    files, document_of = write_numbered_corpus(tmp_path)
    manifest = create_pretraining_data(*files, tmp_path / "out", pairing="full_sentences", **SMALL)
    assert "next_sentence_labels" not in manifest.features
    counts, breaks = Counter(), 0
    for example in records_of(tmp_path / "out"):
        assert not example["segment_ids"].any()
        pieces = [piece for piece in unmasked(example) if piece >= 5]
        counts.update(pieces)
        breaks += sum(after != before + 1 for before, after in itertools.pairwise(pieces))
    assert breaks < 10, "documents keep their order: few texts go on otherwise than the corpus"
    assert counts == {piece: SMALL["dupe_factor"] for piece in document_of}
    assert "random" not in script.summary("out", manifest).replace("% random", "")


def test_dynamic_records_hold_the_texts_without_masks(tmp_path, small_blocks):
    files, document_of = write_numbered_corpus(tmp_path)
    static = create_pretraining_data(*files, tmp_path / "static", **SMALL)
    dynamic = create_pretraining_data(*files, tmp_path / "dynamic", masking="dynamic", **SMALL)
    assert set(static.features) - set(dynamic.features) == {
        "masked_lm_positions",
        "masked_lm_ids",
        "masked_lm_weights",
    }
    texts = [
        sorted(
            (unmasked(example), example["segment_ids"].tolist()) for example in records_of(tmp_path / name)
        )
        for name in ("static", "dynamic")
    ]
    assert texts[0] == texts[1]


@pytest.mark.slow
def test_examples_are_shuffled_over_all_shards(tmp_path, small_blocks):
    files, document_of = write_numbered_corpus(tmp_path, num_documents=60)
    create_pretraining_data(*files, tmp_path / "out", **SMALL | {"num_shards": 4, "dupe_factor": 3})
    manifest = read_manifest(tmp_path / "out")
    counts = [shard.num_examples for shard in manifest.shards]
    assert max(counts) - min(counts) <= 0.3 * max(counts)
    documents = [document_of[texts_of(example)[0][0]] for example in records_of(tmp_path / "out")]
    # In random order neighbours are of the same document about once in 60 times, in the corpus' order
    # nearly always.
    same = sum(a == b for a, b in zip(documents, documents[1:], strict=False))
    assert same < 0.05 * len(documents)
    halves = [set(documents[: counts[0]]), set(documents[-counts[-1] :])]
    assert all(len(half) > 40 for half in halves), "every shard has examples of most documents"


def test_statistics_are_those_of_the_records(tmp_path, corpus):
    manifest = create_pretraining_data(*corpus, tmp_path / "out", **SMALL)
    records = records_of(tmp_path / "out")
    lengths = [example["input_mask"].sum() for example in records]
    weights = [example["masked_lm_weights"].sum() for example in records]
    numbers = manifest.statistics
    assert numbers["documents"] == 10
    assert numbers["sentences"] == len([line for line in corpus[0].read_text().splitlines() if line])
    assert numbers["examples"] == manifest.num_examples == len(records)
    assert numbers["mean_length"] == pytest.approx(np.mean(lengths), abs=1e-5)
    assert numbers["longest"] == sorted(lengths)[-1 - len(lengths) // 1000]
    assert numbers["masked_share"] == pytest.approx(np.sum(weights) / np.sum(lengths), abs=1e-5)
    assert "10 documents" in script.summary("out", manifest)
    assert json.loads((tmp_path / "out" / "statistics.json").read_text())["records"] == len(records)


# A vocabulary of letters alone, and lines of words that are much longer than what may be masked in a record;
# one line in four has short ones. A character of the last is a word, as in Chinese.
LETTERS = [*"abcdef", *(f"##{letter}" for letter in "abcdef"), *"今天学习中文"]
LONG, SINGLE = ("abcdef" * 10,), ("今天学习中文",)
MIXED = (*LONG, "ab cd", *LONG, *LONG)


def write_lines(folder, lines, sentences=4, documents=6):
    """Documents of some of these lines, and the vocabulary of `LETTERS`."""
    texts = ["\n".join(lines[(n + m) % len(lines)] for m in range(sentences)) for n in range(documents)]
    (folder / "lines.txt").write_text("\n\n".join(texts) + "\n", encoding="utf-8")
    Vocabulary([*BERT_TOKENS, *LETTERS], False).write(folder / "letters.txt")
    return folder / "lines.txt", folder / "letters.txt"


@pytest.mark.parametrize("masking", ["static", "dynamic"])
@pytest.mark.parametrize("lines", [LONG, MIXED])
def test_records_without_a_token_to_predict_are_made_counted_and_told(tmp_path, caplog, lines, masking):
    """As of texts in a script without spaces: no whole word fits into the share that is masked."""
    settings = SMALL | {"do_whole_word_mask": True, "do_lower_case": False, "masking": masking}
    manifest = create_pretraining_data(*write_lines(tmp_path, lines), tmp_path / "out", **settings)
    vocabulary = Vocabulary.from_file(tmp_path / "letters.txt", False)
    names = ("max_predictions_per_seq", "masked_lm_prob", "do_whole_word_mask")
    masker = PieceMasker(vocabulary, **{name: manifest.settings[name] for name in names})
    records = records_of(tmp_path / "out")
    pieces = list(map(unmasked, records))
    ids = np.array([row + [0] * (SMALL["max_seq_length"] - len(row)) for row in pieces])
    masked = masker(ids, (ids > 0).sum(axis=1), np.random.default_rng(1)).weights.any(axis=1)
    without = manifest.statistics["without_predictions_share"]
    assert without == pytest.approx(np.mean(~masked), abs=1e-6) and (without == 1.0) == (lines is LONG)
    if masking == "static":
        assert (manifest.statistics["masked_share"] == 0) == (lines is LONG)
        rows = {name: np.array([record[name] for record in records]) for name in records[0]}
        assert (MaskedLM().baseline([rows], vocabulary)["baseline_accuracy"] == 0) == (lines is LONG)
    assert f"{100 * without:.1f}% of the records have no token to predict" in caplog.text
    assert f"without a token to predict: {100 * without:.1f}%" in script.summary(tmp_path / "out", manifest)
    PretrainingRecords(tmp_path / "out")  # what `kbert pretrain` reads
    assert f"{100 * without:.1f}% of the records of {tmp_path / 'out'} have no token" in caplog.text
    show_records(tmp_path / "out")
    assert (tmp_path / "out" / "statistics.html").is_file() and not check_records(tmp_path / "out")


# ------------------------------------------------------------------------------ the same bytes


@pytest.mark.slow
def test_another_vocabulary_in_the_same_place_is_not_taken_for_the_one_before(tmp_path, corpus):
    create_pretraining_data(*corpus, tmp_path / "out", **SMALL)
    special = len(BERT_TOKENS)
    turned = [*small_corpus.TOKENS[:special], *reversed(small_corpus.TOKENS[special:])]
    Vocabulary(turned, True).write(corpus[1])
    create_pretraining_data(*corpus, tmp_path / "out", overwrite=True, **SMALL)
    create_pretraining_data((corpus[0],), *corpus[1:], tmp_path / "elsewhere", **SMALL)
    assert shards_of(tmp_path / "out") == shards_of(tmp_path / "elsewhere")


def shards_of(folder):
    return {name: value for name, value in contents(folder).items() if name.endswith(".tfrecord")}


def test_compressed_shards_hold_the_same_records(tmp_path, corpus, small_blocks):
    plain = create_pretraining_data(*corpus, tmp_path / "a", **SMALL)
    compressed = create_pretraining_data(*corpus, tmp_path / "b", compression="gzip", **SMALL)
    for one, other in zip(plain.shards, compressed.shards, strict=True):
        assert other.file == one.file + ".gz"
        assert (
            gzip.decompress((tmp_path / "b" / other.file).read_bytes())
            == (tmp_path / "a" / one.file).read_bytes()
        )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stage", "work"), [(tokenization_stage, "tokenize_group"), (writing_stage, "write_part")]
)
def test_what_is_stopped_goes_on_and_gives_the_same_bytes(tmp_path, small_blocks, monkeypatch, stage, work):
    files, _ = write_numbered_corpus(tmp_path, num_documents=40)
    create_pretraining_data(*files, tmp_path / "whole", **SMALL)
    real, done = getattr(stage, work), []
    with monkeypatch.context() as patch:

        def stopped_half_way(job, piece):
            if len(done) == 2:
                patch.setattr(stage, "write_json", lambda *_: (_ for _ in ()).throw(OSError("full")))
            real(job, piece)
            done.append(piece)

        patch.setattr(stage, work, stopped_half_way)
        with pytest.raises(OSError, match="full"):
            create_pretraining_data(*files, tmp_path / "out", **SMALL)
    assert not (tmp_path / "out").exists() and len(done) == 2
    unplanned = shutil.copytree(tmp_path / "out.unfinished", tmp_path / "other.unfinished")
    (unplanned / "plan.json").unlink()  # as a deletion leaves it that is stopped half way
    create_pretraining_data(*files, tmp_path / "other", seed=7, **SMALL)
    create_pretraining_data(*files, tmp_path / "fresh", seed=7, **SMALL)
    assert contents(tmp_path / "other") == contents(tmp_path / "fresh") != contents(tmp_path / "whole")
    again = []
    monkeypatch.setattr(stage, work, lambda job, piece: (again.append(piece), real(job, piece)))
    create_pretraining_data(*files, tmp_path / "out", **SMALL)
    assert again and not set(again) & set(done), "finished pieces are not made again"
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")
    assert not list(tmp_path.glob("*.unfinished"))


def test_a_deletion_that_is_stopped_loses_no_records(tmp_path, small_blocks, monkeypatch):
    files, _ = write_numbered_corpus(tmp_path)
    real, unfinished = shutil.rmtree, tmp_path / "out.unfinished"

    def stopped_half_way(folder, **options):
        if folder == unfinished:
            next(unfinished.glob("examples/*.bin")).unlink()
            real(unfinished / "parts")
            raise KeyboardInterrupt
        real(folder, **options)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(shutil, "rmtree", stopped_half_way)
        create_pretraining_data(*files, tmp_path / "out", **SMALL)
    whole = contents(tmp_path / "out")
    create_pretraining_data(*files, tmp_path / "out", overwrite=True, **SMALL)
    assert contents(tmp_path / "out") == whole and not unfinished.exists()


def test_examples_that_are_gone_are_missed_before_the_records_are_written(
    tmp_path, small_blocks, monkeypatch
):
    files, _ = write_numbered_corpus(tmp_path)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(writing_stage, "write_shards", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        create_pretraining_data(*files, tmp_path / "out", **SMALL)
    next(tmp_path.glob("out.unfinished/examples/*.bin")).unlink()
    with pytest.raises(
        ValueError, match="that were sampled; delete the folder .*out.unfinished and begin again"
    ):
        create_pretraining_data(*files, tmp_path / "out", **SMALL)
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
@pytest.mark.long
def test_the_number_of_workers_changes_nothing_and_a_kill_loses_nothing(tmp_path):
    rng = random.Random(0)
    text = "\n\n".join("\n".join(small_corpus.sentences(40, rng)) for _ in range(2500))
    (tmp_path / "big.txt").write_text(text)
    small_corpus.vocabulary().write(tmp_path / "vocab.txt")
    flags = [
        f"--input_files={tmp_path / 'big.txt'}",
        f"--vocab_file={tmp_path / 'vocab.txt'}",
        "--dupe_factor=1",
    ]
    flags += ["--max_seq_length=32", "--max_predictions_per_seq=5", "--num_shards=5"]
    for workers in (1, 2):
        ended = run_script(*flags, f"--output_dir={tmp_path / str(workers)}", f"--num_workers={workers}")
        assert ended.returncode == 0, ended.stderr
    assert contents(tmp_path / "1") == contents(tmp_path / "2")

    command = [sys.executable, "-m", "tfrecords_tools.create_pretraining_data", *flags, "--num_workers=2"]
    command.append(f"--output_dir={tmp_path / 'killed'}")
    process = subprocess.Popen(command, cwd=REPOSITORY, stderr=subprocess.DEVNULL, start_new_session=True)
    unfinished = tmp_path / "killed.unfinished"
    while process.poll() is None and not list(unfinished.glob("examples/*.json")):
        time.sleep(0.005)
    assert process.poll() is None, "the run ended before it could be killed"
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    wait_for_end_of_group(process.pid)
    assert unfinished.is_dir() and not (tmp_path / "killed").exists()
    ended = run_script(*flags, f"--output_dir={tmp_path / 'killed'}", "--num_workers=2")
    assert ended.returncode == 0, ended.stderr
    assert "in an earlier run; resuming" in ended.stderr
    assert contents(tmp_path / "killed") == contents(tmp_path / "1")


def wait_for_end_of_group(pid, seconds=120):
    """The workers follow a parent that was killed."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            os.killpg(pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    pytest.fail(f"the workers were still there {seconds} s after their parent was killed")


@pytest.mark.slow
@pytest.mark.long
def test_a_beam_pipeline_gives_the_same_bytes(tmp_path, corpus):
    pytest.importorskip("apache_beam", reason="NOT RUN ON APACHE BEAM: pip install 'apache-beam==2.77.0'")
    create_pretraining_data(*corpus, tmp_path / "local", **SMALL)
    flags = [f"--vocab_file={corpus[1]}", f"--output_dir={tmp_path / 'beam'}", "--runner=beam"]
    flags += [f"--{name}={value}" for name, value in SMALL.items()]
    flags += [
        "--beam_options=--runner=DirectRunner --direct_num_workers=2 --direct_running_mode=multi_processing"
    ]
    wrong = tmp_path / "wrong.jsonl"
    wrong.write_text('{"text": "one"}\nno JSON\n')
    refused = run_script(*flags, f"--input_files={wrong}")
    assert refused.returncode == 1 and "Traceback" not in refused.stderr
    assert refused.stderr.splitlines()[-1].startswith(f"error: {wrong} line 2 is not valid")
    assert [path.name for path in tmp_path.glob("beam*")] == []
    ended = run_script(*flags, f"--input_files={corpus[0]}")
    assert ended.returncode == 0, ended.stderr
    assert contents(tmp_path / "beam") == contents(tmp_path / "local")


# ------------------------------------------------------------------------------ like the original


def tokenized(file, vocabulary) -> list[list[list[int]]]:
    """The documents of a file as lists of sentences of ids, apart from the tool's own stages."""
    tokenizer = WordPieceTokenizer(vocabulary)
    (unit,) = plan_units([file], file.stat().st_size)
    documents = []
    for document in read_documents(unit, TextFormat(), Problems()):
        documents.append([ids for ids in tokenizer(tf.constant(document)).to_list() if ids])
    return [document for document in documents if document]


@pytest.fixture(scope="module")
def measured_corpus(tmp_path_factory):
    """The original's statistics, and their corpus: file, vocabulary and its file."""
    golden = SHARED_DATA / "golden" / "pretraining" / "original_statistics.json"
    if not golden.is_file():
        pytest.skip(f"NOT COMPARED WITH THE ORIGINAL: {golden} is not there.")
    text = b"".join(path.read_bytes() for path in sorted((SHARED_DATA / "eltec_eng").glob("*.txt")))
    corpus = tmp_path_factory.mktemp("measured") / "corpus.txt"
    corpus.write_text(text[:6_000_000].decode("utf-8", "ignore"), encoding="utf-8")
    vocab_file = SHARED_DATA / "vocab" / "bert_uncased" / "vocab.txt"
    vocabulary = Vocabulary.from_file(vocab_file, do_lower_case=True)
    statistics = json.loads(golden.read_text())
    return statistics, corpus, vocabulary, vocab_file


KINDS = {"per_piece": False, "whole_word": True}


def continuing_pieces(vocabulary):
    return np.array([token.startswith("##") for token in vocabulary.tokens])


@pytest.mark.slow
@pytest.mark.long
def test_the_reference_gives_the_originals_numbers_to_the_last_digit(measured_corpus):
    """With the original's seed; so pairs equal to the reference's are the original's."""
    statistics, corpus, vocabulary, _ = measured_corpus
    original, continuing = statistics["per_piece"], continuing_pieces(vocabulary)
    masking = reference_sampling.Masking(
        vocabulary.cls_id,
        vocabulary.sep_id,
        vocabulary.mask_id,
        len(vocabulary),
    )
    documents = tokenized(corpus, vocabulary)
    found = reference_sampling.instances(documents, 128, 0.1, 3, random.Random(12345), masking)
    tokens = sum(len(instance.first) + len(instance.second) + 3 for instance in found)
    assert len(found) == original["instances"]
    assert tokens / len(found) == original["tokens_mean"]
    answers = [answer for instance in found for answer in instance.answers]
    assert len(answers) / tokens == original["masked_share_of_tokens"]
    assert np.mean(continuing[answers]) == pytest.approx(original["masked_pieces_that_continue_a_word"])


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("name", KINDS)
def test_distributions_are_the_originals(measured_corpus, tmp_path, name):
    """Masks are drawn from another generator: they agree within the spread of seeds, 1 % of the examples."""
    statistics, corpus, vocabulary, vocab_file = measured_corpus
    original = statistics[name]
    manifest = create_pretraining_data(
        corpus, vocab_file, tmp_path / "out", dupe_factor=3, do_whole_word_mask=KINDS[name]
    )
    received = distributions(columns_of(tmp_path / "out"), vocabulary, continuing_pieces(vocabulary))
    assert received["instances"] == manifest.num_examples
    for key, tolerance in {
        "instances": 1000,
        "tokens_mean": 1.5,
        "length_full_share": 0.03,
        "segment_a_mean": 1.2,
        "random_next_share": 0.02,
        "masked_mean": 0.25,
        "masked_share_of_tokens": 0.0005,
        "masked_pieces_that_continue_a_word": 0.003,
    }.items():
        assert received[key] == pytest.approx(original[key], abs=tolerance), key
    for key, share in original["at_masked"].items():
        # Five standard errors of the difference of two shares of about 590,000 places.
        error = 5 * (2 * share * (1 - share) / 590_000) ** 0.5
        assert received["at_masked"][key] == pytest.approx(share, abs=error), key
    for length, count in original["length_histogram_of_8"].items():
        # Short sequences come by the document, dozens at once, so their counts spread widely.
        received_share = received["length_histogram_of_8"].get(length, 0) / received["instances"]
        assert received_share == pytest.approx(count / original["instances"], abs=0.03), length


def columns_of(folder):
    """All records of a folder as one array a feature; `read_records` would take a minute for these."""
    manifest = read_manifest(folder)
    shards = [str(folder / shard.file) for shard in manifest.shards]
    records = list(tf.data.TFRecordDataset(shards).as_numpy_iterator())
    stored = {"int32": tf.int64, "float32": tf.float32}
    layout = {
        name: tf.io.FixedLenFeature(feature.shape, stored[feature.dtype])
        for name, feature in manifest.features.items()
    }
    return {name: values.numpy() for name, values in tf.io.parse_example(records, layout).items()}


def distributions(columns, vocabulary, continuing):
    lengths = columns["input_mask"].sum(axis=1)
    real = columns["masked_lm_weights"] > 0
    answers = columns["masked_lm_ids"][real]
    shown = np.take_along_axis(columns["input_ids"], columns["masked_lm_positions"], axis=1)[real]
    is_mask, is_kept = shown == vocabulary.mask_id, shown == answers
    bins, counts = np.unique(lengths // 8 * 8, return_counts=True)
    return {
        "instances": len(lengths),
        "tokens_mean": lengths.mean(),
        "length_full_share": np.mean(lengths == 128),
        "length_histogram_of_8": dict(zip(map(str, bins), counts, strict=True)),
        "segment_a_mean": np.mean(lengths - columns["segment_ids"].sum(axis=1)),
        "random_next_share": columns["next_sentence_labels"].mean(),
        "masked_mean": real.sum(axis=1).mean(),
        "masked_share_of_tokens": real.sum() / lengths.sum(),
        "at_masked": {
            "mask": is_mask.mean(),
            "unchanged": is_kept.mean(),
            "random": np.mean(~is_mask & ~is_kept),
        },
        "masked_pieces_that_continue_a_word": continuing[answers].mean(),
    }


# ------------------------------------------------------------------------------ when something is wrong


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (
            {"max_seq_length": 7},
            "max_seq_length=7 must lie between 8 .two texts and three special tokens. and",
        ),
        (
            {"pairing": "pairs"},
            "pairing='pairs' is not known; choose one of sentence_pairs, full_sentences,",
        ),
        ({"max_seq_length": "128"}, "max_seq_length='128' must be a whole number"),
        ({"seed": None}, "seed=None must be a whole number, at least 0"),
        ({"pairing": None}, "pairing=None is not known; choose one of sentence_pairs,"),
        ({"max_ngram_size": 6}, "max_ngram_size=6 must lie between 1 and max_predictions_per_seq=5"),
        ({"split_sentences": "xx"}, "split_sentences='xx' is no language with known sentence rules"),
        ({"num_workers": -1}, "num_workers=-1 must be at least 1"),
        ({"beam_options": "--x=1"}, "--beam_options has no effect without --runner=beam"),
        (
            {"max_predictions_per_seq": 30},
            r"max_predictions_per_seq=30 must lie between 1 and max_seq_length - 3 = 29; .* = 5 is a good",
        ),
        ({"masked_lm_prob": 15.0}, "masked_lm_prob=15.0 must be above 0 and below 1"),
        ({"short_seq_prob": 1.5}, "short_seq_prob=1.5 must be at least 0 and at most 1"),
        (
            {"pairing": "full_sentences", "short_seq_prob": 0.3},
            "short_seq_prob=0.3 has no effect with pairing='full_sentences'",
        ),
        ({"runner": "beam", "num_workers": 8}, "--num_workers=8 has no effect with --runner=beam"),
        ({"allow_unmatched": ["x"]}, "allow_unmatched has no effect on a vocab_file"),
        ({"input_files": "no/such/file"}, "input 'no/such/file' matches no file"),
        ({"input_files": "data/{a,b}.txt"}, r"\{a,b\} in quotes is not read as a shell does"),
        ({"vocab_file": "no/vocab.txt"}, "vocabulary file no/vocab.txt does not exist"),
    ],
)
def test_wrong_settings_are_named_before_any_work(tmp_path, corpus, monkeypatch, settings, sentence):
    monkeypatch.setattr(tokenization_stage, "tokenize_group", lambda *_: pytest.fail("the work has begun"))
    arguments = {"input_files": corpus[0], "vocab_file": corpus[1], "output_dir": tmp_path / "out"}
    with pytest.raises(ValueError, match=sentence):
        create_pretraining_data(**arguments | SMALL | settings)
    assert not (tmp_path / "out").exists() and not list(tmp_path.glob("out.unfinished"))


def test_settings_that_give_less_than_they_say_are_named():
    (masks,) = PretrainingSettings(max_predictions_per_seq=18).warnings()
    assert "long sequences are masked less than asked for" in masks
    dynamic = {"masking": "dynamic", "pairing": "full_sentences"}
    (copies,) = PretrainingSettings(**dynamic).warnings()
    assert copies.startswith("dupe_factor=10 writes the text so many times, but")
    for settings in ({}, {"masking": "dynamic"}, dynamic | {"dupe_factor": 1}):
        assert PretrainingSettings(**settings).warnings() == []


def test_unfinished_work_outlives_what_is_wrong_in_a_run_that_resumes_it(tmp_path, small_blocks, monkeypatch):
    files, _ = write_numbered_corpus(tmp_path)
    real, unfinished = tokenization_stage.tokenize_group, tmp_path / "out.unfinished"

    def fails(error):
        def tokenize(job, piece):
            if any(job.tokens.glob("*.json")):
                raise error
            real(job, piece)

        return tokenize

    settings = SMALL | {"split_sentences": "en"}
    for error in (KeyboardInterrupt(), ValueError("a vocabulary that is broken")):
        monkeypatch.setattr(tokenization_stage, "tokenize_group", fails(error))
        with pytest.raises(type(error)):
            create_pretraining_data(*files, tmp_path / "out", **settings)
        assert len([*unfinished.glob("tokens/*.json")]) == 1
    with monkeypatch.context() as missing:
        missing.setattr(extras, "_is_there", lambda module: module != "sentencex")
        with pytest.raises(ValueError, match="split_sentences='en' needs sentencex, not installed"):
            create_pretraining_data(*files, tmp_path / "out", **settings)
    assert len([*unfinished.glob("tokens/*.json")]) == 1
    shutil.rmtree(unfinished)
    with pytest.raises(ValueError, match="a vocabulary that is broken"):
        create_pretraining_data(*files, tmp_path / "out", **SMALL)
    assert not unfinished.exists(), "nothing but what this run began"


def kinds_of_vocabularies():
    corpus_lines = small_corpus.sentences(300, random.Random(2))
    mpnet = ("<s>", "<pad>", "</s>", "<unk>", *small_corpus.TOKENS, "<mask>")
    return {
        "bpe": learn_bpe(corpus_lines, 300),
        "sentencepiece": learn_unigram(corpus_lines, 60),
        "mpnet": Vocabulary(mpnet, True, special_tokens=MPNET_TOKENS),
    }


@pytest.mark.parametrize("kind", ["bpe", "sentencepiece", "mpnet"])
def test_records_of_every_kind_of_tokenizer_hold_its_ids(tmp_path, corpus, kind, capsys):
    vocabulary = kinds_of_vocabularies()[kind]
    (tmp_path / "tokenizer").mkdir()
    write_tokenizer(tmp_path / "tokenizer", vocabulary)
    folder = tmp_path / "out"
    settings = SMALL | {"do_whole_word_mask": True, "pairing": "full_sentences", "dupe_factor": 1}
    manifest = create_pretraining_data(corpus[0], None, folder, tokenizer=tmp_path / "tokenizer", **settings)
    assert manifest.vocabulary == vocabulary.describe()
    assert manifest.settings["do_lower_case"] is vocabulary.do_lower_case
    tokenizer = build_tokenizer(vocabulary)
    documents = corpus[0].read_text().split("\n\n")
    if kind == "bpe":  # whose tokens hold the blank before a word
        documents = [document.replace("\n", "\n ") for document in documents]
    lines = [line for document in documents for line in document.split("\n") if line.strip()]
    text = [index for ids in tokenizer(tf.constant(lines)).to_list() for index in ids]
    special = {vocabulary.pad_id, vocabulary.cls_id, vocabulary.sep_id}
    whole, stored, longest = 0, Counter(), 0
    for example in records_of(folder):
        assert example["input_ids"][0] == vocabulary.cls_id
        longest = max(longest, sum(example["input_mask"]))
        stored.update(index for index in unmasked(example) if index not in special)
        whole += check_whole_words(example, vocabulary)
    assert whole > 10 and stored == Counter(text) and longest == settings["max_seq_length"]
    assert check_records(folder) == 0
    show_records(folder, 1)
    shown = capsys.readouterr().out
    assert "\nrecord 0: <s> " in shown and f"[{vocabulary.special_tokens.mask}->" in shown
    (folder / next(iter(vocabulary.files()))).write_bytes(b"{}")
    assert check_records(folder) == 1


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("num_workers", [1, 2])
def test_wordpieces_need_no_tensorflow(tmp_path, corpus, num_workers):
    create_pretraining_data(*corpus, tmp_path / "here", **SMALL)
    (tmp_path / "absent").mkdir()
    (tmp_path / "absent" / "tensorflow.py").write_text("raise ImportError('none here')")
    create = f"create_pretraining_data({str(corpus[0])!r}, {str(corpus[1])!r}, {str(tmp_path / 'there')!r}"
    program = (
        "from tfrecords_tools.create_pretraining_data import create_pretraining_data\n"
        f"if __name__ == '__main__': {create}, num_workers={num_workers}, **{SMALL})"
    )
    (tmp_path / "program.py").write_text(program)
    paths = os.pathsep.join([str(tmp_path / "absent"), str(REPOSITORY)])
    environment = os.environ | {"PYTHONPATH": paths}
    subprocess.run([sys.executable, tmp_path / "program.py"], env=environment, check=True)
    assert contents(tmp_path / "here") == contents(tmp_path / "there")


def test_pairs_leave_room_for_the_special_tokens_of_their_tokenizer(tmp_path, corpus, monkeypatch, capsys):
    """With two separators between texts, packing must not cut what was sampled."""
    (tmp_path / "tokenizer").mkdir()
    write_tokenizer(tmp_path / "tokenizer", kinds_of_vocabularies()["mpnet"])
    lengths = []
    take = TokenizedCorpus.take

    def taken(self, starts, ends):
        lengths.extend((ends - starts).reshape(-1, 2).sum(axis=1))
        return take(self, starts, ends)

    monkeypatch.setattr(TokenizedCorpus, "take", taken)
    create_pretraining_data(corpus[0], None, tmp_path / "out", tokenizer=tmp_path / "tokenizer", **SMALL)
    used = [int(example["input_mask"].sum()) for example in records_of(tmp_path / "out")]
    assert sorted(used) == sorted(length + 4 for length in lengths) and max(used) == 32
    statistics = json.loads((tmp_path / "out" / "statistics.json").read_text())
    both = [np.array(statistics[name]) for name in ("first_lengths", "second_lengths")]
    assert [counts.sum() for counts in both] == [len(lengths)] * 2 and both[1][0] == 0
    assert sum(np.arange(len(counts)) @ counts for counts in both) == sum(lengths)
    show_records(tmp_path / "out", 1)
    assert "</s> </s>\n  + " in capsys.readouterr().out


def check_whole_words(example, vocabulary):
    """Of a word all pieces are masked, or none. Returns how many words of several pieces are."""
    ids = unmasked(example)
    count = int(example["masked_lm_weights"].sum())
    masked = set(example["masked_lm_positions"][:count].tolist())
    whole = 0
    for position in range(2, len(ids)):
        tokens = [vocabulary.tokens[ids[at]] for at in (position - 1, position)]
        if set(tokens) & set(vocabulary.special_tokens) or not vocabulary.continues_word(tokens[1]):
            continue
        assert (position in masked) == (position - 1 in masked)
        whole += position in masked
    return whole


def break_corpus(text):
    yield "one document", text.replace("\n\n", "\n").encode()
    yield "no piece in all but one", b"play the a.\n\n\xe2\x80\x8b\n"
    yield "not UTF-8 at the end", text.encode() + b"\n\xff\n"


@pytest.mark.parametrize("kind", ["one document", "no piece in all but one", "not UTF-8 at the end"])
def test_the_same_command_works_on_the_corpus_once_it_is_mended(tmp_path, corpus, kind):
    whole = corpus[0].read_text()
    corpus[0].write_bytes(dict(break_corpus(whole))[kind])
    before = sorted(tmp_path.iterdir())
    with pytest.raises(ValueError, match="1 document, but|is not UTF-8"):
        create_pretraining_data(*corpus, tmp_path / "out", **SMALL)
    assert sorted(tmp_path.iterdir()) == before, "nothing is left behind"

    corpus[0].write_text(whole)
    create_pretraining_data(*corpus, tmp_path / "out", **SMALL)
    assert sorted(tmp_path.iterdir()) == sorted([*before, tmp_path / "out"])


@pytest.mark.parametrize("pattern", ["**", "**/*.txt", "*/*/*.txt"])
def test_a_glob_that_reaches_the_records_is_refused_and_nothing_is_left(tmp_path, corpus, pattern):
    text = tmp_path / "texts" / "a" / "b" / "text.txt"
    text.parent.mkdir(parents=True)
    corpus[0].rename(text)
    with pytest.raises(ValueError, match=r"would also match .*new/out\.unfinished.*; choose an output_dir"):
        create_pretraining_data(tmp_path / "texts" / pattern, corpus[1], tmp_path / "texts/new/out", **SMALL)
    assert [*(tmp_path / "texts").rglob("*")] == [text.parent.parent, text.parent, text]


def test_a_full_disk_is_a_sentence_and_the_same_command_goes_on(tmp_path, corpus, largest_file):
    create_pretraining_data(*corpus, tmp_path / "whole", **SMALL)
    largest = max(shard.num_bytes for shard in read_manifest(tmp_path / "whole").shards)
    for num_bytes in (300, largest // 2):  # at the tokens, at the shards
        with largest_file(num_bytes), pytest.raises(OSError) as error:
            create_pretraining_data(*corpus, tmp_path / "out", **SMALL)
        assert str(error.value).endswith("out.unfinished, and the same command resumes it.")
        assert not (tmp_path / "out").exists()
    create_pretraining_data(*corpus, tmp_path / "out", **SMALL)
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")


def test_unfinished_work_of_other_settings_is_refused_with_the_differences(tmp_path, corpus, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(writing_stage, "write_part", lambda *_: (_ for _ in ()).throw(OSError("full")))
        with pytest.raises(OSError):
            create_pretraining_data(*corpus, tmp_path / "out", **SMALL)
    with pytest.raises(ValueError, match=r"differs in seed \(was 12345, now 7\)\. Repeat its settings"):
        create_pretraining_data(*corpus, tmp_path / "out", seed=7, **SMALL)
    written = corpus[0].stat().st_mtime_ns
    os.utime(corpus[0], ns=(written, written + 10**9))
    with pytest.raises(ValueError, match="differs in the input files .*was written at another time") as error:
        create_pretraining_data(*corpus, tmp_path / "out", **SMALL)
    stamp = re.search(r"touch -d (@\S+)", str(error.value))[1]
    subprocess.run(["touch", "-d", stamp, corpus[0]], check=True)
    assert corpus[0].stat().st_mtime_ns == written
    corpus[0].write_bytes(corpus[0].read_bytes() + b"one more line\n")
    with pytest.raises(ValueError, match="differs in the input files .*has another size"):
        create_pretraining_data(*corpus, tmp_path / "out", **SMALL)


def test_a_corpus_that_is_replaced_while_it_is_read_is_refused(tmp_path, corpus, monkeypatch):
    run_items = tokenization_stage.run_items

    def run_and_replace(*arguments):
        run_items(*arguments)
        corpus[0].write_bytes(corpus[0].read_bytes() + b"one more line\n")

    monkeypatch.setattr(tokenization_stage, "run_items", run_and_replace)
    with pytest.raises(ValueError, match=f"{corpus[0]} was changed while it was read"):
        create_pretraining_data(*corpus, tmp_path / "out", **SMALL)
    monkeypatch.undo()
    create_pretraining_data(*corpus, tmp_path / "out", **SMALL)


def test_documents_that_came_before_are_dropped(tmp_path, corpus, small_blocks):
    twice = tmp_path / "twice.txt"
    twice.write_bytes(corpus[0].read_bytes() + b"\n" + corpus[0].read_bytes())
    manifest = create_pretraining_data(twice, corpus[1], tmp_path / "out", deduplicate="exact", **SMALL)
    once = create_pretraining_data(*corpus, tmp_path / "once", **SMALL).statistics
    for name in ("documents", "sentences", "tokens", "unknown_share"):
        assert manifest.statistics[name] == once[name], "all are of the corpus without duplicates"
    assert manifest.statistics["documents"] == manifest.statistics["documents_dropped_as_duplicates"] == 10
    assert "dropped as duplicates: 10 documents" in script.summary("out", manifest)
    twice.write_text("play the a.\n\nPlay the a.\n")
    with pytest.raises(ValueError, match="without duplicates, 1 of 2 documents is left, but random next"):
        create_pretraining_data(twice, corpus[1], tmp_path / "one", deduplicate="exact", **SMALL)


# ------------------------------------------------------------------------------ command line


def run_script(*arguments):
    return warm_processes.run_script("tfrecords_tools.create_pretraining_data", *arguments)


@pytest.mark.slow
def test_the_command_line_takes_the_originals_flags(tmp_path, corpus):
    ended = run_script(
        *(f"--input_files={corpus[0]}", f"--vocab_file={corpus[1]}", f"--output_dir={tmp_path / 'out'}"),
        *("--do_lower_case=True", "--max_seq_length=32", "--max_predictions_per_seq=5", "--dupe_factor=2"),
        *("--masked_lm_prob=0.15", "--short_seq_prob=0.1", "--do_whole_word_mask", "--seed=3"),
        "--num_shards=2",
    )
    assert ended.returncode == 0, ended.stderr
    assert "records:" in ended.stdout and f"written to {tmp_path / 'out'}: 2 shards" in ended.stdout
    assert "example 0: [CLS]" in ended.stderr and "/s." in ended.stderr
    assert all(line.endswith(" ...") for line in ended.stderr.splitlines() if "example 0: " in line)
    create_pretraining_data(
        *map(str, corpus), tmp_path / "by_function", do_whole_word_mask=True, seed=3, **SMALL
    )
    assert contents(tmp_path / "out") == contents(tmp_path / "by_function"), "in another process as well"
