"""Models by name: what is downloaded, what the cache answers, and a sentence for each way to fail.

Against a server on this machine. huggingface_hub reads its settings when it is imported, so downloads are
asked for in processes of their own: one online, one without a network.
"""

import errno
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import huggingface_hub
import pytest

import kbert
from kbert.checkpoints.formats import local_path, read_checkpoint
from kbert.checkpoints.hugging_face import hub
from tests.kbert.checkpoints import foreign_files
from tests.kbert.checkpoints.local_hub import LocalHub, sha
from tests.places import REPOSITORY

COMMIT = "1" * 40
SMALL = "google/bert_uncased_L-2_H-128_A-2"
KNOWN = "sentence-transformers/all-MiniLM-L6-v2"
DOWNLOAD = """
import json, sys
from kbert.checkpoints.formats import local_path
for name in sys.argv[1:]:
    try:
        print(json.dumps(str(local_path(name))))
    except ValueError as error:
        print(json.dumps({"error": str(error)}))
"""
GOOD = {
    "model": "hf://org/model",
    "version": "hf://org/model@v1",
    "commit": f"hf://org/model@{sha('org/model@v1')}",
    "pickled": "hf://org/pickled",
    "preset": "hf://org/preset",
    "google": "hf://org/google",
    "known": "all-MiniLM-L6-v2",
    "modules": "hf://org/with_dense",
    "older": "hf://org/0_transformer",
    "plain": "hf://BAAI/bge-m3-retromae",  # begins as bge-m3, and makes no vectors
}
BAD = {
    "unknown": ("hf://org/modle", "hf://org/modle: the hub has no model org/modle, or it is private; check"),
    "revision": (
        "hf://org/model@v2",
        "hf://org/model@v2: the model has no revision 'v2'; give a branch, tag",
    ),
    "gated": ("hf://org/gated", "hf://org/gated is gated: accept its terms"),
    "empty": ("hf://org/empty", "hf://org/empty holds none of the files of a checkpoint that kbert reads."),
}


def touch(folder, names):
    for name in names.split():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("")
    return folder


def bert(folder, seed):
    weights = foreign_files.hugging_face_names(foreign_files.random_weights(seed=seed))
    return foreign_files.write_hugging_face(folder, weights)


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """repository -> revision -> folder."""
    root = tmp_path_factory.mktemp("models")
    main, v1 = bert(root / "main", 1), bert(root / "v1", 2)
    touch(main, "README.md tf_model.h5 onnx/model.onnx pytorch_model.bin")
    pickled = "config.json vocab.txt pytorch_model.bin flax_model.msgpack bert_model.ckpt.index"
    preset = (
        "config.json tokenizer.json assets/tokenizer/vocabulary.txt task.json metadata.json "
        "model.weights.h5 task.weights.h5 image.png"
    )
    google = (
        "bert_config.json bert_model.ckpt.index bert_model.ckpt.data-00000-of-00001 vocab.txt graph.pbtxt"
    )
    modules = (
        "config.json vocab.txt model.safetensors modules.json config_sentence_transformers.json README.md "
        "1_Pooling/config.json 2_Dense_8/config.json 2_Dense_8/model.safetensors "
        "1_SpladePooling/config.json model_head.pkl adapter_config.json"
    )
    older = (
        "modules.json 0_Transformer/config.json 0_Transformer/vocab.txt 0_Transformer/pytorch_model.bin "
        "0_Transformer/sentence_bert_config.json 0_Transformer/flax_model.msgpack 1_Pooling/config.json "
        "2_Dense/config.json 2_Dense/pytorch_model.bin"
    )
    return {
        "org/with_dense": {"main": touch(root / "modules", modules)},
        "org/0_transformer": {"main": touch(root / "older", older)},
        "org/model": {"main": main, "v1": v1},
        "org/pickled": {"main": touch(root / "pickled", pickled)},
        "BAAI/bge-m3-retromae": {"main": touch(root / "retromae", pickled)},
        "org/preset": {"main": touch(root / "preset", preset)},
        "org/google": {"main": touch(root / "google", google)},
        "org/gated": {"main": root / "pickled"},
        "org/empty": {"main": touch(root / "empty", "README.md")},
        KNOWN: {"main": touch(shutil.copytree(v1, root / "known"), "modules.json")},
    }


@pytest.fixture(scope="module")
def server(models):
    server = LocalHub(models, gated=("org/gated",))
    yield server
    server.close()


def run(program, *arguments, home, **variables):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
    environment |= {"HF_HOME": str(home), "HF_HUB_DISABLE_TELEMETRY": "1", **variables}
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(
        command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=True
    ).stdout.splitlines()


