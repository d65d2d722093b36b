"""A trimmed checkpoint answers as before on the texts that it was trimmed for."""

import dataclasses
import json
import shutil

import numpy as np
import pyarrow as pa
import pytest
import tensorflow as tf

from kbert.checkpoints.formats import read_checkpoint, write_checkpoint
from kbert.checkpoints.hugging_face.tokenizer_wordpiece import MPNET_TOKENS
from kbert.config import DatasetConfig
from kbert.config.pooling_config import PoolingConfig
from kbert.config.token_vectors_config import QueryExpansion, TokenVectorsConfig
from kbert.inference.loading import load
from kbert.runs.checkpoint import parse_step
from kbert.runs.chosen_settings import write_chosen
from kbert.runs.run_directory import RunDirectory
from kbert.tokenization.base_vocabulary import BERT_TOKENS
from kbert.tokenization.vocabulary import Vocabulary
from kbert.tokenization.wordpiece_tokenizer import WordPieceTokenizer
from tests import warm_processes
from tests.conftest import mostly_long
from tests.kbert.checkpoints.random_checkpoint import MPNET, random_checkpoint
from tests.kbert.input_pipelines.tables.written_tables import write_parquet
from tfrecords_tools.trim_vocabulary import _closing, changed_texts, trim_vocabulary

TEXTS = ("Jump the walks.", "asked the jump", "walk asks the")
# Neither in the corpus: "jumped" of known pieces, "calls" with an unknown one.
HELDOUT = ("jumped the walk", "calls the walk")


