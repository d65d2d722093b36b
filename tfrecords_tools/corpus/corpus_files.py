"""Finds the files of a corpus, and says what they hold."""

import itertools
import os
import re
from glob import has_magic
from pathlib import Path

from kbert.checks import with_home
from kbert.files.compression import find_compression
from kbert.files.file_format import (
    FORMATS,
    TABLES,
    format_by_name,
    path_problem,
    require_downloaded,
    require_text_format,
    table_by_content,
)
from kbert.files.globs import folders_below, matches
from kbert.files.json_file import parse_json
from kbert.files.output_path import each_once, is_remote
from kbert.files.text_file import numbered_lines, require_line_feeds
from kbert.tokenization.base_vocabulary import BERT_TOKENS
from kbert.tokenization.vocabulary_files import VOCABULARY_FILES

_COMPRESSED_TO_TEXT = 4
_FIRST_LINES = 5
_NUMBERED = re.compile(r"\d+\t")  # as in the Leipzig corpora
_READERS = {  # of files with columns, by pandas
    "csv": "pandas.read_csv(path)",
    "tsv": 'pandas.read_csv(path, sep="\\t")',
    "parquet": "pandas.read_parquet(path)",
    "arrow": "pandas.read_feather(path)",
    "arrow stream": "datasets.Dataset.from_file(path).to_pandas()",
}


def input_files(patterns) -> list[Path]:
    """Expands paths, folders and globs into files, sorted by name, each once.

    Args:
      patterns: a path, a list of paths or globs, or one string of them separated by commas. A folder stands
        for all files in it and its subfolders, links included, except files and folders whose name begins
        with a dot. The path of an existing file is never read as a glob, whatever characters it has. A file
        with several names (links) is read by the first.

    Raises:
      ValueError: when a pattern matches no file, or a folder without the files in it; all files are empty, a
        file's compression is not supported (or needs a package that is not installed), JSON lines have a name
        of text, a file is a vocabulary, or a link leads nowhere.
      OSError: when a folder may not be read.
    """
    patterns = separated(patterns)
    if not patterns:
        raise ValueError("no input files given; pass --input_files=PATH_OR_GLOB[,PATH_OR_GLOB...].")
    paths, folders = set(), {}
    for pattern in patterns:
        path = Path(pattern)
        matched = [path] if path.exists() else _matches(str(pattern))
        files = _files_below(path) if path.is_dir() else _files_among(matched)
        folders_here = [match for match in matched if match.is_dir()]
        folders |= dict.fromkeys(folders_here, pattern)
        if not files and not any(map(_files_below, folders_here)):
            problem = "holds no files" if path.is_dir() else "matches no file"
            if path.exists() and not path.is_dir() or is_remote(pattern):
                problem = path_problem(pattern)
            raise ValueError(
                f"input {str(pattern)!r} {problem}; "
                "give text files, a folder or a glob such as 'corpus/*.txt'."
            )
        paths.update(files)
    _require_folders_read(folders, paths)
    files = each_once(sorted(paths))
    for file in files:
        _check_readable(file)
    if not any(file.stat().st_size for file in files):
        raise ValueError(
            f"all input files are empty: {', '.join(map(str, files[:5]))}; give files with text."
        )
    return files


def input_folders(patterns) -> list[Path]:
    """The folders among the arguments of `input_files`: output there would be input of the next run."""
    return [Path(pattern) for pattern in separated(patterns) if Path(pattern).is_dir()]


def require_outside(patterns, folder: Path):
    """Raises ValueError where a glob matches a folder that a tool has made, or what lies in it: the next run
    would read it.

    Args:
      patterns: as for `input_files`.
      folder: the new folder.
    """
    for pattern in separated(patterns):
        for path in () if Path(pattern).exists() else matches(str(pattern)):
            if path.resolve().is_relative_to(folder):
                raise ValueError(
                    f"input {str(pattern)!r} would also match {path}, where the records are made, and the "
                    "next run would read it; choose an output_dir elsewhere, or a narrower glob."
                )


def separated(patterns) -> list[str | Path]:
    """The paths and globs among the arguments of `input_files`."""
    if isinstance(patterns, Path) or (patterns and isinstance(patterns, str) and os.path.exists(patterns)):
        return [Path(patterns)]
    if isinstance(patterns, str):
        if braces := re.search(r"\{[^{}]*,[^{}]*\}", patterns):
            raise ValueError(
                f"input_files={patterns[:200]}: {braces[0]} in quotes is not read as a shell does; write "
                "each path or glob, with a comma between them."
            )
        patterns = with_home([pattern.strip() for pattern in patterns.split(",")])
    if "" in patterns and any(patterns):
        raise ValueError(
            f"input_files={','.join(map(str, patterns))[:200]} has an empty name beside a comma, as of a "
            "shell variable that is not set; give it a value, or leave out the comma."
        )
    return [pattern for pattern in patterns if pattern != ""]


