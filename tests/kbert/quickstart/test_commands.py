"""The quickstart's commands: in their order, on files and configs that are there."""

import re
from pathlib import Path

import pytest

from kbert.config import FinetuningConfig, load_config
from kbert.quickstart import commands

REPOSITORY = Path(__file__).resolve().parents[3]


class SpokenSequence:
    """A sequence whose steps do nothing: it keeps them, and says what they were to say."""

    def __init__(self):
        self.steps = []

    def step(self, title, module, *arguments):
        self.steps.append((module, arguments))
        return f'a line of the log\n{{"number": {len(self.steps)}}}\n'


def test_the_steps_in_their_order(tmp_path):
    sequence, at = SpokenSequence(), commands.paths_in(tmp_path)
    commands.make_data(sequence, at)
    assert commands.train(sequence, at) == {"pretrained": {"number": 6}, "from_scratch": {"number": 7}}
    assert commands.evaluate_pretraining(sequence, at) == ({"number": 8}, [{"number": 9}])
    assert commands.evaluate_classifier(sequence, at) == {"number": 10}
    assert commands.export(sequence, at) == ({"number": 11}, {"number": 12})
    assert [module.rpartition(".")[2] for module, _ in sequence.steps] == [
        "write_embedded_text",
        "build_vocabulary",
        "create_pretraining_data",
        "create_pretraining_data",
        "run_pretraining",
        "run_finetuning",
        "run_finetuning",
        "run_evaluation",
        "run_prediction",
        "run_evaluation",
        "export_savedmodel",
        "export_tflite",
    ]


@pytest.mark.parametrize("folder", [REPOSITORY, Path("/")])
def test_configs_are_there_and_every_flag_is_one_of_its_script(tmp_path, monkeypatch, folder):
    monkeypatch.chdir(folder)
    sequence, at = SpokenSequence(), commands.paths_in(tmp_path)
    for steps in (commands.make_data, commands.train, commands.evaluate_pretraining, commands.export):
        steps(sequence, at)
    shared = "".join(
        (REPOSITORY / "kbert" / name).read_text()
        for name in ("scripts/training_flags.py", "command_flags/closing_output.py")
    )
    for module, arguments in sequence.steps:
        source = (REPOSITORY / f"{module.replace('.', '/')}.py").read_text() + shared
        for argument in arguments:
            flag, _, value = argument.removeprefix("--").partition("=")
            assert re.search(rf'DEFINE_\w+\(\s*"{flag}"', source), f"{module} has no --{flag}"
            assert flag != "config" or Path(value).is_file()


def test_the_control_differs_by_from_scratch_and_its_folder_alone(tmp_path):
    sequence, at = SpokenSequence(), commands.paths_in(tmp_path)
    commands.train(sequence, at)
    pretrained, control = (arguments for module, arguments in sequence.steps if "finetuning" in module)
    assert set(control) ^ set(pretrained) == {
        "--from_scratch",
        f"--run_dir={at['classifiers']}",
        f"--run_dir={at['classifiers without pretraining']}",
    }
    assert at["classifier run"].parent == at["classifiers"]


def test_pretraining_sees_every_position_of_the_classifier(tmp_path):
    """Positions that pretraining never saw once made the pretrained classifier lose to its control."""
    sequence, at = SpokenSequence(), commands.paths_in(tmp_path)
    commands.make_data(sequence, at)
    classifier = load_config(FinetuningConfig, commands.config_path("finetuning/smoke.toml"))
    records = [arguments for module, arguments in sequence.steps if "create_pretraining_data" in module]
    for arguments in records:
        (length,) = [flag for flag in arguments if flag.startswith("--max_seq_length=")]
        assert int(length.partition("=")[2]) >= classifier.max_seq_length
