"""The text and the vocabulary of a benchmark: those that are given, else that of the quickstart."""

import lzma
import shutil
import sys
from pathlib import Path

from benchmarks.workers import process_tree

_TEXT = Path(__file__).resolve().parents[1] / "configs" / "quickstart" / "text" / "train.txt.xz"
_CORES = 2  # for what is made before anything is timed


def data_tool(name: str, *arguments: str) -> list[str]:
    """The command of a script of tfrecords_tools."""
    return [sys.executable, "-m", f"tfrecords_tools.{name}", *arguments]


def text_files(given: str | None, folder) -> str:
    """The files that are given; else CPython's documentation, unpacked into `folder`, for peers."""
    if given:
        return given
    path = f"{folder}/train.txt"
    with lzma.open(_TEXT) as packed, open(path, "wb") as file:
        shutil.copyfileobj(packed, file)
    return path


def vocabulary_file(given: str | None, files: str, vocab_size: int, folder) -> str:
    """The vocab.txt that is given; else an uncased one, learned from the files and written into `folder`."""
    if given:
        return given
    path = f"{folder}/vocab.txt"
    own = [f"--input_files={files}", f"--output_file={path}", f"--vocab_size={vocab_size}"]
    process_tree.run(data_tool("build_vocabulary", *own), _CORES)
    return path
