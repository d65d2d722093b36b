"""The quickstart's commands: in their order, on files and configs that are there."""

import re
from pathlib import Path

import pytest

from kbert.quickstart import commands

REPOSITORY = Path(__file__).resolve().parents[3]


class SpokenRoad:
    """A road whose steps do nothing: it keeps them, and says what they were to say."""

    def __init__(self):
        self.steps = []

    def step(self, title, module, *arguments):
        self.steps.append((module, arguments))
        return f'a line of the log\n{{"number": {len(self.steps)}}}\n'


def test_the_steps_in_their_order(tmp_path):
    road, at = SpokenRoad(), commands.paths_in(tmp_path)
    commands.make_data(road, at)
    commands.train(road, at)
    assert commands.evaluate_pretraining(road, at) == ({"number": 8}, [{"number": 9}])
    tests = commands.evaluate_classifiers(road, at)
    assert tests == {"classifier run": {"number": 10}, "classifier without pretraining": {"number": 11}}
    assert commands.export(road, at) == ({"number": 12}, {"number": 13})
    assert [module.rpartition(".")[2] for module, _ in road.steps] == [
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
        "run_evaluation",
        "export_savedmodel",
        "export_tflite",
    ]


@pytest.mark.parametrize("folder", [REPOSITORY, Path("/")])
def test_configs_are_there_and_every_flag_is_one_of_its_script(tmp_path, monkeypatch, folder):
    monkeypatch.chdir(folder)
    road, at = SpokenRoad(), commands.paths_in(tmp_path)
    for steps in (commands.make_data, commands.train, commands.evaluate_pretraining, commands.export):
        steps(road, at)
    shared = (REPOSITORY / "kbert" / "scripts" / "training_flags.py").read_text()
    for module, arguments in road.steps:
        source = (REPOSITORY / f"{module.replace('.', '/')}.py").read_text() + shared
        for argument in arguments:
            flag, _, value = argument.removeprefix("--").partition("=")
            assert re.search(rf'DEFINE_\w+\(\s*"{flag}"', source), f"{module} has no --{flag}"
            assert flag != "config" or Path(value).is_file()
