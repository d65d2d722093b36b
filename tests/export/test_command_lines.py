"""The scripts of export as commands: wrong input is one line `error: ...` and exit code 1."""

import pytest

from export import development_server
from tests import warm_processes

SERVE = ("development_server", "--model_name=m", "--rest_api_port=0")
EXPORT = ("export_savedmodel", "--model_base_path=m")


def run_script(name, *arguments):
    return warm_processes.run_script(f"export.{name}", *arguments)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "arguments", "sentence"),
    [
        (
            SERVE,
            ["--model_base_path={}/none"],
            "error: checkpoint {}/none does not exist; give a run directory, ",
        ),
        (SERVE, [], "error: expected what to serve, for example: kbert serve runs/reviews"),
        (SERVE, ["--model_base_path={}", "--port=65536"], "error: --port=65536: "),
        (EXPORT, [], "error: expected one of --run_dir, --init_checkpoint; received none of them."),
        (
            EXPORT,
            ["--run_dir={}", "--init_checkpoint={}"],
            "error: expected one of --run_dir, --init_checkpoint; received --run_dir and",
        ),
        (
            EXPORT,
            ["--run_dir={}", "--do_lower_case"],
            "error: {} holds no checkpoint that kbert knows: no run.",
        ),
    ],
)
def test_wrong_input_is_one_sentence(tmp_path, script, arguments, sentence):
    result = run_script(*script, *(argument.format(tmp_path) for argument in arguments))
    assert result.returncode == 1
    assert result.stderr.startswith(sentence.format(tmp_path)) and result.stderr.count("\n") == 1
    assert result.stdout == "" or script is SERVE  # the server first says what it is


def test_the_exports_in_a_folder_are_named(tmp_path):
    (tmp_path / "sst2" / "1").mkdir(parents=True)
    (tmp_path / "sst2" / "1" / "saved_model.pb").touch()
    with pytest.raises(ValueError, match=rf"It holds the models {tmp_path}/sst2: give one of them\.$"):
        development_server.serve(str(tmp_path))
    with pytest.raises(ValueError) as error:  # once
        development_server.serve(str(tmp_path / "sst2" / "1" / "saved_model.pb"))
    assert str(error.value).count("give that folder") == 1
