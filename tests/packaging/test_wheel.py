"""The wheel, in an environment outside the checkout: what it brings, and a tiny life with its command."""

import json
import os
import random
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path

import pytest
from uv import find_uv_bin

from tests.places import REPOSITORY

pytestmark = pytest.mark.slow  # a process for every step of a life

FOLDERS = ("kbert", "tfrecords_tools", "export", "configs")
FILES = ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE")
TINY = {
    "encoder.hidden_size": 16,
    "encoder.num_hidden_layers": 1,
    "encoder.num_attention_heads": 2,
    "encoder.intermediate_size": 32,
    "train_batch_size": 8,
    "eval_batch_size": 8,
    "num_train_steps": 2,
    "num_warmup_steps": 1,
    "steps_per_execution": 1,
    "log_every_steps": 1,
    "save_checkpoints_steps": 2,
    "eval_every_steps": 2,
    "jit_compile": "false",
}


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """A copy of what a package is built from: building leaves files behind."""
    folder = tmp_path_factory.mktemp("sources")
    for name in FOLDERS:
        shutil.copytree(REPOSITORY / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in FILES:
        shutil.copy(REPOSITORY / name, folder)
    return folder


def uv(*arguments):
    command = [find_uv_bin(), *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr


def environment_with(folder, *arguments):
    """An environment with kbert installed so, which finds all other packages in that of the tests."""
    uv("venv", "--quiet", "--python", sys.executable, folder)
    (site_packages,) = folder.glob("lib/python*/site-packages")
    (site_packages / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
    flags = ("--quiet", "--offline", "--no-cache", "--no-deps", "--no-build-isolation")
    uv("pip", "install", *flags, "--python", folder / "bin" / "python", *arguments)
    return folder / "bin"


@pytest.fixture(scope="module")
def wheel(sources, tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    uv(
        "build",
        "--quiet",
        "--wheel",
        "--no-build-isolation",
        "--python",
        sys.executable,
        "-o",
        folder,
        sources,
    )
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    return environment_with(tmp_path_factory.mktemp("installed") / "venv", wheel)


def run(program, *arguments, cwd):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return subprocess.run(
        [program, *map(str, arguments)], cwd=cwd, env=environment, capture_output=True, text=True, timeout=120
    )


def kbert(bin_folder, cwd, *arguments):
    result = run(bin_folder / "kbert", *arguments, cwd=cwd)
    assert result.returncode == 0, result.stderr[-2000:]
    return result


def write_texts(folder):
    rng = random.Random(5)
    words = {"warm": ("sunny", "hot", "dry"), "cold": ("frosty", "icy", "dark")}

    def sentence(label):
        return f"The {rng.choice(words[label])} day was {rng.choice(words[label])}."

    documents = ["\n".join(sentence(label) for _ in range(6)) for _ in range(4) for label in words]
    (folder / "corpus.txt").write_text("\n\n".join(documents) + "\n")
    rows = [f"{sentence(label)}\t{label}" for _ in range(8) for label in words]
    (folder / "rows.tsv").write_text("\n".join(["sentence\tlabel", *rows]) + "\n")


def test_the_wheel_names_its_packages_its_command_and_what_it_needs(installed, tmp_path):
    program = (
        "import importlib.metadata as m, json, kbert; d = m.distribution('kbert-tensorflow'); "
        "print(json.dumps([kbert.__file__, d.version, kbert.__version__, d.requires, "
        "sorted({str(f).split('/')[0] for f in d.files})]))"
    )
    result = run(installed / "python", "-c", program, cwd=tmp_path)
    place, version, kbert_version, requires, folders = json.loads(result.stdout)
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert Path(place).is_relative_to(installed.parent) and version == kbert_version
    assert sum(" extra ==" not in line for line in requires) == len(project["dependencies"])
    assert folders == [
        "..",  # bin/kbert
        "kbert",
        "kbert_export",
        f"kbert_tensorflow-{version}.dist-info",
        "tfrecords_tools",
    ]


@pytest.mark.parametrize("folder", ["export/server/page", "configs/quickstart", "kbert/reports/templates"])
def test_the_wheel_brings_the_files_that_are_no_python(wheel, folder):
    """Templates, the page of kbert serve, the quickstart's recipes, its text and the licence."""
    files = [path for path in (REPOSITORY / folder).rglob("*") if path.is_file()]
    expected = {path.relative_to(REPOSITORY).as_posix() for path in files}
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    names |= {re.sub("^kbert[_/]", "", name) for name in names}  # export and configs lie in other folders
    assert expected and expected <= names


@pytest.mark.parametrize("page", ["docs/mobile.md", "docs/tokenizers.md"])
def test_what_the_pages_for_apps_import_is_installed_and_loads_no_tensorflow(installed, tmp_path, page):
    text = (REPOSITORY / page).read_text(encoding="utf-8")
    imports = re.findall(r"^ +(from kbert\S* import \w+)", text, re.MULTILINE)
    program = "\n".join([*imports, "import sys", "assert 'tensorflow' not in sys.modules"])
    result = run(installed / "python", "-c", program, cwd=tmp_path)
    assert len(imports) == 2 and result.returncode == 0, result.stderr


@pytest.mark.long
def test_a_tiny_life_in_another_folder(installed, tmp_path):
    write_texts(tmp_path)

    def step(command):
        return kbert(installed, tmp_path, *command.split())

    listed = step("configs").stdout.splitlines()
    pretraining, finetuning = (
        next(line.split()[0] for line in listed if f"{kind}/smoke." in line)
        for kind in ("pretraining", "finetuning")
    )
    step("vocab --input_files=corpus.txt --output_file=vocab.txt --vocab_size=120 --num_unused_tokens=0")
    step(
        "pretraining-data --input_files=corpus.txt --vocab_file=vocab.txt --output_dir=records "
        "--max_seq_length=24 --max_predictions_per_seq=3"
    )
    tiny = " ".join(f"--override={name}={value}" for name, value in TINY.items())
    said = step(f"pretrain --config={pretraining} --input_dir=records --run_dir=pretrained {tiny}").stderr
    assert "example: [CLS] " in said and "step 2/2" in said  # its own lines, as in a checkout
    short = "--override=num_train_epochs=1 --override=max_seq_length=16 --override=train_batch_size=8"
    files = "--train_file=rows.tsv --dev_file=rows.tsv"
    step(f"finetune --config={finetuning} {files} --init_checkpoint=pretrained --run_dir=classifier {short}")
    answer = step("predict --run_dir=classifier --text=hot")
    assert json.loads(answer.stdout)["label"] in ("warm", "cold")
    step("export --run_dir=classifier --model_base_path=served --nomeasure")
    assert (tmp_path / "served" / "1" / "saved_model.pb").is_file()
