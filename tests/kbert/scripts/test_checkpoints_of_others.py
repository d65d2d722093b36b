"""Evaluation and exporters take any checkpoint with its head: it answers as the run that it was made of."""

import json
from types import SimpleNamespace

import pytest

from export import source_flags
from kbert.checkpoints.as_run import open_as_run
from kbert.config import DatasetConfig, to_dict
from kbert.experiments.evaluation import evaluate
from kbert.inference.loaded_model import LoadedModel
from kbert.runs.metrics_file import json_ready
from kbert.runs.run_directory import RunDirectory
from kbert.scripts.convert_checkpoint import convert_checkpoint
from tests.conftest import LABELS, tiny_finetuning_config
from tests.kbert.scripts.test_command_lines import run_script


@pytest.fixture(scope="module")
def folder(finetuned_run, tmp_path_factory):
    """The classifier as a Hugging Face folder."""
    folder = tmp_path_factory.mktemp("others") / "classifier"
    convert_checkpoint(finetuned_run.path, folder, "hugging_face")
    return folder


@pytest.mark.slow
def test_a_folder_of_others_is_evaluated_as_the_run(finetuned_run, folder, labelled_files, tmp_path):
    config = tmp_path / "config.json"
    config.write_text(json.dumps(to_dict(tiny_finetuning_config())))
    arguments = [f"--run_dir={folder}", f"--config={config}", f"--eval_file={labelled_files[1]}", "--json"]
    result = run_script("run_evaluation", *arguments)
    assert result.returncode == 0, result.stderr
    theirs = json.loads(result.stdout)
    _, ours = evaluate(finetuned_run, labelled_files[1])
    assert theirs.pop("confusion") == json_ready(ours.pop("confusion")) and theirs["num_examples"] == 13
    assert theirs == pytest.approx(ours, abs=1e-5)


def test_a_checkpoint_is_a_run_only_for_the_time_being(folder):
    dataset = DatasetConfig(text="sentence", labels=("other", "names"))
    with open_as_run(folder, dataset=dataset) as run:
        path = run.path
        assert run.task().name == "sequence_classification" and run.checkpoint().is_dir()
        assert (run.config.dataset.text, run.config.dataset.labels) == ("sentence", LABELS)
    assert not path.exists() and not path.parent.exists() and folder.is_dir()


def test_a_run_is_opened_as_it_is(finetuned_run):
    with open_as_run(finetuned_run.path, run_only="--keep_chosen") as run:
        assert run.path == finetuned_run.path
    assert run.path.is_dir()
    for arguments in ({"dataset": DatasetConfig()}, {"do_lower_case": True}):
        with pytest.raises(ValueError, match=r"is for checkpoints of others; the run .* records it"):
            open_as_run(finetuned_run.path, **arguments).__enter__()


@pytest.mark.parametrize("flag", ["--keep_chosen", "--checkpoint=best", "--split=dev"])
def test_what_needs_a_run_names_the_conversion(folder, flag):
    result = run_script("run_evaluation", f"--run_dir={folder}", "--eval_file=none.tsv", flag)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == (
        f"error: {flag.partition('=')[0]} is for runs of kbert, but {folder} is none; make one of it first: "
        f"kbert convert --from={folder} --to=runs/classifier\n"
    )


def test_an_export_takes_either_from_run_dir(finetuned_run, folder, monkeypatch):
    def source(path, **flags):
        given = {"init_checkpoint": None, "do_lower_case": None, "allow_unmatched": []} | flags
        monkeypatch.setattr(source_flags, "FLAGS", SimpleNamespace(run_dir=path, **given))
        return source_flags.source_of_flags()

    assert isinstance(source(finetuned_run.path), RunDirectory)
    loaded = source(folder)
    assert isinstance(loaded, LoadedModel) and tuple(loaded.task.labels) == LABELS
    with pytest.raises(ValueError, match="a run records what they say"):
        source(finetuned_run.path, do_lower_case=True)
