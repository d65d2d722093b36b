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
is a text; two texts with a tab between them for a run on pairs; or a JSON object if an example has other
fields, for example {"text": "...", "choices": ["...", "..."]} for multiple choice, or {"question": "...",
"context": "..."} for a question about a text. In a file whose name ends as those of JSON lines do every
line is a JSON object; an "id" is kept. A .csv, .tsv or .parquet file, a pattern of the last in quotes, or a
folder of `datasets` has columns: those that the run was trained on, or columns with these names.

A classification run gives label and probabilities, a regression run a number, a question answering run the
answer and its position in the context, a token classification run a label for each word, and the entities. A
pretraining run gives the top tokens for each [MASK], the probabilities of --candidate, or the probability
that --text_pair follows --text.
"""

import sys

from absl import flags

from kbert.cli import script
from kbert.cli.progress import Progress
from kbert.config.checks import require
from kbert.files.file_format import DELIMITED
from kbert.inference.answer_files import (
    LABEL_SEPARATOR,
    check_answer_file,
    find_format,
    json_line,
    require_cells,
    write_answers,
)
from kbert.inference.answers import (
    answered,
    require_answers,
    require_inputs,
    require_settings,
)
from kbert.input_pipelines.data_in_memory import require_no_path
from kbert.input_pipelines.unlabelled_files import (
    examples_from_lines,
    examples_of_file,
    has_columns,
    read_standard_input,
    whole_rows,
)
from kbert.scripts.training_flags import define_checkpoint_flag

FLAGS = flags.FLAGS
POSITIONS = ("run_dir", "text")  # of arguments without a flag


def define_flags():
    flags.DEFINE_string("run_dir", None, "The model: a run directory, or any checkpoint that kbert reads.")
    define_checkpoint_flag()
    flags.DEFINE_multi_string("text", [], "A text.")
    flags.DEFINE_multi_string("text_pair", [], "The second text of each --text, for pairs of texts.")
    flags.DEFINE_multi_string("choice", [], "For multiple choice: a choice of a single --text.")
    flags.DEFINE_multi_string("candidate", [], "A word that may fill the only [MASK] of each --text.")
    flags.DEFINE_multi_string("question", [], "A question about a text.")
    flags.DEFINE_multi_string("context", [], "The text of the --question: one for all, or one for each.")
    flags.DEFINE_string(
        "input_file",
        None,
        "Texts, a line each, JSON lines (.jsonl, .ndjson, .jsonlines, .json), or columns: .csv, .tsv, "
        ".parquet, a pattern in quotes, a folder of `datasets`. Lines may be compressed: .gz, .bz2, .xz, "
        ".zst.",
    )
    flags.DEFINE_string(
        "output_file",
        None,
        "Where to write the predictions: JSON lines (.jsonl), or columns (.csv, .tsv); also compressed: .gz, "
        ".bz2, .xz, .zst. By default JSON lines on standard output.",
    )
    flags.DEFINE_bool("overwrite", False, "Replace an output_file that exists.")
    flags.DEFINE_integer("top_k", None, "Tokens to show for each [MASK]; by default 5.", lower_bound=1)
    flags.DEFINE_bool("whole_words", None, "For [MASK]: leave out tokens that continue a word (##ing).")
    flags.DEFINE_integer(
        "batch_size",
        32,
        "Texts at a time. With 1, each has its prediction before the next is read.",
        lower_bound=1,
    )
    flags.DEFINE_bool(
        "do_lower_case",
        None,
        "Lower-case texts and drop accents, if the checkpoint does not record the casing.",
    )
    flags.mark_flags_as_required(["run_dir"])


def _flag_examples(source):
    """The examples given by --text, --text_pair, --choice, --candidate, --question and --context."""
    texts, pairs, choices = FLAGS.text, FLAGS.text_pair, FLAGS.choice
    if FLAGS.question or FLAGS.context:
        return _flag_questions(source)
    if (pairs or choices or FLAGS.candidate) and not texts:
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
        if FLAGS.candidate:
            example["candidates"] = FLAGS.candidate
        require_inputs(source, example, "--text")
    return examples


def _flag_questions(source):
    """The examples given by --question and --context."""
    questions, contexts = FLAGS.question, FLAGS.context
    if len(contexts) not in (1, len(questions)) or FLAGS.text or not questions:
        raise ValueError(
            f"{len(questions)} --question, {len(contexts)} --context and {len(FLAGS.text)} --text; give one "
            "--context for all questions or one for each, and no --text."
        )
    if len(contexts) == 1:
        contexts = contexts * len(questions)
    examples = [{"question": q, "context": c} for q, c in zip(questions, contexts, strict=True)]
    for example in examples:
        require_inputs(source, example, "--question")
    return examples


def _check_files():
    """Finds errors in the flags of files, and in the input file, before a model is read.

    Returns:
      the number of texts of --input_file, all of which have been read; None without one.
    """
    if FLAGS.output_file:
        inputs = [FLAGS.input_file] if FLAGS.input_file else []
        check_answer_file(FLAGS.output_file, inputs, FLAGS.overwrite)
    if not FLAGS.input_file:
        return None
    if FLAGS.text or FLAGS.question:
        raise ValueError("--input_file beside --text or --question; give one of them.")
    from kbert.runs.columns_of_run import count_inputs_of_run  # late: it brings NumPy along

    number = count_inputs_of_run(FLAGS.input_file, FLAGS.run_dir)
    require(number > 0, f"--input_file={FLAGS.input_file} is empty; expected a text on each line.")
    return number


def _examples(source, num_texts):
    """(the examples, how many there are or None, how many to read ahead or None)."""
    serving = source.task.serving
    inputs = serving.inputs
    examples = _flag_examples(source)
    one_by_one = 1 if FLAGS.batch_size == 1 else None
    if examples:
        return examples, len(examples), one_by_one
    if not FLAGS.input_file:
        alone = 1 if sys.stdin.isatty() else one_by_one  # a person waits for the answer to each line
        lines = read_standard_input()
        return examples_from_lines(inputs, lines, "standard input", most_problems=1), None, alone
    answered_inputs = (inputs, *serving.other_inputs.values())
    return examples_of_file(FLAGS.input_file, answered_inputs, source.dataset), num_texts, one_by_one


def _writes_table():
    return bool(FLAGS.output_file) and find_format(FLAGS.output_file) in DELIMITED


def _whole_rows(source):
    """All columns of --input_file, which a table of answers repeats; None where there is no such file."""
    if FLAGS.input_file and has_columns(FLAGS.input_file):
        return whole_rows(FLAGS.input_file, source.dataset)
    return None


def _write(source, answers):
    """Writes the answers to --output_file, which appears when all are there."""
    rows = _whole_rows(source) if _writes_table() else None
    if rows is not None:
        answers = ((row, answer) for row, (_, answer) in zip(rows, answers, strict=True))
    dataset = source.dataset
    write_answers(FLAGS.output_file, answers, (dataset and dataset.label_separator) or LABEL_SEPARATOR)


def main():
    num_texts = _check_files()
    from kbert.inference.loading import load  # late: it brings NumPy along

    source = load(FLAGS.run_dir, FLAGS.do_lower_case, checkpoint=FLAGS.checkpoint, weights_now=False)
    require_answers(source)
    settings = {name: FLAGS[name].value for name in ("top_k", "whole_words") if FLAGS[name].value is not None}
    require_settings(source, settings)
    if _writes_table() and (FLAGS.input_file or FLAGS.text or FLAGS.question):
        require_cells(_whole_rows(source) or _examples(source, num_texts)[0], FLAGS.output_file)
    examples, total, read_ahead = _examples(source, num_texts)
    progress = Progress("Answered", "texts", total)
    is_told = FLAGS.output_file or FLAGS.input_file  # others see how the answers come
    from kbert.inference.unknown_tokens import UnknownTokens  # late: it brings TensorFlow along

    answers = answered(
        source,
        examples,
        settings,
        FLAGS.batch_size,
        read_ahead,
        progress.report if is_told else None,
        UnknownTokens(source.text_inputs),
    )
    if FLAGS.output_file:
        _write(source, answers)
        progress.report_end(FLAGS.output_file)
        return
    for example, answer in answers:
        print(json_line(example | answer), end="", flush=True)


if __name__ == "__main__":
    define_flags()
    script.run(main, positions=POSITIONS)
