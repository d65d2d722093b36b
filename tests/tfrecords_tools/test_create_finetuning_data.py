"""Fine-tuning records: the very numbers of live text, whole or not there, and what training makes of them."""

import dataclasses
import json
import re
from types import SimpleNamespace

import numpy as np
import pytest

from kbert.checkpoints.hugging_face.tokenizer import write_tokenizer
from kbert.config import DatasetConfig, FinetuningConfig, load_config, to_dict
from kbert.experiments.evaluation_data import evaluation_data
from kbert.experiments.finetuning import finetune
from kbert.experiments.finetuning_data import LabelledPaths, open_data
from kbert.features import EXAMPLE_WEIGHTS
from kbert.input_pipelines import source_rows, text_reader
from kbert.input_pipelines.batches import evaluation_batches
from kbert.input_pipelines.epochs import Share
from kbert.input_pipelines.labelled_files import read_rows
from kbert.input_pipelines.records.record_folders import LabelledRecords
from kbert.manifest import read_manifest
from kbert.runs.metrics_file import read_metrics
from kbert.runs.run_directory import RunDirectory
from kbert.tasks import TASKS
from kbert.tokenization.text_inputs import TextInputs
from kbert.tokenization.vocabulary import Vocabulary
from tests import warm_processes
from tests.conftest import MAX_SEQ_LENGTH, tiny_encoder_config, tiny_finetuning_config, write_labelled_file
from tests.kbert.experiments.small_rows import dataset_of, make_rows, write_rows, write_scored
from tests.kbert.tokenization.small_vocabularies import bpe_vocabulary
from tests.places import REPOSITORY, SHARED_DATA
from tests.tfrecords_tools import small_corpus
from tfrecords_tools import create_finetuning_data as script
from tfrecords_tools.create_finetuning_data import create_finetuning_data, summary
from tfrecords_tools.records.stored_records import read_records

PAIRS = DatasetConfig(text="sentence", text_pair="other", label="label", labels=("quiet", "loud"))


@pytest.fixture
def make(tmp_path):
    """Writes records of a labelled file with the small vocabulary; returns their folder."""
    small_corpus.vocabulary().write(tmp_path / "vocab.txt")

    def make(input_file, name="records", config=None, **settings):
        config_file = tmp_path / "config.json"
        config_file.write_text(json.dumps(to_dict(config or tiny_finetuning_config())))
        settings = {"vocab_file": tmp_path / "vocab.txt"} | settings
        create_finetuning_data(config_file, input_file, tmp_path / name, **settings)
        return tmp_path / name

    return make


def all_features(directory):
    records = list(read_records(directory, read_manifest(directory)))
    return {name: np.stack([record[name] for record in records]) for name in records[0]}


def shard_bytes(directory):
    return [(directory / shard.file).read_bytes() for shard in read_manifest(directory).shards]


def require_equal(received, expected):
    assert received.keys() == expected.keys()
    for name, values in expected.items():
        np.testing.assert_array_equal(received[name], values)


# ------------------------------------------------------------------------------ the real files


def shared(path):
    if not (SHARED_DATA / path).is_file():
        pytest.skip(f"{SHARED_DATA / path} is not there")
    return SHARED_DATA / path


@pytest.mark.parametrize(
    ("name", "path", "casing"), [("cola", "cola/dev.tsv", "cased"), ("mrpc", "mrpc/dev.tsv", "uncased")]
)
def test_records_read_back_are_the_features_of_live_text(tmp_path, name, path, casing):
    config = REPOSITORY / "configs" / "finetuning" / f"{name}.toml"
    vocab_file, lower = shared(f"vocab/bert_{casing}/vocab.txt"), casing == "uncased"
    create_finetuning_data(
        config, shared(path), tmp_path / "out", vocab_file=vocab_file, do_lower_case=lower, max_seq_length=48
    )
    dataset = load_config(FinetuningConfig, config).dataset
    rows = read_rows(shared(path), dataset)
    live = text_reader.tokenize_rows(rows, TextInputs(Vocabulary.from_file(vocab_file, lower), 48))
    live["label_ids"] = np.array([dataset.labels.index(row.label) for row in rows])
    require_equal(all_features(tmp_path / "out"), live)
    assert read_manifest(tmp_path / "out").vocabulary["do_lower_case"] is lower


# ------------------------------------------------------------------------------ what is written


