"""Tiny SavedModels, and one server in this process for many tests, with small limits."""

import shutil

import grpc
import pytest
from tensorflow_serving.apis import prediction_service_pb2_grpc

from export.server.limits import Limits
from export.server.running import DevelopmentServer
from kbert.kernels.kernel import Kernel
from tests.export import small_models
from tests.export.server.asked_model import save_asked_model
from tests.export.server.asking import MODEL, Asked
from tests.export.server.page import answering_model

LIMITS = Limits(
    max_message_bytes=1 << 20,
    max_text_bytes=10_000,
    max_texts=500,
    max_elements=50_000,
    max_batch_tokens=5_000,
    head_seconds=0.5,
    body_seconds=0.5,
)


@pytest.fixture
def compiled_kernels(monkeypatch):
    """As outside of the tests: the gate then finds each kernel that stands in an export."""
    monkeypatch.setattr(Kernel, "compiled", True)


@pytest.fixture(scope="session")
def run_with_nan(finetuned_run, tmp_path_factory):
    """A classifier in which the embedding of one token is NaN; no check text has this token."""
    from tests.kbert.inference.broken_run import copy_with_nan

    return copy_with_nan(finetuned_run, tmp_path_factory.mktemp("nan") / "run", "jump")


@pytest.fixture(scope="session")
def asked_model_dir(tmp_path_factory):
    return save_asked_model(tmp_path_factory.mktemp("asked_model") / "1")


@pytest.fixture(scope="session")
def trimmer_dir(tmp_path_factory):
    return small_models.save_with_trimmer(tmp_path_factory.mktemp("trimmer") / "1")


@pytest.fixture(scope="session")
def keras_attached_dir(tmp_path_factory):
    return small_models.save_with_keras_attached(tmp_path_factory.mktemp("attached") / "1")


@pytest.fixture(scope="session")
def two_versions(asked_model_dir, tmp_path_factory):
    base_path = tmp_path_factory.mktemp("served")
    shutil.copytree(asked_model_dir, base_path / "3")
    save_asked_model(base_path / "1", bias=100.0)
    (base_path / "tmp.9").mkdir()  # an export on its way: no integer, not a version
    return base_path


@pytest.fixture(scope="session")
def server(two_versions):
    with DevelopmentServer(two_versions, MODEL, 0, 0, limits=LIMITS) as server:
        yield server
    assert server.stop()


@pytest.fixture(scope="session")
def asked(server):
    return Asked(server.rest_api_port)


@pytest.fixture(scope="session")
def stub(server):
    with grpc.insecure_channel(f"localhost:{server.port}") as channel:
        yield prediction_service_pb2_grpc.PredictionServiceStub(channel)


@pytest.fixture(scope="session")
def page_server(tmp_path_factory):
    """A server of the answering model, which has a signature for each kind of question."""
    base_path = tmp_path_factory.mktemp("answering")
    answering_model.save_answering_model(base_path / "1")
    limits = Limits(max_text_bytes=5_000)
    with DevelopmentServer(base_path, answering_model.MODEL, 0, 0, limits=limits) as server:
        yield server


@pytest.fixture(scope="session")
def page_asked(page_server):
    return Asked(page_server.rest_api_port)
