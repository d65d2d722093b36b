r"""Script: a run directory + texts -> answers, one JSON line for each text.

  python -m kbert.scripts.run_prediction --run_dir=runs/sst2 --text='a gorgeous, witty film'
  python -m kbert.scripts.run_prediction --run_dir=runs/phase1 \
      --text='The doctor ran to the emergency room to see [MASK] patient.'

  python -m kbert.scripts.run_prediction --run_dir=runs/squad_v1 --question='Who wrote it?' \
      --context="$(cat page.txt)"

Without --text or --question, texts are read from standard input: one text per line, or two texts with a tab
between them for a run on pairs, or JSON lines if an example has other parts, for example
{"text": "...", "choices": ["...", "..."]} for multiple choice, or {"question": "...", "context": "..."} for
a question about a text. A classification run answers with label and probabilities, a regression run with a
number, a pretraining run with the top tokens for each [MASK], a question answering run with the answer and
its place in the context, a token classification run with a label for each word, and the entities.
"""

import json
import sys

from absl import flags

from kbert import command_line
from kbert.experiments.prediction import answers, require_answers, require_inputs
from kbert.files.json_file import parse_json
from kbert.scripts.training_flags import define_checkpoint_flag

FLAGS = flags.FLAGS


def define_flags():
    flags.DEFINE_string("run_dir", None, "The run to predict with.")
    define_checkpoint_flag()
    flags.DEFINE_multi_string("text", [], "A text; may be given several times.")
    flags.DEFINE_multi_string("text_pair", [], "The second text of each --text, for a run on pairs.")
    flags.DEFINE_multi_string(
        "choice", [], "For multiple choice: repeat it for each choice of a single --text."
    )
    flags.DEFINE_multi_string("question", [], "A question about a text; may be given several times.")
    flags.DEFINE_multi_string("context", [], "The text of the --question: one for all, or one for each.")
    flags.DEFINE_integer("top_k", 5, "Tokens to show for each [MASK].", lower_bound=1)
    flags.mark_flags_as_required(["run_dir"])


def lines_of_standard_input():
    """The lines of standard input, read as UTF-8 whatever the encoding of the system is."""
    for number, line in enumerate(sys.stdin.buffer, start=1):
        try:
            yield line.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8")
        except UnicodeDecodeError as error:
            raise ValueError(
                f"standard input line {number} is not UTF-8 (byte 0x{line[error.start]:02x}); convert it, "
                "for example with iconv."
            ) from None


def _examples_of_flags(run):
    """The examples given by --text, --text_pair and --choice."""
    texts, pairs, choices = FLAGS.text, FLAGS.text_pair, FLAGS.choice
    if FLAGS.question or FLAGS.context:
        return _questions_of_flags(run)
    if (pairs or choices) and not texts:
        raise ValueError("--text_pair or --choice without --text; give the first text of each as --text.")
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
        if choices:
            example["choices"] = choices
        require_inputs(run, example, "--text")
    return examples


def _questions_of_flags(run):
    """The examples that --question and --context spell."""
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
        require_inputs(run, example, "--question")
    return examples


def _examples_of_lines(inputs, lines):
    """The examples in the lines of standard input."""
    for number, line in enumerate(lines, start=1):
        if inputs == ("text",):
            yield {"text": line}
        elif inputs == ("text", "text_pair"):
            if line.count("\t") != 1:
                raise ValueError(f"standard input line {number}: expected two texts with a tab between them.")
            yield dict(zip(inputs, line.split("\t"), strict=True))
        else:
            example = parse_json(line, f"standard input line {number}")
            if not isinstance(example, dict):
                names = ", ".join(inputs)
                raise ValueError(f"standard input line {number}: expected an object with {names}.")
            yield example


def main(argv):
    del argv
    from kbert.runs.run_directory import RunDirectory

    run = RunDirectory(FLAGS.run_dir)
    require_answers(run)
    examples = _examples_of_flags(run) or _examples_of_lines(run.task().inputs, lines_of_standard_input())
    for answer in answers(run, examples, FLAGS.top_k, FLAGS.checkpoint):
        print(json.dumps(answer, ensure_ascii=False, allow_nan=False), flush=True)


if __name__ == "__main__":
    define_flags()
    command_line.run(main)