def test_what_is_cut_is_said_once_of_all_parts(make, tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(script, "_CHARACTERS_AT_ONCE", 100)
    monkeypatch.setattr(script, "_LEAST_CHARACTERS_OF_ROW", 1)
    path = write_labelled_file(tmp_path / "train.tsv", 30)
    with caplog.at_level("INFO", logger="absl"):
        make(path, config=tiny_finetuning_config(max_seq_length=5))
    (said,) = [message for message in caplog.messages if "are longer than max_seq_length=5" in message]
    assert re.match(r"\d\d of 30 texts \(", said)


def test_the_manifest_says_what_the_records_are(make, labelled_files, tmp_path):
    manifest = read_manifest(make(labelled_files[0], num_shards=3))
    assert manifest.kind == "sequence_classification" and manifest.num_examples == 40
    assert [shard.num_examples for shard in manifest.shards] == [14, 13, 13]
    assert manifest.vocabulary == small_corpus.vocabulary().describe()
    assert manifest.settings["dataset"] == to_dict(tiny_finetuning_config().dataset)
    assert manifest.settings["input_file"] == str(labelled_files[0])
    assert manifest.settings["max_seq_length"] == MAX_SEQ_LENGTH
    assert manifest.statistics["labels"] == {"quiet": 20, "loud": 20}
    names = {path.name for path in (tmp_path / "records").iterdir()}
    assert {"statistics.json", "statistics.html", "manifest.json", "vocab.txt"} <= names and len(names) == 7


def test_a_positive_label_of_three_is_refused(make, tmp_path):
    """The labels that nobody lists are known once the file has been read."""
    path = tmp_path / "three.tsv"
    path.write_text(
        "text\tlabel\n" + "".join(f"jump {name}\t{name}\n" for name in "abc" * 3), encoding="utf-8"
    )
    dataset = DatasetConfig(positive_label="b")
    with pytest.raises(ValueError, match="would not read dataset.positive_label"):
        make(path, config=tiny_finetuning_config(dataset=dataset))
    assert not (tmp_path / "records").exists()


def test_lengths_are_those_of_the_sequences_where_an_example_has_several(make, tmp_path):
    path = write_rows(tmp_path / "choices.jsonl", make_rows("multiple_choice", 4))
    config = tiny_finetuning_config(task="multiple_choice", dataset=dataset_of("multiple_choice"))
    directory = make(path, config=config)
    manifest, mask = read_manifest(directory), all_features(directory)["input_mask"]
    numbers = manifest.statistics
    assert (numbers["examples"], numbers["sequences"]) == (4, 12)
    assert numbers["fill_rate"] == round(float(mask.mean()), 6)
    line = f"records: 4 examples in 12 sequences, of {mask.sum() / 12:.1f} tokens on average, "
    assert summary(directory, manifest).startswith(line)


@pytest.mark.slow
def test_the_vocabulary_of_a_checkpoint_may_be_taken(make, labelled_files, pretraining_run):
    of_run = make(labelled_files[0], "of_run", vocab_file=None, init_checkpoint=pretraining_run.path)
    assert read_manifest(of_run).vocabulary == pretraining_run.details["vocabulary"]
    assert shard_bytes(of_run) == shard_bytes(make(labelled_files[0]))
    folder = make(labelled_files[0], "folder", vocab_file=None, tokenizer=pretraining_run.path)
    assert shard_bytes(folder) == shard_bytes(of_run)


def test_the_tokenizer_of_a_folder_may_be_taken(make, labelled_files, tmp_path):
    vocabulary = bpe_vocabulary([("Ġ", "a"), ("u", "e"), ("Ġa", "b")])
    (tmp_path / "tokenizer").mkdir()
    write_tokenizer(tmp_path / "tokenizer", vocabulary)
    config = tiny_finetuning_config(max_seq_length=40)
    records = make(labelled_files[0], config=config, vocab_file=None, tokenizer=tmp_path / "tokenizer")
    assert read_manifest(records).vocabulary == vocabulary.describe()
    rows = read_rows(labelled_files[0], config.dataset)
    live = text_reader.tokenize_rows(rows, TextInputs(vocabulary, 40))
    live["label_ids"] = np.array([config.dataset.labels.index(row.label) for row in rows])
    require_equal(all_features(records), live)


@pytest.mark.slow
@pytest.mark.long
def test_the_number_of_workers_changes_nothing(make, tmp_path, monkeypatch):
    monkeypatch.setattr(script, "_CHARACTERS_AT_ONCE", 100)
    path = write_labelled_file(tmp_path / "train.tsv", 100)
    directories = [make(path, f"by_{n}", num_shards=2, num_workers=n) for n in (1, 2)]
    assert read_manifest(directories[0]).num_examples == 100
    for file in sorted(directories[0].iterdir()):
        assert (directories[1] / file.name).read_bytes() == file.read_bytes()


def test_rows_are_evaluated_in_the_order_of_the_file(make, tmp_path):
    """Whatever the shards: a text's windows follow each other, and several pipelines share out each batch."""
    rows = [f"{'jump the ' * (1 + n % 5)}a\tquiet" for n in range(23)]
    path = tmp_path / "train.tsv"
    path.write_text("\n".join(["sentence\tlabel", *rows]) + "\n")
    config = tiny_finetuning_config(
        task_settings={"long_texts": "windows", "doc_stride": 2}, max_seq_length=6
    )
    folders = [make(path, f"by_{n}", config=config, num_shards=n) for n in (1, 4)]
    task_class = TASKS["sequence_classification"]
    settings = task_class.read_settings(config.task_settings)

    def make_rows(folder, *shares):
        records = LabelledRecords(folder, task_class, 6, settings)
        batches = [evaluation_batches(source_rows.make_rows(records), 4, share=share) for share in shares]
        parts = [part for step in zip(*batches, strict=True) for part in step]
        ids, weights = (
            np.concatenate([part[name] for part in parts]) for name in ("input_ids", EXAMPLE_WEIGHTS)
        )
        return ids[weights > 0]

    expected = make_rows(folders[0], Share())
    assert len(expected) > 2 * 23
    np.testing.assert_array_equal(make_rows(folders[1], Share()), expected)
    np.testing.assert_array_equal(make_rows(folders[1], Share(2, 0), Share(2, 1)), expected)
    LabelledRecords(folders[1], task_class, 6, settings).require_order()
    shuffled = make(path, "shuffled", config=config, shuffle_seed=1)
    with pytest.raises(ValueError, match="parts of 23 examples and were shuffled"):
        LabelledRecords(shuffled, task_class, 6, settings).require_order()
    LabelledRecords(
        make(path, "whole", shuffle_seed=1), task_class, tiny_finetuning_config().max_seq_length
    ).require_order()  # a row for each example
    features = TASKS["question_answering"]().features(6)
    questions = SimpleNamespace(features=features, num_examples=3, settings={"shuffle_seed": 1})
    LabelledRecords.require_order(SimpleNamespace(manifest=questions, num_examples=2))


def test_shuffled_records_are_the_same_ones_in_another_order(make, tmp_path, monkeypatch, caplog):
    """A file sorted by label: without shuffling, a shard begins with one label alone, and a warning says so
    of more rows than training shuffles."""
    path = write_labelled_file(tmp_path / "train.tsv", 200)
    monkeypatch.setattr(script.record_reader, "SHUFFLE_BUFFER", 100)
    make(path, "as_they_come")
    assert "sorted by label" not in caplog.text
    header, *rows = path.read_text().splitlines()
    path.write_text("\n".join([header, *sorted(rows, key=lambda row: row.split("\t")[2])]) + "\n")
    plain, one, again, other = (
        make(path, f"seed_{number}", num_shards=2, shuffle_seed=seed)
        for number, seed in enumerate((None, 1, 1, 2))
    )
    assert caplog.text.count("sorted by label") == 1
    assert shard_bytes(one) == shard_bytes(again)
    assert shard_bytes(one) != shard_bytes(other)
    keys = [
        sorted(map(tuple, np.column_stack([features["input_ids"], features["label_ids"]]).tolist()))
        for features in map(all_features, (plain, one, other))
    ]
    assert keys[0] == keys[1] == keys[2]
    for directory in (one, other):
        assert sum(shard.num_examples for shard in read_manifest(directory).shards) == 200
        labels = all_features(directory)["label_ids"][:50]
        assert 10 < labels.sum() < 40  # a binomial of 50 lies there but once in 100,000
    assert set(all_features(plain)["label_ids"][:50]) == {1}


# ------------------------------------------------------------------------------ what is refused


@pytest.mark.parametrize("kind", ["train_file", "train_dir"])
def test_a_batch_needs_as_many_examples_in_records_as_in_a_file(make, tmp_path, kind):
    """Not as many windows, of which the file's number is not known before it is tokenized."""
    path = tmp_path / "train.tsv"
    path.write_text("sentence\tlabel\n" + f"{'jump the ' * 9}\tquiet\n{'the a ' * 9}\tloud\n" * 4)
    config = tiny_finetuning_config(
        task_settings={"long_texts": "windows", "doc_stride": 2}, max_seq_length=6, train_batch_size=9
    )
    records = make(path, config=config)
    assert read_manifest(records).num_examples > 18
    data = {"train_file": path, "train_dir": records}[kind]
    with pytest.raises(ValueError, match=f"{data.name} has 8 examples, fewer than one batch of 9; .*=8 or"):
        finetune(config, tmp_path / "run", **{kind: data}, init_checkpoint=tmp_path)


def test_refusals_leave_nothing_behind(make, labelled_files, tmp_path):
    def refused(sentence, *arguments, **settings):
        with pytest.raises(ValueError, match=sentence):
            make(*arguments, **settings)
        assert not (tmp_path / "records").exists() and not list(tmp_path.glob("records.*"))

    train = labelled_files[0]
    refused("expected one of vocab_file, tokenizer, init_checkpoint; received none", train, vocab_file=None)
    refused("; received vocab_file and tokenizer", train, tokenizer="x")
    refused("tokenizer=x is no folder", train, vocab_file=None, tokenizer="x")
    refused("line 2: label 'quiet' is not among the labels", train, overrides=['dataset.labels=["a", "b"]'])
    refused("not read dataset.document='d' .read by token_cl", train, overrides=["dataset.document=d"])
    for chosen in ("max_train_examples=5", "dev_split=0.1"):
        refused(f"{chosen} draws examples when a training reads the file", train, overrides=[chosen])
    broken = tmp_path / "broken.tsv"
    broken.write_text(train.read_text() + "one column alone\n")
    refused("broken.tsv line 42: 1 columns where 3 were expected", broken)
    broken.write_text("sentence\tlabel\njump\tloud\nwalk\tloud\n")
    refused(
        r"two labels, received \['loud'\]. The labels are those of .*broken.tsv.$",
        broken,
        overrides=["dataset.labels=[]"],
    )


# ------------------------------------------------------------------------------ training on them


@pytest.fixture(scope="module")
def record_dirs(labelled_files, pretraining_run, tmp_path_factory):
    """Folders of training and development records, for the tests that train."""
    folder = tmp_path_factory.mktemp("records")
    (folder / "config.json").write_text(json.dumps(to_dict(tiny_finetuning_config())))
    for name, path in zip(("train", "dev"), labelled_files, strict=True):
        create_finetuning_data(
            folder / "config.json", path, folder / name, init_checkpoint=pretraining_run.path
        )
    return folder / "train", folder / "dev"


@pytest.mark.slow
@pytest.mark.long
def test_training_on_records_is_that_on_live_text(labelled_files, record_dirs, pretraining_run, tmp_path):
    """Batches of the whole set: the order within a batch does not change its loss, but for rounding."""
    config = tiny_finetuning_config(
        train_batch_size=40, num_train_epochs=6.0, log_every_steps=1, dropout_prob=0.0
    )
    start = {"init_checkpoint": pretraining_run.path}
    finetune(config, tmp_path / "live", *labelled_files, **start)
    finetune(config, tmp_path / "stored", train_dir=record_dirs[0], dev_dir=record_dirs[1], **start)
    live, stored = (read_metrics(tmp_path / name / "metrics.jsonl") for name in ("live", "stored"))
    assert len(live) == len(stored) == 7
    for expected, received in zip(live, stored, strict=True):
        assert received["loss"] == pytest.approx(expected["loss"], abs=1e-5)
    assert stored[0]["loss"] - stored[-2]["loss"] > 0.01  # and it learns
    live_run, stored_run = RunDirectory(tmp_path / "live"), RunDirectory(tmp_path / "stored")
    assert stored_run.config == live_run.config
    apart = {"train_file": None, "data": None}  # where the examples lie, and what tells them from others
    assert stored_run.details | apart == live_run.details | apart


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"max_seq_length": 16}, "made with max_seq_length=24, but this run has max_seq_length=16"),
        (
            {"dataset": DatasetConfig(text="sentence", labels=("loud", "quiet"))},
            r"made with the labels \['quiet', 'loud'\], but this run has",
        ),
        ({"dataset": PAIRS}, "holds single texts, but dataset.text_pair='other' asks for pairs"),
    ],
)
def test_records_that_do_not_fit_the_config_are_refused(
    record_dirs, pretraining_run, tmp_path, changes, sentence
):
    config, start = tiny_finetuning_config(**changes), pretraining_run.path
    with pytest.raises(ValueError, match=sentence):
        finetune(config, tmp_path / "run", train_dir=record_dirs[0], init_checkpoint=start)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("owner", ["records", "teacher"])
