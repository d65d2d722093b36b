"""What a run does with the options of fine-tuning, on the tiniest model."""

import dataclasses
import json
import unittest.mock
from types import SimpleNamespace

import numpy as np
import pytest

from kbert.checkpoints.formats import read_checkpoint, write_checkpoint
from kbert.config import DatasetConfig, FinetuningConfig, PretrainingConfig
from kbert.encoder import BertEncoder
from kbert.experiments.evaluation import evaluate
from kbert.experiments.evaluation_data import held_out_part, trained_runs, warn_of_training_data
from kbert.experiments.finetuning import finetune
from kbert.experiments.finetuning_data import FinetuningData, LabelledPaths, open_data
from kbert.experiments.finetuning_run import eval_every_steps
from kbert.experiments.init import Init
from kbert.experiments.labelled_file import LabelledFile
from kbert.experiments.start import Start
from kbert.experiments.trained_run import log_unread_settings
from kbert.files.whole_file import write_json
from kbert.input_pipelines.held_out_split import digest_examples, held_out_indices
from kbert.input_pipelines.repeated_rows import as_read
from kbert.runs.checkpoint import save_checkpoint
from kbert.runs.resume import require_same_run
from kbert.runs.run_directory import RunDirectory, trained_weights
from kbert.tasks import TASKS
from kbert.tasks.sequences.sequence_classification import SequenceClassification
from kbert.tasks.sequences.sequence_regression import SequenceRegression
from kbert.tokenization.vocabulary import Vocabulary
from kbert.training.phases import Phase, Plan
from tests.conftest import LABELS, tiny_encoder_config, tiny_finetuning_config
from tests.kbert.runs.written_run import written_run


@pytest.fixture(scope="module")
def split_run(pretraining_run, labelled_files, tmp_path_factory):
    """A run on one file, with balanced weights: (its `RunDirectory`, metrics, config)."""
    folder = tmp_path_factory.mktemp("options") / "run"
    settings = {"class_weights": "balanced", "label_smoothing": 0.1}
    dataset = DatasetConfig(text="sentence", label="label")
    config = tiny_finetuning_config(
        dev_split=0.2, num_train_epochs=0.5, task_settings=settings, dataset=dataset
    )
    _, metrics = finetune(config, folder, labelled_files[0], init_checkpoint=pretraining_run.path)
    return RunDirectory(folder), metrics, config


