"""Trainings that cannot be: refused in a sentence before a weight is read, and no folder is left."""

import dataclasses
import shutil
import sys
from types import SimpleNamespace

import pytest

from kbert.config import DatasetConfig, DistillationConfig, FrozenConfig, LoraConfig, PhaseConfig
from kbert.experiments.finetuning import finetune
from kbert.experiments.finetuning_checks import require_settings_read
from kbert.experiments.pretraining import pretrain
from kbert.manifest import read_manifest
from kbert.runs.run_directory import RunDirectory
from kbert.tokenization.vocabulary import Vocabulary
from kbert.training.devices import distribution
from tests.conftest import tiny_encoder_config, tiny_finetuning_config, tiny_pretraining_config
from tests.kbert.input_pipelines.frames import Frame
from tests.kbert.tasks.question_answering.small_squad import write_squad
from tests.tfrecords_tools import small_corpus

VOCABULARY = small_corpus.vocabulary()
OTHER = Vocabulary([*VOCABULARY.tokens, "new"], do_lower_case=True)
START = {"train_file": "train.tsv", "init_checkpoint": "start"}
NOTHING = {"init_checkpoint": None}
# Whoever read it before the refusal would say that its config names no model.
UNREAD = {"init_checkpoint": "unread"}
RECORDS = {"train_file": None, "train_dir": "train"}
TAUGHT = {"distillation": DistillationConfig("teacher", init_layers=(0,))}
UNLABELLED = DistillationConfig("teacher", label_weight=0.0, hidden_weight=1.0)
QUESTIONS = {"train_file": "squad.json"}
TEXTS = ["a fine day", "so-so, näh", "rain"]


def question_answering(**settings):
    return {
        "task": "question_answering",
        "dataset": DatasetConfig(),
        "task_settings": {"unanswerable": True, "max_query_length": 4} | settings,
    }