def test_a_new_encoder_has_the_tokens_of_records_or_teacher(
    make, labelled_files, pretraining_run, tmp_path, monkeypatch, owner
):
    """As `kbert finetune` does, which gives its config by the same function."""
    monkeypatch.setattr("kbert.experiments.finetuning_run.run_finetuning", lambda *arguments: arguments)
    values = to_dict(tiny_finetuning_config(encoder=tiny_encoder_config()))
    del values["encoder"]["vocab_size"]
    settings = {"distillation": {"teacher": pretraining_run.path}} if owner == "teacher" else {}
    start = (
        {"train_dir": make(labelled_files[0])} if owner == "records" else {"train_file": labelled_files[0]}
    )
    (tmp_path / "own.json").write_text(json.dumps(values))
    config, _, _, init, *_ = finetune(tmp_path / "own.json", tmp_path / "run", **start, **settings)
    assert config.encoder.vocab_size == len(small_corpus.TOKENS) == len(init.vocabulary)


def test_records_know_nothing_of_a_model_and_are_refused_where_it_says_more(make, tmp_path):
    file = write_scored(tmp_path / "pairs.jsonl", 6)
    dataset = DatasetConfig(text="text", text_pair="other")

    def records_of(task):
        return make(file, task, tiny_finetuning_config(task=task, dataset=dataset))

    with pytest.raises(ValueError, match="late_interaction has no records: its model says which tokens"):
        records_of("late_interaction")
    with pytest.raises(ValueError, match="late_interaction has no records"):
        LabelledRecords(tmp_path, TASKS["late_interaction"], MAX_SEQ_LENGTH)
    sparse = TASKS["sparse_embedding"]
    records = LabelledRecords(records_of("sparse_embedding"), sparse, MAX_SEQ_LENGTH)
    arguments = MAX_SEQ_LENGTH, "the run", small_corpus.vocabulary().describe()
    records.check_with(sparse(), *arguments)
    for name in ("query", "passage"):
        with pytest.raises(ValueError, match="holds texts without the prompt 'the '"):
            records.check_with(sparse({"prompts": {name: "the "}}), *arguments)