def _matches(pattern: str) -> list[Path]:
    """What a glob matches. An error for a folder on the way that may not be entered or listed, and for a link
    that leads nowhere: `glob` passes over these."""
    for path in (Path(pattern), *Path(pattern).parents):
        folders = matches(str(path.parent)) if has_magic(str(path)) else []
        if path.parent.name != "**":  # which matches every file below, read or not
            _files_among(folders)
        for folder in folders:
            if folder.is_dir():
                os.stat(f"{folder}/.")
                if has_magic(path.name):
                    os.scandir(folder).close()
    return matches(pattern)


def _files_below(folder: Path) -> list[Path]:
    return _files_among(
        [Path(parent, name) for parent, names in folders_below(folder, _raise) for name in names]
    )


def _raise(error):
    raise error


def _files_among(paths: list[Path]) -> list[Path]:
    for path in paths:
        if path.is_symlink() and not path.exists():
            raise ValueError(
                f"{path} is a link to {os.readlink(path)}, which is not there; fix the link, delete it, or "
                "give inputs without it."
            )
    return [path for path in paths if path.is_file()]


def _require_folders_read(folders, files):
    """Refuses a glob such as `corpus/*` that matches folders where nothing takes what they hold; ** does."""
    read = {parent for file in files for parent in file.parents}
    for folder, pattern in folders.items():
        if folder not in read and _files_below(folder):
            raise ValueError(
                f"input {str(pattern)!r} matches the folder {folder}, but not the files in it; give the "
                "folder itself too, or a glob of files alone such as 'corpus/*.txt'."
            )


def require_no_columns(file: str | Path):
    """Raises ValueError for CSV, TSV and tables, whose labels and numbers would be read as text."""
    table = table_by_content(file)
    kind = table or format_by_name(file)
    if kind == "arrow" and not table:  # that of `datasets` has no first bytes of its own
        kind = "arrow stream"
    if kind and (kind not in FORMATS or FORMATS[kind].has_header):
        reader = _READERS.get(kind, "table")
        unpacked = "unpack it, then " if table and find_compression(file) else ""
        raise ValueError(
            f"{file} is a table ({kind}), whose columns would all be read as text; {unpacked}write the texts "
            f'alone, one a line in a .txt file, or by {reader}[["text"]].to_json("texts.jsonl", '
            'orient="records", lines=True).'
        )


def _check_readable(file: Path):
    if not os.access(file, os.R_OK):
        raise ValueError(f"{file} may not be read by this user; change its permissions or leave it out.")
    require_downloaded(file)
    if not table_by_content(file) and format_by_name(file) not in TABLES:
        require_text_format(file, "text or JSON lines")
    require_no_columns(file)
    require_line_feeds(file)
    lines = [line for _, _, line in itertools.islice(numbered_lines(file), _FIRST_LINES)]
    first = lines[0] if lines else ""
    if file.name in VOCABULARY_FILES or str(first).strip() == BERT_TOKENS.pad:
        raise ValueError(
            f"{file} is a tokenizer's file, by its name or first line, and no text to learn from; give "
            "inputs without it, for example a narrower glob."
        )
    if format_by_name(file) is None and _is_object(first):
        ending = f".jsonl{file.suffix if find_compression(file) else ''}"
        raise ValueError(
            f"{file} begins with a JSON object, but its name is that of a text; end the name in {ending}."
        )
    if len(lines) > 1 and all(_NUMBERED.match(str(line)) for line in lines):
        raise ValueError(
            f"each line of {file} begins with a number and a tab, by its first {len(lines)}, which would be "
            "read as text; leave these out: cut -f2- OLD > NEW."
        )


def _is_object(line):
    """Whether a line is a JSON object, but for an empty one, as programs have it."""
    try:
        value = parse_json(line, "") if isinstance(line, str) and line.startswith("{") else None
        return bool(value) and isinstance(value, dict)
    except ValueError:
        return False


def text_bytes(file: Path) -> int:
    """About how much text a file holds; of a compressed one a guess, for planning only."""
    return file.stat().st_size * (_COMPRESSED_TO_TEXT if find_compression(file) else 1)
