"""GLUE's files: found, read by the configs of this repository, and refused with all that is missing."""

import re

import pytest

from kbert.config import FinetuningConfig, load_config
from kbert.experiments.glue.glue_benchmark import run_glue
from kbert.experiments.glue.glue_files import RAW_TRAIN, find_files
from kbert.experiments.glue.glue_tasks import GLUE_TASKS, glue_tasks
from kbert.experiments.labelled_file import LabelledFile
from kbert.tasks import TASKS
from tests.kbert.experiments.glue import small_glue
from tests.places import REPOSITORY, SHARED_DATA

TRAINED = [task for task in GLUE_TASKS.values() if not task.model_of]


@pytest.fixture(scope="module")
def glue_dir(tmp_path_factory):
    return small_glue.write_glue(tmp_path_factory.mktemp("glue"))


def config_of(name):
    return load_config(FinetuningConfig, REPOSITORY / "configs" / "finetuning" / f"{name}.toml")


def read(path, config):
    return LabelledFile(path, TASKS[config.task].files, config.dataset)


@pytest.mark.parametrize("task", TRAINED, ids=lambda task: task.name)
def test_the_configs_read_the_official_forms(glue_dir, tmp_path, task):
    config = config_of(task.name)
    files = find_files(glue_dir, [task], tmp_path, with_tests=False)[task.name]
    train, dev = read(files.train_file, config), read(files.dev_file, config)
    assert (train.num_examples, dev.num_examples) == (small_glue.NUM_TRAIN, small_glue.NUM_DEV)
    assert train.dataset.labels == config.dataset.labels and sorted(config.dataset.labels) == sorted(
        task.labels
    )
    labels = [example.label for example in train.examples]
    expected = task.labels or (0.0, 2.5, 5.0)
    assert labels[:3] == [expected[place % len(expected)] for place in range(3)]
    pairs = task.name not in ("cola", "sst2")
    for example in train.examples + dev.examples:
        assert re.match(r'(jump|walk|look) " \w', example.text) and bool(example.text_pair) == pairs
    assert config.train_batch_size == 32 and config.optimizer.learning_rate == 5e-5
    assert {name: read(path, config).num_examples for name, path in files.other_dev_files.items()} == (
        {"mismatched": small_glue.NUM_DEV + 2} if task.name == "mnli" else {}
    )


def test_a_submission_has_the_eleven_files_of_glue():
    names = {one.name for task in GLUE_TASKS.values() for one in task.submissions}
    assert names == {
        f"{name}.tsv" for name in "CoLA SST-2 MRPC STS-B MNLI-m MNLI-mm QNLI QQP RTE WNLI AX".split()
    }


# ------------------------------------------------------------------------------- MRPC from its authors


def write_raw_corpus(folder, dev_places, end="\r\n"):
    rng = small_glue.random.Random(2)
    rows = small_glue.mrpc_rows(rng, 12)
    for name in ("train", "test"):
        path = folder / "MRPC" / f"msr_paraphrase_{name}.txt"
        small_glue.write_lines(path, [small_glue.MRPC, *rows], bom=True, end=end)
    ids = [rows[place][1:3] for place in dev_places]
    small_glue.write_lines(folder / "MRPC" / "dev_ids.tsv", ids)
    return rows


def test_the_paraphrase_corpus_is_split_by_glues_list(tmp_path):
    rows = write_raw_corpus(tmp_path, [1, 5, 6])
    files = find_files(tmp_path, glue_tasks(["mrpc"]), tmp_path / "run", with_tests=True)["mrpc"]
    assert files.tests == {"MRPC.tsv": (tmp_path / "MRPC" / "msr_paraphrase_test.txt", None)}
    config = config_of("mrpc")
    dev = [rows[place] for place in (1, 5, 6)]
    for path, expected in ((files.dev_file, dev), (files.train_file, [r for r in rows if r not in dev])):
        examples = read(path, config).examples
        assert [(e.label, e.text, e.text_pair) for e in examples] == [(r[0], r[3], r[4]) for r in expected]


