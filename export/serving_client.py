r"""Sends texts to a running server, and prints one line of JSON for every text, or writes a table.

    kbert client --model_name=sst2 --text='a fine film'
    kbert client --model_name=mrpc --api=rest \
        --text='He left.' --text_pair='He went away.'
    kbert client --model_name=sst2 --input_file=lines.txt --output_file=answers.jsonl
    kbert client --model_name=squad --input_file=questions.jsonl
    kbert client --model_name=lm --text='a [MASK] film' --setting=top_k=3 \
        --setting=whole_words=false

Works with TensorFlow Serving and with the development server, and imports no TensorFlow. Which signature
answers is found by the inputs: `text`, `text_pair`, or the keys of JSON lines. `export.client` has the same
as a library.
"""

import json
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from absl import flags

from kbert.cli import script
from kbert.cli.progress import Progress
from kbert.extras import require
from kbert.files.text_file import read_lines
from kbert.inference.answer_files import TABLES, check_answer_file, find_ending, require_cells, write_answers
from kbert.input_pipelines.unlabelled_files import (
    count_examples,
    examples_of_columns,
    examples_of_lines,
    has_columns,
    holds_json_lines,
    lines_of_standard_input,
    whole_rows,
)

if TYPE_CHECKING:
    from .client.answered_lines import LineAnswers
    from .client.serving_client import ServingClient

_STANDARD_INPUT = "standard input"
_DEFAULT_SIGNATURE = "serving_default"
_DEFAULT_SERVERS = {"grpc": "localhost:8500", "rest": "localhost:8501"}


def main() -> None:
    given = flags.FLAGS
    require("serve", "kbert client", "grpc", "google.protobuf", "urllib3")
    settings = _settings(given.setting)
    num_lines = _check_files()

    # Late: gRPC and NumPy take longer to import than all before.
    from .client.answered_lines import LineAnswers
    from .client.serving_client import ServingClient

    client = ServingClient(
        given.server or _DEFAULT_SERVERS[given.api],
        given.model_name,
        given.api,
        timeout_seconds=given.timeout_seconds,
        max_attempts=given.max_attempts,
    )
    with client:
        examples, source = _examples(client)
        one_by_one = source == _STANDARD_INPUT and sys.stdin.isatty()  # a person waits for each answer
        answers = LineAnswers(
            client,
            settings,
            given.signature_name,
            1 if one_by_one else given.batch_size,
            1 if one_by_one else given.num_parallel,
            source,
            "row" if given.input_file and has_columns(given.input_file) else "line",
            given.keep_going,
        )
        _write(answers, examples, num_lines)


def _check_files() -> int | None:
    """Finds errors in the flags before the server is asked; returns the lines of --input_file."""
    given = flags.FLAGS
    if given.text_pair is not None and given.text is None:
        raise ValueError("received --text_pair without --text; expected both. Pass --text too.")
    if given.text is not None and given.input_file:
        raise ValueError("received --input_file beside --text; expected one of them.")
    if given.output_file:
        check_answer_file(given.output_file, [given.input_file] if given.input_file else [], given.overwrite)
        if rows := _whole_rows():
            require_cells(rows, given.output_file)
    return count_examples(given.input_file) if given.input_file else None


def _examples(client: "ServingClient") -> tuple[Iterable[dict], str | None]:
    given = flags.FLAGS
    if given.text is not None:
        pair = {} if given.text_pair is None else {"text_pair": given.text_pair}
        return [{"text": given.text} | pair], None
    if given.input_file and has_columns(given.input_file):
        inputs = tuple(client.signatures[given.signature_name or _DEFAULT_SIGNATURE].columns)
        return examples_of_columns(given.input_file, [inputs]), given.input_file
    if given.input_file:
        lines, source = read_lines(given.input_file), given.input_file
        json_lines: bool | None = holds_json_lines(given.input_file)
    else:
        lines, source, json_lines = lines_of_standard_input(), _STANDARD_INPUT, given.json_lines
    inputs = ("text",)
    if not json_lines:
        inputs, json_lines = _inputs_of_plain_lines(client), False
    return examples_of_lines(inputs, (line.removesuffix("\r") for line in lines), source, json_lines), source


