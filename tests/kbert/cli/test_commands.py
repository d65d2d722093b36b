"""The command `kbert`: a table of the scripts."""

import importlib.util
import os
import shutil
import subprocess
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from kbert import __version__
from kbert.cli.commands import command_list, export_package, find_command, main, modules
from tests.places import REPOSITORY

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
    assert sorted(modules().values()) == sorted(scripts)
    assert all(find_command(module) == f"kbert {command}" for command, module in modules().items())
    assert find_command("nothing") is None


@pytest.mark.parametrize(
    ("arguments", "exit_code", "out", "error"),
    [
        (["--version"], 0, f"kbert {__version__}\n", ""),
        ([], 1, command_list() + "\n", ""),
        (
            ["pretain"],
            1,
            "",
            "error: unknown command 'pretain'. Did you mean 'pretrain'? `kbert --help` lists all commands.\n",
        ),
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


@pytest.mark.parametrize("flag", ["--version", "--help"])
def test_what_nobody_takes_is_no_traceback(flag):
    reader, writer = os.pipe()
    os.close(reader)
    full = os.open("/dev/full", os.O_WRONLY)
    for output, exit_code, error in ((writer, 0, ""), (full, 1, "error: standard output tak")):
        command = [sys.executable, "-m", "kbert", flag]
        ended = subprocess.run(command, cwd=REPOSITORY, stdout=output, stderr=subprocess.PIPE, text=True)
        os.close(output)
        assert (ended.returncode, ended.stderr[:26]) == (exit_code, error)


def test_help_loads_nothing_heavy():
    program = (
        "import sys; from kbert.cli.commands import main; main(['kbert', '--help']); "
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


@pytest.mark.parametrize(
    ("folder", "name"),
    [(REPOSITORY / "export", "kbert_export"), (Path("site-packages/kbert_export"), "export")],
)
def test_the_exporters_are_those_beside_this_kbert(monkeypatch, folder, name):
    assert export_package() == "export"  # of a checkout
    spec = ModuleSpec("kbert_export", None, is_package=True)
    spec.submodule_search_locations = [str(folder)]
    monkeypatch.setattr(importlib.util, "find_spec", {"kbert_export": spec}.get)
    assert export_package() == name


def test_the_files_of_an_installed_kbert_may_be_links(tmp_path):
    """As `uv pip install --link-mode=symlink` makes them."""
    for folder, name in (("kbert", "kbert"), ("export", "kbert_export")):
        without = shutil.ignore_patterns("__pycache__")
        shutil.copytree(REPOSITORY / folder, tmp_path / name, ignore=without, copy_function=os.symlink)
    program = "from kbert.cli.commands import export_package; print(export_package())"
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-c", program]
    asked = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert asked.stdout == "kbert_export\n", asked.stderr
