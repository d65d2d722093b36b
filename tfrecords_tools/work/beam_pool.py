"""Work on a cluster: a function over many items as an Apache Beam pipeline.

Apache Beam is an optional extra; nothing else imports it.
"""

import contextlib
import functools
import io
import shlex
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from absl import logging

from kbert.extras import require
from kbert.files.whole_file import write_text


class BeamPool:
    """Like `WorkerPool`, for functions that write their results to files and return nothing.

    Each `map` is one pipeline. Its workers need this project installed, and a file system that shows the
    same paths to all of them (NFS, Lustre, a mounted bucket), with input, vocabulary and output on it.

    Args:
      options: Beam's own options, as on its command line, for example
        "--runner=FlinkRunner --flink_master=host:8081 --environment_type=LOOPBACK". An empty string runs
        the pipeline on this machine.
      folder: one that all workers see; it exists when `map` is called.

    Raises:
      ValueError: when Apache Beam is not installed, or for an option, a value or a runner that it does not
        know.
    """

    def __init__(self, options: str, folder: Path):
        require("beam", "--runner=beam")
        self._options = _parse(options)
        self._refusal = folder / "refusal.txt"

    def __enter__(self) -> "BeamPool":
        return self

    def __exit__(self, *exception):
        pass

    def map(self, function: Callable, items: Iterable) -> Iterator[None]:
        """Runs the function over all items, then yields None for each of them.

        Raises:
          ValueError: that of an item; the items after it are left out.
          Whatever the pipeline raises when an item fails otherwise, and for good.
        """
        import apache_beam as beam

        items, work = list(items), functools.partial(_call_or_note, function, self._refusal)
        self._refusal.unlink(missing_ok=True)
        if items:
            with beam.Pipeline(options=self._options) as pipeline:
                _ = pipeline | beam.Create(items) | beam.Reshuffle() | beam.Map(work)
        if self._refusal.is_file():
            raise ValueError(self._refusal.read_text(encoding="utf-8"))
        yield from (None for _ in items)


def _parse(text):
    """Beam's options. Beam itself leaves out what it does not know, and then runs on this machine."""
    from apache_beam.options.pipeline_options import PipelineOptions, StandardOptions
    from apache_beam.runners import DirectRunner, create_runner

    try:
        words = shlex.split(text)
    except ValueError as error:  # a quotation mark without its other one
        raise ValueError(f"--beam_options={text!r:.200} cannot be read: {error}.") from None
    for before, word in zip(["", *words], words, strict=False):
        if not word.startswith("--") and (not before.startswith("--") or "=" in before):
            raise ValueError(f"--beam_options holds {word!r}, which is no option; write --NAME=VALUE.")
    with _refused_where_beam_ends(text):
        options = PipelineOptions(words)
        runner = options.view_as(StandardOptions).runner or StandardOptions.DEFAULT_RUNNER
        made = create_runner(runner)  # imports its module, with its own options
        kept = options.get_all_options(retain_unknown_options=True)
        unknown = ", ".join(f"--{name}" for name in sorted(kept.keys() - options.get_all_options().keys()))
    if unknown and isinstance(made, DirectRunner):
        raise ValueError(
            f"--beam_options has {unknown}, which Beam does not know with --runner={runner}, the runner of "
            "this machine; fix the name or leave it out."
        )
    if unknown:
        logging.warning("Beam itself does not know %s of --beam_options; --runner=%s may.", unknown, runner)
    return options


@contextlib.contextmanager
def _refused_where_beam_ends(text):
    """Raises ValueError where Beam prints its usage and ends the program: for a value that it cannot read,
    which the last line names, and for --help."""
    printed = io.StringIO()
    try:
        with contextlib.redirect_stderr(printed), contextlib.redirect_stdout(io.StringIO()):
            yield
    except SystemExit:
        why = printed.getvalue().strip().rpartition("error: ")[2] or "it asks for help"
        raise ValueError(f"--beam_options={text!r:.200} cannot be read: {why}.") from None


def _call_or_note(function, refusal, item):
    """Calls the function, and notes its ValueError, which Beam would bury in tracebacks."""
    if not refusal.exists():
        try:
            function(item)
        except ValueError as error:
            write_text(str(error), refusal)
