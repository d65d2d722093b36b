"""Ctrl-C while a script starts: one line and exit code 130, whatever is being imported just then."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from kbert.interrupt import is_from_interrupt

from tests.loading_lines import without_loading

REPOSITORY = Path(__file__).resolve().parents[2]

# Sends this process a SIGINT when a module begins to be imported.
INTERRUPTS_AT_IMPORT = """
import os, signal, sys

class Interrupts:
    def find_spec(self, name, path=None, target=None):
        if name == os.environ["INTERRUPT_AT"]:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupts())
"""


def run(tmp_path, module, *command):
    (tmp_path / "sitecustomize.py").write_text(INTERRUPTS_AT_IMPORT)
    environment = os.environ | {"PYTHONPATH": f"{tmp_path}:{REPOSITORY}", "INTERRUPT_AT": module}
    return subprocess.run(
        [sys.executable, *command], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "module"),
    [
        ("kbert.scripts.run_evaluation", "absl"),
        ("kbert.scripts.run_evaluation", "kbert.command_line"),
        ("kbert.scripts.run_evaluation", "absl.app"),
        ("kbert.scripts.run_prediction", "numpy"),
        ("kbert.scripts.run_prediction", "tensorflow"),
        ("kbert.scripts.run_prediction", "numpy.linalg"),
        ("kbert.scripts.run_prediction", "tensorflow.python.framework.ops"),
        ("kbert.scripts.run_prediction", "keras.src.layers"),
        ("export.export_savedmodel", "absl"),
        ("tfrecords_tools.show_records", "absl"),
    ],
)
def test_at_every_early_moment_it_is_one_line(tmp_path, script, module):
    flags = ["--run_dir=none", "--input_dir=none", "--model_base_path=none"]
    known = {"run_evaluation": flags[:2], "run_prediction": flags[:1], "export_savedmodel": flags[::2]}.get(
        script.split(".")[-1], []
    )
    result = run(tmp_path, module, "-m", script, *known)
    loading, stopped, rest = result.stderr.rpartition("stopped by Ctrl-C\n")
    assert (result.returncode, result.stdout, stopped, rest) == (130, "", "stopped by Ctrl-C\n", "")
    assert without_loading(loading) == ""
    assert not (tmp_path / "none").exists()


def test_a_program_that_only_imports_kbert_keeps_its_own(tmp_path):
    program = (
        "import kbert.scripts.run_evaluation, signal\n"
        "print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    )
    result = run(tmp_path, "nothing", "-c", program)
    assert (result.returncode, result.stdout) == (0, "True\n"), result.stderr


def test_where_ctrl_c_is_ignored_it_stays_ignored(tmp_path):
    """As under nohup: the signal comes while absl is imported, and the script goes on to its own error."""
    ignoring = (
        "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); "
        "os.execv(sys.executable, [sys.executable, '-m', 'kbert.scripts.run_finetuning', '--config=none', "
        "'--run_dir=none', '--init_checkpoint=none', '--train_file=none'])"
    )
    result = run(tmp_path, "absl.app", "-c", ignoring)
    assert result.returncode == 1 and result.stderr.startswith("error: config file none does not exist")


def test_in_the_midst_of_a_string_that_is_run_too(tmp_path):
    """So named tuples are made; Python then ends a process that it ran with -m by the signal itself."""
    (tmp_path / "script.py").write_text(
        "from kbert import command_line\n"
        "def main(argv):\n    exec('raise KeyboardInterrupt')\n"
        "command_line.run(main)\n"
    )
    result = run(tmp_path, "nothing", "-m", "script")
    assert (result.returncode, result.stderr) == (130, "stopped by Ctrl-C\n")


def test_an_error_made_of_a_keyboard_interrupt_is_one():
    try:
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as interrupt:
            raise ImportError("initialization failed") from interrupt
    except ImportError as error:
        assert is_from_interrupt(error)
    assert not is_from_interrupt(ValueError("odd"))
