"""`--help` of every script, and what a wrong flag is told."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from kbert.command_flags.groups import GROUPS, closest, grouped
from kbert.commands import COMMANDS, command_of, module_of

from kbert.config import FinetuningConfig, PretrainingConfig
from kbert.config.setting_paths import path_of_setting, setting_paths

REPOSITORY = Path(__file__).resolve().parents[2]
ALL = [command for commands in COMMANDS.values() for command in commands]
# Each command runs in a fork of a process that has loaded absl and the configs. Its exit code and the heavy
# modules that it has loaded come back as JSON, after its page.
PAGES = """
import json, os, sys
import absl.app, absl.flags, kbert.config
from kbert import commands
for command in sys.argv[1:]:
    sys.stdout.flush()
    if os.fork():
        os.wait()
        continue
    try:
        code = commands.main(["kbert", command, "--help"])
    except SystemExit as end:
        code = end.code
    heavy = sorted({"tensorflow", "keras", "tensorflow_text", "numpy", "grpc"} & set(sys.modules))
    print("\\0" + json.dumps({"code": code, "heavy": heavy}) + "\\0", flush=True)
    os._exit(0)
"""


def run(*arguments):
    return subprocess.run([sys.executable, *arguments], cwd=REPOSITORY, capture_output=True, text=True)


@pytest.fixture(scope="module")
def pages():
    """command -> its page, exit code, flags and heavy modules."""
    result = run("-c", PAGES, *ALL)
    assert result.returncode == 0 and result.stderr == ""
    parts = result.stdout.split("\0")
    texts, facts = parts[0:-1:2], parts[1::2]
    return {
        name: {"text": text, "flags": re.findall(r"^  --(?:\[no\])?(\w+)$", text, re.M)} | json.loads(fact)
        for name, text, fact in zip(ALL, texts, facts, strict=True)
    }


@pytest.mark.parametrize("command", ALL)
def test_every_script_explains_itself_without_heavy_modules(pages, command):
    page = pages[command]
    assert (page["code"], page["heavy"]) == (0, [])
    title, _, rest = page["text"].lstrip().partition("\n\n")
    assert title.startswith(f"kbert {command}: ") and len(title.split("\n")) <= 2
    assert rest.startswith("example:\n\n  ") and f"kbert {command}" in rest.split("\n\n")[1]
    assert "--only_check_args" not in rest and "--logtostderr" not in rest, "flags of absl"


def test_every_flag_of_every_script_has_its_group(pages):
    named = " ".join(GROUPS.values()).split()
    used = {name for page in pages.values() for name in page["flags"]}
    assert sorted(named) == sorted(used), "kbert/command_flags/groups.py has each flag of the scripts once"


def test_what_a_training_needs_first_comes_first(pages):
    text = pages["finetune"]["text"]
    places = [text.index(f"\n{words}") for words in ("data:", "  --train_file", "model:", "  --config")]
    places += [text.index(f"\n{words}") for words in ("  --run_dir", "  --init_checkpoint", "  --seeds")]
    assert places == sorted(places)
    assert "One changed setting, for example num_train_steps=500" in text
    assert "(required)" in text and "(default: auto)" in text


def test_flags_without_a_group_are_not_lost():
    assert grouped(["new", "run_dir", "config"]) == {"flags": ["config", "run_dir", "new"]}
    many = ["new", "tpu", "text", "run_dir", "config", "seed", "overwrite"]
    assert list(grouped(many)) == ["data", "model", "training", "output", "devices", "other"]
    assert (
        closest("vocab_fil", ["vocab_file", "config"]) == "vocab_file" and closest("zzz", ["config"]) is None
    )


def test_a_command_and_its_module_belong_together():
    assert all(command_of(module_of(command)) == f"kbert {command}" for command in ALL)
    assert command_of("export.serving_client") == "kbert client" and command_of("nothing") is None


def test_helpfull_shows_what_help_hides():
    shown = run("-m", "kbert.scripts.copy_configs", "--helpfull").stdout
    assert "--output_dir" in shown and "only_check_args" in shown


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["finetune", "--learning_rate=3e-5"],
            "--learning_rate is a setting of the config, not a flag; write "
            "--override=optimizer.learning_rate=3e-5.",
        ),
        (
            ["finetune", "--num_train_epochs", "1"],
            "--num_train_epochs is a setting of the config, not a flag; write --override=num_train_epochs=1.",
        ),
        (
            ["pretrain", "--num_train_epochs=1"],
            "unknown flag --num_train_epochs; `kbert pretrain --help` lists the flags.",
        ),
        (
            ["finetune", "--train_fil=x"],
            "unknown flag --train_fil; did you mean --train_file? `kbert finetune --help` lists the flags.",
        ),
        (
            ["pretraining-data", "--strategy=full_sentences"],
            "--strategy is now --pairing; `kbert pretraining-data --help` says more.",
        ),
        (["predict", "--top_k=x"], "--top_k=x: invalid literal for int() with base 10: 'x'"),
        (["finetune", "--jit=maybe"], "--jit=maybe: value should be one of <auto|on|off>"),
        (
            ["curves"],
            "--run_dir is missing, as in: kbert curves --run_dir=runs/phase1; `kbert curves --help` lists "
            "the flags.",
        ),
    ],
)
def test_a_wrong_flag_is_one_sentence_that_says_what_to_type(arguments, sentence):
    result = run("-m", "kbert", *arguments)
    assert (result.returncode, result.stdout, result.stderr) == (1, "", f"error: {sentence}\n")


def test_python_m_tells_the_same_command():
    result = run("-m", "kbert.scripts.run_pretraining", "--run_dir=a")
    assert result.returncode == 1 and result.stderr.count("\n") == 1
    assert result.stderr.startswith("error: --config and --input_dir are missing, as in: kbert pretrain ")
    assert result.stderr.endswith("; `kbert pretrain --help` lists the flags.\n")


def test_a_reader_of_help_may_stop_early():
    command = f"{sys.executable} -m kbert finetune --help | head -n 1"
    result = subprocess.run(command, shell=True, cwd=REPOSITORY, capture_output=True, text=True)
    assert result.stdout.startswith("kbert finetune: ") and result.stderr == ""


def test_settings_by_their_last_name():
    configs = [FinetuningConfig]
    assert path_of_setting("learning_rate", configs) == "optimizer.learning_rate"
    assert path_of_setting("optimizer.learning_rate", configs) == "optimizer.learning_rate"
    assert path_of_setting("seed", configs) == "seed" and path_of_setting("hidden", configs) is None
    assert path_of_setting("num_train_steps", [PretrainingConfig]) == "num_train_steps"
    assert {"encoder.hidden_size", "lora.rank", "dataset.text"} <= set(setting_paths(FinetuningConfig))
