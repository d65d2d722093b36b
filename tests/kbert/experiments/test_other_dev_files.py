"""Several development files in one run, and what a run says that learnt nothing."""

import dataclasses

import numpy as np
import pytest

from kbert.config import FinetuningConfig, FrozenConfig, LoraConfig, OptimizerConfig
from kbert.experiments import finetuning_data
from kbert.experiments.baselines import no_better_than_constant
from kbert.experiments.evaluation import evaluate
from kbert.experiments.finetuning import finetune
from kbert.experiments.finetuning_checks import require_trainable, unread_windows, what_to_try
from kbert.experiments.finished_run import describe_run, finished_metrics, write_result
from kbert.runs.metrics_file import read_metrics
from kbert.runs.run_directory import RunDirectory
from tests.conftest import tiny_encoder_config, tiny_finetuning_config, write_labelled_file


@pytest.fixture(scope="module")
def run_on_two(pretraining_run, labelled_files, tmp_path_factory):
    """A run evaluated on two files: its folder, metrics, and the second file."""
    folder = tmp_path_factory.mktemp("two_files")
    other = write_labelled_file(folder / "other.tsv", 9, seed=8)
    config = tiny_finetuning_config(eval_every_epochs=1.0)
    _, metrics = finetune(
        config, folder / "run", *labelled_files, pretraining_run.path, other_dev_files={"mismatched": other}
    )
    return RunDirectory(folder / "run"), metrics, other


@pytest.mark.long
def test_every_evaluation_records_both_and_the_first_chooses(run_on_two):
    run, metrics, other = run_on_two
    _, alone = evaluate(run, other, batch_size=5)
    assert metrics["mismatched_loss"] == pytest.approx(alone["loss"], abs=1e-5)
    assert metrics["mismatched_confusion"] == alone["confusion"]
    lines = [line for line in read_metrics(run.metrics_file) if line["split"] == "eval"]
    assert [line["step"] for line in lines] == [5, 10]
    assert all({"accuracy", "mismatched_accuracy"} <= line.keys() for line in lines)
    best = max(lines, key=lambda line: (line["accuracy"], -line["step"]))
    assert run.checkpoint("best").name == f"step-{best['step']:08d}"


def test_epochs_that_end_before_all_windows_were_read_are_said():
    """Epochs count questions: 1,000 of 31 windows each are read .06 times in two epochs."""
    config = FinetuningConfig(num_train_epochs=2)
    sentence = unread_windows(config, 1_000, 31_000)
    assert "num_train_epochs=2 reads a window 0.065 times, num_train_epochs=31 each once." in sentence
    in_time = OptimizerConfig(decay="budget", train_minutes=0.5)
    assert unread_windows(config, 1_000, 2_000) is None
    for epochs, rows in ((0.5, 1_000), (1, 1_001), (1, 1_030)):  # no windows, a long text, SQuAD's
        assert unread_windows(FinetuningConfig(num_train_epochs=epochs), 1_000, rows) is None
    assert unread_windows(dataclasses.replace(config, optimizer=in_time), 1_000, 31_000) is None


def test_better_than_constant_is_asked_of_every_metric_with_a_baseline():
    def higher(name):
        return not name.endswith("loss")

    good = {"accuracy": 0.8, "baseline_accuracy": 0.5, "loss": 0.1, "baseline_loss": 0.2, "f1": 0.0}
    assert no_better_than_constant(good, higher) == []
    assert len(no_better_than_constant(good | {"accuracy": 0.5}, higher)) == 1
    (sentence,) = no_better_than_constant(good | {"loss": 0.2}, higher)
    assert "loss 0.2, the best constant answer 0.2" in sentence and "class_weights" not in sentence
    (sentence,) = no_better_than_constant(good | {"loss": 0.2}, higher, class_weights=True)
    assert sentence.endswith(
        "a smaller learning rate, or for rare labels task_settings.class_weights=balanced."
    )
    (sentence,) = no_better_than_constant({"loss": 2025.0, "baseline_loss": 99.0}, higher)
    assert "where labels are far from 0, (label - mean) / deviation" in sentence
    few = what_to_try(FinetuningConfig(num_train_epochs=3), 93)
    assert few == "more epochs (num_train_epochs=3 make 93 steps)"
    stopped = FinetuningConfig(early_stopping_patience=2, eval_every_steps=5)
    patience = "more patience (early_stopping_patience=2) if it stopped early, else more epochs ("
    assert what_to_try(stopped, 93).startswith(patience)
    in_time = FinetuningConfig(optimizer=OptimizerConfig(decay="budget", train_minutes=0.5))
    assert what_to_try(in_time, 93) == "more time (optimizer.train_minutes=0.5)"
    assert "another seed" in what_to_try(FinetuningConfig(num_train_epochs=3), 2_000)
    # The rates of a whole encoder are too small for what lies beside or above it.
    encoder = tiny_encoder_config(num_hidden_layers=2)
    all_frozen, one_frozen = (FrozenConfig(embeddings=True, layers=layers) for layers in (2, 1))
    for part in ({"lora": LoraConfig()}, {"freeze_encoder": True}, {"frozen": all_frozen}):
        for rate, advice in ((2e-5, "a larger learning rate"), (5e-4, "another seed")):
            optimizer = OptimizerConfig(learning_rate=rate)
            config = FinetuningConfig(encoder=encoder, optimizer=optimizer, **part)
            assert what_to_try(config, 2_000).startswith(advice), part
    slow = OptimizerConfig(learning_rate=2e-5)
    partly = FinetuningConfig(encoder=encoder, optimizer=slow, frozen=one_frozen)
    assert what_to_try(partly, 2_000).startswith("another seed")
    # Labels that are all the same: nothing is better than anything.
    nothing = {"pearson": float("nan"), "baseline_pearson": float("nan")}
    assert no_better_than_constant(good | nothing, higher) == []
    # A run that always gives the most frequent label: 140 of 204 right, as evaluation has it in float32.
    always = {"accuracy": float(np.float32(140) / np.float32(204)), "baseline_accuracy": 140 / 204}
    assert always["accuracy"] > always["baseline_accuracy"]
    assert len(no_better_than_constant(always, higher)) == 1
    assert no_better_than_constant(always | {"accuracy": 141 / 204}, higher) == []
    assert no_better_than_constant({"accuracy": 0.5 + 1e-6, "baseline_accuracy": 0.5}, higher) == []
    other = {"mismatched_accuracy": float("nan"), "mismatched_baseline_accuracy": 0.4}
    assert len(no_better_than_constant(good | other, higher)) == 1


