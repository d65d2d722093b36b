"""The scripts of export as commands: wrong input is one line `error: ...` and exit code 1."""

import pytest

from tests import warm_processes

SERVE = ("development_server", "--model_name=m", "--port=0", "--rest_api_port=0")
EXPORT = ("export_savedmodel", "--model_base_path=m")
ASK = ("serving_client", "--model_name=m")
NOWHERE = ("--api=rest", "--server=localhost:1", "--text=a")


def run_script(name, *arguments):
    return warm_processes.run_script(f"export.{name}", *arguments)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "arguments", "sentence"),
    [
        (SERVE, ["--model_base_path={}/none"], "error: model_base_path={}/none is not a folder; expected"),
        (SERVE, ["--model_base_path={}"], "error: model_base_path={} holds no version; found nothing"),
        (SERVE, ["--model_base_path={}", "words"], "error: unexpected argument 'words'; flags are written"),
        (EXPORT, [], "error: received neither of --run_dir and --init_checkpoint; give exactly one:"),
        (EXPORT, ["--run_dir={}", "--init_checkpoint={}"], "error: received both of --run_dir and --init_"),
        (
            EXPORT,
            ["--run_dir={}", "--do_lower_case"],
            "error: {} holds no checkpoint that kbert knows: no run.",
        ),
        (EXPORT, ["--init_checkpoint={}/none"], "error: checkpoint {}/none does not exist; give a run"),
        (ASK, ["--text_pair=b"], "error: received --text_pair without --text; expected both."),
        (ASK, NOWHERE, "error: No server answers over REST at localhost:1 ("),
        (ASK, ["--text=some", "words"], "error: unexpected argument 'words'; flags are written"),
    ],
)
def test_wrong_input_is_one_sentence(tmp_path, script, arguments, sentence):
    result = run_script(*script, *(argument.format(tmp_path) for argument in arguments))
    assert result.returncode == 1
    assert result.stderr.startswith(sentence.format(tmp_path)) and result.stderr.count("\n") == 1
    assert result.stdout == "" or script is SERVE  # the server first says what it is


@pytest.mark.parametrize(
    ("script", "command"),
    [("development_server", "serve"), ("serving_client", "client"), ("export_savedmodel", "export")],
)
def test_an_unknown_flag_is_told_alike(script, command):
    result = run_script(script, "--model_nme=m")
    assert result.returncode == 1 and result.stdout == ""
    hint = "" if script == "export_savedmodel" else "did you mean --model_name? "
    told = f"error: unknown flag --model_nme; {hint}`kbert {command} --help` lists the flags."
    assert result.stderr.startswith(told) and result.stderr.count("\n") == 1


@pytest.mark.parametrize("port", ["--port=65536", "--rest_api_port=65536"])
def test_a_port_that_cannot_be_is_refused_with_the_flags(port):
    result = run_script("development_server", "--model_name=m", "--model_base_path=none", port)
    assert result.returncode == 1 and result.stderr.startswith(f"error: {port}: ")
    assert result.stderr.count("\n") == 1
