"""Cross-encoders that learn which text is right for a query: rows, loss, scores, and what is written."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

import kbert
from kbert.checkpoints.formats import read_checkpoint, write_checkpoint
from kbert.config import DatasetConfig
from kbert.experiments.finetuning import finetune
from kbert.features import EXAMPLE_WEIGHTS, TARGET_FEATURE
from kbert.input_pipelines.labelled_files import LabelledText
from kbert.runs.run_directory import RunDirectory
from kbert.tasks.sequences.number_files import NumberFiles
from kbert.tasks.sequences.ranked_pairs import ranked_scores
from kbert.tasks.sequences.sequence_regression import SequenceRegression
from tests.conftest import tiny_finetuning_config
from tests.kbert.experiments.small_rows import WORDS, write_rows
from tests.kbert.tasks.test_losses import evaluate

GOLDEN = Path("../shared/data/golden/retrieval")
DATASET = DatasetConfig(text_pair="text_pair", negatives=("negative_1", "negative_2"))
BINARY = {"loss": "binary_cross_entropy"}


def rows(number):
    """As `kbert hard-negatives` writes them; queries repeat."""
    for index in range(number):
        query = WORDS[index % 4]
        others = [word for word in WORDS if word != query][index % 3 : index % 3 + 2]
        negatives = {f"negative_{n}": f"a {word}" for n, word in enumerate(others, start=1)}
        yield {"text": query, "text_pair": f"the {query} {index // 4}", "scores": [1, 0, 0]} | negatives


def trained(folder, init_checkpoint, **changes):
    train = write_rows(folder / "rows.jsonl", rows(12))
    settings = {"task": "sequence_regression", "dataset": DATASET, "train_batch_size": 6}
    config = tiny_finetuning_config(**settings | changes)
    return finetune(config, folder / "run", train, train, init_checkpoint=init_checkpoint)


def test_a_row_becomes_a_pair_for_each_of_its_texts(tmp_path):
    path = write_rows(tmp_path / "rows.jsonl", rows(1))
    assert list(NumberFiles().read_examples(path, DATASET)) == [
        ("jump", "the jump 0", 1.0),
        ("jump", "a walk", 0.0),
        ("jump", "a play", 0.0),
    ]
    (tmp_path / "graded.csv").write_text("text,text_pair,label\na,b,.5\na,c,1\n")
    graded = list(NumberFiles().read_examples(tmp_path / "graded.csv", DATASET))
    assert [example.label for example in graded] == [0.5, 1.0]


def test_a_text_that_is_right_and_wrong_for_a_query_is_said(tmp_path, caplog):
    config, few = tiny_finetuning_config(), list(rows(8))
    task = SequenceRegression(has_negatives=True)

    def check(rows):
        path = write_rows(tmp_path / "rows.jsonl", rows)
        task.check_training(config, list(NumberFiles().read_examples(path, DATASET)))

    check(few)
    task.check_training(config, None)  # of records
    assert not caplog.records
    check([*few, few[4] | {"negative_1": few[0]["text_pair"]}])
    assert "1 negatives are positives of the same query" in caplog.text
    assert "'the jump 0', of the query 'jump'" in caplog.text


def test_numbers_that_are_all_the_same_are_said(caplog):
    config, task = tiny_finetuning_config(), SequenceRegression()
    task.check_training(config, [LabelledText("a", None, 3.0), LabelledText("b", None, 2.0)])
    assert not caplog.records
    task.check_training(config, [LabelledText("a", None, 3.0), LabelledText("b", None, 3.0)])
    assert "all 2 labels of the training are 3: " in caplog.text


def test_numbers_far_from_0_are_said(caplog):
    config, task = tiny_finetuning_config(), SequenceRegression()

    def check(*labels):
        task.check_training(config, [LabelledText(str(label), None, label) for label in labels])

    check(0.0, 5.0, 9.5)
    check(-2.0, 1.0)
    assert not caplog.records
    check(35.0, 45.0, 55.0)
    assert "are 45 on average, from 35 to 55." in caplog.text and "(label - 45) / 8.165" in caplog.text
    caplog.clear()
    check(-250.0, 250.0)  # whose mean is 0
    assert len(caplog.records) == 1


def test_queries_stay_together_in_a_split(tmp_path):
    files, path = NumberFiles(), write_rows(tmp_path / "rows.jsonl", rows(8))
    examples = list(files.read_examples(path, DATASET))
    assert files.groups(examples) == [example.text for example in examples]
    assert len(set(files.groups([*examples, LabelledText("look", "at", 0.0)]))) > 4


def test_numbers_below_0_are_no_gains():
    pairs = [("a", "x", 1.0), ("a", "y", -1.0), ("a", "z", 0.0), ("b", "x", -1.0), ("b", "y", -2.0)]
    examples, scores = [LabelledText(*pair) for pair in pairs], [0.2, 0.9, 0.1, 0.5, 0.4]
    found = ranked_scores(examples, scores)
    assert found == ranked_scores(
        [row._replace(label=max(row.label, 0.0)) for row in examples[:3]], scores[:3]
    )
    assert found["ndcg_at_10"] == pytest.approx(1 / np.log2(3)) and found["mrr_at_10"] == 0.5


@pytest.mark.parametrize("activation", [None, "identity", "sigmoid"])
def test_the_loss_is_the_cross_entropy_of_the_output_before_its_activation(activation):
    """torch's BCEWithLogitsLoss, which sentence-transformers' BinaryCrossEntropyLoss calls."""
    logits, targets = np.float32([-90.0, -1.5, 0.0, 0.3, 40.0, 9.0]), np.float32([0, 1, 0.25, 0.5, 0, 1])
    task = SequenceRegression(activation=activation, **BINARY)
    outputs = {name: np.asarray(value) for name, value in task.outputs(logits[:, None]).items()}
    batch = {"input_ids": np.zeros((6, 3), np.int32), TARGET_FEATURE: targets}
    batch[EXAMPLE_WEIGHTS] = np.float32([1, 1, 1, 1, 1, 0])
    x, z = logits[:5].astype(np.float64), targets[:5].astype(np.float64)
    losses = z * np.log1p(np.exp(-x)) + (1 - z) * (x + np.log1p(np.exp(-x)))
    assert evaluate(task, outputs, batch)["loss"] == pytest.approx(losses.mean(), rel=1e-6)


def test_the_loss_follows_the_checkpoint_and_the_file():
    sigmoid, negatives = SequenceRegression(activation="sigmoid"), SequenceRegression(has_negatives=True)
    known = SequenceRegression(has_negatives=True).with_activation("identity")
    assert [task.activation for task in (sigmoid, negatives, known)] == ["sigmoid", "sigmoid", "identity"]
    batch = {"input_ids": np.zeros((1, 3), np.int32), TARGET_FEATURE: np.float32([0.5])}
    for task in (sigmoid, negatives, known):
        outputs = task.outputs(np.float32([[0.0]]))
        assert evaluate(task, outputs, batch)["loss"] == pytest.approx(math.log(2))
        assert type(task)(**task.get_config()).get_config() == task.get_config()
    plain = SequenceRegression(activation="sigmoid", loss="squared_error")
    assert evaluate(plain, plain.outputs(np.float32([[0.0]])), batch)["loss"] == 0.0
    with pytest.raises(ValueError, match="has the label 3; expected a number from 0 to 1"):
        sigmoid.check_examples([LabelledText("a", "b", 3.0)], 16)


def test_the_baseline_is_the_loss_of_the_mean():
    targets = np.float32([1, 0, 0, 0.5])
    for values in (targets, 0 * targets):
        mean = values.mean(dtype=np.float64)
        losses = [-z * math.log(mean or 1) - (1 - z) * math.log(1 - mean) for z in values]
        baseline = SequenceRegression(**BINARY).baseline([{TARGET_FEATURE: values}], None)
        assert baseline == {"baseline_loss": pytest.approx(np.mean(losses))}


def test_ranks_of_the_texts_of_each_query():
    """One query in three rows, with an equal text and two positives; one with grades; one without a gain."""
    examples = [
        LabelledText(*row)
        for row in [
            ("q", "a", 1.0), ("q", "b", 0.0), ("q", "c", 0.0), ("q", "d", 1.0), ("q", "a", 0.0),
            ("g", "a", 0.5), ("g", "b", 1.0), ("g", "c", 0.0),
            ("n", "a", 0.0), ("n", "b", 0.0),
        ]
    ]  # fmt: skip
    scores = [2.0, 3.0, 0.5, 1.0, 2.0, 9.0, 8.0, 7.0, 1.0, 2.0]
    first = (1 / math.log2(3) + 1 / math.log2(4)) / (1 + 1 / math.log2(3))
    second = (0.5 + 1 / math.log2(3)) / (1 + 0.5 / math.log2(3))
    expected = {"ndcg_at_10": (first + second) / 2, "mrr_at_10": (1 / 2 + 1) / 2, "accuracy_at_1": 1 / 2}
    assert ranked_scores(examples, scores) == pytest.approx(expected)
    alone = [LabelledText(f"alone {number}", "a", 1.0) for number in range(10)]
    assert ranked_scores([*examples, *alone[:9]], [*scores, *[1.0] * 9]) == pytest.approx(expected)
    assert ranked_scores([*examples, *alone], [*scores, *[1.0] * 10]) == {}
    assert ranked_scores(examples[-2:], scores[-2:]) == {}
    stars = [example._replace(label=1 + example.label) for example in examples]  # a scale without 0
    assert [*ranked_scores(stars, scores)] == ["ndcg_at_10"]
    with pytest.raises(ValueError, match="no query .* is such; set --override=best_metric=ndcg_at_10"):
        SequenceRegression(**BINARY).check_metric("mrr_at_10", stars)
    SequenceRegression(**BINARY).check_metric("ndcg_at_10", stars)


def test_queries_whose_texts_are_all_relevant_say_nothing():
    """Any order of theirs is right: they made the scores of every model better."""
    wrong = [LabelledText(query, text, gain) for query in "qr" for text, gain in (("a", 1.0), ("b", 0.0))]
    right = [LabelledText(str(query), text, 1.0) for query in range(8) for text in "ab"]
    scores = [1.0, 2.0] * 10
    expected = {"ndcg_at_10": 1 / math.log2(3), "mrr_at_10": 0.5, "accuracy_at_1": 0.0}
    assert ranked_scores([*wrong, *right], scores) == pytest.approx(expected)
    assert ranked_scores(right, scores[4:]) == {}
    with pytest.raises(ValueError, match="no query .* is such; set --override=best_metric=pearson"):
        SequenceRegression(**BINARY).check_metric("ndcg_at_10", right)

    grades = [LabelledText("g", text, gain) for text, gain in (("a", 0.5), ("b", 1.0))]  # both are relevant
    found = ranked_scores([*wrong, *right, *grades], [*scores, 2.0, 1.0])
    assert found["ndcg_at_10"] > expected["ndcg_at_10"] and found["mrr_at_10"] == 0.5


def test_a_metric_that_the_examples_do_not_give_is_refused_before_training(pretraining_run, tmp_path):
    """At the first evaluation a long training may be over, and another metric would be another run."""
    pairs = [
        {"text": word, "text_pair": f"the {word}", "label": index % 2} for index, word in enumerate(WORDS)
    ]
    file = write_rows(tmp_path / "pairs.jsonl", pairs)
    changes = {
        "dataset": DatasetConfig(text_pair="text_pair"),
        "task_settings": BINARY,
        "train_batch_size": 4,
    }
    config = tiny_finetuning_config(task="sequence_regression", best_metric="ndcg_at_10", **changes)
    with pytest.raises(ValueError, match="best_metric=ndcg_at_10 .* set --override=best_metric=pearson"):
        finetune(config, tmp_path / "run", file, file, init_checkpoint=pretraining_run.path)
    assert not (tmp_path / "run").exists()


@pytest.mark.long
def test_a_trained_one_ranks_and_is_written_with_its_activation(pretraining_run, tmp_path):
    _, metrics = trained(tmp_path, pretraining_run.path, num_train_epochs=30.0, best_metric="ndcg_at_10")
    assert metrics["ndcg_at_10"] > 0.8 and metrics["loss"] < metrics["baseline_loss"]
    assert RunDirectory(tmp_path / "run").details["task_config"]["activation"] == "sigmoid"
    write_checkpoint(read_checkpoint(tmp_path / "run"), tmp_path / "hf", "hugging_face")
    said = json.loads((tmp_path / "hf" / "config.json").read_text())["sentence_transformers"]
    assert said == {"activation_fn": "torch.nn.modules.activation.Sigmoid"}
    loaded, back = kbert.load(tmp_path / "run"), kbert.load(tmp_path / "hf")
    texts = ["the jump 0", "a walk", "the look 5"]
    for model in (loaded, back):
        found, raw = model.rank("jump", texts), model.rank("jump", texts, raw_scores=True)
        assert found[0]["text"] == "the jump 0"
        scores, logits = (np.array([row["score"] for row in answers]) for answers in (found, raw))
        np.testing.assert_allclose(scores, 1 / (1 + np.exp(-logits)), rtol=1e-5)
    scores, same = ([row["score"] for row in model.rank("jump", texts)] for model in (loaded, back))
    assert scores == pytest.approx(same, abs=1e-6)
    evaluated = loaded.evaluate(tmp_path / "rows.jsonl")
    assert {name: evaluated[name] for name in ("ndcg_at_10", "loss")} == pytest.approx(
        {name: metrics[name] for name in ("ndcg_at_10", "loss")}, abs=1e-5
    )


@pytest.mark.long
@pytest.mark.skipif(not GOLDEN.is_dir(), reason=f"{GOLDEN} is not here")
@pytest.mark.parametrize("activation", ["identity", "sigmoid"])
def test_training_goes_on_with_the_activation_of_a_folder(activation, tmp_path):
    source = GOLDEN / f"cross_encoder_{activation}"
    trained(tmp_path, source, num_train_epochs=1.0, max_seq_length=32, encoder=None)
    assert read_checkpoint(tmp_path / "run").known_task.task_config["activation"] == activation
    write_checkpoint(read_checkpoint(tmp_path / "run"), tmp_path / "hf", "hugging_face")
    config = json.loads((tmp_path / "hf" / "config.json").read_text())
    written = config["sentence_transformers"]["activation_fn"]
    assert written.endswith(activation.capitalize())
    assert config["sbert_ce_default_activation_function"] == written, "for sentence-transformers 3"