# What cannot be -> changes of the config, changes of the arguments, what is said.
FINETUNING = {
    "fewer rows than a batch": ({"train_batch_size": 4096}, UNREAD, "has 40 examples, fewer than one batch"),
    "no model of the name": ({}, {"init_checkpoint": "stort"}, "stort does not exist.* Did you mean start.$"),
    "no names of unlike ones": ({}, UNREAD | {"allow_unmatched": True}, "must be a list of texts or a text"),
    "no whole shares": ({"train_batch_size": 3}, UNREAD, "=3 is not divisible by the 2 replicas"),
    "evaluated in no whole shares": (
        {"eval_batch_size": 3}, UNREAD | {"dev_file": "dev.tsv"}, "eval_batch_size=3 is not divisible",
    ),
    "no whole parts": ({"gradient_accumulation_steps": 8}, UNREAD, "replicas x gradient_accumulation"),
    "a split and a file": ({"dev_split": 0.1}, {"dev_file": "dev.tsv"}, "is given for that as well; leave"),
    "a split of records": ({"dev_split": 0.1}, RECORDS, "holds records; give the file"),
    "some of the records": ({"max_train_examples": 9}, RECORDS, "=9 draws examples of"),
    "records once": ({"freeze_encoder": True}, RECORDS, "freeze_encoder .* holds records; give train_file"),
    "new weights of nothing": ({"reinit_pooler": True}, NOTHING, "starts from random .* leave reinit_pooler"),
    "frozen weights of nothing": ({"freeze_encoder": True}, NOTHING, "freeze_encoder keeps the weights of"),
    "frozen weights of a shape": (
        {"frozen": FrozenConfig(layers=1)}, {"from_scratch": True}, r"\[frozen\] keeps the weights of an",
    ),
    "the shape of nothing": ({}, NOTHING | {"from_scratch": True}, "but there is none; give init_checkpoint"),
    "names of nothing": (
        {"encoder": tiny_encoder_config()},
        NOTHING | {"vocabulary": VOCABULARY, "allow_unmatched": ["cls.*"]},
        "neither an init_checkpoint nor a teacher",
    ),
    "adapters of nothing": ({"lora": LoraConfig(2)}, NOTHING, "lora adapts the weights of an init"),
    "weights from two": (TAUGHT, {}, "leave out init_checkpoint, or init_layers"),
    "weights of a loss that counts nothing": (
        {"task_settings": {"label_smoothing": 0.1}, "distillation": UNLABELLED},
        UNREAD,
        r"task_settings.label_smoothing=0.1 is of the task's own losses in training, but",
    ),
    "few words for a loss that counts nothing": (
        {
            "task": "sparse_embedding",
            "dataset": DatasetConfig(text="a", text_pair="b"),
            "task_settings": {"lambda_d": 0.5},
            "distillation": UNLABELLED,
        },
        UNREAD | {"train_file": {"a": ["rain"], "b": ["sun"]}},
        r"task_settings.lambda_d=0.5 is of the task's own losses",
    ),
    "other tensors of a run": (
        {}, {"allow_unmatched": "cls.*"}, r"^allow_unmatched=\['cls.\*'\] is for checkpoints of other",
    ),
    "a temperature of a number": (
        {"task": "sequence_regression", "distillation": DistillationConfig("teacher", temperature=2.0)},
        UNREAD | {"train_file": {"sentence": ["rain", "sun"], "label": [1, 2]}},
        r"distillation.temperature=2.0 is that of probabilities, but the task sequence_regression gives",
    ),
    "one label in a file": (
        {"dataset": DatasetConfig(), "train_batch_size": 2},
        UNREAD | {"train_file": {"text": TEXTS, "label": ["b"] * 3}},
        r"at least two labels, received \['b'\]. The labels are those of the training data.$",
    ),
    "a threshold of answered questions": (
        question_answering(unanswerable=False, null_score_diff_threshold=1.5),
        UNREAD | QUESTIONS,
        "null_score_diff_threshold=1.5 is that of questions without an answer, but unanswerable is false",
    ),
    "another vocabulary": (TAUGHT, NOTHING | {"vocabulary": OTHER}, "vocabulary .* is not that of the"),
    "another casing": (
        {"encoder": tiny_encoder_config()},
        NOTHING | {"vocabulary": VOCABULARY, "do_lower_case": False},
        "do_lower_case=False, but the vocabulary of the training has do_lower_case=True",
    ),
    "one text": ({}, {"train_file": {"text": "a fine day", "label": ["b"]}}, "column 'text' of the training"),
    "unlike columns": ({}, {"train_file": {"text": TEXTS, "label": ["b"]}}, "different lengths .3 text, 1 l"),
    "texts without labels": ({}, {"train_file": TEXTS}, "row 1 of the training data is str .'a fine day'.;"),
    "rows with other names": (
        {},
        {"train_file": [{"review": text, "stars": "5"} for text in TEXTS]},
        r"(?s)training data cannot .* row 1 has no column 'text'.* Name the columns: .*, text='review'",
    ),
    "a cell without a text": (
        {},
        {"train_file": Frame({"text": ["a", float("nan")], "label": ["b", "c"]})},
        "row 2 of the training data has None as 'text'",
    ),
    "a row without a label": (
        {},
        {"train_file": {"text": ["a", "b", "c"], "label": ["b", "c", None]}},
        "row 3 of the training data has None as its label 'label'.* by skip_unlabelled=True",
    ),
    "development data of one column": (
        {},
        {"dev_file": Frame({"text": TEXTS})},
        "(?s)the development data cannot .* row 1 has no column 'sentence'; it has .'text'.. Name the",
    ),
    "nothing to train": (
        {
            "task": "multiple_negatives_ranking", "frozen": FrozenConfig(embeddings=True, layers=1),
            "dataset": DatasetConfig(text_pair="other"), "train_batch_size": 2,
        },
        {"train_file": {"text": TEXTS, "other": TEXTS[::-1]}},
        "nothing to train: a model for multiple_negatives_ranking has no weights above its encoder",
    ),
    "a number": ({}, {"train_file": {"text": ["a", 3], "label": ["b", "c"]}}, "row 2 of the training"),
    "a column that no row is asked for": (
        {"dataset": DatasetConfig(text="sentence", sentence="number")}, {},
        r"dataset\.sentence='number' \(read by token_classification\); leave it out",
    ),
    "a positive label of three": (
        {"dataset": DatasetConfig(positive_label="b")},
        {"train_file": {"text": ["a", "b", "c"], "label": ["a", "b", "c"]}},
        r"on the training data would not read positive_label='b' \(read with two labels only\)",
    ),
    "no score": (
        {"best_metric": "chosen_temperature"}, {"dev_file": "dev.tsv"},
        "best_metric='chosen_temperature' is no score.* set a score, such as --override=best_metric=accuracy",
    ),
    "no answer": (question_answering(unanswerable=False), QUESTIONS, "'q2' has no answer, but task_set"),
    "long questions": (question_answering(max_query_length=21), QUESTIONS, "=24 leaves no room for a"),
}  # fmt: skip
PHASES = {"phases": (PhaseConfig(), PhaseConfig())}
TWO_PARTS = {"phases": (PhaseConfig(), PhaseConfig(gradient_accumulation_steps=2))}
SHORT, SMALL = tiny_encoder_config(max_position_embeddings=20), tiny_encoder_config(vocab_size=9)
PRETRAINING = {
    "fewer examples than a batch": ({"train_batch_size": 5000}, UNREAD, "examples, fewer than one batch"),
    "no whole shares": ({"train_batch_size": 3}, UNREAD, "=3 is not divisible by the 2 replicas"),
    "names of nothing": ({}, {"allow_unmatched": "cls.*"}, r"^allow_unmatched=cls.\* is for tensors of a ch"),
    "no encoder": ({"encoder": None}, {}, "names no encoder: give init_checkpoint"),
    "a small table": ({"encoder": SMALL}, {}, "vocabulary has 22 tokens, but the encoder's vocab_size is 9"),
    "few positions": (
        {"encoder": SHORT}, {},
        "has only max_position_embeddings=20; make shorter records, or .*convert --max_position_embed.*=24,",
    ),
    "a swapped vocabulary": ({}, {"input_dir": "other"}, "is not the vocabulary that was written"),
    "another vocabulary": ({}, {"eval_input_dir": "other"}, "was not made with the vocabulary of"),
    "another casing": ({}, {"do_lower_case": False}, "^do_lower_case=False, but the vocabulary of train"),
    "records of one phase": (PHASES, {}, r"given 1 time\(s\), but .* 2 phase\(s\); .*--input_files='wiki"),
    "no whole parts of packed rows in the second phase": (
        {"padding": "pack", "packed_rows": 6} | TWO_PARTS, UNREAD | {"input_dir": ["train", "train"]},
        "packed_rows=6 is not divisible by the 2 replicas x gradient_accumulation_steps=2; choose a multiple",
    ),
    "no records": (PHASES, {"input_dir": []}, "input_dir is empty"),
    "frozen weights of nothing": (
        {"frozen": FrozenConfig(embeddings=True)}, {}, r"\[frozen\] keeps the weights of an init_checkpoint",
    ),
}  # fmt: skip