@pytest.mark.parametrize(("task", "made_with", "asked_for", "sentence"), [
    ("sequence_regression", ["no"], [], 'dataset.negatives=["no"], but this run has []'),
    ("sequence_regression", [], ["no"], 'dataset.negatives=[], but this run has ["no"]'),
    ("multiple_choice", ["yes", "no"], ["yes", "no", "other"],
     'dataset.choices=["yes", "no"], but this run has ["yes", "no", "other"]'),
])  # fmt: skip
def test_records_of_another_training_are_refused(make, tmp_path, task, made_with, asked_for, sentence):
    """Negatives choose the loss; choices how many texts an example has."""
    columns = "choices" if task == "multiple_choice" else "negatives"
    pairs = {"text_pair": "yes"} if columns == "negatives" else {}

    def config(names):
        dataset = DatasetConfig(**pairs, **{columns: tuple(names)})
        return tiny_finetuning_config(task=task, dataset=dataset, task_settings={}, best_metric=None)

    def rows(name, names):
        label = {} if names == ["no"] else {"label": 0}
        row = {"text": "jump", "yes": "the", "no": "walk", "other": "a"} | label
        return write_rows(tmp_path / f"{name}.jsonl", [row] * 4)

    records, own_file = make(rows("theirs", made_with), config=config(made_with)), rows("own", asked_for)
    for_training, for_evaluation = LabelledPaths(train_dir=records), LabelledPaths(own_file, dev_dir=records)
    assert open_data(config(made_with), for_training).train.num_examples > 0
    model = SimpleNamespace(
        task=TASKS[task].from_dataset(config(asked_for).dataset), training_config=config(asked_for),
        max_seq_length=MAX_SEQ_LENGTH, source="the run", vocabulary=small_corpus.vocabulary(),
    )  # fmt: skip
    for open_records in (
        lambda: open_data(config(asked_for), for_training),
        lambda: open_data(config(asked_for), for_evaluation),
        lambda: evaluation_data(model, None, records),
    ):
        with pytest.raises(ValueError, match=re.escape(f"was made with {sentence}; make the records again")):
            open_records()


