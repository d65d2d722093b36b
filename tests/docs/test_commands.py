"""Every command in the pages for readers exists, with its flags, configs and settings."""

import re
import shlex

import pytest

from tests.docs.command_checks import faults, override_faults, script_faults
from tests.docs.markdown import blocks, inline_code, pages, read
from tests.docs.script_flags import all_flags, script_file
from tests.docs.shell_lines import commands
from tests.places import REPOSITORY

SHELL = ("", "sh", "bash")
# One of ours at the beginning of a line or behind an operator: then the whole block is one of commands.
OURS = re.compile(
    r"(?m)(?:^|[|&;]) *(?:srun )?(?:\.venv/bin/)?(?:python[\d.]* |kbert [a-z]|make [a-z]|pytest )"
)
IN_A_LINE = re.compile(r"(?:\.venv/bin/)?(?:python[\d.]* -[mc] |kbert (?:[a-z]|--)|make [a-z]|pytest )")
# Flags of other programs: Slurm's, TensorFlow Serving's. And a setting that is no flag, shown as a mistake.
OTHER_FLAGS = {
    "learning_rate",
    *("gpus-per-task", "distribution"),
    *("batching_parameters_file", "enable_batching", "monitoring_config_file"),
    *("model_config_file", "model_config_file_poll_wait_seconds"),
    "allow_version_labels_for_unavailable_models",
    *("tensorflow_intra_op_parallelism", "tensorflow_inter_op_parallelism"),
}
SCRIPTS = {
    path.stem: ".".join(path.relative_to(REPOSITORY).with_suffix("").parts)
    for folder in ("kbert/scripts", "tfrecords_tools", "export")
    for path in sorted((REPOSITORY / folder).glob("*.py"))
    if "def define_flags" in path.read_text(encoding="utf-8")
}
WHERE_CONFIGS_ARE_INSTALLED = "kbert/configs"
CONFIGS = [
    path.relative_to(REPOSITORY).as_posix() for path in sorted((REPOSITORY / "configs").glob("*/*.toml"))
]
PATH = re.compile(r"(?:kbert|configs|docs|tests|export|tfrecords_tools|benchmarks)/[\w.*/-]*")


def shown_commands(text):
    """(line, words, whether it is complete) of every command, in blocks and inside lines."""
    for block in blocks(text):
        if block.language in SHELL:
            yield from ((command.line, command.words, True) for command in _block_commands(block))
    for code in inline_code(text):
        if IN_A_LINE.match(code.text):
            yield from ((code.line, one.words, False) for one in commands(code.text))


def _block_commands(block):
    """The commands of a block that has one of ours; another block is output, or of another program."""
    return commands(block.text, block.line) if OURS.search(block.text) else []


def mention_faults(code):
    """The faults of code inside a line that is no whole command: flags, scripts with flags, paths."""
    words = shlex.split(code) if "--" in code else code.split()
    script = words[0] if script_file(words[0]) else SCRIPTS.get(words[0])
    if script and len(words) > 1:
        return script_faults(script, words[1:], False)
    if code.startswith("--"):
        return [fault for word in words for fault in _flag_faults(word)]
    if (
        PATH.fullmatch(code)
        and code != WHERE_CONFIGS_ARE_INSTALLED
        and not any(REPOSITORY.glob(code.rstrip("/")))
    ):
        return [f"{code} does not exist"]
    return []


def _flag_faults(word):
    """Of one flag, of whatever script; what stands for any setting is `key=value`."""
    name, _, value = word.removeprefix("--").partition("=")
    name = name.partition("/")[0]  # --run_dir/config.json
    if name == "override" and value not in ("", "key=value"):
        return override_faults(value)
    known = all_flags() | OTHER_FLAGS
    return [] if name in known or name.removeprefix("no") in known else [f"no script has {word}"]


@pytest.mark.parametrize("page", pages())
def test_commands(page):
    text = read(page)
    wrong = [
        (f"{page}:{line}", " ".join(words), fault)
        for line, words, is_complete in shown_commands(text)
        for fault in faults(words, is_complete)
    ]
    assert wrong == []


@pytest.mark.parametrize("config", CONFIGS)
def test_commands_at_the_head_of_a_config(config):
    comments = [line[1:].strip() for line in read(config).splitlines() if line.startswith("#")]
    text = "\n".join(comments).replace("\\\n", "")
    shown = [one for line in text.splitlines() if OURS.match(line) for one in commands(line)]
    assert [fault for one in shown for fault in faults(one.words, True)] == []
    assert any("--config=" + config in one.words for one in shown), "a config begins with its command"


@pytest.mark.parametrize("page", pages())
def test_mentions(page):
    codes = [code for code in inline_code(read(page)) if not IN_A_LINE.match(code.text)]
    wrong = [
        (f"{page}:{code.line}", code.text, fault) for code in codes for fault in mention_faults(code.text)
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("python -m kbert.scripts.run_finetunin", "no script kbert.scripts.run_finetunin"),
        ("kbert finetun --config=c", "no command kbert finetun"),
        ("make quikstart", "no target quikstart"),
        ("pytest tests/none", "tests/none does not exist"),
        (
            "kbert pretrain --config=configs/none.toml --run_dir=a --input_dir=b",
            "configs/none.toml does not exist",
        ),
        ("kbert curves", "kbert.scripts.draw_curves: --run_dir is missing"),
        ("kbert serve --port=many", "--port=many: "),
        ("kbert curves --run_dir", "kbert.scripts.draw_curves: --run_dir needs a value"),
        ("kbert curves --run_dir=a --run_dri=b", "kbert.scripts.draw_curves has no flag --run_dri=b"),
        ("python -m benchmarks.serving --onnx_python=p", "benchmarks.serving has no flag --onnx_python=p"),
        ("kbert finetune --config=a --run_dir=b --override=optimizer.rate=1", "unknown key 'rate'"),
        ("brew install kbert", "unknown program brew"),
    ],
)
def test_what_is_wrong_is_told(command, sentence):
    page = f"# Title\n\nText.\n\n    make lint   # first\n    PORT=1 {command} | head -1\n"
    (found,) = [fault for _, words, complete in shown_commands(page) for fault in faults(words, complete)]
    assert sentence in found
