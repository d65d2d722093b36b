"""Each setting of a dataset is read by the task, or refused by name where new work begins."""

import dataclasses
import functools
import json

import pytest

from kbert.config import DatasetConfig, FinetuningConfig, load_config
from kbert.input_pipelines.data_files import data_as_files
from kbert.tasks import TASKS
from kbert.tasks.file_columns import _FILES, require_read, task_files
from kbert.tasks.files import Files
from tests.places import REPOSITORY

HEADER = ("text", "text_pair", "c0", "c1", "other", "label", "label2")
ROWS = [("jump", "walk", "look", "see", "go", "1", "0"), ("the", "a", "talk", "play", "ask", "0", "1")]
SEVERAL = ("far", "near", "look", "see", "go", "0;1", "1;0")
NO_LABEL, SHORT, EMPTY = ("tree", "house", "open", "ask", "go", "NaN", "NaN"), ("short",), ("",) * len(HEADER)
CAFE = ("café", "walk", "look", "see", "go", "1", "0")

# Another value than the default, for every field of a dataset.
CHANGED = {
    "text": "other", "text_pair": "other", "label": "label2", "choices": ("c1", "c0"),
    "negatives": ("label2",), "scores": "other", "column_names": HEADER[::-1], "labels": ("1", "0"),
    "positive_label": "0",
    "label_separator": ";", "file_format": "parquet", "tag_scheme": "none", "document": "other",
    "sentence": "other", "skip_short_rows": True, "skip_unlabelled": True, "skip_empty_rows": True,
    "delimiter": ";", "encoding": "cp1252",
}  # fmt: skip
PAIRED = ("cosine_similarity", "multiple_negatives_ranking", "sparse_embedding", "late_interaction")
FIELDS = dataclasses.fields(DatasetConfig)
QUESTION = {"id": "1", "question": "jump", "context": "the walk"}
QUESTION["answers"] = [{"text": "walk", "answer_start": 4}]
WORDS = {"text": ["jump", "walk"], "label": ["B-A", "O"], "other": ["the", "a"], "label2": ["O", "B-A"]}


def base(task):
    """The dataset with the settings that the task cannot do without."""
    pairs = {"text_pair": "text_pair"} if task in PAIRED else {}
    return DatasetConfig(**pairs, choices=("c0", "c1") if task == "multiple_choice" else ())


def write_files(task, folder):
    """Files in which every setting that the task reads changes something."""
    tables = {"good": ROWS, "bad": [*ROWS, NO_LABEL, SHORT, EMPTY], "cafe": [*ROWS, CAFE]}
    tables |= {"several": [*ROWS, SEVERAL], "unscored": [row[:-2] for row in ROWS]}
    texts = {}
    for name, rows in tables.items():
        lines = [HEADER[: len(rows[0])], *rows]
        texts[f"{name}.tsv"] = "".join("\t".join(line) + "\n" for line in lines)
    pairs = zip((HEADER, *ROWS), (HEADER, *ROWS[::-1]), strict=True)
    texts["two.tsv"] = "".join(f"{';'.join(one)}\t{chr(9).join(other)}\n" for one, other in pairs)
    texts["good.txt"] = texts["good.tsv"]  # whose name says no format
    if task == "question_answering":
        texts = {name: json.dumps(QUESTION) + "\n" for name in ("rows.jsonl", "rows.txt")}
    if task == "token_classification":
        sentence = "jump walk,{},1\nthe a,O O,1\n"
        texts = {
            "good.jsonl": json.dumps(WORDS) + "\n",
            "bad.jsonl": f"{json.dumps(WORDS)}\n{json.dumps(WORDS | {'label': None})}\n",
            "columns.conll": "jump O x y z walk O\n",
            "cafe.conll": "café O\n",
            "rows.csv": "text,label,other\n" + sentence.format("B-A O"),
            "two.csv": "text;label;other,text,label,other\njump walk;O O;1,the a,O O,1\n",
            "bad.csv": "text,label,other\n" + sentence.format("B-A O") + "a\n,,\n",
        }  # fmt: skip
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="cp1252")
    return [folder / name for name in texts]


def outcome(task, path, dataset):
    """All that a file and a dataset give, or what is wrong with them."""
    files = task_files(task)
    try:
        examples = list(files.read_examples(path, dataset))
        complete = files.complete_dataset(dataset, examples)
        own = TASKS[task].dataset_arguments(complete)
    except ValueError as error:
        return str(error)
    return repr(examples), files.groups(examples), own


