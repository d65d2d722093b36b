"""Unfinished pretraining records: a folder that a killed run leaves behind and the next run resumes.

The three stages run on it one after the other, each as many items of work that know nothing of one another.
An item is done in any process, on one machine or on a cluster, and what it makes depends only on the job, the
seed and the item's number.
"""

import contextlib
import functools
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from absl import logging

from kbert.cli.progress import Progress
from kbert.files.folder_lock import lock_folder
from kbert.files.json_file import read_json_object
from kbert.files.whole_file import made_folder, write_json
from kbert.tokenization.base_vocabulary import BaseVocabulary
from tfrecords_tools.corpus.tokenized_corpus import piece_dtype
from tfrecords_tools.pretraining.pretraining_settings import PretrainingSettings
from tfrecords_tools.work.beam_pool import BeamPool
from tfrecords_tools.work.worker_pool import StoredVocabulary, WorkerPool

Pool = WorkerPool | BeamPool

_PLAN_FILE = "plan.json"
_SECTIONS = ("settings", "vocabulary")
_FORMAT = 4  # version of the folder's contents; a folder with another number is not resumed


@dataclass(frozen=True)
class PretrainingJob:
    """The folder of one unfinished set of records, and the settings it is made with.

    The object is small, because it is sent to the workers with each item of work. The folder holds

      plan.json    settings, input files and vocabulary; a run with different ones is refused
      vocab.txt
      tokens/      the tokenised corpus in blocks of documents
      examples/    for each block its examples, sorted into buckets
      parts/       for each bucket its records in random order; the shards are joined from them

    Each finished item has a summary, a JSON file with its name, which is written last. An item without a
    summary is made again.

    Args:
      path: the folder.
      settings: the `PretrainingSettings`.
      vocab_size: how many pieces the vocabulary has.
      stored_vocabulary: the vocabulary in the folder.
    """

    path: Path
    settings: PretrainingSettings
    vocab_size: int
    stored_vocabulary: StoredVocabulary

    @property
    def tokens(self) -> Path:
        return self.path / "tokens"

    @property
    def examples(self) -> Path:
        return self.path / "examples"

    @property
    def parts(self) -> Path:
        return self.path / "parts"

    @property
    def piece_dtype(self) -> np.dtype:
        return piece_dtype(self.vocab_size)

    def generator(self, *numbers: int) -> np.random.Generator:
        """A random generator for an item of work, seeded by the job's seed and the item's numbers."""
        return np.random.default_rng([self.settings.seed, *numbers])

    def vocabulary(self) -> BaseVocabulary:
        return self.stored_vocabulary.read()

    @classmethod
    @contextlib.contextmanager
    def create_or_resume(
        cls,
        output_dir: str | Path,
        settings: PretrainingSettings,
        vocabulary: BaseVocabulary,
        files: list[Path],
    ) -> Iterator["PretrainingJob"]:
        """Makes the folder `OUTPUT_DIR.unfinished`, or resumes the existing one, and locks it.

        The lock ends with the `with` block, or with this process, however it ends.

        Raises:
          ValueError: when the folder cannot be made, or holds unfinished work with other settings, input
            files or another vocabulary; the differing keys are named.
          BlockingIOError: when another process works in the folder.
          OSError: when the disk is full or a worker was killed; the message says that the same command
            resumes the work.
        """
        directory = unfinished(output_dir)
        stored = StoredVocabulary(directory, vocabulary.describe(), vocabulary.fingerprint)
        job = cls(directory, settings, len(vocabulary), stored)
        if directory.is_symlink():
            raise ValueError(f"{directory} is a link, expected a folder of this tool; delete the link.")
        with contextlib.ExitStack() as stack:
            try:
                stack.enter_context(made_folder(directory))
            except OSError as error:
                raise ValueError(
                    f"cannot make the folder {directory} ({error.strerror}); the records are made there and "
                    "then renamed, so the parent folder of output_dir must be writable."
                ) from None
            stack.enter_context(lock_folder(directory))
            stack.enter_context(_saying_how_to_resume(directory))
            job._write_or_compare_plan(vocabulary, files)
            yield job

    def _write_or_compare_plan(self, vocabulary, files):
        plan = {
            "format": _FORMAT,
            "settings": asdict(self.settings),
            "vocabulary": vocabulary.describe(),
            # A changed file would give other documents than those that are done.
            "input_files": {str(file): _size_and_time(file) for file in files},
        }
        plan_file = self.path / _PLAN_FILE
        if plan_file.is_file():
            _refuse_other_plan(plan_file, plan)
        for folder in (self.tokens, self.examples, self.parts):
            if not plan_file.is_file():  # a deletion was interrupted: nobody knows of what these are
                shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(exist_ok=True)
        if not plan_file.is_file():
            vocabulary.write_files(self.path)
            write_json(plan, plan_file)

    def require_same_files(self):
        """Raises ValueError where a file of the corpus is not the one that the plan names any more."""
        for file, written in _read_plan(self.path / _PLAN_FILE)["input_files"].items():
            if Path(file).is_file() and _size_and_time(Path(file)) != written:
                raise ValueError(f"{file} was changed while it was read; start again when nothing writes it.")

    @contextlib.contextmanager
    def removed_on_wrong_input(self):
        """Deletes the folder if the block, which reads the corpus, raises ValueError.

        The user must then change the corpus or the settings, and neither can resume this work. What an
        earlier run finished stays: it read the same corpus, so something else may be wrong now.
        """
        is_new = not any(self.tokens.iterdir())
        try:
            yield
        except ValueError:
            if is_new:
                self.delete()
            raise

    def delete(self):
        """Deletes the folder, the plan first: what a deletion leaves that is interrupted is never resumed."""
        with contextlib.suppress(OSError):
            (self.path / _PLAN_FILE).unlink(missing_ok=True)
            shutil.rmtree(self.path, ignore_errors=True)


