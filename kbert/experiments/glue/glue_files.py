"""Where GLUE's files lie: every one that is missing is named before anything is read."""

from dataclasses import dataclass, field
from pathlib import Path

from kbert.checks import require
from kbert.experiments.glue.glue_tasks import GlueTask
from kbert.files.text_file import read_lines
from kbert.files.whole_file import write_text

# GLUE may not pass MRPC on: who downloads it has its authors' file, and a list of pairs of ids that says
# which of its rows are the development file.
RAW_TRAIN = "msr_paraphrase_train.txt"
_DEV_IDS = ("dev_ids.tsv", "mrpc_dev_ids.tsv")


@dataclass(frozen=True)
class GlueFiles:
    """The files of a task.

    Args:
      train_file, dev_file: None for a task that is not trained.
      other_dev_files: name -> file.
      tests: name of a submission's file -> (file of texts, column of the index or None).
    """

    train_file: Path | None = None
    dev_file: Path | None = None
    other_dev_files: dict[str, Path] = field(default_factory=dict)
    tests: dict[str, tuple[Path, str | None]] = field(default_factory=dict)


def find_files(glue_dir, tasks: list[GlueTask], run_dir, with_tests: bool) -> dict[str, GlueFiles]:
    """Task's name -> its files.

    MRPC may lie there as its authors publish it; it is split by GLUE's list then, in `run_dir/mrpc/data`.

    Args:
      glue_dir: the folder with a folder for each task, as GLUE's download script makes it. Case and marks of
        their names do not count: "SST-2" and "sst2" are the same.
      tasks: those that are needed.
      run_dir: where files that must be made are written.
      with_tests: whether the files for a submission are needed.

    Raises:
      ValueError: naming everything that is missing, of all tasks.
    """
    glue_dir = Path(glue_dir)
    if not glue_dir.is_dir():
        raise ValueError(f"glue_dir={glue_dir} is no folder; expected one with a folder for each task.")
    missing: list[str] = []
    files_by_task = {}
    for task in tasks:
        folder = _find_folder(glue_dir, task)
        if task.model_of and not with_tests:
            files_by_task[task.name] = GlueFiles()  # it only has texts for a submission
        elif folder is None:
            missing.append(f"folder {task.folders[0]}")
        else:
            files_by_task[task.name] = _find_task_files(folder, task, with_tests, missing)
    if missing:
        raise ValueError(
            f"glue_dir={glue_dir} lacks {', '.join(missing)}; put what it lacks there, or choose other tasks."
        )
    for name, files in files_by_task.items():
        if files.train_file and files.train_file.name == RAW_TRAIN:
            train, dev = _write_split(files.train_file.parent, Path(run_dir) / name / "data")
            files_by_task[name] = GlueFiles(train, dev, {}, files.tests)
    return files_by_task


def _find_folder(glue_dir, task):
    """The folder of a task: the first of its names that is there. ValueError for two of one name."""
    folders: dict[str, list[Path]] = {}
    for path in sorted(glue_dir.iterdir()):
        if path.is_dir():
            folders.setdefault(_plain(path.name), []).append(path)
    named = next((folders[_plain(name)] for name in task.folders if _plain(name) in folders), [])
    if len({path.resolve() for path in named}) > 1:  # else links to one
        names = " and ".join(path.name for path in named)
        raise ValueError(f"glue_dir={glue_dir} has {names}, both for {task.name}; leave one of them there.")
    return next(iter(named), None)


def _plain(name):
    return "".join(letter for letter in name.lower() if letter.isalnum())


def _find_task_files(folder, task, with_tests, missing):
    def require_file(name):
        path = folder / name
        if not path.is_file():
            missing.append(f"{folder.name}/{name}")
        return path

    tests = {}
    for submission in task.submissions if with_tests else ():
        sources = [(folder / name, column) for name, column in submission.sources]
        source = next((source for source in sources if source[0].is_file()), None)
        if source is None:
            missing.append(f"{folder.name}/{submission.sources[0][0]}")
        else:
            tests[submission.name] = source
    if task.model_of:
        return GlueFiles(tests=tests)
    if (folder / RAW_TRAIN).is_file() and not (folder / "train.tsv").is_file():
        if _find_dev_ids(folder) is None:
            missing.append(f"{folder.name}/dev_ids.tsv (GLUE's list of what of {RAW_TRAIN} is dev)")
        return GlueFiles(folder / RAW_TRAIN, tests=tests)
    others = {name: require_file(file) for name, file in task.other_dev_files.items()}
    return GlueFiles(require_file("train.tsv"), require_file(task.dev_file), others, tests)


def _find_dev_ids(folder) -> Path | None:
    """GLUE's list of the pairs of ids of the development file, or None where there is none."""
    return next((path for name in _DEV_IDS if (path := folder / name).is_file()), None)


def _write_split(folder, output_dir) -> tuple[Path, Path]:
    """MRPC as its authors publish it -> GLUE's train.tsv and dev.tsv; rows stay as they are."""
    dev_ids = _find_dev_ids(folder)
    dev_pairs = {
        _ids(line.split("\t"), dev_ids, number) for number, line in enumerate(_lines(dev_ids), start=1)
    }
    header, *rows = _lines(folder / RAW_TRAIN)
    train, dev = [header], [header]
    all_pairs = set()
    for number, row in enumerate(rows, start=2):
        ids = _ids(row.split("\t")[1:], folder / RAW_TRAIN, number)
        all_pairs.add(ids)
        (dev if ids in dev_pairs else train).append(row)
    if missing := sorted(dev_pairs - all_pairs):
        raise ValueError(
            f"{dev_ids} lists {len(missing)} pair(s) that {RAW_TRAIN} does not have, such as "
            f"{' '.join(missing[0])}; take both from the same release."
        )
    output_dir.mkdir(parents=True, exist_ok=True)
    paths = output_dir / "train.tsv", output_dir / "dev.tsv"
    for lines, path in zip((train, dev), paths, strict=True):
        write_text("".join(f"{line}\n" for line in lines), path)
    return paths


def _lines(path):
    """Lines that are not blank, without line ends; a byte order mark is no part of the first."""
    lines = [line.removesuffix("\r") for line in read_lines(path) if line.strip()]
    require(bool(lines), f"{path} is empty; get it again.")
    return lines


def _ids(cells, path, number):
    if len(cells) < 2:
        raise ValueError(f"{path} line {number}: expected a pair of ids with a tab between them.")
    return cells[0].strip(), cells[1].strip()