def test_a_checkpoint_that_names_no_choices_takes_those_of_records(make, tmp_path):
    config = tiny_finetuning_config(task="multiple_choice", dataset=dataset_of("multiple_choice"))
    records = make(write_rows(tmp_path / "rows.jsonl", make_rows("multiple_choice", 4)), config=config)
    opened = LabelledRecords(records, TASKS["multiple_choice"], MAX_SEQ_LENGTH)
    assert opened.agreed_dataset(DatasetConfig()).choices == ("c0", "c1", "c2")


def test_labels_that_a_sigmoid_cannot_give_are_refused_in_records_too(make, tmp_path):
    regression, config = TASKS["sequence_regression"], tiny_finetuning_config(task="sequence_regression")
    config = dataclasses.replace(config, dataset=DatasetConfig(text="text", text_pair="other"))
    binary = dataclasses.replace(config, task_settings={"loss": "binary_cross_entropy"})
    file = write_scored(tmp_path / "pairs.jsonl", 6)
    arguments = MAX_SEQ_LENGTH, "the run", small_corpus.vocabulary().describe()
    records = LabelledRecords(make(file, config=config), regression, MAX_SEQ_LENGTH)
    records.check_with(regression(), *arguments)
    for task in (regression(activation="sigmoid"), regression(loss="binary_cross_entropy")):
        with pytest.raises(ValueError, match="learns those from 0 to 1; make the records again"):
            records.check_with(task, *arguments)
    with pytest.raises(ValueError, match="has the label 2; expected a number from 0 to 1"):
        make(file, "binary", binary)
    shares = make(write_scored(tmp_path / "shares.jsonl", 2), "shares", binary)
    records = LabelledRecords(shares, regression, MAX_SEQ_LENGTH)
    records.check_with(regression(activation="sigmoid"), *arguments)