def _size_and_time(file: Path) -> list[int]:
    stat = file.stat()
    return [stat.st_size, stat.st_mtime_ns]


def unfinished(output_dir: str | Path) -> Path:
    """The folder of the job whose records will be in `output_dir`."""
    output_dir = Path(output_dir).resolve()
    return output_dir.with_name(f"{output_dir.name}.unfinished")


def summary_file(folder: Path, name: str) -> Path:
    """What is written last of an item of work: it is done when this file exists."""
    return folder / f"{name}.json"


def run_items(
    function: Callable,
    job: PretrainingJob,
    pool: Pool,
    items: Sequence,
    folder: Path,
    sizes: dict[str, int],
    what: str,
    unit: str,
):
    """Calls `function(job, item)` in the workers for each item that has no summary yet.

    Args:
      function: of a module; it writes what it makes, and the summary last.
      job, pool: the job, and the processes.
      items: tuples with a `name`.
      folder: where their summaries are.
      sizes: by the name of an item, for the progress.
      what, unit: as for `Progress`.
    """
    waiting = [item for item in items if not summary_file(folder, item.name).is_file()]
    total = sum(sizes[item.name] for item in items)
    done = total - sum(sizes[item.name] for item in waiting)
    if done:
        logging.info(
            "%s %d of %d items in an earlier run; resuming.", what, len(items) - len(waiting), len(items)
        )
    progress = Progress(what, unit, total, already_done=done)
    work = functools.partial(function, job)
    for item, _ in zip(waiting, pool.map(work, waiting), strict=True):
        done += sizes[item.name]
        progress.report(done)
    progress.report_end()


@contextlib.contextmanager
def _saying_how_to_resume(directory):
    try:
        yield
    except BlockingIOError:  # the lock of another folder: its message says what to do
        raise
    except OSError as error:
        what = f"{error.filename}: {error.strerror}" if error.filename else error.strerror or str(error)
        raise OSError(
            f"{what.rstrip('.')}; finished work is kept in {directory}, and the same command resumes it."
        ) from error


def _refuse_other_plan(plan_file, plan):
    earlier = _read_plan(plan_file)
    differing = [
        f"{key} (was {earlier[section].get(key)!r}, now {plan[section].get(key)!r})"
        for section in _SECTIONS
        for key in sorted({*plan[section], *earlier[section]})
        if earlier[section].get(key) != plan[section].get(key)
    ]
    files = earlier.get("input_files")
    if files != plan["input_files"]:
        differing.append(f"the input files ({_difference(files or {}, plan['input_files'])})")
    if earlier.get("format") != plan["format"]:
        differing.append("the version of kbert")
    if differing:
        raise ValueError(
            f"{plan_file.parent} holds unfinished work that differs in {'; '.join(differing)}. Repeat its "
            "settings to resume it, or delete that folder to begin again."
        )


def _difference(earlier, files):
    """How the first file differs that does."""
    file = next(file for file in sorted({*earlier, *files}) if earlier.get(file) != files.get(file))
    if file not in earlier or file not in files:
        return f"{file} is {'new' if file in files else 'not given'}"
    (size, time), (size_now, _) = earlier[file], files[file]
    if size != size_now:
        return f"{file} has another size"
    seconds, nanoseconds = divmod(time, 10**9)
    return (
        f"{file} was written at another time; if it is the same, touch -d @{seconds}.{nanoseconds:09} gives "
        "it the earlier one"
    )


def _read_plan(plan_file):
    try:
        plan = read_json_object(plan_file)
        if not all(isinstance(plan.get(section), dict) for section in _SECTIONS):
            raise ValueError("its sections are no objects")
    except ValueError:
        raise ValueError(
            f"{plan_file} is broken; delete the folder {plan_file.parent} and begin again."
        ) from None
    return plan
