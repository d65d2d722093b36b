"""Tiny runs of every task that answers texts: random weights, no training."""

from pathlib import Path

from kbert.config import DatasetConfig
from kbert.encoder import BertEncoder
from kbert.runs.run_directory import RunDirectory
from kbert.tasks import TASKS
from tests.conftest import tiny_encoder_config
from tests.kbert.runs.written_run import written_run
from tests.kbert.tasks.test_task_model import make_task
from tests.kbert.test_encoder import randomize
from tests.tfrecords_tools import small_corpus

# Of windows, which room for a question leaves short.
_SETTINGS = {"question_answering": {"doc_stride": 6, "max_query_length": 4}}


def tasks_with_answers() -> list[str]:
    return [name for name in TASKS if make_task(name).serving]


def untrained_run(name: str, folder: Path, vocabulary=None, **changes) -> RunDirectory:
    """A run of a task with random numbers for weights; `changes` are of the encoder's config.

    Without a vocabulary it has that of the small corpus.
    """
    settings = _SETTINGS.get(name, {})
    task = make_task(name)
    if settings:
        task = TASKS[name].from_dataset(DatasetConfig(), TASKS[name].read_settings(settings))
    vocabulary = vocabulary or small_corpus.vocabulary()
    encoder = tiny_encoder_config(**{"vocab_size": len(vocabulary)} | changes)
    model = task.build_model(BertEncoder(encoder, dtype="float32"))
    randomize(model)
    return written_run(folder, task, model, vocabulary)
