"""Unfinished pretraining records: a folder that a killed run leaves and the next one takes up."""

import contextlib
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kbert.files.folder_lock import lock_folder
from kbert.files.json_file import read_json_object
from kbert.files.whole_file import write_json
from kbert.manifest import VOCABULARY_FILE_NAME
from kbert.tokenization.vocabulary import Vocabulary
from tfrecords_tools.corpus.documents import TextFormat
from tfrecords_tools.pretraining.pretraining_settings import PretrainingSettings
from tfrecords_tools.work.stored_vocabulary import StoredVocabulary

_PLAN_FILE = "plan.json"
_FORMAT = 1  # of what lies in the folder; another number is never taken up


@dataclass(frozen=True)
class PretrainingJob:
    """Where everything of one unfinished set of records lies, and what it is made with.

    Small, so that it travels to the workers with each piece of work. The folder holds

      plan.json    settings, input files and vocabulary: a run with others is refused
      vocab.txt
      tokens/      the tokenised corpus in blocks of documents
      examples/    for each block its examples, sorted into buckets
      parts/       for each bucket its records in random order, which the shards are put together from

    Beside each finished piece lies a JSON file of its name with what there is to say of it, written last: a
    piece without one is made again.

    Args:
      directory: the folder.
      settings: the `PretrainingSettings`.
      vocab_size: how many pieces the vocabulary has.
      fingerprint: the vocabulary's. Workers keep what they make of a vocabulary, and another one in the same
        folder is told from it by this.
    """

    directory: str
    settings: PretrainingSettings
    vocab_size: int
    fingerprint: str

    @property
    def path(self) -> Path:
        return Path(self.directory)

    @property
    def vocabulary_file(self) -> Path:
        return self.path / VOCABULARY_FILE_NAME

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
        """Two bytes where the vocabulary allows."""
        return np.dtype(np.uint16 if self.vocab_size <= 1 << 16 else np.int32)

    @property
    def text_format(self) -> TextFormat:
        settings = self.settings
        return TextFormat(
            text_field=settings.text_field, split_sentences=settings.split_sentences, errors=settings.errors
        )

    def generator(self, *numbers: int) -> np.random.Generator:
        """A random generator of its own for each piece of work, by its numbers."""
        return np.random.default_rng([self.settings.seed, *numbers])

    @property
    def stored_vocabulary(self) -> StoredVocabulary:
        return StoredVocabulary(self.vocabulary_file, self.settings.do_lower_case, self.fingerprint)

    def vocabulary(self) -> Vocabulary:
        return self.stored_vocabulary.read()

    @classmethod
    @contextlib.contextmanager
    def create_or_resume(
        cls, output_dir: str | Path, settings: PretrainingSettings, vocabulary: Vocabulary, files: list[Path]
    ) -> Iterator["PretrainingJob"]:
        """Makes the folder `OUTPUT_DIR.unfinished`, or takes up the one there is, for this process alone.

        Another process may have it when the `with` block is left, or when this one ends, however it ends.

        Raises:
          ValueError: when it cannot be made, or holds the unfinished work of other settings, files or another
            vocabulary; the differing keys are named.
          BlockingIOError: when another process works in the folder.
          OSError: when the disk is full or a worker was killed; the sentence says that the same command goes
            on.
        """
        output_dir = Path(output_dir).resolve()
        directory = output_dir.with_name(f"{output_dir.name}.unfinished")
        job = cls(str(directory), settings, len(vocabulary), vocabulary.fingerprint)
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ValueError(
                f"cannot make the folder {directory} ({error.strerror}); the records are made there and then "
                "renamed, so the folder around output_dir must be writable."
            ) from None
        with lock_folder(directory), _saying_how_to_go_on(directory):
            job._take_up(vocabulary, files)
            yield job

    def _take_up(self, vocabulary, files):
        plan = {
            "format": _FORMAT,
            "settings": self.settings.to_dict(),
            "vocabulary": vocabulary.describe(),
            # A changed file would give other documents than those that are done.
            "input_files": {str(file): [file.stat().st_size, file.stat().st_mtime_ns] for file in files},
        }
        plan_file = self.path / _PLAN_FILE
        if plan_file.is_file():
            _refuse_other_plan(plan_file, plan)
        for folder in (self.tokens, self.examples, self.parts):
            folder.mkdir(exist_ok=True)
        if not plan_file.is_file():
            vocabulary.write(self.vocabulary_file)
            write_json(plan, plan_file)

    @contextlib.contextmanager
    def removed_on_wrong_input(self):
        """Where the corpus is read: what is wrong there leaves nothing behind.

        The corpus has to be mended, or other settings to be taken, and neither goes on with what is done.
        """
        try:
            yield
        except ValueError:
            shutil.rmtree(self.path, ignore_errors=True)
            raise


@contextlib.contextmanager
def _saying_how_to_go_on(directory):
    try:
        yield
    except BlockingIOError:  # of another folder: it says what to do
        raise
    except OSError as error:
        what = f"{error.filename}: {error.strerror}" if error.filename else error.strerror or str(error)
        raise OSError(
            f"{what.rstrip('.')}; what is done lies in {directory}, and the same command goes on there."
        ) from error


def _refuse_other_plan(plan_file, plan):
    was = _read_plan(plan_file)
    differing = [
        f"{key} (was {was.get(section, {}).get(key)!r}, now {values.get(key)!r})"
        for section, values in plan.items()
        if isinstance(values, dict) and section != "input_files"
        for key in sorted({*values, *was.get(section, {})})
        if was.get(section, {}).get(key) != values.get(key)
    ]
    if was.get("input_files") != plan["input_files"]:
        differing.append("the input files")
    if was.get("format") != plan["format"]:
        differing.append("the version of kbert")
    if differing:
        raise ValueError(
            f"{plan_file.parent} holds unfinished work that differs in {'; '.join(differing)}. Repeat its "
            "settings to go on with it, or delete that folder to begin again."
        )


def _read_plan(plan_file):
    try:
        plan = read_json_object(plan_file)
        if not all(isinstance(plan.get(section, {}), dict) for section in ("settings", "vocabulary")):
            raise ValueError("its sections are no objects")
    except ValueError:
        raise ValueError(
            f"{plan_file} is broken; delete the folder {plan_file.parent} and begin again."
        ) from None
    return plan
