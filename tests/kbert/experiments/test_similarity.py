"""Sentence similarity takes the pooling of its start: asked, embedded, converted, and as the guide has it."""

import doctest
from pathlib import Path

import numpy as np
import pytest

import kbert
from kbert.checkpoints.hugging_face.sentence_transformers import read_sentence_modules
from kbert.checkpoints.hugging_face.sentence_writing import write_sentence_modules
from kbert.checkpoints.report import Report
from kbert.cli.warn_once import warn_once
from kbert.config import DatasetConfig
from kbert.config.pooling_config import PoolingConfig
from kbert.encoder import BertEncoder
from kbert.experiments.evaluation import evaluate
from kbert.experiments.finetuning import finetune
from kbert.experiments.init import Init
from kbert.experiments.start import Start
from kbert.runs.run_directory import RunDirectory
from kbert.scripts.convert_checkpoint import convert_checkpoint
from kbert.tasks import TASKS
from kbert.tasks.task import Task
from tests.conftest import MAX_SEQ_LENGTH, small_corpus, tiny_encoder_config, tiny_finetuning_config
from tests.kbert.experiments.small_rows import WORDS, write_rows, write_scored
from tests.kbert.inference.answering import answers
from tests.kbert.runs.written_run import written_run
from tests.kbert.tasks.similarity.test_scores import by_hand

pytestmark = pytest.mark.slow

TEXTS = ["the jump a", "walk and ask", "look"]
THEIRS = PoolingConfig(
    "cls", False, prompts={"query": "the "}, default_prompt_name="query", similarity_fn_name="dot"
)


def config_of(task, **changes):
    dataset = DatasetConfig(text="text", text_pair="other")
    return tiny_finetuning_config(task=task, dataset=dataset, save_checkpoints_steps=2, **changes)


@pytest.fixture(scope="module")
def start(pretraining_run, tmp_path_factory):
    """A sentence-transformers folder that says its own pooling."""
    folder = tmp_path_factory.mktemp("start") / "sentences"
    convert_checkpoint(pretraining_run.path, folder, "hugging_face", encoder_only=True)
    write_sentence_modules(folder, THEIRS, {"max_seq_length": MAX_SEQ_LENGTH}, 16, {}, Report("", ""))
    return folder


@pytest.fixture(scope="module")
def regression(start, tmp_path_factory):
    """(config, files, RunDirectory, metrics) of a cosine regression."""
    folder = tmp_path_factory.mktemp("regression")
    files = write_scored(folder / "train.jsonl", 24), write_scored(folder / "dev.jsonl", 11)
    config = config_of("cosine_similarity", task_settings={"highest_score": 5.0}, num_train_epochs=1.4)
    task, metrics = finetune(config, folder / "run", *files, init_checkpoint=start)
    assert task.pooling == THEIRS
    return config, files, RunDirectory(folder / "run"), metrics


def test_a_training_says_that_its_start_names_no_pooling(start, pretraining_run, tmp_path, caplog):
    convert_checkpoint(pretraining_run.path, tmp_path / "plain", "hugging_face", encoder_only=True)

    class WithoutSettings(Task):
        name, pooling = "of_users", PoolingConfig("cls")

    def warns(checkpoint, task=None, **settings):
        warn_once.cache_clear()
        caplog.clear()
        task = task or TASKS["multiple_negatives_ranking"](**settings)
        Start(config_of(task.name), Init(checkpoint), tmp_path / "run", task)
        return "so the training takes the mean of all tokens" in caplog.text

    convert_checkpoint(tmp_path / "plain", tmp_path / "run_of_it")
    assert warns(tmp_path / "plain") and warns(tmp_path / "run_of_it")
    convert_checkpoint(pretraining_run.path, tmp_path / "googles", "google", encoder_only=True)
    assert warns(tmp_path / "googles") and "SimBERT and others made for vectors of texts" in caplog.text
    assert not any((warns(tmp_path / "plain", pooling="cls"), warns(start), warns(pretraining_run.path)))
    assert not warns(tmp_path / "plain", WithoutSettings())


@pytest.fixture(scope="module")
def loaded(regression):
    return kbert.load(regression[2].path)


