"""Corpus files -> a stream of documents of sentences. Standard library only.

The format is the original's: one sentence (or paragraph) a line, a blank line between documents; a new
file begins a new document. Files may be gzip-compressed (`.gz`). One line is held at a time.
"""

import glob
import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path


def input_files(patterns) -> list[Path]:
    """Expands paths and globs into files, sorted by name, each once.

    Args:
      patterns: a path, a list of paths or globs, or one string of them separated by commas. The path of
        an existing file is never read as a glob, whatever characters it has.

    Raises:
      ValueError: when a pattern matches no file, or all files are empty.
    """
    if isinstance(patterns, Path):
        patterns = [patterns]
    elif isinstance(patterns, str):
        patterns = [pattern.strip() for pattern in patterns.split(",") if pattern.strip()]
    if not patterns:
        raise ValueError("no input files given; pass --input_files=PATH_OR_GLOB[,PATH_OR_GLOB...].")
    found = set()
    for pattern in patterns:
        path = Path(pattern)
        matches = [path] if path.exists() else [Path(m) for m in glob.glob(str(pattern), recursive=True)]
        files = [match for match in matches if match.is_file()]
        if not files:
            problem = "is a directory" if matches else "matches no file"
            raise ValueError(
                f"input {str(pattern)!r} {problem}; give text files or a glob such as 'corpus/*.txt'."
            )
        found.update(files)
    files = sorted(found)
    if not any(file.stat().st_size for file in files):
        raise ValueError(f"all input files are empty: {', '.join(map(str, files[:5]))}.")
    return files


def read_lines(path: str | Path) -> Iterator[str]:
    """Yields the lines of a UTF-8 text or `.gz` file, stripped.

    Raises:
      ValueError: naming file and line for bytes that are not UTF-8, or a broken gzip file.
    """
    path = Path(path)
    opened = gzip.open(path, "rb") if path.suffix == ".gz" else open(path, "rb")
    with opened as stream:
        number = 0
        try:
            for number, line in enumerate(stream, start=1):
                yield line.decode("utf-8-sig" if number == 1 else "utf-8").strip()
        except UnicodeDecodeError as error:
            raise ValueError(
                f"{path} line {number} is not UTF-8 (byte 0x{error.object[error.start]:02x}); "
                "convert it, for example: iconv -f WINDOWS-1252 -t UTF-8."
            ) from None
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise ValueError(f"{path} is not a whole gzip file: {error}.") from None


def read_documents(files) -> Iterator[list[str]]:
    """Yields documents, each a non-empty list of non-empty lines, in file order."""
    for file in files:
        document = []
        for line in read_lines(file):
            if line:
                document.append(line)
            elif document:
                yield document
                document = []
        if document:
            yield document
