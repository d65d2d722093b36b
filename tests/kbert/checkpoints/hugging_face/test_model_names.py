"""bert-base-uncased and the like: disk, then cache, then hub; and one sentence where there is no network."""

import shutil

import pytest

import kbert
from kbert.checkpoints.formats import local_path, read_checkpoint
from kbert.checkpoints.hugging_face import hub
from tests.kbert.checkpoints import foreign_files
from tests.kbert.checkpoints.hugging_face.test_hub import run
from tests.kbert.checkpoints.local_hub import LocalHub, sha

COMMIT = "1" * 40
SMALL = "google/bert_uncased_L-2_H-128_A-2"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A Hugging Face folder."""
    weights = foreign_files.hugging_face_names(foreign_files.random_weights(seed=1))
    return foreign_files.write_hugging_face(tmp_path_factory.mktemp("model") / "bert", weights)


@pytest.fixture
def cache(model, tmp_path, monkeypatch):
    """Function that puts the model into an empty cache, as huggingface_hub lays it out."""
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)

    def put(repository, commit=COMMIT, is_main=True):
        folder = tmp_path / "home" / "hub" / f"models--{repository.replace('/', '--')}"
        shutil.copytree(model, folder / "snapshots" / commit)
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
        ("all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2"),
        ("sentence-transformers/all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2"),
        (SMALL, SMALL),
        ("somebody/bert", "somebody/bert"),
    ],
)
@pytest.mark.parametrize("is_main", [True, False])
def test_the_cache_answers_first(cache, asked, name, repository, is_main):
    folder = cache(repository, is_main=is_main)
    assert local_path(name) == folder and not asked


def test_what_is_on_disk_comes_before_the_cache(cache, asked, tmp_path):
    cache("google-bert/bert-base-uncased")
    (tmp_path / "bert-base-uncased").mkdir()
    assert str(local_path("bert-base-uncased")) == "bert-base-uncased" and not asked


def test_no_network_is_one_sentence_with_what_was_looked_for(cache, asked):
    with pytest.raises(ValueError) as error:
        kbert.load("all-MiniLM-L6-v2")
    name = "hf://sentence-transformers/all-MiniLM-L6-v2"
    assert asked == [name]
    assert str(error.value).startswith(f"all-MiniLM-L6-v2 is no file or folder here; {name} is not in the ca")


@pytest.mark.parametrize("name", ["runs/bert", "somebody/bert", "nowhere", "../x", "/a/b", "a/b/c", ""])
def test_no_server_is_told_about_what_may_be_a_path(cache, asked, name):
    assert hub.find_model(name) is None and not asked


def test_a_cache_that_holds_half_a_model_is_no_answer(cache, asked):
    """A program that needed only the tokenizer has left this."""
    folder = cache("google-bert/bert-base-uncased")
    (folder / "model.safetensors").unlink()
    with pytest.raises(ValueError, match="could not be downloaded"):
        local_path("bert-base-uncased")
    assert asked == ["hf://google-bert/bert-base-uncased"]


def test_several_snapshots_without_a_main_branch_are_no_answer(cache, asked):
    cache("somebody/bert", is_main=False)
    cache("somebody/bert", "2" * 40, is_main=False)
    assert hub.find_model("somebody/bert") is None


def test_the_name_says_the_casing_where_no_file_does(cache, asked):
    folder = cache(SMALL)
    for file in ("tokenizer_config.json", "tokenizer.json"):
        (folder / file).unlink(missing_ok=True)
    checkpoint = read_checkpoint(SMALL)
    assert checkpoint.vocabulary.do_lower_case and checkpoint.source == SMALL
    assert kbert.load(SMALL).vocabulary.do_lower_case


@pytest.mark.parametrize(
    ("variables", "folder"),
    [
        ({"HF_HUB_CACHE": "/a"}, "/a"),
        ({"HF_HOME": "/b"}, "/b/hub"),
        ({"XDG_CACHE_HOME": "/c"}, "/c/huggingface/hub"),
        ({"HOME": "/d"}, "/d/.cache/huggingface/hub"),
    ],
)
def test_the_cache_is_that_of_huggingface_hub(monkeypatch, variables, folder):
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert str(hub.cache_folder()) == folder


@pytest.mark.slow
def test_a_known_name_is_downloaded_once_and_found_where_the_hub_put_it(model, tmp_path):
    repository = "sentence-transformers/all-MiniLM-L6-v2"
    server = LocalHub({repository: {"main": model}})
    program = "from kbert.checkpoints.formats import local_path; print(local_path('all-MiniLM-L6-v2'))"
    folders = [run(program, home=tmp_path, HF_ENDPOINT=server.url) for _ in range(2)]
    asked = [path for _, path in server.requests if path.startswith("/api/")]
    server.close()
    assert folders[0] == folders[1] and folders[0][0].endswith(
        sha("sentence-transformers/all-MiniLM-L6-v2@main")
    )
    assert len(asked) == len(set(asked)), "the second time the cache answers"
