"""Writes the default text of `make quickstart`: CPython's own documentation, cleaned and split.

    kbert embedded-text --output_dir=/tmp/embedded

    text/train.txt          documents for pretraining: one sentence a line, a blank line between
    text/heldout.txt        documents of other modules and help topics, about 5%
    labelled/train.tsv      sentence, label, module: which area of the library is described?
    labelled/dev.tsv        the same, from other modules
    labelled/test.tsv       the same, from still other modules
    labelled/labels.txt     the labels, one a line
    README.txt              what this is, how much of it, and its licence

Needs no network. The same CPython always writes the same bytes.
"""

import platform
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from absl import flags

from kbert import command_line
from kbert.activity import activity
from kbert.files.output_path import check_output_folder
from kbert.files.whole_file import whole_folder
from tfrecords_tools.corpus import embedded_text

FLAGS = flags.FLAGS


def define_flags():
    flags.DEFINE_string("output_dir", None, "Folder to write; must not exist yet.")
    flags.DEFINE_bool("overwrite", False, "Replace an earlier output of this script.")
    flags.mark_flags_as_required(["output_dir"])


_README_TITLE = "Embedded text: the documentation that comes with CPython"
_TSV_HEADER = ("sentence", "label", "module")
_FILES = {
    "README.txt",
    "text/train.txt",
    "text/heldout.txt",
    "labelled/labels.txt",
    *(f"labelled/{split}.tsv" for split in embedded_text.SPLITS),
}


def write_embedded_text(library: Path, output_dir: Path, overwrite: bool = False) -> str:
    """Reads the standard library in `library`, writes `output_dir`, returns a closing summary.

    Everything is written beside `output_dir` and renamed at the end: the folder is either complete
    or absent. A previous output stays in place until the new one is ready.
    """
    check_output_folder(output_dir, [library])
    _check_output_dir(output_dir, overwrite)
    with activity("reading Python's documentation"):
        documents = embedded_text.documents(library)
    train, heldout = embedded_text.split_documents(documents)
    rows_by_split = embedded_text.labelled_rows(documents)
    summary = _summary({"train": train, "heldout": heldout}, rows_by_split)

    with whole_folder(output_dir.resolve(), replace=overwrite) as unfinished:
        _write_documents(unfinished / "text" / "train.txt", train)
        _write_documents(unfinished / "text" / "heldout.txt", heldout)
        for split, rows in rows_by_split.items():
            _write_lines(
                unfinished / "labelled" / f"{split}.tsv",
                ("\t".join(fields) for fields in [_TSV_HEADER, *rows]),
            )
        _write_lines(unfinished / "labelled" / "labels.txt", embedded_text.AREAS)
        _write_lines(unfinished / "README.txt", [_readme(summary)])
    return summary


def _check_output_dir(output_dir: Path, overwrite: bool) -> None:
    if output_dir.exists() and not output_dir.is_dir():
        raise ValueError(
            f"--output_dir={output_dir} is a file; expected a folder. Name a folder that does not exist yet."
        )
    if not output_dir.exists() or not any(output_dir.iterdir()):
        return
    strangers = sorted(
        path.relative_to(output_dir).as_posix()
        for path in output_dir.rglob("*")
        if not path.is_dir() and path.relative_to(output_dir).as_posix() not in _FILES
    )
    readme = output_dir / "README.txt"
    is_ours = readme.is_file() and readme.read_text(encoding="utf-8").startswith(_README_TITLE)
    if strangers or not is_ours:
        reason = strangers[0] if strangers else "files without this script's README.txt"
        raise ValueError(
            f"--output_dir={output_dir} holds what this script did not write ({reason}); expected "
            "a new or empty folder. Choose another folder, or move that content away."
        )
    if not overwrite:
        raise ValueError(
            f"--output_dir={output_dir} already holds an embedded text; expected a new or empty "
            "folder. Add --overwrite to replace it, or choose another folder."
        )


def _write_documents(path: Path, documents: Iterable[embedded_text.Document]) -> None:
    _write_lines(path, ("\n".join([*document.sentences, ""]) for document in documents))


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    # newline="\n": the same bytes on every platform.
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(line + "\n" for line in lines)


def _summary(
    documents_by_split: dict[str, list[embedded_text.Document]],
    rows_by_split: dict[str, list[embedded_text.LabelledRow]],
) -> str:
    lines = [f"{'text':<12}{'documents':>11}{'sentences':>11}{'words':>11}{'bytes':>11}"]
    for split, documents in documents_by_split.items():
        sentences = [sentence for document in documents for sentence in document.sentences]
        num_words = sum(len(sentence.split()) for sentence in sentences)
        # A line break after each sentence, and one more after each document.
        num_bytes = sum(len(sentence) + 1 for sentence in sentences) + len(documents)
        lines.append(f"{split:<12}{len(documents):>11,}{len(sentences):>11,}{num_words:>11,}{num_bytes:>11,}")
    lines += ["", f"{'labelled':<12}" + "".join(f"{split:>11}" for split in rows_by_split)]
    counts = {split: Counter(row.label for row in rows) for split, rows in rows_by_split.items()}
    for label in embedded_text.AREAS:
        lines.append(f"{label:<12}" + "".join(f"{counts[split][label]:>11,}" for split in counts))
    lines.append(f"{'rows':<12}" + "".join(f"{len(rows):>11,}" for rows in rows_by_split.values()))
    modules = (len({row.module for row in rows}) for rows in rows_by_split.values())
    lines.append(f"{'modules':<12}" + "".join(f"{number:>11,}" for number in modules))
    return "\n".join(lines)


def _readme(summary: str) -> str:
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return f"""{_README_TITLE}

Written by tfrecords_tools/write_embedded_text.py from the files of
{python}: the help topics (pydoc_data.topics), and the docstrings and
comments of the standard library. Markup, code and repeated sentences are left out.

text/       one sentence a line, a blank line between documents; heldout.txt holds
            modules and help topics that train.txt does not
labelled/   sentence<TAB>label<TAB>module, UTF-8, no quoting. The label is the area
            of the library that the passage describes. train, dev and test share no
            module; the passages may also occur in text/, without their label.

{summary}

Copyright (c) Python Software Foundation and the authors of CPython; all of it is
used under the PSF License Agreement (PSF-2.0), https://docs.python.org/3/license.html."""


def main(argv):
    del argv
    output_dir = Path(FLAGS.output_dir)
    library = embedded_text.standard_library_folder()
    summary = write_embedded_text(library, output_dir, overwrite=FLAGS.overwrite)
    print(f"{summary}\n\nWritten to {output_dir}. README.txt there describes the files.")


if __name__ == "__main__":
    define_flags()
    command_line.run(main)
