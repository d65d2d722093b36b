"""The commands of docs/from_transformers.md, on files made here and on the libraries' own where they are."""

import itertools
import shlex
import shutil

import pytest

from export.server.running import DevelopmentServer
from tests import warm_processes
from tests.docs.markdown import REPOSITORY, blocks, read
from tests.docs.shell_lines import commands
from tests.export.server.asking import Asked
from tests.kbert.checkpoints import foreign_files

pytestmark = pytest.mark.slow

PAGE = "docs/from_transformers.md"
SHARED = REPOSITORY.parent / "shared" / "data" / "golden" / "tensorflow"
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
    place = "model/layer_with_weights-1/out_proj"
    heads = {f"{place}/{name}": weights[f"classification/dense/{name}"] for name in ("kernel", "bias")}
    named = foreign_files.model_garden_names(weights, num_heads=4)
    foreign_files.write_model_garden(folder, named, heads, **SHAPE)


def copied(name):
    def make(folder):
        if not (SHARED / name).is_dir():
            pytest.skip(f"NOT TRIED ON A REAL FILE: {SHARED / name} is not here")
        shutil.copytree(SHARED / name, folder, copy_function=shutil.copyfile)

    return make


@pytest.mark.parametrize(
    "make",
    [
        transformers_folder,
        pytest.param(model_garden_folder, marks=pytest.mark.long),
        pytest.param(copied("hf_tf/TFBertForSequenceClassification_safetensors"), marks=pytest.mark.long),
        pytest.param(copied("model_garden/classifier"), marks=pytest.mark.long),
    ],
    ids=["transformers", "model garden", "transformers' own", "model garden's own"],
)
def test_a_classifier_answers_and_is_converted(tmp_path, make):
    make(tmp_path / "old_model")
    assert '"probabilities"' in run("predict", tmp_path)
    run("convert", tmp_path)
    assert (tmp_path / "old_pytorch" / "model.safetensors").is_file()


@pytest.mark.long
@pytest.mark.parametrize("make", [transformers_folder, model_garden_folder])
def test_a_classifier_is_exported_and_served(tmp_path, make, monkeypatch, capsys):
    make(tmp_path / "old_model")
    run("export", tmp_path)
    with DevelopmentServer(tmp_path / "serving" / "reviews", "reviews", port=0, rest_api_port=0) as server:
        body = {"instances": ["The soup was cold."]}
        _, answer = Asked(server.rest_api_port).post("/v1/models/reviews:predict", body)
        assert len(answer["predictions"][0]["probabilities"]) == 3
    (code,) = [block.text for block in blocks(read(PAGE)) if block.language == "python"]
    monkeypatch.chdir(tmp_path)
    exec(compile(code, PAGE, "exec"), {})
    assert "tf.Tensor" in capsys.readouterr().out


def encoder_of_tf_hub(folder):
    named = foreign_files.model_garden_names(foreign_files.random_weights(("pooler",), **SHAPE), num_heads=4)
    foreign_files.write_tf_hub(folder, named)


@pytest.mark.long
@pytest.mark.parametrize(
    ("make", "more"),
    [
        (encoder_of_tf_hub, []),
        (copied("tfhub/encoder"), ["--override=max_seq_length=64"]),
    ],
    ids=["made here", "its own, with 64 positions"],
)
def test_an_encoder_of_tf_hub_is_fine_tuned(tmp_path, make, more):
    make(tmp_path / "bert_en_uncased")
    pairs = itertools.product(("play", "jump"), "abcd", "efgh")
    rows = [f"the {label} {first} {second},{label}" for label, first, second in pairs]
    (tmp_path / "reviews.csv").write_text("\n".join(["text,label", *rows]) + "\n")
    run("finetune", tmp_path, *more)
    assert list((tmp_path / "runs" / "reviews").glob("checkpoints/*"))
