"""A configuration that is refused changes nothing: no version is dropped, no label moves."""

import shutil
import types

import pytest
from tensorflow_serving.apis import model_pb2

from export.gate.saved_model_session import RequestError
from export.server.models.model_settings import ModelSettings
from export.server.models.served_models import ServedModels


class Loader:
    """Makes versions of nothing, and remembers which."""

    def __init__(self):
        self.loaded = []

    def __call__(self, name, version, folder):
        self.loaded.append((name, version))
        return types.SimpleNamespace(version=version, folder=folder, close=lambda: None)


@pytest.fixture
def load():
    return Loader()


@pytest.fixture
def models(tmp_path, load):
    """`a` with versions 1 and 2, label `old` on 1, and `b` with the newest version; 3 is on disk as well."""
    for name in ("a", "b"):
        for version in (1, 2, 3):
            (tmp_path / name / str(version)).mkdir(parents=True)
    settings = [setting_a(tmp_path, (1, 2), old=1), ModelSettings("b", str(tmp_path / "b"))]
    models = ServedModels(settings, load, poll_seconds=1000)
    yield models
    models.begin_stop()


def setting_a(tmp_path, versions, **labels):
    return ModelSettings("a", str(tmp_path / "a"), versions=versions, labels=tuple(labels.items()))


def found(models, name="a", version=None, label=None):
    spec = model_pb2.ModelSpec(name=name)
    if version:
        spec.version.value = version
    if label:
        spec.version_label = label
    return models.find(spec)


def states(models, name="a"):
    return {one.version: one.state for one in models.statuses(model_pb2.ModelSpec(name=name))}


def test_a_wrong_label_of_one_model_drops_no_version_of_another(models, tmp_path, load):
    first, before = found(models, version=1), list(load.loaded)
    shutil.rmtree(tmp_path / "a" / "1")  # what is dropped now is gone
    bad = ModelSettings("b", str(tmp_path / "b"), labels=(("stable", 7),))
    with pytest.raises(RequestError, match="assign label to version 7 of model b"):
        models.reload([setting_a(tmp_path, (2, 3), new=3), bad])
    assert found(models, version=1) is first and found(models, label="old") is first
    assert found(models).version == 2
    assert load.loaded == [*before, ("a", 3)]  # nothing was loaded again
    assert states(models) == {2: "AVAILABLE", 1: "AVAILABLE"}
    with pytest.raises(RequestError, match="Unrecognized servable version label: new"):
        found(models, label="new")
