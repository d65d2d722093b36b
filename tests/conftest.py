"""What several tests share: a tiny encoder, vocabulary and corpus, and one tiny run of each kind."""

import contextlib
import gc
import os
import random
import resource
import signal

import hypothesis
import pytest

from kbert.config import DatasetConfig, EncoderConfig, FinetuningConfig, OptimizerConfig, PretrainingConfig
from tests.made_once import made_once
from tests.order_of_files import longest_first
from tests.tfrecords_tools import small_corpus

# The products of kbert's commands, so that answers of this process equal theirs on every processor.
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")

# Tests of tiny models: compiling kernels for every shape would take longer than all the rest.
os.environ.setdefault("KBERT_COMPILE_KERNELS", "0")

# On a busy machine any example may take long.
hypothesis.settings.register_profile("kbert", deadline=None)
hypothesis.settings.load_profile("kbert")

# TensorFlow's modules and graphs are many objects that live long: looking through all of them took 7 %.
gc.set_threshold(10_000, 10, 10)

# A shell that starts the suite in the background makes it ignore Ctrl-C, and child processes inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

MAX_SEQ_LENGTH = 24
LABELS = ("quiet", "loud")


@pytest.hookimpl(trylast=True)  # after -m and -k have chosen
def pytest_collection_modifyitems(items):
    longest_first(items)


def pytest_collection_finish():
    gc.freeze()  # all that the imports made stays to the end


@pytest.fixture
def eager():
    """Functions run without graphs: a fifth of the time where each is called once, and the same numbers.

    What fixtures of modules and of the session make is made with graphs, whichever test asks first.
    """
    import tensorflow as tf

    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)


def mostly_long(names, kept):
    """Parameters of a test: `make test` takes those of `kept`, `make test-long` the others."""
    return [name if name in kept else pytest.param(name, marks=pytest.mark.long) for name in names]


def tiny_encoder_config(**changes) -> EncoderConfig:
    values = {
        "vocab_size": len(small_corpus.TOKENS),
        "hidden_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 32,
        "max_position_embeddings": 32,
        # Larger than BERT's, so that at random weights the outputs differ from text to text.
        "initializer_range": 0.2,
    }
    return EncoderConfig(**values | changes)


def tiny_pretraining_config(**changes) -> PretrainingConfig:
    values = {
        "encoder": tiny_encoder_config(num_hidden_layers=1),
        "optimizer": OptimizerConfig(learning_rate=2e-3),
        "train_batch_size": 8,
        "eval_batch_size": 8,
        "steps_per_execution": 3,
        "log_every_steps": 2,
        "save_checkpoints_steps": 6,
        "num_train_steps": 12,
        "num_warmup_steps": 2,
        "eval_every_steps": 12,
    }
    return PretrainingConfig(**values | changes)


def tiny_finetuning_config(**changes) -> FinetuningConfig:
    values = {
        "encoder": None,
        "optimizer": OptimizerConfig(name="adamw", learning_rate=5e-3),
        "dataset": DatasetConfig(text="sentence", label="label", labels=LABELS),
        "train_batch_size": 8,
        "eval_batch_size": 8,
        "max_seq_length": MAX_SEQ_LENGTH,
        "num_train_epochs": 2.0,
        "log_every_steps": 4,
        "save_checkpoints_steps": 1000,
    }
    return FinetuningConfig(**values | changes)


