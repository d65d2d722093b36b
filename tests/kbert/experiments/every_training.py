"""One small training and evaluation for every kind of task that a script trains."""

from typing import NamedTuple

from kbert.config import DatasetConfig, TrainingConfig
from kbert.experiments.finetuning import finetune
from kbert.experiments.pretraining import pretrain
from tests.conftest import (
    MAX_SEQ_LENGTH,
    tiny_finetuning_config,
    tiny_pretraining_config,
)
from tests.kbert.experiments.small_rows import (
    dataset_of,
    make_rows,
    write_positives,
    write_rows,
    write_scored,
)
from tests.kbert.tasks.question_answering.small_squad import write_squad
from tests.kbert.tasks.token_classification.small_conll import write_conll
from tests.tfrecords_tools import small_corpus
from tfrecords_tools.create_pretraining_data import create_pretraining_data

# Eight steps, four of them an epoch of fine-tuning. No interval divides another.
INTERVALS = {
    "train_batch_size": 4,
    "eval_batch_size": 3,
    "steps_per_execution": 1,
    "log_every_steps": 4,
    "save_checkpoints_steps": 3,
    "eval_every_steps": 4,
}
NUM_TRAIN_EXAMPLES, NUM_DEV_EXAMPLES, NUM_STEPS = 16, 7, 8
FUNCTIONS = {"finetuning": finetune, "pretraining": pretrain}
SQUAD = {"doc_stride": 6, "max_query_length": 4, "max_answer_length": 5, "unanswerable": True}
TAGGER = {"head": "bilstm", "layers": "embeddings", "lstm_size": 8}
WINDOWS = {"long_texts": "windows", "doc_stride": 2, "window_pooling": "vote"}
PAIRINGS = {
    "masked_lm": "full_sentences",
    "pretraining": "sentence_pairs",
    "sentence_order": "sentence_order",
    "replaced_token_detection": "full_sentences",
}
# As tasks of their own these are heads of converted checkpoints; no script trains them.
NOT_TRAINED = {"next_sentence", "encoder"}


class Training(NamedTuple):
    """A training and the evaluation of its run.

    Fields:
      name: what stands behind `run_` in the names of its script and its function.
      config: its config; its task is that of the run.
      data: name -> path, flags of the script and arguments of the function.
      evaluated: the same for run_evaluation.
    """

    name: str
    config: TrainingConfig
    data: dict
    evaluated: dict

    def train(self, run_dir):
        """The metrics of its last evaluation."""
        _, metrics = FUNCTIONS[self.name](self.config, run_dir, **self.data)
        return metrics


def _rows(folder, task):
    return [
        write_rows(folder / f"{split}.jsonl", make_rows(task, number))
        for split, number in (("train", NUM_TRAIN_EXAMPLES), ("dev", NUM_DEV_EXAMPLES))
    ]


def _texts(task, **changes):
    """Of labelled rows, whose dataset is `dataset_of(task)` but for the changes."""

    def make(folder):
        return _finetuning(task, _rows(folder, task), **{"dataset": dataset_of(task)} | changes)

    return make


def _embeddings(task, write, **changes):
    def make(folder):
        files = (
            write(folder / "train.jsonl", NUM_TRAIN_EXAMPLES),
            write(folder / "dev.jsonl", NUM_DEV_EXAMPLES),
        )
        dataset = DatasetConfig(text="text", text_pair="other")
        return _finetuning(task, files, dataset=dataset, **changes)

    return make


def _questions(folder):
    files = [
        write_squad(folder / f"{split}.json", number, seed=number, impossible=True)
        for split, number in (("train", NUM_TRAIN_EXAMPLES), ("dev", NUM_DEV_EXAMPLES))
    ]
    training = _finetuning("question_answering", files, task_settings=SQUAD, dataset=DatasetConfig())
    return training._replace(evaluated=training.evaluated | {"keep_chosen": True})


def _words(**changes):
    def make(folder):
        files = (
            write_conll(folder / "train.conll", NUM_TRAIN_EXAMPLES, 1),
            write_conll(folder / "dev.conll", NUM_DEV_EXAMPLES, 2),
        )
        return _finetuning("token_classification", files, dataset=DatasetConfig(), **changes)

    return make


def _finetuning(task, files, **changes):
    config = tiny_finetuning_config(task=task, num_train_epochs=2.0, **INTERVALS | changes)
    train, dev = files
    return Training("finetuning", config, {"train_file": train, "dev_file": dev}, {"eval_file": dev})


def _pretraining(task):
    def make(folder):
        corpus, vocab_file = small_corpus.write_corpus(folder, 4, 1)
        create_pretraining_data(
            str(corpus), vocab_file, folder / "records", max_seq_length=MAX_SEQ_LENGTH,
            max_predictions_per_seq=4, dupe_factor=1, num_shards=2, pairing=PAIRINGS[task],
            masking="dynamic",
        )  # fmt: skip
        config = tiny_pretraining_config(task=task, num_train_steps=NUM_STEPS, **INTERVALS)
        records = folder / "records"
        data = {"input_dir": records, "eval_input_dir": records}
        return Training("pretraining", config, data, {"input_dir": records})

    return make


# What is trained -> function from an empty folder, which it fills with data, to a `Training`.
TRAININGS = {
    "windows": _texts("sequence_classification", task_settings=WINDOWS, max_seq_length=5, padding="pack"),
    "pairs": _texts("sequence_classification", dataset=DatasetConfig(text="text", text_pair="other")),
    "regression": _texts("sequence_regression"),
    "several labels": _texts("multi_label_classification"),
    "choices": _texts("multiple_choice"),
    "questions": _questions,
    "words": _words(),
    "frozen encoder": _words(freeze_encoder=True, task_settings=TAGGER),
    "cosines": _embeddings("cosine_similarity", write_scored, task_settings={"highest_score": 5.0}),
    "token vectors": _embeddings("late_interaction", write_positives, task_settings={"query_length": 8}),
    "in-batch negatives": _embeddings("multiple_negatives_ranking", write_positives),
    "sparse vectors": _embeddings("sparse_embedding", write_positives),
    **{task.replace("_", " "): _pretraining(task) for task in PAIRINGS},
}


def make_training(name, folder, init_checkpoint) -> Training:
    """Writes the data of TRAININGS[name] into the folder; a fine-tuning starts from the checkpoint."""
    folder.mkdir()
    training = TRAININGS[name](folder)
    if training.name == "finetuning":
        training.data["init_checkpoint"] = init_checkpoint
    return training
