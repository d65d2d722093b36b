r"""Script: a trained model + texts -> predictions: one JSON line for each text, or a table.

  kbert predict --run_dir=runs/sst2 --text='a gorgeous, witty film'
  kbert predict --run_dir=runs/sst2 --input_file=films.txt \
      --output_file=predictions.jsonl
  kbert predict --run_dir=runs/sst2 --input_file=films.csv \
      --output_file=predictions.csv

  kbert predict --run_dir=runs/phase1 --whole_words \
      --text='The doctor ran to the emergency room to see [MASK] patient.'
  kbert predict --run_dir=runs/phase1 --text='It is a [MASK] day.' \
      --candidate=good --candidate=splendid
  kbert predict --run_dir=runs/phase1 --text='He came home.' \
      --text_pair='It was late.'

  kbert predict --run_dir=runs/squad_v1 --question='Who wrote it?' \
      --context="$(cat page.txt)"

Without --text, --question and --input_file, texts are read from standard input. There and in a file a line
is a text; two texts with a tab between them for a model that takes pairs; or a JSON object if an example
has other fields, for example {"text": "...", "choices": ["...", "..."]} for multiple choice, or
{"question": "...", "context": "..."} for a question about a text. A file of JSON lines, a .csv, .tsv or
.parquet file, a pattern of the last in quotes, or a folder of `datasets` has columns: those that the run was
trained on, or columns with these names; an "id" is kept. A name that says no format has the
dataset.file_format of the run.

A classification run gives label and probabilities, a regression run a number, a question answering run the
answer and its position in the context, a token classification run a label for each word, and the entities. A
pretraining run gives the top tokens for each [MASK], the probabilities of --candidate, or the probability
that --text_pair follows --text.
"""

import itertools
import operator
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from kbert.bounds import Bounds
from kbert.checkpoints import formats
from kbert.checks import require
from kbert.cli import script
from kbert.cli.declared_flags import declare_flags, flag_values
from kbert.cli.progress import Progress
from kbert.config import DatasetConfig
from kbert.files.file_format import DELIMITED
from kbert.files.json_file import json_line
from kbert.inference import loading, unknown_tokens
from kbert.inference.answer_files import (
    LABEL_SEPARATOR,
    check_answer_file,
    find_format,
    require_labels,
    with_required_cells,
    write_answers,
)
from kbert.inference.answers import (
    answered,
    require_answering_task,
    require_inputs,
    require_settings,
)
from kbert.input_pipelines.data_in_memory import require_no_path
from kbert.input_pipelines.unlabelled_files import (
    examples_of_file,
    has_columns,
    rows_and_examples,
    with_checked_texts,
)
from kbert.input_pipelines.unlabelled_lines import examples_from_lines, read_standard_input
from kbert.runs.columns_of_run import count_inputs_of_run
from kbert.scripts.training_flags import Checkpoint

POSITIONS = ("run_dir", "text")  # of arguments without a flag
_REPEATED = ("text", "text_pair", "choice", "candidate", "question", "context")


@dataclass(frozen=True)
class Flags:
    """What is asked of which model.

    Args:
      run_dir: the model: a run directory, or any checkpoint that kbert reads.
      text: a text.
      text_pair: the second text of each `text`, for pairs of texts.
      choice: for multiple choice: a choice of a single `text`.
      candidate: a word that may fill the only [MASK] of each `text`.
      question: a question about a text.
      context: the text of the `question`: one for all, or one for each.
      input_file: texts, a line each, JSON lines (.jsonl, .ndjson, .jsonlines, .json), or columns: .csv, .tsv,
        .parquet, a pattern in quotes, a folder of `datasets`. Lines may be compressed: .gz, .bz2, .xz, .zst.
      output_file: where to write the predictions: JSON lines (.jsonl), or columns (.csv, .tsv); also
        compressed: .gz, .bz2, .xz, .zst. By default JSON lines on standard output.
      overwrite: replace an output_file that exists.
      top_k: tokens to show for each [MASK]; by default 5.
      whole_words: for [MASK]: leave out tokens that continue a word (##ing).
      batch_size: the most texts at a time; fewer of some 1,000 tokens or of many windows. With 1, each has
        its prediction before the next is read.
    """

    run_dir: str
    text: Sequence[str] = ()
    text_pair: Sequence[str] = ()
    choice: Sequence[str] = ()
    candidate: Sequence[str] = ()
    question: Sequence[str] = ()
    context: Sequence[str] = ()
    input_file: str | None = None
    output_file: str | None = None
    overwrite: bool = False
    top_k: Annotated[int, Bounds(1)] | None = None
    whole_words: bool | None = None
    batch_size: Annotated[int, Bounds(1)] = 32
    checkpoint: str | None = None
    do_lower_case: bool | None = None


def _flag_examples(source, flags):
    """The examples given by --text, --text_pair, --choice, --candidate, --question and --context."""
    texts, pairs, choices = flags.text, flags.text_pair, flags.choice
    if flags.question or flags.context:
        return _flag_questions(source, flags)
    if (pairs or choices or flags.candidate) and not texts:
        raise ValueError(
            "--text_pair, --choice or --candidate without --text; give the first text of each as --text."
        )
    if pairs and len(pairs) != len(texts):
        raise ValueError(
            f"{len(texts)} --text but {len(pairs)} --text_pair; give one --text_pair for each --text."
        )
    if choices and len(texts) > 1:
        raise ValueError(
            "--choice needs a single --text; for several texts, give JSON lines on standard input."
        )
    examples = [{"text": text} for text in texts]
    for example, pair in zip(examples, pairs, strict=False):
        example["text_pair"] = pair
    for example in examples:
        require_no_path(example["text"])
        if choices:
            example["choices"] = choices
        if flags.candidate:
            example["candidates"] = flags.candidate
    require_inputs(source, examples, "--text")
    return examples