@pytest.fixture(scope="module")
def online(server, tmp_path_factory):
    """(the cache, key of GOOD or BAD -> folder or sentence, files that the hub was asked for)."""
    home = tmp_path_factory.mktemp("home")
    names = [*GOOD.values(), *(name for name, _ in BAD.values())]
    lines = [json.loads(line) for line in run(DOWNLOAD, *names, home=home, HF_ENDPOINT=server.url)]
    results = [line["error"] if isinstance(line, dict) else Path(line) for line in lines]
    asked = {path.rsplit("/", 1)[-1] for _, path in server.requests}
    return home, dict(zip([*GOOD, *BAD], results, strict=True)), asked


def files(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.slow
def test_only_what_a_reader_needs_is_downloaded(online, models):
    _, folders, asked = online
    assert files(folders["model"]) == {"config.json", "vocab.txt", "model.safetensors"}
    assert folders["model"].name == sha("org/model@main")
    assert folders["version"].name == sha("org/model@v1") == folders["commit"].name
    theirs = models["org/model"]["v1"] / "model.safetensors"
    assert (folders["version"] / "model.safetensors").read_bytes() == theirs.read_bytes()
    assert files(folders["pickled"]) == {"config.json", "vocab.txt", "pytorch_model.bin"}
    assert files(folders["preset"]) == files(models["org/preset"]["main"]) - {"image.png"}
    assert files(folders["modules"]) == files(models["org/with_dense"]["main"]) - {"README.md"}
    theirs = files(models["org/0_transformer"]["main"])
    assert files(folders["older"]) == theirs - {"0_Transformer/flax_model.msgpack"}
    assert files(folders["google"]) == files(models["org/google"]["main"]) - {"graph.pbtxt"}
    assert not asked & {
        "README.md",
        "tf_model.h5",
        "model.onnx",
        "flax_model.msgpack",
        "image.png",
        "graph.pbtxt",
    }


@pytest.mark.slow
def test_the_cache_remembers_which_settings_of_texts_the_hub_lacks(online, server):
    home, folders, _ = online
    settings = {"sentence_bert_config.json"}
    lacking = {"modules": settings, "plain": {*settings, "modules.json", "config_sentence_transformers.json"}}
    for name, expected in lacking.items():
        assert files(folders[name].parents[1] / ".no_exist" / folders[name].name) == expected
    assert not (folders["model"].parents[1] / ".no_exist").exists()  # none of sentence-transformers
    count = len(server.requests)
    run(DOWNLOAD, GOOD["modules"], home=home, HF_ENDPOINT=server.url)
    assert not any("sentence_bert" in path for _, path in server.requests[count:])


@pytest.mark.slow
@pytest.mark.parametrize("case", BAD)
def test_each_failure_has_its_sentence(online, case):
    assert online[1][case].startswith(BAD[case][1])


@pytest.mark.slow
def test_what_is_in_the_cache_needs_no_network(online, server):
    home, folders, _ = online
    count = len(server.requests)
    names = (GOOD["model"], GOOD["known"], "hf://org/other")
    model, known, other = run(DOWNLOAD, *names, home=home, HF_ENDPOINT=server.url, HF_HUB_OFFLINE="1")
    assert (json.loads(model), json.loads(known)) == (str(folders["model"]), str(folders["known"]))
    assert len(server.requests) == count
    sentence = json.loads(other)["error"]
    assert sentence.startswith(f"hf://org/other is not in the cache ({home}/hub) and could not be downloaded")
    assert "(HF_HUB_OFFLINE is set); unset HF_HUB_OFFLINE, or give a folder. Without the hub" in sentence
    (unheard,) = run(DOWNLOAD, "hf://org/modle", home=home, HF_ENDPOINT="http://127.0.0.1:9")
    sentence = json.loads(unheard)["error"]
    assert "check the network and the name, or give a folder. Did you mean hf://org/model?" in sentence
    assert "HF_HUB_OFFLINE" not in sentence  # which is not set


def test_a_cache_that_cannot_be_written_is_named(monkeypatch):
    def download(*_, **__):
        raise PermissionError(errno.EACCES, "Permission denied", "/.cache")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    monkeypatch.setenv("HF_HOME", "/.cache/huggingface")
    with pytest.raises(
        ValueError, match=r"the cache is /\.cache/huggingface/.*: set HF_HOME to a folder that"
    ):
        hub.download("hf://org/model")


# ------------------------------------------------- bert-base-uncased: disk, then cache, then hub


@pytest.fixture
def cache(models, tmp_path, monkeypatch):
    """Function that puts the model into an empty cache, as huggingface_hub lays it out."""
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)

    def put(repository, commit=COMMIT, is_main=True):
        folder = tmp_path / "home" / "hub" / f"models--{repository.replace('/', '--')}"
        shutil.copytree(models[KNOWN]["main"], folder / "snapshots" / commit)
        if is_main:
            (folder / "refs").mkdir()
            (folder / "refs" / "main").write_text(commit)
        return folder / "snapshots" / commit

    return put


