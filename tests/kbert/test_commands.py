"""The command `kbert`: a table of the scripts."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from kbert.commands import COMMANDS, list_of_commands, main, module_of

from kbert import __version__
from tests.kbert.test_interrupt import run as run_interrupted

REPOSITORY = Path(__file__).resolve().parents[2]
FOLDERS_OF_SCRIPTS = ("kbert/scripts", "tfrecords_tools", "export")


def run(*arguments, cwd=REPOSITORY):
    command = [sys.executable, "-m", "kbert", *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=60)


def test_every_script_has_one_command_and_every_command_a_script():
    scripts = {
        str(path.relative_to(REPOSITORY).with_suffix("")).replace("/", ".")
        for folder in FOLDERS_OF_SCRIPTS
        for path in (REPOSITORY / folder).glob("*.py")
        if "def define_flags" in (text := path.read_text(encoding="utf-8")) and "__main__" in text
    }
    modules = [module_of(command) for commands in COMMANDS.values() for command in commands]
    assert sorted(modules) == sorted(scripts)


def test_the_list_has_a_line_for_every_command(capsys):
    assert main(["kbert", "--help"]) == 0
    listed = capsys.readouterr().out
    assert listed == list_of_commands() + "\n"
    commands = [command for commands in COMMANDS.values() for command in commands]
    assert re.findall(r"^  (\S+) +\S.*$", listed, re.MULTILINE) == commands
    assert max(map(len, listed.splitlines())) <= 100


def test_docs_name_the_same_scripts():
    text = (REPOSITORY / "docs" / "install.md").read_text(encoding="utf-8")
    listed = dict(re.findall(r"^\| `kbert (\S+)` \| `(\S+)` \|$", text, re.MULTILINE))
    assert listed == {command: module_of(command) for commands in COMMANDS.values() for command in commands}


@pytest.mark.parametrize(
    ("arguments", "exit_code", "out", "error"),
    [
        (["--version"], 0, f"kbert {__version__}\n", ""),
        ([], 1, list_of_commands() + "\n", ""),
        (
            ["pretain"],
            1,
            "",
            "error: unknown command 'pretain'. Did you mean 'pretrain'? `kbert --help` lists all commands.\n",
        ),
        (["xyzzy"], 1, "", "error: unknown command 'xyzzy'. `kbert --help` lists all commands.\n"),
        (
            ["--run_dir=a", "pretrain"],
            1,
            "",
            "error: expected a command before the flag '--run_dir=a', for example: kbert pretrain --help.\n",
        ),
    ],
)
def test_what_is_no_command_is_one_sentence(capsys, arguments, exit_code, out, error):
    assert main(["kbert", *arguments]) == exit_code
    assert capsys.readouterr() == (out, error)


def test_help_loads_nothing_heavy():
    program = (
        "import sys; from kbert.commands import main; main(['kbert', '--help']); "
        "print({'tensorflow', 'keras', 'numpy', 'absl'} & set(sys.modules))"
    )
    result = subprocess.run([sys.executable, "-c", program], cwd=REPOSITORY, capture_output=True, text=True)
    assert result.stdout.endswith("\nset()\n"), result.stderr


def test_a_command_is_the_script_with_its_flags_and_its_exit_code():
    helped = run("export", "--help")
    assert "  kbert export " in helped.stdout and "--run_dir" in helped.stdout
    refused = run("finetune", "--config=none", "--run_dir=none")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr.startswith("error: config file none does not exist")


@pytest.mark.parametrize("module", ["kbert.commands", "absl", "absl.app"])
def test_ctrl_c_while_a_command_starts_is_one_line(tmp_path, module):
    result = run_interrupted(tmp_path, module, "-m", "kbert", "configs", "--output_dir=none")
    assert (result.returncode, result.stdout, result.stderr) == (130, "", "stopped by Ctrl-C\n")
