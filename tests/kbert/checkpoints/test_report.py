"""What a user allows to differ, as a list or as one text, whoever reads the checkpoint."""

import pytest

import kbert
from kbert.checkpoints import HUGGING_FACE
from kbert.checkpoints.report import Report, unmatched_patterns
from kbert.experiments import finetuning_run
from kbert.scripts.convert_checkpoint import convert_checkpoint
from tests.conftest import tiny_finetuning_config


@pytest.mark.parametrize("allowed", ["cls.*,seq", "cls.*, seq", ["cls.*", "seq"], ("cls.*", "seq")])
def test_one_text_holds_names_not_letters(allowed):
    assert unmatched_patterns(allowed) == ("cls.*", "seq")
    report = Report(HUGGING_FACE, "source", allow_unmatched=allowed)
    assert [report.allows(name) for name in ("cls.bias", "seq", "s", "bert.bias")] == [
        True,
        True,
        False,
        False,
    ]


@pytest.mark.parametrize("allowed", [True, 3, [3], None])
def test_anything_else_is_one_sentence(allowed):
    with pytest.raises(ValueError, match="expected the names or globs of what may differ"):
        unmatched_patterns(allowed)


def test_a_training_allows_what_one_text_names(finetuned_run, labelled_files, monkeypatch, tmp_path):
    inits = []
    monkeypatch.setattr(finetuning_run, "run_finetuning", lambda *arguments: inits.append(arguments[3]))
    convert_checkpoint(finetuned_run.path, tmp_path / "folder", "hugging_face")
    start = {"init_checkpoint": tmp_path / "folder", "allow_unmatched": "cls.*"}
    kbert.finetune(tiny_finetuning_config(), tmp_path / "run", labelled_files[0], **start)
    assert inits[0].allow_unmatched == ("cls.*",)
