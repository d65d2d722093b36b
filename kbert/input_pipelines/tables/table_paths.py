"""A path -> the files of a table. Standard library only: what is missing is said before anything is read."""

import glob
import hashlib
from pathlib import Path
from typing import NamedTuple

from kbert.files.file_format import ENDINGS, TABLES, format_by_name, path_problem
from kbert.files.globs import matches
from kbert.files.json_file import read_json_object
from kbert.files.near_names import near_names
from kbert.files.output_path import each_once
from kbert.files.path_inside import path_inside
from kbert.input_pipelines.tables import shard_names, table_rows
from kbert.manifest import digest

# What `datasets` writes beside its Arrow files: one folder is a split, or holds a folder for each split.
_SPLIT, _SPLITS = "state.json", "dataset_dict.json"
_WRITE_AGAIN = "load it with `datasets` and write it again with save_to_disk"


class Table(NamedTuple):
    """The files of a table, in their order, all of one of the formats `TABLES`."""

    file_format: str
    files: tuple[Path, ...]


def find_table(path: str | Path, file_format: str | None = None) -> Table | None:
    """The table at a path; None for a file that is no table, such as TSV.

    Args:
      path: a `.parquet` or `.arrow` file; a pattern such as `data/train-*.parquet`, whose files are read by
        name in order, each once; or a folder that `Dataset.save_to_disk` of Hugging Face's `datasets` wrote.
      file_format: `dataset.file_format` of a config; it stands above the name of a file. A folder is Arrow.

    Raises:
      ValueError: when there is no such file, for a folder that is no split of a dataset, for a pattern of
        other files than tables, and as `require_all_shards`.
    """
    path = Path(path)
    if path.is_dir():
        return Table("arrow", _split_files(path))
    if path.is_file():
        kind = _table_format(path, file_format)
        return Table(kind, (path,)) if kind else None
    if _is_pattern(path):
        return _matching(path, file_format)
    if (path.parent / _SPLITS).is_file():
        raise ValueError(f"{path.parent} holds no split {path.name!r}; {_list_splits(path.parent)}.")
    raise ValueError(
        f"file {path} {path_problem(path)}; expected a file that ends in one of {', '.join(ENDINGS)}, or a "
        "folder of `datasets`." + _file_like(path)
    )


def find_format(path: str | Path, file_format: str | None = None) -> str | None:
    """The format of the rows at a path: one of `FORMATS`, or None where nothing says it.

    Args and errors as those of `find_table`.
    """
    table = find_table(path, file_format)
    return table.file_format if table else file_format or format_by_name(path)


def names_table(path: str | Path) -> bool:
    """Whether a path is meant as a table, by its ending or as a folder of `datasets`, be it there or not."""
    path = Path(path)
    return format_by_name(path) in TABLES or any((path / name).is_file() for name in (_SPLIT, _SPLITS))


def source_files(path: str | Path) -> tuple[Path, ...]:
    """The files that a path of labelled examples stands for: those of a pattern, whatever their format, or of
    a table, or the file itself.

    Raises:
      ValueError: as `find_table` does where there is nothing to read.
    """
    if _is_pattern(path):
        return _matches(path)
    table = find_table(path)
    return table.files if table else (Path(path),)


def require_one_split(path: str | Path):
    """Raises ValueError as `source_files` does, and for a pattern of several splits: rows of a test would be
    learned."""
    shard_names.require_one_split(path, source_files(path))


def source_digest(path: str | Path) -> str:
    """The SHA-256 of a labelled file, in hexadecimal; of several files, that of their digests in their order.

    Raises:
      ValueError: as `find_table` does.
    """
    digests = [digest(file) for file in source_files(path)]
    return digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()


def values_of_folders(file: Path, root: Path) -> str:
    """A sentence on the values of columns in names of folders between `root` and a file, as in
    rows/label=1/a.parquet."""
    valued = next(folder for folder in file.parents if "=" in folder.name)
    return (
        f"{root} is a folder with values in names of folders ({valued.name}), which are not read; write "
        f'one file: pandas.read_parquet({str(root)!r}).to_parquet("rows.parquet").'
    )


def _table_format(path, file_format):
    kind = file_format or format_by_name(path)
    return kind if kind in TABLES else None