@pytest.fixture(scope="module")
def files_of(tmp_path_factory):
    """A function of a task: (its files, what each gives with the dataset that the task cannot do without)."""

    @functools.cache
    def files_of(task):
        paths = write_files(task, tmp_path_factory.mktemp(task))
        return paths, [outcome(task, path, base(task)) for path in paths]

    return files_of


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: field.name)
@pytest.mark.parametrize("task", _FILES)
def test_a_setting_is_read_or_refused(files_of, task, field):
    dataset, name = base(task), field.name
    try:
        value = "O" if (task, name) == ("token_classification", "positive_label") else CHANGED[name]
        changed = dataclasses.replace(dataset, **{name: value})
    except ValueError:  # `column_names` must have all columns
        changed = dataclasses.replace(dataset, column_names=HEADER)
    outcomes = zip(*files_of(task), strict=True)
    differs = [path for path, before in outcomes if before != outcome(task, path, changed)]
    if name in task_files(task).settings:
        assert differs
        require_read(task, changed)
        require_read(task, changed, differs)
    else:
        assert not differs
        with pytest.raises(
            ValueError, match=rf"the task {task} would not read dataset\.{name}=.*leave it out"
        ):
            require_read(task, changed)


@pytest.mark.parametrize(
    ("task", "name", "settings", "refused"),
    [
        ("sequence_classification", "rows.tsv", {"delimiter": ";", "encoding": "cp1252"}, None),
        ("sequence_classification", "rows.jsonl", {"encoding": "cp1252", "skip_empty_rows": True}, None),
        ("sequence_classification", "rows.jsonl", {"skip_short_rows": True}, "True (read in TSV and CSV"),
        ("sequence_regression", "rows.parquet", {"skip_short_rows": True}, "True (read in TSV and CSV"),
        ("sequence_classification", "rows.jsonl", {"delimiter": ";"}, "';' (read in TSV and CSV files"),
        ("multiple_choice", "rows.jsonl.gz", {"choices": ("a", "b"), "delimiter": ";"}, "';' (read in"),
        ("sequence_regression", "rows.parquet", {"encoding": "cp1252"}, "'cp1252' (read in files of text"),
        ("sequence_regression", "rows.arrow", {"column_names": ("text", "label")}, "(read in TSV and CSV"),
        ("sequence_classification", "rows.tsv", {"labels": ("a", "b"), "positive_label": "a"}, None),
        ("sequence_classification", "r.tsv", {"labels": tuple("abc"), "positive_label": "a"}, "two labels"),
        ("token_classification", "w.conll", {"column_names": tuple("ab"), "text": "a", "label": "b"}, None),
        ("token_classification", "words.conll", {"text": "a"}, "text='a' (read with column_names only)"),
        ("token_classification", "words.conll", {"document": "a"}, "document='a' (read in files with named"),
        ("token_classification", "words.conll", {"skip_short_rows": True}, "(read in files with named"),
        ("token_classification", "words.conll", {"skip_empty_rows": True}, "(read in files with named"),
        ("token_classification", "words.conll", {"skip_unlabelled": True}, "(read in files with named"),
        ("token_classification", "w.csv", {"skip_unlabelled": True, "sentence": "s"}, "a sentence in each"),
        ("token_classification", "w.csv", {"skip_unlabelled": True, "skip_short_rows": True}, None),
        ("token_classification", "words.csv", {"document": "a", "delimiter": ";", "text": "a"}, None),
        ("question_answering", "squad.json", {"file_format": "csv"}, "file_format='csv' (read as jsonl"),
    ],
)  # fmt: skip
def test_a_setting_goes_with_the_format_of_a_file(tmp_path, task, name, settings, refused):
    (tmp_path / name).write_bytes(b"")
    dataset = DatasetConfig(**settings)
    if refused is None:
        require_read(task, dataset, [tmp_path / name])
        return
    with pytest.raises(ValueError) as error:
        require_read(task, dataset, [tmp_path / name])
    assert refused in str(error.value)
    assert f"{task} on {tmp_path / name} would not read" in str(error.value)


def test_one_sentence_names_all_settings_and_who_reads_them(tmp_path):
    (tmp_path / "rows.jsonl").write_bytes(b"")
    dataset = DatasetConfig(choices=("a", "b"), sentence="s", delimiter=";", skip_empty_rows=True)
    with pytest.raises(ValueError) as error:
        require_read("sequence_regression", dataset, [tmp_path / "rows.jsonl"])
    assert str(error.value) == (
        f"the task sequence_regression on {tmp_path / 'rows.jsonl'} would not read "
        "dataset.choices=['a', 'b'] (read by multiple_choice), dataset.sentence='s' (read by "
        "token_classification), dataset.delimiter=';' (read in TSV and CSV files only); leave them out."
    )


def test_one_file_that_needs_a_setting_is_enough(tmp_path):
    paths = [tmp_path / "train.csv", tmp_path / "dev.jsonl"]
    for path in paths:
        path.write_bytes(b"")
    require_read("sequence_classification", DatasetConfig(delimiter=";"), paths)
    with data_as_files({"the data": {"text": ["a"], "label": ["x"]}}) as (data,):
        require_read("sequence_classification", DatasetConfig(delimiter=";", file_format="csv"), [data])


@pytest.mark.parametrize(
    "path", sorted((REPOSITORY / "configs/finetuning").glob("*.toml")), ids=lambda p: p.stem
)
def test_every_setting_of_our_configs_is_read(path):
    config = load_config(FinetuningConfig, path)
    require_read(config.task, config.dataset)


def test_a_task_of_your_own_that_does_not_say_is_not_refused():
    assert set(Files.settings) == {field.name for field in FIELDS}