@pytest.mark.parametrize("path", ["", None])
def test_a_name_without_a_file_is_refused(labelled_files, path):
    with pytest.raises(ValueError, match="the development file 'mismatched' has no path; give one"):
        finetune(tiny_finetuning_config(), "run", labelled_files[0], other_dev_files={"mismatched": path})


@pytest.mark.slow
def test_a_file_whose_metrics_would_replace_others_is_refused_before_training(
    pretraining_run, labelled_files, tmp_path, monkeypatch
):
    """As those of a task of one's own may; here a classifier of two labels, with f1 and best_f1."""
    monkeypatch.setattr(finetuning_data, "_METRIC_WORDS", set())
    with pytest.raises(ValueError, match=r"^other_dev_files: the f1 of 'best' would be called best_f1,"):
        finetune(
            tiny_finetuning_config(),
            tmp_path / "run",
            *labelled_files,
            pretraining_run.path,
            other_dev_files={"best": labelled_files[1]},
        )
    assert not (tmp_path / "run" / "metrics.jsonl").exists()


@pytest.mark.parametrize("name", ["old_baseline", "baseline", "best", "chosen", "x_best", "the_chosen_few"])
def test_names_with_words_of_metrics_are_refused(labelled_files, name):
    """`old_baseline_accuracy` is what a constant answer scores on `old`; `best_accuracy` is a metric."""
    train, dev = labelled_files
    with pytest.raises(ValueError, match=f"{name}'.* without the words of metrics baseline, best, chosen"):
        finetuning_data.LabelledPaths(train, dev, other_dev_files={name: dev})
    finetuning_data.LabelledPaths(train, dev, other_dev_files={"bestseller": dev})


def test_what_a_run_is_evaluated_on_has_names(labelled_files, tmp_path):
    """Else files that changed places would go on, each with the scores of the other."""
    train, dev = labelled_files
    others = [write_labelled_file(tmp_path / f"{number}.tsv", 5, seed=number) for number in (1, 2)]
    config = tiny_finetuning_config()

    def evaluated(**named):
        paths = finetuning_data.LabelledPaths(train, dev, other_dev_files=named)
        return finetuning_data.open_data(config, paths).details(config)["data"]["eval"]

    known = {tuple(evaluated(a=others[0], b=others[1]).split("+"))}
    for changed in ({"a": others[1], "b": others[0]}, {"a": others[0], "c": others[1]}, {"a": others[0]}):
        known.add(tuple(evaluated(**changed).split("+")))
    assert len(known) == 4 and len({names[0] for names in known}) == 1


@pytest.mark.parametrize("dev_split", [None, 0.25])
def test_every_file_is_compared_with_what_is_trained_on(labelled_files, dev_split, caplog):
    train, dev = labelled_files
    config = tiny_finetuning_config(dev_split=dev_split)
    paths = finetuning_data.LabelledPaths(
        train, None if dev_split else dev, other_dev_files={"dev": dev, "web": train}
    )
    finetuning_data.open_data(config, paths)
    (said,) = [line for line in caplog.messages if "examples for evaluation are also training" in line]
    assert said.startswith(f"{train}: {30 if dev_split else 40} of 40 examples")


def test_a_finished_run_is_known_by_all_that_was_asked(labelled_files, tmp_path):
    train, dev = labelled_files
    config, arguments = tiny_finetuning_config(), {"train_file": train, "dev_file": dev}
    asked, metrics = describe_run(config, arguments), {"accuracy": 0.1 + 0.2, "pearson": float("nan")}
    assert finished_metrics(tmp_path, asked) is None
    (tmp_path / "checkpoints" / "step-00000001").mkdir(parents=True)
    write_result(tmp_path, asked, metrics)
    assert repr(finished_metrics(tmp_path, asked)) == repr(metrics)
    other = write_labelled_file(tmp_path / "other.tsv", 3)
    for changed in (
        describe_run(tiny_finetuning_config(seed=5), arguments),
        describe_run(config, arguments | {"dev_file": other}),
        describe_run(config, arguments | {"other_dev_files": {"other": other}}),
        describe_run(config, arguments | {"init_checkpoint": "elsewhere"}),
    ):
        assert finished_metrics(tmp_path, changed) is None
    (tmp_path / "result.json").write_text("{")
    assert finished_metrics(tmp_path, asked) is None


@pytest.mark.parametrize("dev_split", [None, 0.5])
def test_a_file_beside_a_held_out_part_is_evaluated_too(labelled_files, dev_split):
    config = tiny_finetuning_config(dev_split=dev_split)
    paths = finetuning_data.LabelledPaths(labelled_files[0], other_dev_files={"other": labelled_files[1]})
    if dev_split:
        require_trainable(config, paths)
    else:
        with pytest.raises(ValueError, match="other_dev_files need dev_file, dev_dir or dev_split"):
            require_trainable(config, paths)