def _inputs_of_plain_lines(client: "ServingClient") -> tuple[str, ...]:
    """What a plain line holds: a text; or two with a tab between them, where the signature takes a pair."""
    name = flags.FLAGS.signature_name or _DEFAULT_SIGNATURE
    columns = client.signatures[name].columns
    if columns in (["text"], ["text", "text_pair"]):
        return tuple(columns)
    raise ValueError(
        f"signature {name!r} takes {', '.join(columns)} of each example, and a plain line has no place for "
        "them; expected JSON lines: a file named .jsonl, or --json_lines with standard input."
    )


def _settings(flag_values: list[str]) -> dict:
    settings = {}
    for setting in flag_values:
        name, equals, value = setting.partition("=")
        try:
            settings[name] = json.loads(value)
        except json.JSONDecodeError as error:
            raise ValueError(
                f"--setting={setting}: expected NAME=VALUE with a value of JSON, for example top_k=5, "
                "whole_words=false."
            ) from error
    return settings


def _write(answers: "LineAnswers", examples: Iterable[dict], total: int | None) -> None:
    path = flags.FLAGS.output_file
    if not path:
        for line in answers(examples):
            print(line, flush=True)
        return
    progress = Progress("Answered", "texts", total)

    def told():
        rows = _whole_rows()
        for number, (example, answer) in enumerate(answers.pairs(examples), 1):
            yield next(rows) if rows else example, answer
            progress.report(number)

    write_answers(path, told(), label_separator=None)
    progress.report_end(path)


def _whole_rows() -> Iterator[dict] | None:
    """All columns of --input_file, where a table of answers repeats them."""
    given = flags.FLAGS
    if given.input_file and find_ending(given.output_file) in TABLES and has_columns(given.input_file):
        return whole_rows(given.input_file)
    return None


def define_flags() -> None:
    # Inside a function because another script has a flag of the same name, and a test may import
    # both.
    flags.DEFINE_string("server", None, "host:port; localhost:8500 (grpc) or :8501 (rest) if left out.")
    flags.DEFINE_enum("api", "grpc", list(_DEFAULT_SERVERS), "Which API carries the request.")
    flags.DEFINE_string("model_name", None, "The model's name on the server.")
    flags.DEFINE_string("signature_name", None, "Which signature answers; by default found by the inputs.")
    flags.DEFINE_multi_string("setting", [], "NAME=VALUE for all texts, for signatures that take some.")
    flags.DEFINE_string("text", None, "The text; without it and --input_file, each line of stdin is a text.")
    flags.DEFINE_string("text_pair", None, "The second text, for a signature that takes a pair.")
    flags.DEFINE_string(
        "input_file", None, "Texts, a line each, JSON lines (.jsonl), or columns (.csv, .tsv)."
    )
    flags.DEFINE_bool("json_lines", False, "Lines of standard input are JSON objects.")
    flags.DEFINE_string(
        "output_file",
        None,
        "Where to write the answers: .jsonl, .csv or .tsv, maybe compressed; by default standard output.",
    )
    flags.DEFINE_bool("overwrite", False, "Replace an output_file that exists.")
    flags.DEFINE_bool("keep_going", False, "A text that is refused gives a line with `error`, and no end.")
    flags.DEFINE_integer("batch_size", 32, "Texts of one request.", lower_bound=1)
    flags.DEFINE_integer("num_parallel", 2, "Requests under way at a time.", lower_bound=1)
    flags.DEFINE_float("timeout_seconds", 10.0, "How long to wait for an answer.", lower_bound=0.001)
    flags.DEFINE_integer("max_attempts", 5, "How often to ask a server that is busy.", lower_bound=1)
    flags.mark_flags_as_required(["model_name"])


if __name__ == "__main__":
    define_flags()
    script.run(main)
