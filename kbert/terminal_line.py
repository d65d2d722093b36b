"""One line at the bottom of a terminal that is written again and again; all other lines stand above it."""

import contextlib
import logging as standard_logging
import os
import sys
import threading

from absl import logging

from kbert.log_lines import is_progress


class TerminalLine:
    """The line, drawn by tqdm, which knows how wide the terminal and its characters are.

    Args:
      stream: the terminal.
    """

    def __init__(self, stream):
        from tqdm import tqdm

        class Line(tqdm):
            monitor_interval = 0  # no thread that draws the line again by itself

        # tqdm's own lock also reaches other processes, which write no such line.
        Line.set_lock(threading.RLock())
        # With a total, a text that is too long for the terminal is cut.
        self._line = Line(total=1, bar_format="{desc}", file=stream, leave=False, dynamic_ncols=True)

    def show(self, text: str):
        """Replaces what the line says."""
        self._line.set_description_str(text)

    def write_above(self, stream, text: str):
        """Writes to a stream on the same terminal, where the line was; the next `show` draws it again."""
        with self._line.get_lock():
            self._line.clear(nolock=True)
            stream.write(text)
            stream.flush()

    def close(self):
        """Takes the line away."""
        self._line.close()


class _Above:
    """A stream on the terminal whose writer knows nothing of the line."""

    def __init__(self, stream, line: TerminalLine):
        self._stream, self._line = stream, line

    def write(self, text):
        self._line.write_above(self._stream, text)
        return len(text)

    def writelines(self, lines):
        self.write("".join(lines))

    def __getattr__(self, name):
        return getattr(self._stream, name)


@contextlib.contextmanager
def progress_on_one_line(handler: standard_logging.StreamHandler):
    """Inside, lines of progress take each other's place, where the handler writes to a terminal.

    A stream that is no terminal (a file, a pipe) gets whole lines. The same for TERM=dumb, as in editors.

    Args:
      handler: writes the log. Its stream and, if that is on a terminal too, sys.stdout are changed for the
        time being.
    """
    stream, stdout = handler.stream, sys.stdout
    if not _rewrites(stream):
        yield
        return
    line = TerminalLine(stream)

    def goes_on(record):
        if is_progress(record):
            line.show(record.getMessage())  # not folded: what the terminal has no room for is cut
        return not is_progress(record)

    # On absl's handler: its filters were asked for long before this one, and say which lines are shown.
    shown = logging.get_absl_handler()
    shown.addFilter(goes_on)
    handler.setStream(_Above(stream, line))
    if stdout.isatty():
        sys.stdout = _Above(stdout, line)
    try:
        yield
    finally:
        sys.stdout = stdout
        handler.setStream(stream)
        shown.removeFilter(goes_on)
        line.close()


def _rewrites(stream) -> bool:
    return stream.isatty() and os.environ.get("TERM") != "dumb"