# ------------------------------------------------------------------------------- the published files

# Rows of training and development files, as shared/data/README.md counts them.
PUBLISHED = {
    "cola": (8551, 522, {"1": 363, "0": 159}),
    "sst2": (67349, 436, {"0": 208, "1": 228}),
    "mrpc": (3667, 204, {"1": 140, "0": 64}),
    "rte": (2490, 139, {"entailment": 74, "not_entailment": 65}),
    "stsb": (5749, 750, None),
}


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow if n == "sst2" else ()) for n in PUBLISHED]
)
def test_the_published_files_come_out_in_their_known_numbers(name, tmp_path):
    if not (SHARED_DATA / name / "train.tsv").is_file():
        pytest.skip(f"{SHARED_DATA / name} is not there")
    files = find_files(SHARED_DATA, glue_tasks([name]), tmp_path, with_tests=False)[name]
    config = config_of(name)
    train, dev = read(files.train_file, config), read(files.dev_file, config)
    num_train, num_dev, labels = PUBLISHED[name]
    assert (train.num_examples, dev.num_examples) == (num_train, num_dev)
    if labels:
        counts = {label: sum(e.label == label for e in dev.examples) for label in labels}
        assert counts == labels
    else:
        assert all(0 <= example.label <= 5 for example in train.examples + dev.examples)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"glue_dir": 5}, "glue_dir=5 must be a path"),
        ({"tasks": "cola"}, "tasks='cola' must be a list of texts"),
        ({"learning_rates": ["3e-5"]}, "must be a list of numbers"),
        ({"seeds": 1}, "seeds=1 must be a list of whole numbers"),
        ({"seeds": [1], "seed": 7}, "seed=7 is no argument of several runs, .* from their config"),
        ({"learning_rate": 1e-4}, "learning_rate=0.0001 is no argument of several runs"),
        ({"seeds": [1], "overrides": ["seed=2"]}, "--override='seed=2' would be lost: seeds gives seed"),
        (
            {"learning_rates": [1e-4], "overrides": ['optimizer={"learning_rate": 2e-5}']},
            "would be lost: learning_rates gives optimizer.learning_rate for each run; leave one",
        ),
        (
            {"learning_rates": [1e-4], "overrides": ["optimizer.learning_rate=2e-5"]},
            "would be lost: learning_rates gives optimizer.learning_rate for each run; leave one",
        ),
        ({"tasks": ["mnli", "ax"]}, "ax has nothing but texts for a submission, .*; give submission_dir, or"),
    ],
    ids=str,
)
def test_arguments_that_cannot_be_followed_are_refused(tmp_path, arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        run_glue(**{"glue_dir": tmp_path, "run_dir": tmp_path / "runs", "init_checkpoint": "x"} | arguments)


def test_two_folders_of_one_task_are_refused(tmp_path):
    for name in ("CoLA", "cola"):
        (tmp_path / name).mkdir()
    with pytest.raises(ValueError, match="has CoLA and cola, both for cola; leave one of them there"):
        run_glue(glue_dir=tmp_path, run_dir=tmp_path / "runs", init_checkpoint="x", tasks=["cola"])


@pytest.mark.parametrize(
    ("content", "sentence"),
    [(b"\xff", "train.txt line 1 is not UTF-8"), (b"", "train.txt is empty")],
)
def test_a_broken_paraphrase_corpus_is_refused(tmp_path, content, sentence):
    folder = tmp_path / "MRPC"
    folder.mkdir()
    (folder / RAW_TRAIN).write_bytes(content)
    (folder / "dev_ids.tsv").write_text("1\t2\n")
    with pytest.raises(ValueError, match=sentence):
        find_files(tmp_path, glue_tasks(["mrpc"]), tmp_path / "runs", False)