@pytest.fixture(autouse=True)
def folder(pretraining_run, finetuned_run, labelled_files, records_dir, tmp_path, monkeypatch):
    """The current folder, with all that is named above; and two replicas."""
    monkeypatch.chdir(tmp_path)
    linked = {"start": pretraining_run.path, "teacher": finetuned_run.path, "train": records_dir / "train"}
    for name, path in (linked | {path.name: path for path in labelled_files}).items():
        (tmp_path / name).symlink_to(path)
    (tmp_path / "unread").mkdir()
    (tmp_path / "unread" / "config.json").write_text("{}")
    write_squad(tmp_path / "squad.json", 12, impossible=True)
    other = shutil.copytree(records_dir / "heldout", tmp_path / "other")
    manifest = read_manifest(other)
    dataclasses.replace(manifest, vocabulary=manifest.vocabulary | {"fingerprint": "0"}).write(other)
    monkeypatch.setattr(distribution, "make_strategy", lambda _: SimpleNamespace(num_replicas_in_sync=2))
    return tmp_path


@pytest.mark.parametrize("case", FINETUNING)
def test_finetuning_that_cannot_be(folder, case):
    changes, arguments, sentence = FINETUNING[case]
    dataset = {} if isinstance(arguments.get("train_file", ""), str) else {"dataset": DatasetConfig()}
    config = tiny_finetuning_config(**dataset | {"eval_batch_size": 8} | changes)
    with pytest.raises(ValueError, match=sentence):
        finetune(config, folder / "run", **START | arguments)
    assert not (folder / "run").exists()


@pytest.mark.parametrize(
    ("task", "settings"),
    [
        ("multiple_negatives_ranking", {"scale": 5.0, "symmetric": True, "matryoshka_dims": (4,)}),
        ("cosine_similarity", {"matryoshka_dims": (4,)}),
    ],
)
def test_settings_of_the_loss_of_evaluations_are_read_without_labels_in_training(task, settings):
    require_settings_read(tiny_finetuning_config(task=task, task_settings=settings, distillation=UNLABELLED))


@pytest.mark.parametrize("case", PRETRAINING)
def test_pretraining_that_cannot_be(folder, case):
    changes, arguments, sentence = PRETRAINING[case]
    config = tiny_pretraining_config(**changes)
    with pytest.raises(ValueError, match=sentence):
        pretrain(config, folder / "run", **{"input_dir": "train"} | arguments)
    assert not (folder / "run").exists()


def locked_run(folder):
    """A run in which this very process trains."""
    run = shutil.copytree(folder / "start", folder / "locked")
    return run, RunDirectory(run).lock()


# What stands in the way of the folder -> function from the test's folder to the run's, and what keeps it so.
FOLDERS = {
    "nothing can be made": (lambda folder: ("/proc/no/run", None), "run_dir=/proc/no/run cannot be written"),
    "a file on the way": (lambda folder: (folder / "train.tsv" / "run", None), "written: Not a dir"),
    "other files": (lambda folder: (folder / "unread", None), "exists and is no kbert run; choose a new or"),
    "other files at home": (lambda folder: ("~/unread", None), "/.*unread exists and is no kbert run"),
    "the home folder": (lambda folder: ("~", None), "/.* exists and is no kbert run"),
    "another training": (locked_run, "another process .process .* is working in .*locked"),
    "no checkpoint": (lambda folder: (folder / "run", None), "checkpoint none does not exist; give a run"),
}  # fmt: skip


@pytest.mark.parametrize("case", FOLDERS)
def test_folders_are_checked_before_tensorflow_loads(folder, case, monkeypatch):
    make, sentence = FOLDERS[case]
    run_dir, _kept = make(folder)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setitem(sys.modules, "kbert.training.trainer", None)  # importing it fails
    init = "none" if case == "no checkpoint" else "start"
    for train in (
        lambda: finetune(tiny_finetuning_config(), run_dir, "train.tsv", init_checkpoint=init),
        lambda: pretrain(tiny_pretraining_config(), run_dir, "train", init_checkpoint=init),
    ):
        with pytest.raises((ValueError, BlockingIOError), match=sentence):
            train()
    assert not (folder / "run").exists()
    if _kept:
        _kept.close()
