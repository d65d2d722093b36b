"""The commands of docs/from_transformers.md, on files made here."""

import shlex

import pytest

from tests import warm_processes
from tests.docs.markdown import blocks, read
from tests.docs.shell_lines import commands
from tests.kbert.checkpoints import foreign_files

pytestmark = pytest.mark.slow

PAGE = "docs/from_transformers.md"
SHAPE = {
    "hidden_size": 32,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "max_position_embeddings": 128,
}


def run(name, folder, *more):
    """Runs the page's commands `kbert NAME`, with its paths below `folder` and more flags."""
    shown = [command.words for block in blocks(read(PAGE)) for command in commands(block.text, block.line)]
    command_lines = [words[1:] for words in shown if words[:2] == ["kbert", name]]
    assert command_lines
    for words in command_lines:
        words = [_below(word, folder) for word in words]
        done = warm_processes.run_script("kbert", *words, *more)
        assert done.returncode == 0, (shlex.join(words), done.stderr)
    return done.stdout


def _below(word, folder):
    flag, equals, value = word.partition("=")
    is_path = flag in (
        "--run_dir",
        "--model_base_path",
        "--train_file",
        "--init_checkpoint",
        "--from",
        "--to",
    )
    return f"{flag}={folder / value}" if equals and is_path else word


def transformers_folder(folder):
    weights = foreign_files.random_weights(("pooler", "classification"), **SHAPE)
    foreign_files.write_hugging_face(folder, {}, "BertForSequenceClassification", **SHAPE)
    (folder / "model.safetensors").unlink()
    foreign_files.write_keras_h5(folder / "tf_model.h5", foreign_files.tensorflow_names(weights))


def model_garden_folder(folder):
    weights = foreign_files.random_weights(("pooler", "classification"), **SHAPE)
    heads = {
        f"model/layer_with_weights-1/out_proj/{name}": (
            f"sentence_prediction/logits/{name}",
            weights[f"classification/dense/{name}"],
        )
        for name in ("kernel", "bias")
    }
    named = foreign_files.model_garden_names(weights, num_heads=4)
    foreign_files.write_model_garden(folder, named, heads, **SHAPE)


@pytest.mark.parametrize(
    "make",
    [
        transformers_folder,
        pytest.param(model_garden_folder, marks=pytest.mark.long),
    ],
    ids=["transformers", "model garden"],
)
def test_a_classifier_answers_and_is_converted(tmp_path, make):
    make(tmp_path / "old_model")
    assert '"probabilities"' in run("predict", tmp_path)
    run("convert", tmp_path)
    assert (tmp_path / "old_pytorch" / "model.safetensors").is_file()
