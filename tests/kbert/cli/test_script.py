"""How scripts end: exit codes, one clear sentence, and a quiet start."""

import os
import subprocess
import sys
import tempfile

import pytest
import tensorflow as tf

from kbert.cli.script import error_sentence
from tests import warm_processes
from tests.places import REPOSITORY


def run_script(body, *arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE):
    code = f"from kbert.cli import script\ndef main():\n    {body}\nscript.run(main)"
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(
        command, cwd=REPOSITORY, stdout=stdout, stderr=stderr, encoding="utf-8", timeout=120
    )


@pytest.mark.parametrize(
    ("body", "exit_code", "standard_error"),
    [
        ("print('done')", 0, ""),
        ("raise ValueError('x=3 must be even.')", 1, "error: x=3 must be even.\n"),
        ("raise KeyboardInterrupt", 130, "stopped by Ctrl-C\n"),
        (
            "import errno; raise OSError(errno.ENOSPC, 'No space left on device', '/served/1')",
            1,
            "error: /served/1 could not be written: No space left on device; free some space there, or write "
            "elsewhere.\n",
        ),
        (
            "raise PermissionError(13, 'Permission denied', 'a/m.json.14482.82349c12.tmp')",
            1,
            "error: a/m.json: Permission denied; check its path and its rights.\n",
        ),
    ],
)
def test_exit_codes_and_sentences(body, exit_code, standard_error):
    result = run_script(body)
    assert (result.returncode, result.stderr) == (exit_code, standard_error)


def test_the_first_process_of_a_container_ends_by_sigterm():
    """The system drops it there, without a handler."""
    code = "import os, signal; os.getpid = lambda: 1; from kbert.cli import script\n"
    code += "script.run(lambda: signal.raise_signal(signal.SIGTERM))"
    ended = subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True)
    assert (ended.returncode, ended.stderr) == (143, b"")  # -15 without a handler


@pytest.mark.parametrize("is_set_up", [False, True])
def test_a_notebook_keeps_the_lines_of_others(is_set_up):
    """One call of `kbert.finetune` silenced the warnings of the person and of every other library."""
    own = "logging.basicConfig(format='mine: %(message)s')" if is_set_up else "pass"
    code = "import logging, sys; sys.ps1 = '>>> '\n" + own + "\nfrom kbert.experiments import show_lines; "
    code += "show_lines(); logging.getLogger('theirs').warning('fold 3')\nfrom absl import logging as own\n"
    code += "own.error('a'); logging.basicConfig(format='mine: %(message)s'); own.info('c'); own.error('b')"
    shown = subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True)
    first = "mine: " * is_set_up
    assert shown.stderr == f"{first}fold 3\n{first}a\n{first}b\n"


@pytest.mark.parametrize(
    ("body", "exit_code"),
    [
        ("from kbert.cli.signals import StoppedBySignal; raise StoppedBySignal(1, 'at step 3')", 129),
        ("raise KeyboardInterrupt", 130),
        ("raise ValueError", 1),
    ],
)
def test_a_terminal_that_takes_no_more_lines_changes_no_exit_code(body, exit_code):
    with open("/dev/full", "w") as full:
        assert run_script(body, stderr=full).returncode == exit_code


@pytest.mark.parametrize("flag", [[], ["--help"]])
def test_output_that_a_full_disk_does_not_take_is_one_sentence(flag):
    with open("/dev/full", "w") as full:
        result = run_script("print('done')", *flag, stdout=full)
    assert result.returncode == 1
    assert result.stderr == (
        "error: a file could not be written: No space left on device; free some space where it writes and in "
        f"{tempfile.gettempdir()}, or write elsewhere.\n"
    )