@pytest.mark.long
def test_a_run_on_one_file_is_evaluated_on_its_held_out_part(split_run, labelled_files, tmp_path, caplog):
    run, metrics, _ = split_run
    assert sum(map(sum, metrics["confusion"])) == run.details["held_out"]["num_examples"] == 8
    assert run.details["num_train_examples"] == 32
    assert [sum(row) for row in metrics["confusion"]] == [4, 4]
    _, alone = evaluate(run, labelled_files[0], split="dev")
    assert alone["num_examples"] == 8 and "trained on" not in caplog.text
    evaluate(run, labelled_files[0])
    assert "32 of its 40 examples were trained on" in caplog.text and "split=dev" in caplog.text
    for name in ("loss", "accuracy", "baseline_accuracy"):  # the loss of evaluation has no weights
        assert metrics[name] == pytest.approx(alone[name], abs=1e-6), name
    header, *lines = labelled_files[0].read_text().splitlines(keepends=True)
    shuffled = tmp_path / "other_order.tsv"
    shuffled.write_text("".join([header, *lines[::-1]]))
    _, again = evaluate(run, shuffled, split="dev")
    assert again["loss"] == pytest.approx(alone["loss"], abs=1e-6)
    changed = tmp_path / "changed.tsv"
    changed.write_text("".join([header, *lines[: len(lines) // 2]]))
    with pytest.raises(ValueError, match="the 8 examples that were held out cannot be found again"):
        evaluate(run, changed, split="dev")


@pytest.mark.parametrize(
    ("config", "unread"),
    [
        (FinetuningConfig(), []),
        (
            FinetuningConfig(best_metric="f1", eval_every_epochs=0.5),
            ["best_metric='f1'", "eval_every_epochs=0.5"],
        ),
        (PretrainingConfig(eval_every_steps=7, max_eval_steps=3), ["eval_every_steps=7", "max_eval_steps=3"]),
    ],
    ids=str,
)
def test_settings_of_evaluations_without_data_for_them_are_named(config, unread, caplog):
    log_unread_settings(config, "dev_file")
    assert [record.getMessage() for record in caplog.records] == [
        f"nothing reads {', '.join(unread)}: there are no data to evaluate on (dev_file)"
    ] * bool(unread)


@pytest.mark.long
def test_the_same_command_again_finds_the_same_split(split_run, pretraining_run, labelled_files):
    run, metrics, config = split_run
    _, again = finetune(config, run.path, labelled_files[0], init_checkpoint=pretraining_run.path)
    assert again["loss"] == pytest.approx(metrics["loss"], abs=1e-6)
    other = dataclasses.replace(config, dev_split_seed=1)
    with pytest.raises(ValueError, match=r"it differs in dev_split_seed .was 0, now 1."):
        finetune(other, run.path, labelled_files[0], init_checkpoint=pretraining_run.path)


def test_at_most_so_many_examples_are_spread_by_label(labelled_files):
    data = LabelledFile(labelled_files[0], SequenceClassification.files, tiny_finetuning_config().dataset)
    few = data.at_most(10, seed=0)
    (counts, number), (all_counts, _) = few.count_labels(), data.count_labels()
    assert number == few.num_examples == 10 and few.fingerprint != data.fingerprint
    assert all(abs(counts[label] - all_counts[label] / 4) <= 2 for label in all_counts)
    rows = iter(data.examples)
    assert all(one in rows for one in few.examples), "in the order of the file"
    assert data.at_most(10, seed=1).examples != few.examples == data.at_most(10, seed=0).examples
    assert data.at_most(40, seed=0) is data
    assert few.whole is few and data.split(0.2, 0)[1].whole is data, "the others leave the memory"


def test_nearly_all_examples_are_as_many_as_the_config_says(tmp_path):
    """One of each label stayed behind, as for an evaluation, and so did each label of one example."""
    labels = ["a"] * 30 + ["b"] * 10 + [f"rare{number}" for number in range(20)]
    rows = "".join(f"text {number}\t{label}\n" for number, label in enumerate(labels))
    (tmp_path / "train.tsv").write_text(f"text\tlabel\n{rows}")
    data = LabelledFile(tmp_path / "train.tsv", SequenceClassification.files, DatasetConfig())
    assert [data.at_most(number, seed=0).num_examples for number in (59, 50, 30)] == [59, 50, 30]
    (tmp_path / "train.tsv").write_text("text\tlabel\n" + "one\ta\n" * 50 + "other\tb\n" * 5)
    data = LabelledFile(tmp_path / "train.tsv", SequenceClassification.files, DatasetConfig())
    assert data.at_most(22, seed=0).count_labels() == ({"a": 20, "b": 2}, 22), "equal texts may be cut apart"


def test_copies_in_other_capitals_and_blanks_stay_together(tmp_path):
    """An uncased model reads the same ids; 18 of 20 held-out texts had such a copy among those trained on."""
    texts = [f"Text {number}" for number in range(50)]
    copies = [text.upper().replace(" ", "  ") for text in texts[:25]] + [f"{text} " for text in texts[25:]]
    sides, files = [], SequenceClassification.files
    for column in (texts, texts + copies):
        path = tmp_path / f"{len(column)}.csv"
        path.write_text(
            "text,label\n" + "".join(f"{text},{number % 2}\n" for number, text in enumerate(column))
        )
        sides.append(LabelledFile(path, files, DatasetConfig()).split(0.2, seed=1))
    for train, dev in sides:
        read, held_out = ({as_read(example.text) for example in side.examples} for side in (train, dev))
        assert len(held_out) == 10 and not read & held_out
    whole, (_, dev) = [*sides[0][0].examples, *sides[0][1].examples], sides[0]
    chosen = held_out_indices(files.groups(whole), files.strata(whole), 0.2, 1)
    assert {whole[place] for place in chosen} == {*dev.examples}, "without copies as ever"


@pytest.mark.parametrize(
    "task", ["cosine_similarity", "multiple_negatives_ranking", "sequence_classification"]
)
def test_two_texts_in_both_orders_stay_together(task, tmp_path):
    """Files of pairs in both orders are usual: 36 of 40 held-out rows were trained on in the other one."""
    pairs, sides = [(f"text {number}", f"other {number}") for number in range(100)], []
    pairs += [("text 7", "third")]  # by its query in the group of the pair and its other order
    label = {} if task == "multiple_negatives_ranking" else {"label": 1}
    dataset = DatasetConfig(text_pair="text_pair")
    for rows in (pairs, pairs + [(second.upper(), first) for first, second in pairs]):
        path = tmp_path / f"{len(rows)}.jsonl"
        lines = (json.dumps({"text": first, "text_pair": second} | label) for first, second in rows)
        path.write_text("\n".join(lines))
        data = LabelledFile(path, TASKS[task].files, dataset)
        texts = data._files.texts
        for share in data.split(0.2, seed=1):
            sides.append({frozenset(map(str.casefold, texts(example))) for example in share.examples})
    assert sides[1] and sides[3] and not sides[2] & sides[3]
    exact = data._files.groups(data.examples[:101])
    held_out = held_out_indices(exact, data._files.strata(data.examples[:101]), 0.2, 1)
    assert {frozenset(pairs[place]) for place in held_out} == sides[1], "without the other order as ever"


def test_a_run_of_a_kbert_that_compared_texts_exactly_keeps_what_it_held_out(tmp_path, caplog):
    """It was not resumed, and --split=dev refused the file that it had been trained on."""
    path, files = tmp_path / "train.csv", SequenceClassification.files
    rows = [f"{text} {number},{number % 2}" for number in range(30) for text in ("Great", "great")]
    path.write_text("\n".join(["text,label", *rows]))
    config = tiny_finetuning_config(dev_split=0.2, dataset=DatasetConfig(), encoder=tiny_encoder_config())
    now, whole = open_data(config, LabelledPaths(path)), LabelledFile(path, files, DatasetConfig())
    chosen = held_out_indices(files.groups(whole.examples), files.strata(whole.examples), 0.2, 0)
    parts = [], []
    for place, example in enumerate(whole.examples):
        parts[place in chosen].append(example)
    before = FinetuningData(whole._part(parts[0]), {"": whole._part(parts[1])}, now.dataset)
    assert before.details(config)["held_out"] != now.details(config)["held_out"]
    task = TASKS.to_record(SequenceClassification(("0", "1"))) | {"max_seq_length": config.max_seq_length}
    vocabulary = Vocabulary(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], do_lower_case=True)
    for name, data in (("now", now), ("before", before)):
        details = task | data.details(config)
        run = RunDirectory.create_or_resume(tmp_path / name, config, details, vocabulary)
        again = open_data(config, LabelledPaths(path), run.path)
        assert again.details(config) == data.details(config)
        require_same_run(run, config, run.details | again.details(config))
        assert held_out_part(run, whole).examples == data.dev[""].examples
        caplog.clear()
        warn_of_training_data([run], whole)
        assert "split=dev takes those that were held out" in caplog.text
    path.write_text("\n".join(["text,label", *rows[:-2], "more,1", "others,0"]))
    other = open_data(config, LabelledPaths(path), run.path)
    with pytest.raises(ValueError, match="was trained on other data: the content of its training data"):
        require_same_run(run, config, run.details | other.details(config))


def test_what_the_weights_were_trained_on_is_known_after_a_conversion_and_in_the_next_run(
    labelled_files, vocabulary, tmp_path, caplog
):
    """Examples that the run before was trained on were held out, with scores near 1 and without a word."""
    file, other = labelled_files
    task, config = SequenceClassification(LABELS), tiny_finetuning_config(dev_split=0.2)
    data = open_data(config, LabelledPaths(file))
    model = task.build_model(BertEncoder(tiny_encoder_config()))
    run = written_run(tmp_path / "a", task, model, vocabulary, dev_split=0.2)
    write_json(run.details | data.details(config), run.path / "run.json")
    write_checkpoint(read_checkpoint(run.path), tmp_path / "copy", "kbert")

    def said(runs, data):
        caplog.clear()
        warn_of_training_data(runs, data)
        return caplog.messages

    for name in ("a", "copy"):
        start = Start(config, Init(tmp_path / name), tmp_path / "b", task)
        again = dataclasses.replace(config, dev_split_seed=1)
        for paths, changed in (
            (LabelledPaths(file), config),
            (LabelledPaths(file, other), tiny_finetuning_config()),
        ):
            assert not said(start.runs, open_data(changed, paths).dev[""])
        for paths, changed in (
            (LabelledPaths(file), again),
            (LabelledPaths(other, file), tiny_finetuning_config()),
        ):
            (line,) = said(start.runs, open_data(changed, paths).dev[""])
            assert f"{file} holds the training data of {tmp_path / name}, and 32 of its 40 examples" in line
        details = TASKS.to_record(task) | start.details
        after = RunDirectory.create_or_resume(
            tmp_path / f"after_{name}", tiny_finetuning_config(), details, vocabulary
        )
        assert said(trained_runs(after.path), LabelledFile(file, task.files, config.dataset))
        assert not Start(config, Init(tmp_path / name, from_scratch=True), tmp_path / "b", task).runs
    save_checkpoint(RunDirectory(tmp_path / "copy").checkpoints, 1, trained_weights(model), {}, {}, keep=1)
    assert [run.path for run in trained_runs(after.path)] == [after.path], (
        "what lies there now is another model"
    )


def test_the_number_of_training_examples_is_that_of_the_config(labelled_files, caplog, monkeypatch):
    caplog.set_level("INFO", logger="absl")
    config = tiny_finetuning_config(max_train_examples=16, dev_split=0.2)
    data = open_data(config, LabelledPaths(labelled_files[0]))
    train, dev = data.train, data.dev
    assert train.num_examples <= 16 and dev[""].num_examples == 8
    assert "dev_split=0.2: 16 examples for training (label loud: 8, label quiet: 8)" in caplog.text
    held_out = {str(one) for one in dev[""].examples}
    assert not held_out & {str(one) for one in train.examples}
    drawn = open_data(tiny_finetuning_config(max_train_examples=16), LabelledPaths(labelled_files[0])).train
    whole = LabelledFile(labelled_files[0], SequenceClassification.files, config.dataset)
    held = {"num_examples": 8, "digest": dev[""].digest}
    digested = []
    digest = lambda examples: digested.append(len(examples)) or digest_examples(examples)  # noqa: E731
    monkeypatch.setattr("kbert.experiments.labelled_file.digest_examples", digest)
    for part, others in ((train, {"held_out": held}), (drawn, {})):
        caplog.clear()
        details = {"num_train_examples": part.num_examples, "data": {"train": part.fingerprint}} | others
        warn_of_training_data([SimpleNamespace(path="run", config=config, details=details)], whole)
        assert f"{part.num_examples} of its 40 examples were trained on" in caplog.text
        assert ("split=dev" in caplog.text) == bool(others)
    assert 40 not in digested, "of other numbers of examples no digest is taken"


def test_only_rows_that_are_drawn_are_trained_on(tmp_path, caplog):
    rows = [f"{number}\tx\n" for number in range(100)]
    for name, part in (("train.tsv", rows), ("dev.tsv", rows[:50])):
        (tmp_path / name).write_text("text\tlabel\n" + "".join(part))
    paths = LabelledPaths(tmp_path / "train.tsv", tmp_path / "dev.tsv")
    for number, shared in ((None, 50), (20, None)):
        caplog.clear()
        data = open_data(tiny_finetuning_config(max_train_examples=number, dataset=DatasetConfig()), paths)
        both = {*data.train.examples} & {*data.dev[""].examples}
        assert f"{len(both)} of 50 examples for evaluation are also training examples" in caplog.text
        assert len(both) == shared or 5 < len(both) < 20


def test_a_split_that_large_groups_leave_too_small_is_said_by_the_training_alone(tmp_path, caplog):
    """An evaluation on another file split it, and warned of its groups."""
    header, large = "text\tlabel\n", "same\tx\n" * 30
    (tmp_path / "train.tsv").write_text(header + large + "one\tx\nother\tx\n")
    config = tiny_finetuning_config(dev_split=0.2, dataset=DatasetConfig())
    data = open_data(config, LabelledPaths(tmp_path / "train.tsv"))
    assert "dev_split=0.2 holds out only 2 of 32 examples: those of equal texts" in caplog.text
    run = SimpleNamespace(path="run", config=config, details=data.details(config))
    (tmp_path / "test.tsv").write_text(header + large + "one\tx\n")
    caplog.clear()
    other, trained = (
        LabelledFile(tmp_path / name, SequenceClassification.files, DatasetConfig())
        for name in ("test.tsv", "train.tsv")
    )
    with unittest.mock.patch.object(LabelledFile, "split", side_effect=AssertionError("another number")):
        warn_of_training_data([run], other)
    assert not caplog.text
    warn_of_training_data([run], trained)
    assert "30 of its 32 examples were trained on" in caplog.text and "holds out" not in caplog.text


@pytest.mark.parametrize("dev_labels", ["cab", "c"])
def test_labels_have_the_numbers_of_the_training_file_whatever_the_order(tmp_path, dev_labels):
    paths = []
    for labels in ("bac", dev_labels):
        paths.append(tmp_path / f"{len(paths)}.tsv")
        paths[-1].write_text("text\tlabel\n" + "".join(f"jump {one}\t{one}\n" for one in labels))
    config = tiny_finetuning_config(dataset=DatasetConfig())
    data = open_data(config, LabelledPaths(*paths))
    dev, dataset = data.dev, data.dataset
    assert data.train.dataset.labels == dev[""].dataset.labels == dataset.labels == ("a", "b", "c")
    ids = SequenceClassification.from_dataset(dataset, None).label_features(dev[""].examples)["label_ids"]
    assert ids.tolist() == ["abc".index(one) for one in dev_labels]


def test_the_topmost_layers_begin_anew_and_the_others_are_those_of_the_checkpoint(pretraining_run, tmp_path):
    config = tiny_finetuning_config(reinit_layers=1, reinit_pooler=True)
    task = SequenceClassification(LABELS)
    start = Start(config, Init(pretraining_run.path), tmp_path / "run", task)
    model = task.build_model(BertEncoder(start.encoder))
    fresh = {name: variable.numpy() for name, variable in trained_weights(model).items()}
    start.set_weights(model)
    there = trained_weights(pretraining_run.load_checkpoint()[2])
    for name, variable in trained_weights(model).items():
        anew = name.split("/")[0] in ("layer_0", "pooler", "classification")  # the tiny model has one layer
        expected = fresh[name] if anew else there[name].numpy()
        np.testing.assert_array_equal(variable.numpy(), expected, err_msg=name)


def test_the_activation_of_sparse_vectors_makes_no_score(vocabulary, tmp_path):
    """`activation` is a word of regression, and another one of SPLADE: a run of it starts any task."""
    sparse = TASKS["sparse_embedding"]().with_pooling(None)
    assert sparse.get_config()["activation"] or sparse.pooling.activation
    splade = written_run(
        tmp_path / "splade", sparse, sparse.build_model(BertEncoder(tiny_encoder_config())), vocabulary
    )
    scored = SequenceRegression(activation="sigmoid")
    scorer = written_run(
        tmp_path / "scorer", scored, scored.build_model(BertEncoder(tiny_encoder_config())), vocabulary
    )
    config = tiny_finetuning_config(task="sequence_regression")
    for run, expected in ((splade, None), (scorer, "sigmoid")):
        for start in (
            Start(config, Init(run.path), tmp_path / "run", SequenceRegression()),
            Start(config, Init(None), run.path, SequenceRegression()),  # which goes on
        ):
            assert start.activation == expected
            assert SequenceRegression().with_activation(start.activation).activation == expected
    data = {"sentence": ["a", "b"] * 4, "label": ["0", "1"] * 4}
    config = dataclasses.replace(scorer.config, dataset=DatasetConfig(text="sentence"))
    changes = {"fingerprint": vocabulary.tokens[::-1], "do_lower_case": vocabulary.tokens}
    for name, tokens in changes.items():  # a run from random weights goes on with its own vocabulary
        other = Vocabulary(tokens, do_lower_case=name == "fingerprint")
        with pytest.raises(ValueError, match=rf"holds another run; .* vocabulary\.{name} \(was "):
            finetune(config, scorer.path, data, vocabulary=other)


@pytest.mark.parametrize(
    ("num_examples", "batch_size"), [(566, 16), (100, 1), (560, 16), (1000, 32), (30, 1), (100, 32)]
)
def test_there_are_as_many_evaluations_as_epochs_ask_for_with_the_last_at_the_end(num_examples, batch_size):
    for every in (0.1, 0.5, 1.0):
        config = tiny_finetuning_config(
            eval_every_epochs=every, train_batch_size=batch_size, num_train_epochs=2.0
        )
        steps = int(num_examples / batch_size * config.num_train_epochs)
        plan = Plan((Phase(config, steps, 0, None),), eval_every_steps(config, num_examples))
        ends, last_but_one = [0], steps - plan.eval_every_steps / 2
        while (end := plan.next_evaluation(ends[-1])) <= last_but_one:
            ends.append(end)
        assert ends == sorted({*ends})
        evaluations = len([*ends[1:], steps])
        assert evaluations == min(steps, round(config.num_train_epochs / every))