@pytest.mark.slow
def test_records_of_another_kind_or_vocabulary_are_refused(
    make, labelled_files, records_dir, pretraining_run, tmp_path
):
    tokens = list(small_corpus.TOKENS)
    tokens[5], tokens[6] = tokens[6], tokens[5]
    Vocabulary(tokens, True).write(tmp_path / "swapped.txt")
    swapped = make(labelled_files[0], "swapped", vocab_file=tmp_path / "swapped.txt")
    for records, sentence in (
        (records_dir / "train", "holds pretraining records, but the task is sequence_class"),
        (swapped, "swapped was not made with the vocabulary of"),
    ):
        with pytest.raises(ValueError, match=sentence):
            finetune(
                tiny_finetuning_config(),
                tmp_path / "run",
                train_dir=records,
                init_checkpoint=pretraining_run.path,
            )
    assert not (tmp_path / "run").exists()


# ------------------------------------------------------------------------------ as commands


def run_script(name, *arguments):
    return warm_processes.run_script(f"tfrecords_tools.{name}", *arguments)


def test_a_length_that_is_there_twice_is_named_as_it_was_typed(make, labelled_files):
    twice = {"max_seq_length": 16, "overrides": ["max_seq_length=24"]}
    sentence = "--override='max_seq_length=24' and --max_seq_length=16 both say max_seq_length"
    with pytest.raises(ValueError, match=sentence):
        make(labelled_files[0], **twice)


@pytest.mark.slow
def test_records_are_made_and_shown_from_the_command_line(labelled_files, tmp_path):
    small_corpus.vocabulary().write(tmp_path / "vocab.txt")
    made = run_script(
        "create_finetuning_data",
        f"--config={REPOSITORY}/configs/finetuning/smoke.toml",
        f"--input_file={labelled_files[0]}",
        f"--vocab_file={tmp_path}/vocab.txt",
        f"--output_dir={tmp_path}/records",
        "--max_seq_length=16",
        "--override=dataset.text_pair=other",
        "--compression=gzip",
        "--shuffle",
    )
    assert made.returncode == 0, made.stderr
    assert "labels: loud 20, quiet 20\n" in made.stdout

    shown = run_script("show_records", f"--input_dir={tmp_path}/records", "--record=7")
    assert shown.returncode == 0, shown.stderr
    assert re.search(r"\nrecord 7: \[CLS\] .*\[SEP\]\n  \+ .*\[SEP\]\n  length \d+ of 16: ", shown.stdout)
    assert re.search(r"\n  label_ids (0: loud|1: quiet)\n", shown.stdout)