def _flag_questions(source, flags):
    """The examples given by --question and --context."""
    questions, contexts = flags.question, flags.context
    others = [f"--{name}" for name in ("text", "text_pair", "choice", "candidate") if getattr(flags, name)]
    if len(contexts) not in (1, len(questions)) or not questions or others:
        raise ValueError(
            f"{len(questions)} --question, {len(contexts)} --context; give one --context for all questions "
            f"or one for each, and no {', '.join(others) or '--text'}."
        )
    if len(contexts) == 1:
        contexts = contexts * len(questions)
    examples = [{"question": q, "context": c} for q, c in zip(questions, contexts, strict=True)]
    require_inputs(source, examples, "--question")
    return examples


def _check_files(flags):
    """Finds errors in the flags of files, and in the input file, before a model is read.

    Returns:
      the number of texts of --input_file, all of which have been read; None without one.
    """
    if flags.output_file:
        read = [*filter(None, [flags.input_file]), *formats.kept_files(flags.run_dir)]
        check_answer_file(flags.output_file, read, flags.overwrite)
    if not flags.input_file:
        return None
    if flags.text or flags.question:
        raise ValueError("--input_file beside --text or --question; give one of them.")
    number = count_inputs_of_run(flags.input_file, flags.run_dir)
    require(number > 0, f"--input_file={flags.input_file} is empty; expected a text on each line.")
    return number


def _examples(source, flags, num_texts):
    """(the examples, what stands beside their answers, how many there are or None, how many to read ahead or
    None)."""
    inputs = [*source.task.serving.by_signature.values()]
    examples = _flag_examples(source, flags)
    if examples:
        return examples, examples, len(examples), None
    if not flags.input_file:
        # Somebody waits for the answer to each line.
        alone = 1 if sys.stdin.isatty() or flags.batch_size == 1 else None
        name = "standard input"
        lines = read_standard_input()
        examples = examples_from_lines(inputs, lines, name, source.dataset, most_problems=1)
        if not alone:  # its format is that of lines, whatever the run's files had
            dataset = replace(source.dataset or DatasetConfig(), file_format=None)
            examples = with_checked_texts(examples, name, dataset, source.task.files)
        if _writes_table(flags):
            examples = with_required_cells(examples, str(flags.output_file))
        return *itertools.tee(examples), None, alone
    path, dataset = flags.input_file, source.dataset
    if _writes_table(flags) and has_columns(path, dataset):  # all of which it repeats
        pairs = itertools.tee(rows_and_examples(path, inputs, dataset))
        rows, examples = (map(operator.itemgetter(part), own) for part, own in enumerate(pairs))
    else:
        rows, examples = itertools.tee(examples_of_file(path, inputs, dataset))
    return with_checked_texts(examples, path, dataset, source.task.files), rows, num_texts, None


def _writes_table(flags):
    return bool(flags.output_file) and find_format(flags.output_file) in DELIMITED


def _require_answers(source, flags, num_texts):
    """Refuses examples that have no answer, or that a table of answers cannot hold, before the first one."""
    if _writes_table(flags):
        require_labels(getattr(source.task, "labels", None) or (), str(flags.output_file))
    if not (flags.input_file or flags.text or flags.question):
        return  # standard input is read once
    examples, rows, *_ = _examples(source, flags, num_texts)
    if _writes_table(flags):
        rows = with_required_cells(rows, str(flags.output_file))
    require_inputs(source, (example for example, _ in zip(examples, rows, strict=True)))


def main():
    flags = Flags(**flag_values(Flags))
    num_texts = _check_files(flags)
    source = loading.open_any(flags.run_dir, flags.do_lower_case, checkpoint=flags.checkpoint)
    require_answering_task(source)
    settings = {"top_k": flags.top_k, "whole_words": flags.whole_words}
    settings = {name: value for name, value in settings.items() if value is not None}
    require_settings(source, settings)
    _require_answers(source, flags, num_texts)
    examples, rows, total, read_ahead = _examples(source, flags, num_texts)
    progress = Progress("Answered", "texts", total)
    is_told = flags.output_file or flags.input_file  # others see how the answers come
    answers = answered(
        source,
        examples,
        settings,
        flags.batch_size,
        read_ahead,
        progress.report if is_told else None,
        unknown_tokens.UnknownTokens(source.text_inputs),
    )
    beside = ((row, answer) for (_, answer), row in zip(answers, rows, strict=True))
    if flags.output_file:
        separator = getattr(source.dataset, "label_separator", None) or LABEL_SEPARATOR
        in_quotes = getattr(source.dataset, "file_format", None) == "csv"
        write_answers(flags.output_file, beside, separator, in_quotes)
        progress.report_end(flags.output_file)
        return
    for row, answer in beside:
        print(json_line(row | answer), end="", flush=True)


def define_flags():
    declare_flags(Flags, Checkpoint, repeated=_REPEATED)


if __name__ == "__main__":
    define_flags()
    script.run(main, positions=POSITIONS)