def _file_like(path):
    """A file beside it with nearly this name, for the message."""
    beside = [file.name for file in path.parent.iterdir()] if path.parent.is_dir() else []
    near = near_names(path.name, beside, nearness=0.8)
    return f" Did you mean {path.parent / near[0]}?" if near else ""


def _is_pattern(path):
    return not Path(path).exists() and glob.has_magic(str(path))


def _matches(pattern):
    files = tuple(sorted(matches(str(pattern))))
    if not files:
        raise ValueError(f"no file matches {pattern}; in a shell, put the pattern into quotes.")
    return files


def _matching(pattern, file_format):
    files = _matches(pattern)
    first = _table_format(files[0], file_format)
    if first is None:
        _refuse_texts(pattern, files)
    if first is None or any(
        not file.is_file() or _table_format(file, file_format) != first for file in files
    ):
        raise ValueError(
            f"{pattern} matches {', '.join(file.name for file in files[:5])}; a pattern is for .parquet "
            "files or for .arrow files, by their names or by dataset.file_format. Put others into one "
            "file, or name each with a comma between them, where a flag takes several."
        )
    shard_names.require_all_shards(pattern, files)
    return Table(first, tuple(each_once(files)))


def _refuse_texts(what, files):
    """Raises ValueError where each label has a folder, and each text a file in it."""
    labels = sorted({file.parent.name for file in files if file.suffix in ("", ".txt") and file.is_file()})
    if len(labels) > 1:
        raise ValueError(
            f"{what}: a file for each text, in folders ({', '.join(labels[:5])}). Make rows of them, with "
            "the name of the folder as label: docs/data.md, a folder for each label, has the lines of Python."
        )


def _split_files(folder):
    if (folder / _SPLITS).is_file():
        raise ValueError(f"{folder} holds several splits; {_list_splits(folder)}.")
    if not (folder / _SPLIT).is_file():
        raise ValueError(_no_split(folder))
    state = read_json_object(folder / _SPLIT)
    if state.get("_indices_data_files"):
        raise ValueError(
            f"{folder} keeps its rows by a list of indices, which `datasets` wrote before 1.18; "
            f"{_WRITE_AGAIN}."
        )
    try:
        names = tuple(str(entry["filename"]) for entry in state["_data_files"])
    except (KeyError, TypeError):
        raise ValueError(
            f'{folder / _SPLIT} names no files; expected "_data_files": [{{"filename": ...}}], as '
            "save_to_disk writes it."
        ) from None
    files = tuple(path_inside(folder, name, folder / _SPLIT, "file") for name in names)
    for file in files:
        if not file.is_file():
            raise ValueError(f"{file} is missing, but {folder / _SPLIT} names it; write the folder again.")
    for entry, file in zip(state["_data_files"], files, strict=True):
        skip, take = entry.get("skip"), entry.get("take")
        if skip or (take is not None and take != table_rows.count_rows(file, "arrow")):
            raise ValueError(
                f"{folder} keeps a part of the rows of {file.name} ({_SPLIT}: skip {skip}, take {take}), as "
                f"`datasets` wrote it before 1.6; {_WRITE_AGAIN}."
            )
    if not files:
        raise ValueError(f"{folder} holds no rows: {_SPLIT} names no files.")
    return files


def _list_splits(folder):
    splits = read_json_object(folder / _SPLITS).get("splits")
    names = splits if isinstance(splits, list) else []
    return f"name one of them: {', '.join(str(folder / str(name)) for name in names) or 'it lists none'}"


def _no_split(folder):
    shards = sorted(folder.rglob("*.parquet"))
    if not shards:
        _refuse_texts(folder, folder.glob("[!.]*/*"))
        return (
            f"{folder} is a folder, but no dataset: expected a labelled file, or a folder with {_SPLIT} that "
            "save_to_disk of `datasets` wrote."
        )
    if "=" in str(shards[0].parent.relative_to(folder)):
        return values_of_folders(shards[0], folder)
    stem = shards[0].name.partition("-")[0].removesuffix(".parquet")
    return (
        f"{folder} is a folder with {len(shards)} .parquet file(s); name those of one split by a pattern in "
        f"quotes, such as '{shards[0].parent / stem}*.parquet'."
    )
