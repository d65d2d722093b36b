"""`--help` of every script, and what a wrong flag is told."""

import json
import os
import re
import subprocess
import sys

import pytest
from absl import flags

from kbert.cli import flags as cli_flags
from kbert.cli.commands import modules
from kbert.cli.flags import named_positions
from tests.docs.script_flags import flags_of
from tests.places import REPOSITORY
from tests.warm_processes import run_script

ALL = list(modules())
# Each command runs in a fork of a process that has loaded absl and the configs. Its exit code and the heavy
# modules that it has loaded come back as JSON, after its page.
PAGES = """
import json, os, sys
import absl.app, absl.flags, kbert.config
from kbert.cli import commands
end_process, os._exit = os._exit, sys.exit  # scripts end by it
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
    end_process(0)
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
    assert page["text"].lstrip().startswith(f"kbert {command}: ")
    assert re.search(rf"^ *(.* \| )?kbert {command}( |$)", page["text"], re.M), "an example"
    assert "--only_check_args" not in page["text"] and "--logtostderr" not in page["text"], "flags of absl"


@pytest.mark.parametrize("command", ALL)
def test_every_flag_is_explained(pages, command):
    """In a sentence: a flag of a docstring that has no entry of its own would have no words."""
    text = pages[command]["text"]
    words = re.findall(r"^  --(?:\[no\])?\w+\n((?:    .*\n)+)", text, re.M)
    assert len(words) == len(pages[command]["flags"])
    assert [one for one in words if not re.search(r"\w.*\.", one)] == []


@pytest.mark.parametrize(
    ("arguments", "facts"),
    [
        ("finetune --learning_rate=3e-5", ["--learning_rate", "--override=optimizer.learning_rate=3e-5"]),
        ("pretrain --num_train_epochs=1", ["unknown flag --num_train_epochs", "`kbert pretrain --help`"]),
        ("finetune --train_fil=x", ["--train_fil;", "--train_file?", "`kbert finetune --help`"]),
        ("pretraining-data --strategy=full_sentences", ["unknown flag --strategy", "lists the flags"]),
        ("finetune --jit=maybe", ["--jit=maybe", "<auto|on|off>"]),
        ("pretrain --run_dir=a", ["missing: --config, --input_dir;", "`kbert pretrain --help`"]),
        ("finetune --seeds=1 --run_dir=a --seeds=2", ["--seeds=1 and --seeds=2 both say --seeds; leave one"]),
        ("evaluate --run_dir a --json -run_dir=b", ["--run_dir a and -run_dir=b both say --run_dir"]),
        ("serve a --model_base_path=b", ["--model_base_path=a and --model_base_path=b both say"]),
        ("pretrain --json --nojson", ["--json and --nojson both say --json"]),
        ("predict a --input_file=", ["--input_file has an empty value", "leave the flag out"]),
        ("predict --input_file --run_dir=a", ["--input_file has no value before --run_dir=a"]),
    ],
)
def test_a_wrong_flag_is_one_sentence_that_says_what_to_type(arguments, facts):
    result = run_script("kbert", *arguments.split())
    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (1, "", 1)
    assert result.stderr.startswith("error: ") and all(fact in result.stderr for fact in facts)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["runs/a", "a text", "--top_k=3"], ["--run_dir=runs/a", "--text=a text", "--top_k=3"]),
        (["runs/a", "--text=a"], ["--run_dir=runs/a", "--text=a"]),
        (["runs/a", "a", "b"], ["--run_dir=runs/a", "--text=a", "b"]),  # which is then refused
        (["--text", "a", "runs/a"], ["--text", "a", "runs/a"]),
        ([], []),
    ],
)
def test_what_stands_before_all_flags_gets_their_names(arguments, named):
    assert named_positions(arguments, ("run_dir", "text")) == named


def test_a_flag_of_a_file_of_flags_may_be_changed(tmp_path):
    (tmp_path / "flags.txt").write_text("--output_dir=a\n")
    output = tmp_path / "configs"
    result = run("-m", "kbert", "configs", f"--flagfile={tmp_path}/flags.txt", f"--output_dir={output}")
    assert result.returncode == 0 and any(output.iterdir()), result.stderr
    (tmp_path / "wide.txt").write_text("--output_dir=a\n", encoding="utf-16")
    for given, sentence in (
        ([f"--flagfile={tmp_path}/wide.txt"], "--flagfile: the file is no text in UTF-8"),
        ([f"--flagfile={tmp_path}/no"], f"--flagfile={tmp_path}/no cannot be read: No such file"),
        ([f"--flagfile={tmp_path}/it's"], f"--flagfile={tmp_path}/it's cannot be read: No such file"),
        (["--flagfile"], "--flagfile has no value; write --flagfile=FILE"),
    ):
        with pytest.raises(ValueError, match=f"^{sentence}"):
            cli_flags.parse_flags(["kbert", *given])


TEXTS = {"text", "text_pair", "choice", "candidate", "question", "context", "override"}


@pytest.mark.parametrize("command", ALL)
def test_an_empty_value_is_none_of_a_flag_but_of_texts(command):
    """A shell variable that is not set is no choice of a default."""
    for name, flag in flags_of(modules()[command]).items():
        if isinstance(flag, flags.MultiFlag) and name in TEXTS:
            continue
        with pytest.raises((ValueError, flags.Error)):
            flag.parse("")
            cli_flags._take_value(flag)


@pytest.mark.parametrize(
    "path", [["--vocab_file=~/vocab.txt"], ["--vocab_file", "~/vocab.txt"], ["-vocab_file=~/vocab.txt"]]
)
def test_a_path_in_the_home_folder_is_found_behind_a_flag(tmp_path, path):
    """bash leaves the ~ of --name=~/x to the program, and that of '~/my x'."""
    environment = os.environ | {"HOME": str(tmp_path)}
    (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n")
    done = run_script("kbert", "tokenize", *path, "--do_lower_case", stdin="~/a", environment=environment)
    assert json.loads(done.stdout)["text"] == "~/a", done.stderr


def test_a_boolean_takes_true_or_false(capsys):
    with pytest.raises(ValueError) as error:
        cli_flags.parse_flags(["kbert", "--logtostderr=maybe"])
    assert str(error.value) == (
        "--logtostderr=maybe: expected true or false; --logtostderr is true, --nologtostderr false."
    )
    with pytest.raises(SystemExit):
        cli_flags.parse_flags(["kbert", "--help=true"])
    assert "--helpfull" in capsys.readouterr().out


def test_texts_keep_their_tilde():
    values = flags.FlagValues()
    flags.DEFINE_string("folder", None, "", flag_values=values)
    flags.DEFINE_string("home", None, "", flag_values=values)
    flags.DEFINE_list("labelled_files", None, "", flag_values=values)
    repeated = ("text", "input_dir", "other_dev_file")
    for name in repeated:
        flags.DEFINE_multi_string(name, None, "", flag_values=values)
    flags.DEFINE_string("text_pair", None, "", flag_values=values)
    given = ["--home=~", "--folder=~/x", "--labelled_files=a,~/x", "--text_pair=~/x"]
    values(["x", *given, *(f"--{name}=~/x" for name in repeated)])
    for name in values:
        cli_flags._take_value(values[name])
    home = os.path.expanduser("~/x")
    assert (values.folder, values.labelled_files, values.text) == (home, ["a", home], ["~/x"])
    assert values.text_pair == "~/x"
    assert os.path.samefile(values.home, os.path.expanduser("~"))
    assert values.input_dir == values.other_dev_file == [home]