def write_labelled_file(path, number: int, seed: int = 3):
    """A TSV of sentences; those with the word "jump" are loud."""
    rng = random.Random(seed)
    lines = ["sentence\tother\tlabel"]
    for index in range(number):
        first, second = small_corpus.sentences(2, rng)
        first = f"jump {first}" if index % 2 else first.replace("jump", "walk")
        lines.append(f"{first}\t{second}\t{LABELS[index % 2]}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def encoder_config() -> EncoderConfig:
    return tiny_encoder_config()


@pytest.fixture
def vocabulary():
    return small_corpus.vocabulary()


@pytest.fixture
def largest_file():
    """A context manager that takes a number of bytes: inside it, no file of this process can grow larger.

    Writing beyond that fails at the same places as on a full disk.
    """

    @contextlib.contextmanager
    def largest_file(num_bytes):
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (num_bytes, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    return largest_file


@pytest.fixture
def starts(monkeypatch):
    """The weights that each training would start from, by variable; nothing is trained."""
    from kbert.encoder import BertEncoder

    started = []

    def train(task, config, plan, run, strategy):
        model = task.build_model(BertEncoder(config.encoder))
        plan.initialize(model)
        started.append({variable.path: variable.numpy() for variable in model.trainable_variables})

    for training in ("finetuning_run", "pretraining_run"):
        monkeypatch.setattr(f"kbert.experiments.{training}.train", train)
    return started


@pytest.fixture(scope="session")
def records_dir(tmp_path_factory):
    """A folder with `train` and `heldout` pretraining records."""
    return made_once(tmp_path_factory, "records", make_records)


def make_records(folder, **settings):
    """`folder`/train and `folder`/heldout, with these settings of `create_pretraining_data`."""
    from tfrecords_tools.create_pretraining_data import create_pretraining_data

    for name, num_documents, seed in (("train", 12, 1), ("heldout", 4, 2)):
        raw = folder / f"raw_{name}"
        raw.mkdir()
        corpus, vocab_file = small_corpus.write_corpus(raw, num_documents, seed)
        create_pretraining_data(
            str(corpus),
            vocab_file,
            folder / name,
            max_seq_length=MAX_SEQ_LENGTH,
            max_predictions_per_seq=4,
            dupe_factor=2,
            num_shards=3,
            **settings,
        )


@pytest.fixture(scope="session")
def pretraining_run(records_dir, tmp_path_factory):
    """The `RunDirectory` of 12 steps of pretraining, with an evaluation at the end."""
    from kbert.experiments.pretraining import pretrain
    from kbert.runs.run_directory import RunDirectory

    def make(folder):
        config = tiny_pretraining_config()
        pretrain(config, folder / "run", records_dir / "train", records_dir / "heldout")

    return RunDirectory(made_once(tmp_path_factory, "pretraining", make) / "run")


@pytest.fixture(scope="session")
def labelled_files(tmp_path_factory):
    """Paths of a training and a development TSV with the columns sentence, other and label."""

    def make(folder):
        write_labelled_file(folder / "train.tsv", 40)
        write_labelled_file(folder / "dev.tsv", 13, seed=4)

    folder = made_once(tmp_path_factory, "labelled", make)
    return folder / "train.tsv", folder / "dev.tsv"


@pytest.fixture(scope="session")
def finetuned_run(pretraining_run, labelled_files, tmp_path_factory):
    """The `RunDirectory` of a classifier of single texts."""
    from kbert.experiments.finetuning import finetune
    from kbert.runs.run_directory import RunDirectory

    def make(folder):
        config = tiny_finetuning_config()
        finetune(config, folder / "run", *labelled_files, init_checkpoint=pretraining_run.path)

    return RunDirectory(made_once(tmp_path_factory, "finetuned", make) / "run")


@pytest.fixture(scope="session")
def pair_run(tmp_path_factory):
    """The `RunDirectory` of a classifier of pairs of texts that was not trained."""
    from kbert.encoder import BertEncoder
    from kbert.runs.run_directory import RunDirectory
    from kbert.tasks import TASKS
    from tests.kbert.runs.written_run import written_run

    def make(folder):
        task = TASKS["sequence_classification"](LABELS, takes_pairs=True)
        model = task.build_model(BertEncoder(tiny_encoder_config(num_hidden_layers=1)))
        dataset = DatasetConfig(text="sentence", text_pair="other", label="label", labels=LABELS)
        written_run(folder / "run", task, model, small_corpus.vocabulary(), dataset=dataset)

    return RunDirectory(made_once(tmp_path_factory, "pairs", make) / "run")
