"""hf://org/name: what is downloaded, what the cache answers, and a sentence for each way to fail.

Against a server on this machine. huggingface_hub reads its settings when it is imported, so each test asks in
a process of its own.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from kbert.checkpoints.formats import read_checkpoint
from kbert.checkpoints.hugging_face import hub
from tests.kbert.checkpoints import foreign_files
from tests.kbert.checkpoints.local_hub import LocalHub, sha

pytestmark = pytest.mark.slow  # KerasHub and the hub's client take long to import

REPOSITORY = Path(__file__).resolve().parents[4]
NOWHERE = "http://127.0.0.1:9"  # the port of "discard": nobody listens
DOWNLOAD = """
import json, sys
from kbert.checkpoints.hugging_face import hub
for name in sys.argv[1:]:
    try:
        print(json.dumps(str(hub.download(name))))
    except ValueError as error:
        print(json.dumps({"error": str(error)}))
assert "tensorflow" not in sys.modules
"""
CONVERT = """
import sys
import kbert
from kbert.scripts.convert_checkpoint import convert_checkpoint
read, _ = convert_checkpoint("hf://org/model@v1", sys.argv[1], "kbert")
print(read.path, *read.notes, sep="|")
loaded = kbert.load("hf://org/sentences")
print(loaded.source, loaded.pooling, loaded.normalize, *loaded.embed(["the play"]).ravel())
"""


def write(folder, **files):
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """repository -> revision -> folder."""
    root = tmp_path_factory.mktemp("models")
    others = {"README.md": "", "tf_model.h5": "", "onnx/model.onnx": "", "pytorch_model.bin": "a pickle"}
    folders = {}
    for revision, seed in (("main", 1), ("v1", 2)):
        weights = foreign_files.hugging_face_names(foreign_files.random_weights(seed=seed))
        folders[revision] = foreign_files.write_hugging_face(root / revision, weights)
        write(folders[revision], **others)

    weights = foreign_files.hugging_face_names(foreign_files.random_weights(seed=3))
    sentences = foreign_files.write_hugging_face(root / "sentences", weights)
    kinds = {"Transformer": "", "Pooling": "1_Pooling", "Normalize": "2_Normalize"}
    modules = [
        {"idx": index, "name": str(index), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for index, (kind, path) in enumerate(kinds.items())
    ]
    write(
        sentences,
        **{"modules.json": json.dumps(modules), "1_Pooling/config.json": '{"pooling_mode_max_tokens": true}'},
    )

    def of(folder, *names):
        write(folder, **dict.fromkeys(names, ""))
        return folder

    pickled = of(
        root / "pickled",
        "config.json",
        "vocab.txt",
        "pytorch_model.bin",
        "flax_model.msgpack",
        "bert_model.ckpt.index",
    )
    preset = of(
        root / "preset",
        "config.json",
        "tokenizer.json",
        "assets/tokenizer/vocabulary.txt",
        "task.json",
        "metadata.json",
        "model.weights.h5",
        "task.weights.h5",
        "image.png",
    )
    google = of(
        root / "google",
        "bert_config.json",
        "bert_model.ckpt.index",
        "bert_model.ckpt.data-00000-of-00001",
        "vocab.txt",
        "graph.pbtxt",
    )
    empty = of(root / "empty", "README.md")
    return {
        "org/model": folders,
        "org/sentences": {"main": sentences},
        "org/pickled": {"main": pickled},
        "org/preset": {"main": preset},
        "org/google": {"main": google},
        "org/gated": {"main": pickled},
        "org/empty": {"main": empty},
    }


@pytest.fixture
def server(models):
    server = LocalHub(models, gated=("org/gated",))
    yield server
    server.close()


def run(program, *arguments, home, **variables):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
    environment |= {"HF_HOME": str(home), "HF_HUB_DISABLE_TELEMETRY": "1", **variables}
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=REPOSITORY,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()


def download(*names, home, **variables):
    """For each name the folder, or the sentence of the error."""
    answers = [json.loads(line) for line in run(DOWNLOAD, *names, home=home, **variables)]
    assert len(answers) == len(names)
    return [answer["error"] if isinstance(answer, dict) else Path(answer) for answer in answers]


def files(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_only_what_a_reader_needs_is_downloaded(server, models, tmp_path):
    model, version, commit, pickled, sentences, preset, google = download(
        "hf://org/model",
        "hf://org/model@v1",
        f"hf://org/model@{sha('org/model@v1')}",
        "hf://org/pickled",
        "hf://org/sentences",
        "hf://org/preset",
        "hf://org/google",
        home=tmp_path,
        HF_ENDPOINT=server.url,
    )
    assert files(model) == {"config.json", "vocab.txt", "model.safetensors"}
    assert model.name == sha("org/model@main") and version.name == sha("org/model@v1") == commit.name
    for folder, revision in ((model, "main"), (version, "v1")):
        theirs = models["org/model"][revision] / "model.safetensors"
        assert (folder / "model.safetensors").read_bytes() == theirs.read_bytes()
    assert files(pickled) == {"config.json", "vocab.txt", "pytorch_model.bin"}  # nothing else is there
    assert {"modules.json", "1_Pooling/config.json"} < files(sentences)
    assert files(preset) == files(models["org/preset"]["main"]) - {"image.png"}
    assert files(google) == files(models["org/google"]["main"]) - {"graph.pbtxt"}
    asked = {path.rsplit("/", 1)[-1] for _, path in server.requests}
    assert not asked & {
        "README.md",
        "tf_model.h5",
        "model.onnx",
        "flax_model.msgpack",
        "image.png",
        "graph.pbtxt",
    }


def test_what_is_in_the_cache_needs_no_network(server, tmp_path):
    names = ("hf://org/model", "hf://org/pickled")
    online = download(*names, home=tmp_path, HF_ENDPOINT=server.url)
    count = len(server.requests)
    offline = {"HF_ENDPOINT": server.url, "HF_HUB_OFFLINE": "1"}
    assert download(*names, home=tmp_path, **offline) == online
    assert len(server.requests) == count
    assert download(*names, home=tmp_path, HF_ENDPOINT=NOWHERE) == online


def test_a_cache_laid_out_by_hand(models, tmp_path):
    commit = "0123456789abcdef0123456789abcdef01234567"
    place = tmp_path / "hub" / "models--org--mine"
    (place / "snapshots").mkdir(parents=True)
    (place / "snapshots" / commit).symlink_to(models["org/model"]["main"])
    write(place, **{"refs/main": commit})
    found, other = download("hf://org/mine", "hf://org/other", home=tmp_path, HF_HUB_OFFLINE="1")
    assert found == place / "snapshots" / commit
    checkpoint = read_checkpoint(found)
    expected = foreign_files.random_weights(seed=1)
    assert checkpoint.tensors.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_array_equal(checkpoint.tensors[name].read(), value)
    assert other.startswith(
        f"hf://org/other is not in the cache ({tmp_path}/hub) and could not be downloaded"
    )
    assert other.endswith("check the network, unset HF_HUB_OFFLINE, or give a folder.")


def test_each_failure_has_its_sentence(server, tmp_path):
    unknown, revision, gated, empty = download(
        "hf://org/modle",
        "hf://org/model@v2",
        "hf://org/gated",
        "hf://org/empty",
        home=tmp_path,
        HF_ENDPOINT=server.url,
    )
    assert unknown == (
        "hf://org/modle: the hub has no model org/modle, or it is private; check the name, or run "
        "`hf auth login`."
    )
    assert revision == "hf://org/model@v2: the model has no revision 'v2'; give a branch, tag or commit."
    assert gated.startswith("hf://org/gated is gated: accept its terms")
    assert empty == "hf://org/empty holds none of the files of a checkpoint that kbert reads."
    (alone,) = download("hf://org/model", home=tmp_path, HF_ENDPOINT=NOWHERE)
    assert alone.startswith("hf://org/model is not in the cache")


@pytest.mark.parametrize("name", ["hf://", "hf://a/b/c", "hf://org/name@", "hf://org/na me", "hf://org/a--b"])
def test_what_is_no_name(name):
    with pytest.raises(ValueError, match=f"^{name} is not a model's name"):
        hub.download(name)


def test_without_the_package_the_sentence_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(ValueError, match="hf://org/model needs huggingface_hub, .*: pip install hug"):
        read_checkpoint("hf://org/model")


@pytest.mark.long
def test_names_are_taken_wherever_paths_are(server, models, tmp_path):
    target = tmp_path / "run"
    read, loaded = run(CONVERT, str(target), home=tmp_path / "home", HF_ENDPOINT=server.url)
    source, *notes = read.split("|")
    assert source == "hf://org/model@v1" and any(sha("org/model@v1") in note for note in notes)
    assert json.loads((target / "run.json").read_text())["converted"]["from"] == source
    expected = foreign_files.random_weights(seed=2)
    checkpoint = read_checkpoint(target)
    for name, value in expected.items():
        np.testing.assert_array_equal(checkpoint.tensors[name].read(), value)
    source, pooling, normalize, *embedding = loaded.split()
    assert (source, pooling, normalize) == ("hf://org/sentences", "max", "True")
    from kbert.inference.loaded_model import load

    here = load(models["org/sentences"]["main"]).embed(["the play"]).ravel()
    np.testing.assert_allclose(np.array(embedding, np.float32), here, atol=1e-6)
