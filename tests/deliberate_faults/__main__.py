"""Makes one fault after the other in a copy of the repository, and checks that the tests notice it.

  python -m tests.deliberate_faults [--only=PART_OF_A_NAME ...] [--nowithout] [--jobs=2]

Ends with a table, and with exit code 1 where a fault was missed. A fault is a patch of a function
(patching.py), appended to the function's file, so that child processes see it too. Each fault's tests run in
a process of their own, forked from one that has loaded TensorFlow already.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

from absl import app, flags

from tests.deliberate_faults.faults import FAULTS
from tests.deliberate_faults.patching import appended, files_of

REPOSITORY = Path(__file__).resolve().parents[2]
_SECONDS, _SECONDS_WITHOUT = 300, 3600  # for the tests of one fault, and for all of them without any
_CAUGHT, _PASSED = 1, 0  # pytest's exit codes: tests failed, none did

_ONLY = flags.DEFINE_multi_string("only", [""], "only the faults that have one of these in their name")
_WITHOUT = flags.DEFINE_boolean("without", True, "first run the tests without any fault: they must pass")
_JOBS = flags.DEFINE_integer("jobs", 2, "how many at a time", lower_bound=1)


def main(argv):
    if len(argv) > 1:
        sys.exit(f"error: no argument {argv[1]!r} is known; see --help.")
    chosen = [fault for fault in FAULTS if any(part in fault.name for part in _ONLY.value)]
    if not chosen:
        sys.exit(f"error: no fault has any of {_ONLY.value} in its name.")
    try:
        files = files_of(FAULTS, REPOSITORY)
    except ValueError as error:
        sys.exit(f"error: {error}")
    sys.dont_write_bytecode = True  # a file that changes twice a second would be taken for the same
    with tempfile.TemporaryDirectory(prefix="deliberate_faults_") as folder:
        copies = [copy_repository(Path(folder) / str(number)) for number in range(_JOBS.value)]
        tests = sorted({test for fault in chosen for test in fault.tests})
        if _WITHOUT.value and _run_tests(copies[0], tests, Path(folder) / "without.txt") != _PASSED:
            sys.exit((Path(folder) / "without.txt").read_text() + "\nerror: they fail without any fault.")
        answers = _run_all(chosen, files, copies, Path(folder))
    print_table(answers, files)
    sys.exit(any(answer != "caught" for _, answer, _ in answers))


def copy_repository(folder: Path) -> Path:
    """The files that git knows or would take, as they are now, in a new folder."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=REPOSITORY, check=True, capture_output=True, text=True,
    )  # fmt: skip
    for name in filter(None, listed.stdout.split("\0")):
        if (REPOSITORY / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(REPOSITORY / name, folder / name)
    return folder


def _run_all(faults, files, copies, folder):
    """(fault, answer, seconds) of each, as many at a time as there are copies."""
    waiting, free, running, answers = list(faults), list(copies), {}, []
    while waiting or running:
        if waiting and free:
            fault, copy = waiting.pop(0), free.pop()
            path = copy / files[fault.name]
            whole = path.read_text(encoding="utf-8")
            path.write_text(whole + appended(fault), encoding="utf-8")
            process = _fork_tests(copy, fault.tests, folder / f"output_{copy.name}.txt")
            running[process] = (fault, copy, whole, time.monotonic())
            continue
        process, status = os.wait()
        fault, copy, whole, began = running.pop(process)
        (copy / files[fault.name]).write_text(whole, encoding="utf-8")
        free.append(copy)
        answer = _answer(os.waitstatus_to_exitcode(status))
        if answer not in ("caught", "MISSED"):
            print((folder / f"output_{copy.name}.txt").read_text()[-2000:])
        answers.append((fault, answer, time.monotonic() - began))
        print(f"{answer:8}{fault.name}", flush=True)
    return answers


def _answer(exit_code):
    if exit_code == -signal.SIGALRM:
        return "HUNG"
    return {_CAUGHT: "caught", _PASSED: "MISSED"}.get(exit_code, f"ERROR {exit_code}")


def _run_tests(copy, tests, output):
    _, status = os.waitpid(_fork_tests(copy, tests, output, _SECONDS_WITHOUT), 0)
    return os.waitstatus_to_exitcode(status)


class _FirstFailure:
    """Hypothesis stops at an example that fails: making it smaller takes minutes."""

    def pytest_configure(self):
        from hypothesis import Phase, settings

        settings.register_profile("first", phases=[Phase.explicit, Phase.generate], database=None)
        settings.load_profile("first")


def _fork_tests(copy, tests, output, seconds=_SECONDS) -> int:
    """The number of a process that runs tests in a copy of the repository; its exit code is pytest's."""
    import keras  # noqa: F401  # loaded once, before any fork, and nothing of it used here
    import pytest
    import tensorflow_text  # noqa: F401

    process = os.fork()
    if process:
        return process
    signal.alarm(seconds)
    descriptor = os.open(output, os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    os.chdir(copy)
    for name in [name for name in sys.modules if name.split(".")[0] in ("tests", "kbert")]:
        del sys.modules[name]
    sys.path[:] = [str(copy), *(path for path in sys.path if Path(path or ".").resolve() != REPOSITORY)]
    marks = "not long and not exhaustive"
    arguments = ["-x", "-q", "-m", marks, "-p", "no:cacheprovider", f"--basetemp={copy}.tests"]
    try:
        os._exit(int(pytest.main([*arguments, *tests], plugins=[_FirstFailure()])))
    except BaseException:  # whatever happens: this process must not take part in what its parent does
        traceback.print_exc()
        os._exit(os.EX_SOFTWARE)


def print_table(answers, files):
    """A row for each fault, and what they come to."""
    for fault, answer, seconds in sorted(answers, key=lambda answer: files[answer[0].name]):
        print(f"{answer:8}{seconds:5.0f} s  {files[fault.name]:55}{fault.name}")
    caught = sum(answer == "caught" for _, answer, _ in answers)
    seconds = sum(seconds for _, _, seconds in answers)
    print(f"{caught} of {len(answers)} faults caught, {seconds:.0f} s of tests.")


if __name__ == "__main__":
    app.run(main)
