"""Checkpoints of every format, damaged at random: a sentence, or finite numbers; nothing else."""

import json
import random
import shutil
import warnings

import numpy as np
import pytest

from kbert.checkpoints.formats import read_checkpoint, write_checkpoint
from kbert.checkpoints.hugging_face.sentence_transformers import read_sentence_modules
from tests.kbert.checkpoints import foreign_files
from tests.kbert.checkpoints.hugging_face.test_folder import tokenizer_json
from tests.kbert.mutations import mutate_bytes, mutate_json

CASES = 30  # of each format


def tensors():
    return foreign_files.hugging_face_names(foreign_files.random_weights(("pooler", "classification")))


def hugging_face(folder):
    foreign_files.write_hugging_face(
        folder,
        tensors(),
        "BertForSequenceClassification",
        tokenizer={
            "tokenizer_class": "BertTokenizer",
            "do_lower_case": True,
            "strip_accents": None,
            "model_max_length": 16,
            "cls_token": {"content": "[CLS]"},
            "added_tokens_decoder": {"4": {"content": "[MASK]"}},
        },
        id2label={"0": "red", "1": "green", "2": "blue"},
        classifier_dropout=None,
        layer_norm_eps=1e-12,
        initializer_range=0.02,
        problem_type="single_label_classification",
    )
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer_json()))


def torch_zip(folder, monkeypatch, write=foreign_files.write_torch_zip):
    hugging_face(folder)
    (folder / "model.safetensors").unlink()
    write(folder / "pytorch_model.bin", tensors(), monkeypatch)


def torch_legacy(folder, monkeypatch):
    torch_zip(folder, monkeypatch, foreign_files.write_torch_legacy)


def sharded(folder):
    hugging_face(folder)
    names, places = list(tensors()), {}
    for file, held in (("a-1.safetensors", names[::2]), ("b-2.safetensors", names[1::2])):
        foreign_files.write_safetensors(folder / file, {name: tensors()[name] for name in held})
        places |= dict.fromkeys(held, file)
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": places}))


def google(folder):
    weights = foreign_files.random_weights(("pooler", "classification"))
    foreign_files.write_google(
        folder,
        foreign_files.google_names(weights),
        do_lower_case=True,
        labels=["red", "green", "blue"],
        kbert_untrained=[],
        kbert_vocabulary_size=21,
    )


def sentences(folder):
    foreign_files.write_hugging_face(folder, foreign_files.hugging_face_names(foreign_files.random_weights()))
    modules = [
        {"idx": index, "name": str(index), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for index, (path, kind) in enumerate(
            [("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")]
        )
    ]
    (folder / "modules.json").write_text(json.dumps(modules))
    settings = {"max_seq_length": 12, "do_lower_case": False}
    (folder / "sentence_bert_config.json").write_text(json.dumps(settings))
    (folder / "1_Pooling").mkdir()
    flags = {"pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(flags))


def keras_hub(folder):
    hugging_face(folder.with_name("source"))
    checkpoint = read_checkpoint(folder.with_name("source"))
    write_checkpoint(checkpoint, folder, "keras_hub", ["hidden_act"])
    (folder / "conversion_report.json").unlink()
    (folder / "conversion_report.txt").unlink()


def read_all(folder):
    checkpoint = read_checkpoint(folder)
    assert checkpoint.max_seq_length > 0 and all(isinstance(label, str) for label in checkpoint.labels)
    for tensor in checkpoint.complete().values():
        assert np.isfinite(tensor.read()).all()
    return str(checkpoint.report)


def read_sentences(folder):
    modules = read_sentence_modules(folder)
    assert modules.encoder_folder.resolve().is_relative_to(folder.resolve())
    assert modules.max_seq_length is None or modules.max_seq_length > 0
    read_all(modules.encoder_folder)


FORMATS = {
    "hugging_face": (hugging_face, read_all),
    "torch_zip": (torch_zip, read_all),
    "torch_legacy": (torch_legacy, read_all),
    "sharded": (sharded, read_all),
    "google": (google, read_all),
    "sentences": (sentences, read_sentences),
    "keras_hub": (keras_hub, read_all),
}
_LONG = {"keras_hub"}  # its import takes long


@pytest.fixture(
    scope="module",
    params=[pytest.param(name, marks=pytest.mark.long if name in _LONG else ()) for name in FORMATS],
)
def whole(request, tmp_path_factory):
    """(a folder that reads well, its reader)."""
    write, read = FORMATS[request.param]
    folder = tmp_path_factory.mktemp("whole") / request.param
    with pytest.MonkeyPatch.context() as monkeypatch:
        write(folder, monkeypatch) if "torch" in request.param else write(folder)
    read(folder)
    return folder, read


def damage(folder, rng):
    """Damages one file; how, for the message of a failing test."""
    file = rng.choice(sorted(path for path in folder.rglob("*") if path.is_file()))
    if file.suffix == ".json" and rng.random() < 0.85:
        file.write_text(mutate_json(file.read_text(), rng))
    else:
        file.write_bytes(mutate_bytes(file.read_bytes(), rng))
    return file.name


def test_damaged_checkpoints_end_in_a_sentence_or_load_finite(whole, tmp_path):
    folder, read = whole
    refused = 0
    for case in range(CASES):
        rng = random.Random(f"{folder.name} {case}")
        copy = tmp_path / str(case)
        shutil.copytree(folder, copy)
        name = damage(copy, rng)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                read(copy)
        except (ValueError, OSError) as error:
            refused += 1
            assert str(error).isprintable() and len(str(error)) < 1500, f"case {case}, {name}: {error!r}"
        except Exception as error:
            raise AssertionError(f"case {case}: {name} makes {type(error).__name__}: {error}") from error
        shutil.rmtree(copy)
    assert CASES // 4 < refused <= CASES