@pytest.mark.parametrize(
    ("body", "flag", "workers"),  # several exit normally
    [
        ("while True: print('more', flush=True)", [], ""),
        ("print('more')", [], ""),
        ("print('more')", [], "{}"),
        ("", ["--help"], ""),
    ],
)
def test_a_reader_that_has_seen_enough_ends_a_script_without_a_word(body, flag, workers, monkeypatch):
    if workers:
        monkeypatch.setenv("TF_CONFIG", workers)
    reader, writer = os.pipe()
    os.close(reader)
    result = run_script(body or "pass", *flag, stdout=writer)
    os.close(writer)
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.long
@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_takes_what_is_printed_and_no_file_its_number(closed, tmp_path):
    body = """import os, pathlib, subprocess, sys, kbert.late_tensorflow, tensorflow
    print('a'); print('b', file=sys.stderr)
    with open('written', 'w') as file:
        os.write(1, b'c'); os.write(2, b'd'); subprocess.run('echo e; echo f >&2', shell=True, check=True)
    pathlib.Path('end').touch()"""
    code = f"from kbert.cli import script\ndef main():\n    {body}\nscript.run(main)"
    command = f'exec "$0" -c "$1" {closed}'
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY)}
    ended = subprocess.run(["sh", "-c", command, sys.executable, code], cwd=tmp_path, env=environment)
    assert ended.returncode == 0 and (tmp_path / "end").exists() and not (tmp_path / "written").read_text()


def test_a_kbert_that_a_link_leads_to_shows_its_log(tmp_path):
    (tmp_path / "link").symlink_to(REPOSITORY)
    script = tmp_path / "logs.py"
    script.write_text(
        "from kbert.cli import script, warn_once\nscript.run(lambda: warn_once.warn_once('a warning'))\n"
    )
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "link")}
    ended = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "a warning\n")


def test_a_pipe_to_something_else_that_breaks_is_an_error():
    result = run_script("raise BrokenPipeError(32, 'Broken pipe')")
    assert (result.returncode, result.stderr) == (1, "error: [Errno 32] Broken pipe\n")


def test_what_is_printed_is_utf_8_whatever_the_system_has(monkeypatch):
    monkeypatch.setenv("PYTHONIOENCODING", "latin-1")
    result = run_script("print('→'); raise ValueError('é ←')")
    assert (result.stdout, result.stderr) == ("→\n", "error: é ←\n")


def test_an_error_inside_an_input_pipeline_is_its_own_sentence():
    result = warm_processes.run_script("tests.kbert.cli.failing_pipeline")
    sentence = (
        "3 texts with 24 tokens do not fit into 1 rows of 8; raise packed_rows, which you may change when "
    )
    assert (result.returncode, result.stderr) == (1, f"error: {sentence}you resume a run.\n")


@pytest.mark.parametrize("in_graph", [False, True])
@pytest.mark.parametrize(
    ("raised", "sentence"),
    [
        (ValueError("two\nlines, KeyError: among them"), "two\nlines, KeyError: among them"),
        (FileNotFoundError("shard-00001 is gone"), "shard-00001 is gone"),
        (
            UnicodeDecodeError("utf-8", b"\xff", 0, 1, "no text"),
            "'utf-8' codec can't decode byte 0xff in position 0: no text",
        ),
        (KeyError("a bug"), None),
    ],
)
def test_what_a_function_inside_a_pipeline_raised(raised, sentence, in_graph):
    def raises(number):
        raise raised

    def mapped(number):
        return tf.numpy_function(raises, [number], tf.int64)

    batches = iter(tf.data.Dataset.range(3).map(mapped, num_parallel_calls=2).prefetch(1))
    with pytest.raises(tf.errors.OpError) as error:
        tf.function(lambda: next(batches))() if in_graph else next(batches)
    assert error_sentence(error.value) == sentence


def test_a_defect_keeps_its_traceback():
    result = run_script("{}['missing']")
    assert result.returncode == 1
    assert "Traceback" in result.stderr and "KeyError: 'missing'" in result.stderr


def test_stray_arguments_are_refused():
    result = run_script("print('ran')", "--verbosity=0", "corpus/b.txt")
    assert (result.returncode, result.stdout) == (1, "")
    assert "unexpected argument 'corpus/b.txt'" in result.stderr


def test_a_current_folder_that_was_deleted_is_named(tmp_path, monkeypatch):
    folder = tmp_path / "release"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    with pytest.raises(FileNotFoundError) as error:
        os.getcwd()
    assert "the folder that you are in was deleted" in error_sentence(error.value)
