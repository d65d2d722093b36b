"""A disk that fails once, at a chosen write below a folder; all writes of the process there are counted."""

import builtins
import contextlib
import errno
import io
import os
from pathlib import Path

_SYSTEM_CALLS = ("mkdir", "rename", "replace", "fsync")


class FailingDisk:
    """Counts writes below `folder`; write number `fail_at` (from 0) fails with `code`; with None, none fails.

    A write is a call of `write` on a file that was opened to be written, the opening itself, and the calls
    of the operating system that make, rename or sync.
    """

    def __init__(self, folder, fail_at=None, code=errno.ENOSPC):
        self._folder, self._fail_at, self._code = os.path.realpath(folder), fail_at, code
        self.writes = []

    @contextlib.contextmanager
    def at_work(self, monkeypatch):
        with monkeypatch.context() as patch:
            real_open = io.open

            def opening(file, mode="r", *arguments, **options):
                writes = isinstance(file, str | os.PathLike) and set(mode) & set("wax+")
                if not (writes and self._is_below(file)):
                    return real_open(file, mode, *arguments, **options)
                self._count("open", file)
                return _CountedFile(real_open(file, mode, *arguments, **options), self, file)

            patch.setattr(io, "open", opening)
            patch.setattr(builtins, "open", opening)
            for name in _SYSTEM_CALLS:
                patch.setattr(os, name, self._counted(name, getattr(os, name)))
            yield self

    def _counted(self, name, call):
        def counted(first, *arguments, **options):
            path = os.readlink(f"/proc/self/fd/{first}") if isinstance(first, int) else first
            if self._is_below(path):
                self._count(name, path)
            return call(first, *arguments, **options)

        return counted

    def _is_below(self, path):
        return Path(os.path.realpath(path)).is_relative_to(self._folder)

    def _count(self, what, path):
        self.writes.append(f"{what} {Path(path).name}")
        if len(self.writes) - 1 == self._fail_at:
            raise OSError(self._code, os.strerror(self._code), str(path))


class _CountedFile:
    """A file whose writes are counted; a write that fails has written half of its content."""

    def __init__(self, file, disk, path):
        self._file, self._disk, self._path = file, disk, path

    def write(self, content):
        try:
            self._disk._count("write", self._path)
        except OSError:
            self._file.write(content[: len(content) // 2])
            self._file.flush()
            raise
        return self._file.write(content)

    def __getattr__(self, name):
        return getattr(self._file, name)

    def __enter__(self):
        self._file.__enter__()
        return self

    def __exit__(self, *exception):
        return self._file.__exit__(*exception)

    def __iter__(self):
        return iter(self._file)