@pytest.fixture
def asked(monkeypatch):
    """What the hub is asked for; it answers that there is no network."""
    names = []

    def download(name):
        names.append(name)
        raise ValueError(f"{name} is not in the cache (...) and could not be downloaded (no network).")

    monkeypatch.setattr(hub, "download", download)
    return names


@pytest.mark.parametrize(
    ("name", "repository"),
    [
        ("bert-base-uncased", "google-bert/bert-base-uncased"),
        ("bert-base-uncased", "bert-base-uncased"),  # as older programs keep it
        ("all-MiniLM-L6-v2", KNOWN),
        ("somebody/bert", "somebody/bert"),
    ],
)
@pytest.mark.parametrize("is_main", [True, False])
def test_the_cache_answers_first(cache, asked, name, repository, is_main):
    folder = cache(repository, is_main=is_main)
    assert local_path(name) == folder and not asked


@pytest.mark.parametrize("missing", ["model.safetensors", "vocab.txt", "modules.json"])
def test_half_a_model_is_no_answer_and_no_network_is_one_sentence(cache, asked, missing):
    """A program that needed only the tokenizer, or the encoder, has left half a model."""
    (cache(KNOWN) / missing).unlink()
    with pytest.raises(ValueError) as error:
        kbert.load("all-MiniLM-L6-v2")
    assert asked == [f"hf://{KNOWN}"]
    assert str(error.value).startswith(f"all-MiniLM-L6-v2 is no file or folder here; hf://{KNOWN} is not in")


def test_a_model_without_the_settings_of_a_module_is_no_answer(cache, asked):
    folder = cache(KNOWN)
    places = "sentence_transformers.models"
    modules = [
        {"idx": 0, "name": "0", "path": "", "type": f"{places}.Transformer"},
        {"idx": 1, "name": "1", "path": "1_Pooling", "type": f"{places}.Pooling"},
        {"idx": 2, "name": "2", "path": "2_Normalize", "type": f"{places}.Normalize"},
    ]
    (folder / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(ValueError, match="is not in the cache"):
        local_path("all-MiniLM-L6-v2")
    touch(folder, "1_Pooling/config.json")
    assert local_path("all-MiniLM-L6-v2") == folder and len(asked) == 1


def test_the_cache_has_an_older_folder_whose_encoder_is_one_level_down(cache, asked):
    folder = cache("somebody/bert")
    (folder / "0_Transformer").mkdir()
    for name in ("config.json", "vocab.txt", "model.safetensors"):
        (folder / name).rename(folder / "0_Transformer" / name)
    assert local_path("somebody/bert") == folder and not asked


def test_a_reranker_has_no_modules(cache, asked):
    folder = cache("BAAI/bge-reranker-base")
    (folder / "modules.json").unlink()
    assert local_path("BAAI/bge-reranker-base") == folder and not asked


def test_a_model_whose_hub_has_no_modules_is_whole_without_them(cache, asked):
    folder = cache("BAAI/bge-m3-retromae")
    (folder / "modules.json").unlink()
    with pytest.raises(ValueError, match="is not in the cache"):
        local_path("BAAI/bge-m3-retromae")
    touch(folder.parents[1] / ".no_exist" / COMMIT, "modules.json")
    assert local_path("BAAI/bge-m3-retromae") == folder and len(asked) == 1


@pytest.mark.parametrize("name", ["runs/bert", "somebody/bert", "nowhere", "../x", "/a/b", "a/b/c", ""])
def test_no_server_is_told_about_what_may_be_a_path(cache, asked, name):
    cache("somebody/bert", is_main=False)
    cache("somebody/bert", "2" * 40, is_main=False)  # nobody knows which of the two is meant
    assert hub.find_model(name) is None and not asked


def test_the_name_says_the_casing_where_no_file_does(cache, asked):
    folder = cache(SMALL)
    for file in ("tokenizer_config.json", "tokenizer.json", "modules.json"):
        (folder / file).unlink(missing_ok=True)
    checkpoint = read_checkpoint(SMALL)
    assert checkpoint.vocabulary.do_lower_case and checkpoint.source == SMALL
