"""No command is silent: the first line comes after a second of work, the next ones within five."""

import pytest
from kbert.activity import FIRST_SECONDS, SILENT_SECONDS
from kbert.commands import COMMANDS

from tests.end_to_end.listening import listen, told
from tests.end_to_end.smallest_work import LEFT_OUT, arguments_of, write_inputs
from tests.made_once import made_once

ALL = [command for commands in COMMANDS.values() for command in commands]
# For Python's start and the flags, for calls into C++ that hold up the thread which tells what goes on, and
# for others at work on the same machine. What is silent for good is silent for longer.
ALLOWANCE = 3.0
# Their servers and models are made by the tests below.
_SERVED = ("serve", "client")


@pytest.fixture(scope="session")
def work(tmp_path_factory, records_dir, labelled_files, pretraining_run, finetuned_run):
    """command -> arguments."""
    at = made_once(tmp_path_factory, "smallest_work", write_inputs)
    out = tmp_path_factory.mktemp("said")
    return arguments_of(at, out, records_dir, labelled_files, pretraining_run, finetuned_run)


@pytest.fixture(scope="module")
def served(finetuned_run, tmp_path_factory):
    """The folder of an exported model's versions."""
    from export.export_savedmodel import export_savedmodel

    base = tmp_path_factory.mktemp("served") / "model"
    export_savedmodel(finetuned_run, base)
    return base


def test_every_command_is_listened_to_or_left_out_for_a_reason(work):
    assert sorted([*work, *_SERVED, *LEFT_OUT]) == sorted(ALL)
    assert all(len(reason) > 20 for reason in LEFT_OUT.values())


@pytest.mark.long
@pytest.mark.parametrize("command", [name for name in ALL if name not in (*_SERVED, *LEFT_OUT)])
def test_no_silence(work, command):
    stdin = "jump the a\n" if command == "tokenize" else ""
    check(listen([command, *work[command]], stdin), command)


@pytest.mark.long
def test_no_silence_around_a_served_model(served):
    base = f"--model_base_path={served}"
    ports = ["--model_name=model", "--port=0", "--rest_api_port=0"]
    check(listen(["serve", base, *ports], until="a page to try them"), "serve")
    from export.server.running import DevelopmentServer

    with DevelopmentServer(served, "model", port=0, rest_api_port=0) as server:
        asked = [f"--server=localhost:{server.port}", "--model_name=model", "--text=jump the a"]
        check(listen(["client", *asked]), "client")


def check(heard, command):
    """The command succeeded, and no silence was too long; prints the longest for docs/watching.md."""
    assert heard.exit_code == 0, told(heard)
    first, *others = heard.silences()
    longest = max(others, default=0.0)
    print(told(heard))
    print(f"| `{command}` | {first:.1f} | {longest:.1f} | {heard.lines[-1].seconds:.0f} |")
    assert first <= FIRST_SECONDS + ALLOWANCE, told(heard)
    assert longest <= SILENT_SECONDS + ALLOWANCE, told(heard)