@pytest.mark.long
def test_ranks_are_those_of_texts_in_any_batches(tmp_path):
    """Three questions share each answer, one has two; against the vectors of `embed`, ranked one by one.

    Each text stands behind its prompt there as here."""
    questions = [f"{word} the {other}" for word in WORDS[:4] for other in WORDS[4:7]]
    pairs = [(question, f"a {WORDS[n // 3]} and") for n, question in enumerate(questions)]
    pairs += [(questions[0], "open ask")]
    file = write_rows(tmp_path / "dev.jsonl", [{"text": text, "other": other} for text, other in pairs])
    prompts = {"query": "look open ", "document": "ask "}
    task = TASKS["multiple_negatives_ranking"]({"prompts": prompts}, pooling="mean", normalize=False)
    model = task.build_model(BertEncoder(tiny_encoder_config()))
    dataset = DatasetConfig(text="text", text_pair="other")
    run = written_run(tmp_path / "run", task, model, small_corpus.vocabulary(), dataset=dataset)

    loaded, relevant = kbert.load(run.path), {}
    for question, answer in pairs:
        relevant.setdefault(question, set()).add(answer)
    queries, corpus = (
        dict(zip(texts, loaded.embed(texts, normalize=True, task=kind), strict=True))
        for kind, texts in (("query", [*relevant]), ("document", sorted({answer for _, answer in pairs})))
    )
    accuracy, mrr = by_hand(queries, relevant, corpus)
    for batch_size in (2, 64):
        _, metrics = evaluate(run, file, batch_size=batch_size)
        assert (metrics["accuracy_at_1"], metrics["mrr"]) == pytest.approx((accuracy, mrr)), batch_size


def cosines(first, second):
    return np.sum(first * second, axis=-1) / np.linalg.norm(first, axis=-1) / np.linalg.norm(second, axis=-1)


@pytest.mark.long
def test_embed_and_answers_take_the_trained_pooling(regression, loaded):
    run = regression[2]
    assert loaded.own_pooling == THEIRS and run.details["task_config"]["pooling"] == "cls"
    embeddings = loaded.embed(TEXTS)
    hidden = loaded.encoder(loaded.inputs(TEXTS))["sequence_output"]
    np.testing.assert_allclose(embeddings, hidden[:, 0], atol=1e-5)
    examples = [{"text": TEXTS[0], "text_pair": other} for other in TEXTS]
    said = [answer["cosine"] for answer in answers(run, examples)]
    np.testing.assert_allclose(said, cosines(embeddings[:1], embeddings), atol=1e-5)
    alone = [answer["embedding"] for answer in answers(run, [{"text": text} for text in TEXTS])]
    np.testing.assert_allclose(alone, embeddings, atol=1e-5)
    assert said[0] == pytest.approx(1.0, abs=1e-5) and min(said) < 0.999


@pytest.mark.long
def test_converted_to_sentence_transformers_and_back(regression, loaded, tmp_path):
    convert_checkpoint(regression[2].path, tmp_path / "folder", "hugging_face")
    modules = read_sentence_modules(tmp_path / "folder")
    assert (modules.vectors.mode, modules.vectors.normalize, modules.max_seq_length) == (
        "cls",
        False,
        MAX_SEQ_LENGTH,
    )
    convert_checkpoint(tmp_path / "folder", tmp_path / "run", "kbert")
    for place in ("folder", "run"):
        other = kbert.load(tmp_path / place)
        assert (other.own_pooling, other.max_seq_length) == (THEIRS, MAX_SEQ_LENGTH)
        np.testing.assert_allclose(other.embed(TEXTS), loaded.embed(TEXTS), atol=1e-6)


@pytest.mark.long
def test_the_code_of_the_guide_runs(regression, tmp_path, monkeypatch):
    guide = Path(__file__).resolve().parents[3] / "docs" / "similarity.md"
    (block,) = guide.read_text(encoding="utf-8").split("```python\n")[1:]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "stsb_embeddings").symlink_to(regression[2].path)
    test = doctest.DocTestParser().get_doctest(block.split("```")[0], {}, str(guide), None, 0)
    report = []
    results = doctest.DocTestRunner(verbose=False).run(test, out=report.append)
    assert results.attempted and results.failed == 0, "".join(report)


@pytest.mark.long
def test_a_run_whose_metric_was_never_a_number_ends_and_answers(regression, start, tmp_path, caplog):
    """Scores of the development file that are all the same: no correlation with them is defined."""
    _, (train_file, _), _, _ = regression
    dev_file = tmp_path / "dev.jsonl"
    rows = [{"text": word, "other": "look", "label": 2.5} for word in ("jump", "walk", "ask")]
    write_rows(dev_file, rows)
    config = config_of(
        "cosine_similarity", num_train_epochs=3.0, eval_every_steps=2, early_stopping_patience=1,
        task_settings={"highest_score": 5.0},
    )  # fmt: skip
    _, metrics = finetune(config, tmp_path / "run", train_file, dev_file, init_checkpoint=start)
    said = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert np.isnan(metrics["spearman"]) and np.isfinite(metrics["loss"])
    assert "All 3 labels are the same: no correlation with them is defined." in said
    assert sum("is not a number on the evaluation data" in line for line in said) == 1
    assert not any("constant answer: spearman" in line for line in said)
    assert kbert.load(tmp_path / "run").predict(("walk", "look")) and len(said) < 12
    assert RunDirectory(tmp_path / "run").checkpoint().name == "step-00000009"
    with pytest.raises(ValueError, match="spearman was not a number in any of 5 evaluations"):
        kbert.load(tmp_path / "run", checkpoint="best")