@pytest.fixture
def files(tmp_path):
    paths = tmp_path / "texts.txt", tmp_path / "heldout.txt"
    for path, texts in zip(paths, (TEXTS, HELDOUT), strict=True):
        path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    return [paths[0]], [paths[1]]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"files": "texts.txt"}, "files='texts.txt' must be a list of paths"),
        ({"files": []}, "names no texts"),
        ({"files": ["nowhere.txt"]}, "file nowhere.txt does not exist"),
        ({"heldout": ["nowhere.txt"]}, "file nowhere.txt does not exist"),
        ({"dataset": {"text": "text"}}, "must be a DatasetConfig"),
        ({"vocab_size": "5"}, "vocab_size='5' must be a whole number"),
    ],
    ids=str,
)
def test_what_cannot_be_is_said_before_the_checkpoint_is_read(files, tmp_path, arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        trim_vocabulary(tmp_path / "nowhere", tmp_path / "small", **{"files": files[0]} | arguments)


def test_a_classifier_answers_as_before(finetuned_run, files, tmp_path):
    for overwrite in (False, True):
        report = trim_vocabulary(finetuned_run.path, tmp_path / "small", *files, overwrite=overwrite)
    before, after = load(finetuned_run.path), load(tmp_path / "small")
    # "a" is a character of "walk", so it stays beside the pieces of the texts.
    assert after.vocabulary.tokens[5:] == ("walk", "jump", "ask", "the", "a", "##s", "##ed", ".")
    assert report["tokens"] == {"before": 22, "after": 13}
    cut = [WordPieceTokenizer(model.vocabulary) for model in (before, after)]
    old, new = ([one.tokens(row) for row in one(tf.constant(TEXTS)).to_list()] for one in cut)
    assert old == new
    answers = [model.model(model.inputs(list(TEXTS)))["logits"] for model in (before, after)]
    np.testing.assert_allclose(answers[1], answers[0], atol=1e-6)
    heldout = report["heldout"]
    assert heldout["texts"] == 2 and heldout["changed_texts"] == 0.5
    assert heldout["tokens"] == 8 and heldout["changed_tokens"] == 0.25
    assert heldout["unknown_words"] == {"before": 0, "after": 1}


def test_a_cased_vocabulary_without_a_capital_is_said_and_can_be_read(tmp_path, caplog):
    vocabulary = Vocabulary([*BERT_TOKENS, "walk", "jump", "Walk", "Jump"], do_lower_case=False)
    write_checkpoint(random_checkpoint("encoder", vocabulary=vocabulary), tmp_path / "large", "kbert")
    for name, text in (("none", "walk jump"), ("some", "walk Jump")):
        (tmp_path / "texts.txt").write_text(text)
        caplog.clear()
        trim_vocabulary(tmp_path / "large", tmp_path / name, [tmp_path / "texts.txt"], format="hugging_face")
        assert ("no token holds an upper-case letter" in caplog.text) is (name == "none")
        assert load(tmp_path / name).vocabulary.do_lower_case is False


@pytest.mark.long
def test_mpnet_keeps_its_own_special_tokens(files, tmp_path):
    pieces = ("walk", "jump", "ask", "the", "a", "##s", "##ed", ".", "x")
    tokens = [*MPNET_TOKENS, *BERT_TOKENS[2:], *pieces]
    vocabulary = Vocabulary(tokens, do_lower_case=True, special_tokens=MPNET_TOKENS)
    write_checkpoint(
        random_checkpoint("encoder", vocabulary=vocabulary, **MPNET), tmp_path / "mpnet", "kbert"
    )
    trim_vocabulary(tmp_path / "mpnet", tmp_path / "small", files[0])
    before, after = load(tmp_path / "mpnet"), load(tmp_path / "small")
    assert after.vocabulary.special_tokens == MPNET_TOKENS and len(after.vocabulary) < len(tokens)
    np.testing.assert_allclose(after.embed(list(TEXTS)), before.embed(list(TEXTS)), atol=1e-6)


@pytest.mark.long
def test_what_a_model_adds_to_texts_stays(files, tmp_path):
    """No text has the words of the prompt; tokens that are scored alone are counted in the new vocabulary."""
    pieces = ("x", "zebra", "walk", "jump", "ask", "the", "##s", "##ed", "find", ".", "a")
    vocabulary = Vocabulary([*BERT_TOKENS, *pieces, "[E1]", "[unused1]"], do_lower_case=True)
    prompts = {"query": "Find: ", "document": "a zebra walks "}
    scored = tuple(vocabulary.ids[token] for token in ("x", "zebra", "walk", "##s", "."))
    own = {
        "encoder": PoolingConfig("mean", True, prompts=prompts, default_prompt_name="query"),
        "late_interaction": TokenVectorsConfig(
            prompts=prompts, query_expansion=QueryExpansion(9, token="zebra"), keep_only_token_ids=scored
        ),
    }
    for (task, pooling), format in zip(own.items(), ("hugging_face", "kbert"), strict=True):
        model = dataclasses.replace(random_checkpoint(task, vocabulary=vocabulary), pooling=pooling)
        large, small = tmp_path / task / "large", tmp_path / task / "small"
        write_checkpoint(model, large, format)
        trim_vocabulary(large, small, files[0], format=format)
        before, after = load(large), load(small)
        assert {*before.vocabulary.tokens} - {*after.vocabulary.tokens} == {"x", "[unused1]"}
        for text_task in ("query", "document", None):
            vectors = (loaded.embed(list(TEXTS), task=text_task) for loaded in (before, after))
            for old, new in zip(*vectors, strict=True):
                np.testing.assert_allclose(new, old, atol=1e-6)


@pytest.mark.parametrize("prompt", mostly_long(["walk", "→", "日"], ("日",)))
def test_a_prompt_that_ends_within_a_word_keeps_the_pieces_of_that_word(prompt, tmp_path):
    """The arrow is no punctuation to BERT, so it begins a word; so does an ideograph not set apart."""
    tokens = [*BERT_TOKENS, "##s", "walk", "→", "日", "##walk", "##x"]
    vocabulary = Vocabulary(tokens, do_lower_case=True, tokenize_chinese_chars=False)
    pooling = PoolingConfig("mean", True, prompts={"query": prompt}, default_prompt_name="query")
    model = dataclasses.replace(random_checkpoint("encoder", vocabulary=vocabulary), pooling=pooling)
    write_checkpoint(model, tmp_path / "large", "kbert")
    (tmp_path / "rows.csv").write_text("one,two,label\nwalk,s,x\n")
    trim_vocabulary(
        tmp_path / "large", tmp_path / "small", [tmp_path / "rows.csv"],
        dataset=DatasetConfig(text="one", text_pair="two"),
    )  # fmt: skip
    before, after = load(tmp_path / "large"), load(tmp_path / "small")
    assert "##x" in {*before.vocabulary.tokens} - {*after.vocabulary.tokens}
    np.testing.assert_allclose(after.embed(["walk", "s"]), before.embed(["walk", "s"]), atol=1e-6)


def test_words_with_a_control_character_inside_keep_their_pieces(tmp_path):
    """WordPiece deletes it and joins the word; Python's `str.split` cuts there."""
    vocabulary = Vocabulary([*BERT_TOKENS, "walk", "jump", "##jump", "walks"], do_lower_case=True)
    write_checkpoint(random_checkpoint("encoder", vocabulary=vocabulary), tmp_path / "large", "kbert")
    texts = [f"walk{control}jump" for control in "\x0b\x0c\x1c\x1d\x1e\x1f\x85"]
    (tmp_path / "texts.txt").write_text("\n".join(texts), encoding="utf-8")
    trim_vocabulary(tmp_path / "large", tmp_path / "small", [tmp_path / "texts.txt"], min_count=7)
    tokens = {*load(tmp_path / "small").vocabulary.tokens}
    assert "##jump" in tokens and not {"jump", "walks"} & tokens


def test_words_of_a_tagger_keep_their_pieces(tmp_path):
    """It reads £250 as two words, of which WordPiece makes one."""
    tokens = [*BERT_TOKENS, "£", "##250", "250", "paid"]
    vocabulary = Vocabulary(tokens, do_lower_case=True)
    (tmp_path / "texts.txt").write_text("paid £250\n", encoding="utf-8")
    for task, kept in (("token_classification", "250"), ("sequence_classification", "##250")):
        checkpoint = random_checkpoint(task, ("O", "B-X"), vocabulary)
        write_checkpoint(checkpoint, tmp_path / "large", "kbert", overwrite=True)
        texts = [tmp_path / "texts.txt"]
        report = trim_vocabulary(tmp_path / "large", tmp_path / task, texts, texts)
        left = read_checkpoint(tmp_path / task).vocabulary.tokens
        assert {"250", "##250"}.intersection(left) == {kept}
        assert report["heldout"]["changed_texts"] == 0


@pytest.mark.parametrize(("vocab_size", "is_said"), [(None, False), (12, True)])
def test_what_was_chosen_with_other_tokens_is_said(
    finetuned_run, files, tmp_path, caplog, vocab_size, is_said
):
    run = RunDirectory(shutil.copytree(finetuned_run.path, tmp_path / "run"))
    write_chosen(run.path, parse_step(run.checkpoint()), {"temperature": 1.5}, "dev.tsv")
    trim_vocabulary(run.path, tmp_path / "small", files[0], vocab_size=vocab_size)
    assert (tmp_path / "small" / "chosen.json").exists()
    assert ("chosen for another vocabulary" in caplog.text) == is_said


def test_masks_are_filled_as_before(pretraining_run, files, tmp_path):
    """The rows of the table and of the output bias go together."""
    trim_vocabulary(pretraining_run.path, tmp_path / "small", files[0], format="hugging_face")
    models = load(pretraining_run.path), load(tmp_path / "small")
    logits = []
    for model in models:
        inputs = model.inputs(["jump the [MASK]"], with_masks=True)
        logits.append(model.model(inputs | {"masked_lm_positions": tf.constant([[3]])})["masked_lm_logits"])
    kept = [models[0].vocabulary.ids[token] for token in models[1].vocabulary.tokens]
    np.testing.assert_allclose(logits[1], np.take(logits[0], kept, axis=-1), atol=1e-5)


def test_labelled_files_give_their_columns_of_texts(finetuned_run, tmp_path):
    """Shards by the format of the dataset; pairs with scores, as of STS-B, have no negatives."""
    rows = {"one": ["jump"], "two": ["the"], "other": ["call"]}
    for name, more in (("part-00000", {"three": ["walks"]}), ("dev", {"label": [0.5]})):
        write_parquet(tmp_path / name, pa.table(rows | more))
    dataset = DatasetConfig(text="one", text_pair="two", negatives=("three",), file_format="parquet")
    report = trim_vocabulary(
        finetuned_run.path, tmp_path / "small", [tmp_path / "part-*"], [tmp_path / "dev"], dataset,
        "multiple_negatives_ranking",
    )  # fmt: skip
    assert report["heldout"]["tokens"] == 2
    assert load(tmp_path / "small").vocabulary.tokens[5:] == ("walk", "jump", "the", "a", "##s")


def test_labelled_files_are_read_as_training_reads_them(finetuned_run, tmp_path):
    path = tmp_path / "rows.tsv"
    path.write_text("one\ttwo\tlabel\njump\tthe\tx\nwalks\n", encoding="utf-8")
    dataset = DatasetConfig(text="one", text_pair="two", skip_short_rows=True)
    trim_vocabulary(finetuned_run.path, tmp_path / "small", [path], dataset=dataset)
    assert load(tmp_path / "small").vocabulary.tokens[5:] == ("jump", "the")


QUESTION = {"id": "1", "question": "jump", "answers": [{"text": "the", "answer_start": 0}]}


@pytest.mark.parametrize(
    ("task", "dataset", "name", "content"),
    [
        ("token_classification", {}, "a.conll", "jump X O\nthe X I-ORG\nwalks X O\n\njump X O\n"),
        ("token_classification", {"text": "words", "label": "tags", "skip_empty_rows": True}, "a.jsonl",
         '{"words": ["jump", "the", "walks"], "tags": ["O", "O", "O"]}\n{"words": [], "tags": []}\n'),
        ("question_answering", {}, "a.json",
         json.dumps({"data": [{"paragraphs": [{"context": "the walks", "qas": [QUESTION]}]}]})),
        ("question_answering", {}, "a.jsonl", json.dumps({"context": "the walks", **QUESTION}) + "\n"),
    ],
)  # fmt: skip
def test_the_command_reads_the_files_of_every_task(finetuned_run, tmp_path, task, dataset, name, content):
    file, config = tmp_path / name, tmp_path / "config.json"
    file.write_text(content, encoding="utf-8")
    config.write_text(json.dumps({"task": task, "dataset": dataset}))
    result = warm_processes.run_script(
        "tfrecords_tools.trim_vocabulary", f"--from={finetuned_run.path}", f"--to={tmp_path}/small",
        f"--config={config}", f"--labelled_files={file}", f"--heldout_files={file}",
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert sorted(load(tmp_path / "small").vocabulary.tokens[5:]) == ["##s", "a", "jump", "the", "walk"]


def test_a_task_without_labelled_files_is_refused(finetuned_run, files, tmp_path):
    with pytest.raises(ValueError, match="task='masked_lm' cannot be fine-tuned; choose one of seq"):
        trim_vocabulary(
            finetuned_run.path, tmp_path / "small", files[0], dataset=DatasetConfig(), task="masked_lm"
        )


def test_the_command_prints_its_report(finetuned_run, files, tmp_path):
    result = warm_processes.run_script(
        "tfrecords_tools.trim_vocabulary", f"--from={finetuned_run.path}", f"--to={tmp_path}/small",
        f"--input_files={files[0][0]}", "--vocab_size=11",
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    table, closing = result.stdout.split("\n\n")
    assert ["tokens", "22", "11"] in [line.split() for line in table.splitlines()]
    report = tmp_path / "small" / "trimming.json"
    assert closing.splitlines()[-1].endswith(str(report))
    assert json.loads(report.read_text())["tokens"] == {"before": 22, "after": 11}


def test_words_beyond_the_models_limit_are_unknown_before_and_after():
    before = Vocabulary([*BERT_TOKENS, "a", "##a", "##aa", "b"], True, max_input_chars_per_word=100)
    after = before.with_tokens([token for token in before.tokens if token != "##aa"])
    counts = changed_texts(["a" * 101, "b", "a" * 100], before, after)
    assert counts["changed_texts"] == 1 / 3 and counts["tokens"] == 2 + 51
    assert counts["unknown_words"] == {"before": 1, "after": 1}


def test_a_few_texts_of_many_are_not_none():
    heldout = {"changed_texts": 7 / 150_000, "texts": 150_000}
    closing = _closing({"words": {"running": 1, "different": 1}, "heldout": heldout}, "out")
    assert closing["held-out texts cut differently"] == "7 of 150,000 (0.00467%)"
