"""Lines that are to be answered: texts, pairs of texts, or JSON objects -> examples."""

import re
import sys
from collections.abc import Iterable, Iterator, Sequence

from kbert.cli.progress import awaited
from kbert.cli.warn_once import warn_once
from kbert.config import DatasetConfig
from kbert.files.text_file import bounded_lines, decoded_lines
from kbert.input_pipelines.file_problems import MOST_ROWS, FileProblems
from kbert.input_pipelines.header_rows import names_columns
from kbert.input_pipelines.input_columns import with_json_id, with_values
from kbert.input_pipelines.json_rows import NotLines, parse_object

# What a line is that holds more than a text, and what to do.
_NO_TEXTS = {
    r'\s*\{\s*"\w+"\s*:.*\}\s*': (
        "a JSON object",
        "JSON lines are read from a file whose name ends in .jsonl",
    ),
    r'\s*\[\s*".*"\s*\]\s*': ("a JSON list", "write each text as a line"),
    r"__label__\S+ .*": ("a text behind its label", "leave labels out: sed 's/__label__[^ ]* //g' OLD > NEW"),
}
_PAIR = re.compile(r"^(.*) \|\|\| (.*)$")  # extract_features.py, `read_examples`: the last ||| separates
_PAIR_INPUTS = ("text", "text_pair")
_TEXTS_OF_A_LINE = {("text",): 1, _PAIR_INPUTS: 2}


def examples_from_lines(
    inputs: Sequence[tuple[str, ...]],
    lines: Iterable[str],
    source: str,
    dataset: DatasetConfig | None = None,
    most_problems: int = MOST_ROWS,
) -> Iterator[dict]:
    """The examples of lines.

    A line is a text, also of a task on pairs that answers texts beside them; or two texts with a tab between
    them for a task on pairs, and where pairs are answered beside texts; or a JSON object, whose keys are the
    inputs, for other tasks. Between objects lines may be blank.

    Args:
      inputs: the inputs of each signature of the task that answers texts; the first is the usual one.
      lines: the lines.
      source: where they are from, for messages.
      dataset: of the run's config, by whose columns a header is known.
      most_problems: with 1 the first line of another form is an error at once, where somebody waits for the
        answer to each line.

    Raises:
      ValueError: for lines of another form; the message names `source` and all of them up to
        `most_problems`.
    """
    number_of_texts = _TEXTS_OF_A_LINE.get(inputs[0])
    problems = FileProblems(source, most_problems)
    if number_of_texts and all("text" in names for names in inputs):
        lines = lines_of_text(lines, source, dataset)
    for number, line in enumerate(lines, start=1):
        if number_of_texts is None and not line.strip():
            continue
        try:
            example = _example_of_line(line, source, number, inputs, number_of_texts)
        except NotLines:
            raise
        except ValueError as error:
            problems.add(error)
            if problems.is_full:
                break
        else:
            if not problems:
                yield example
    problems.raise_all()


def lines_of_text(lines, source, dataset):
    """The lines. Warns where the first holds more than a text, or is a header."""
    for number, line in enumerate(lines, start=1):
        cells = re.split(r"[,;|\t]", line.replace('"', "")) if number == 1 else []
        if cells and names_columns(cells, dataset or DatasetConfig()):
            warn_once(
                f"{source} line 1 is a header, and is read as a text, as all lines are; give a file with "
                "columns by its name, which ends in .csv or .tsv."
            )
        for looks, (what, advice) in _NO_TEXTS.items() if number == 1 else ():
            if re.fullmatch(looks, line):
                warn_once(f"{source} line 1 is {what}, and is read as a text, as all lines are; {advice}.")
        yield line


def _example_of_line(line, source, number, inputs, number_of_texts) -> dict:
    if number_of_texts is None:
        example = parse_object(line, source, number, f"with {', '.join(inputs[0])}")
        example = with_json_id(example, f"{source} line {number}")
        return with_values(example, source)
    texts = line.split("\t")
    is_pair = len(texts) == 2 and all(map(str.strip, texts)) and _PAIR_INPUTS in inputs
    if number_of_texts == 1 and not is_pair:
        if len(texts) == 2 and 1 in map(len, map(str.split, texts)):
            warn_once(
                f"{source}: lines with a word, a tab and a text are read as one text. If the word is a label "
                "or an id, leave it out, or name the columns in the first line of a .tsv file."
            )
        return {"text": line}
    if len(texts) == 1 and ("text",) in inputs:
        warn_once(
            f"{source}: lines without a tab are read as one text alone, which the model takes beside pairs; "
            "a pair has a tab between its texts."
        )
        return {"text": line}
    if len(texts) != 2:
        raise ValueError(f"{source} line {number}: expected two texts with a tab between them.")
    if number_of_texts == 1:
        warn_once(
            f"{source}: lines with one tab are read as two texts, a pair, which the model takes beside texts "
            "alone; JSON lines, from a file whose name ends in .jsonl, take a text with a tab."
        )
    return dict(zip(_PAIR_INPUTS, texts, strict=True))


def text_and_pair(line):
    pair = _PAIR.match(line.strip())
    return pair.groups() if pair else (line, None)


def read_standard_input() -> Iterator[str]:
    """The lines of standard input, as `decoded_lines`, whatever the encoding of the system is.

    Raises:
      ValueError: at the end, where there was none, and as `decoded_lines` does.
    """
    lines = decoded_lines(awaited(bounded_lines(sys.stdin.buffer, "standard input")), "standard input")
    first = next(lines, None)
    if first is None:
        raise ValueError(
            "standard input is empty; write a text on each line, or give --text or --input_file. "
            "`docker run` and `kubectl exec` pass it on with -i alone."
        )
    yield first
    yield from lines
