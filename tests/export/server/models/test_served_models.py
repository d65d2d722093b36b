"""Versions come and go without a failed request; a broken one is reported and not served."""

import os
import shutil
import threading

import pytest
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2
from tensorflow_serving.apis import (
    classification_pb2,
    model_pb2,
    prediction_log_pb2,
    session_service_pb2,
)
from tensorflow_serving.config import model_server_config_pb2

from export.folder_names import EXTRA_FOLDER, WARMUP_FILE
from export.gate.saved_model_session import RequestError
from export.server.composition import Server, ServerOptions
from export.server.models.model_settings import ModelSettings, read_config_file, settings_of
from export.server.models.warmup import MAX_RECORDS
from tests.export.server.asked_model import save_asked_model
from tests.export.server.asking import MODEL, Asked, request_of, wait_until


@pytest.fixture
def serve():
    """Starts servers that are stopped at the end."""
    servers = []

    def start(*models, **options):
        settings = [
            one if isinstance(one, ModelSettings) else ModelSettings(MODEL, str(one)) for one in models
        ]
        servers.append(Server(settings, ServerOptions(port=0, rest_api_port=0, poll_seconds=0.05, **options)))
        return servers[-1]

    yield start
    for server in servers:
        assert server.stop()


def label(asked):
    return asked.predict({"instances": ["short"]})[1]["predictions"][0]["label"]


def states(asked):
    versions = asked.rest("GET", f"/v1/models/{MODEL}")[1]["model_version_status"]
    return {version["version"]: version["state"] for version in versions}


def save_with_unknown_op(asked_model_dir, folder):
    """A copy with an op that no server knows."""
    shutil.copytree(asked_model_dir, folder)
    file = folder / "saved_model.pb"
    saved_model = saved_model_pb2.SavedModel.FromString(file.read_bytes())
    saved_model.meta_graphs[0].graph_def.node.add(name="n", op="NotYetInvented")
    file.write_bytes(saved_model.SerializeToString())


@pytest.mark.slow
def test_a_new_version_is_picked_up_and_a_broken_one_is_not(asked_model_dir, tmp_path, serve):
    shutil.copytree(asked_model_dir, tmp_path / "1")
    asked = Asked(serve(tmp_path).rest_api_port)
    assert label(asked) == "short"
    save_with_unknown_op(asked_model_dir, tmp_path / "tmp.2")
    os.rename(tmp_path / "tmp.2", tmp_path / "2")
    wait_until(lambda: states(asked) == {"2": "END", "1": "AVAILABLE"})
    status = asked.rest("GET", f"/v1/models/{MODEL}/versions/2")[1]
    reason = status["model_version_status"][0]["status"]
    assert reason["error_code"] == "INVALID_ARGUMENT"
    assert "NotYetInvented: in graph [serve]" in reason["error_message"]
    assert label(asked) == "short"

    save_asked_model(tmp_path / "tmp.3", bias=100.0)
    os.rename(tmp_path / "tmp.3", tmp_path / "3")
    wait_until(lambda: label(asked) == "long")
    wait_until(lambda: states(asked) == {"3": "AVAILABLE", "2": "END", "1": "END"})
    # As in the real server: the old one is not loaded any more.
    old = asked.predict({"instances": ["a"]}, f"/v1/models/{MODEL}/versions/1:predict")
    assert old == (404, {"error": "Servable not found for request: Specific(length, 1)"})

    # A version taken away: the newest that is left answers again.
    shutil.rmtree(tmp_path / "2")
    os.rename(tmp_path / "3", tmp_path / "old.3")
    wait_until(lambda: label(asked) == "short")


@pytest.mark.slow
def test_no_request_fails_while_versions_are_swapped(asked_model_dir, tmp_path, serve):
    shutil.copytree(asked_model_dir, tmp_path / "1")
    server = serve(tmp_path)
    asked, ended, answers = Asked(server.rest_api_port), threading.Event(), []

    def ask():
        while not ended.is_set():
            answers.append(asked.predict({"instances": ["short"]}))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for version in (2, 3, 4):
        shutil.copytree(asked_model_dir, tmp_path / f"tmp.{version}")
        os.rename(tmp_path / f"tmp.{version}", tmp_path / str(version))
        wait_until(lambda version=version: server.models.newest_version(MODEL) == version)
        asked_before = len(answers)
        wait_until(lambda before=asked_before: len(answers) > before + 8)
    ended.set()
    for thread in threads:
        thread.join()
    assert {status for status, _ in answers} == {200}


def test_labels_move_and_models_come_and_go(two_versions, serve):
    server = serve(ModelSettings(MODEL, str(two_versions), num_latest=None))
    reload = server.models.reload

    def version(**spec):
        return server.models.find(model_pb2.ModelSpec(**({"name": MODEL} | spec))).version

    reload([ModelSettings(MODEL, str(two_versions), None, labels=(("stable", 1), ("canary", 3)))])
    assert (version(version_label="stable"), version(version_label="canary"), version()) == (1, 3, 3)
    with pytest.raises(RequestError, match="assign label to version 7 .*not currently available"):
        reload([ModelSettings(MODEL, str(two_versions), None, labels=(("stable", 7),))])
    assert version(version_label="stable") == 1  # nothing has changed

    reload([ModelSettings(MODEL, str(two_versions), versions=(1,)), ModelSettings("b", str(two_versions))])
    assert version() == 1 and version(name="b") == 3
    reload([ModelSettings("b", str(two_versions))])
    with pytest.raises(RequestError, match=r"Servable not found for request: Latest\(length\)"):
        version()


def test_a_config_file_is_read_and_a_wrong_one_refused(tmp_path):
    path = tmp_path / "models.config"
    path.write_text(
        "model_config_list { config { name: 'a' base_path: '/served/a' model_platform: 'tensorflow' "
        "model_version_policy { specific { versions: 4 versions: 2 } } version_labels { key: 's' value: 2 } }"
        " config { name: 'b' base_path: '/b' model_platform: 'tensorflow' } }"
    )
    first, second = read_config_file(str(path))
    assert first == ModelSettings("a", "/served/a", versions=(2, 4), labels=(("s", 2),))
    assert second == ModelSettings("b", "/b", num_latest=1)
    path.write_text("model_config_list { confi }")
    with pytest.raises(ValueError, match="models.config: .*Expected model_config_list"):
        read_config_file(str(path))


@pytest.mark.parametrize(
    ("models", "message"),
    [
        ([("a", "/a"), ("a", "/b")], "Illegal to list model a multiple times"),
        ([("a", "relative")], "absolute path or URI; got base_path"),
    ],
)
def test_impossible_configs_are_refused_in_the_servers_words(models, message):
    config = model_server_config_pb2.ModelServerConfig()
    for name, path in models:
        config.model_config_list.config.add(name=name, base_path=path, model_platform="tensorflow")
    with pytest.raises(RequestError, match=message):
        settings_of(config)


# Warm-up


def warm(folder, *logs):
    (folder / EXTRA_FOLDER).mkdir(exist_ok=True)
    with tf.io.TFRecordWriter(str(folder / EXTRA_FOLDER / WARMUP_FILE)) as writer:
        for log in logs:
            writer.write(log.SerializeToString())


def predict_log(**spec):
    return prediction_log_pb2.PredictionLog(predict_log={"request": request_of(**spec)})


def classify_log():
    request = classification_pb2.ClassificationRequest()
    request.model_spec.signature_name = "classify"
    request.input.example_list.examples.add().features.feature["text"].bytes_list.value.append(b"a")
    return prediction_log_pb2.PredictionLog(classify_log={"request": request})


def test_warm_up_requests_are_replayed_before_a_version_is_served(asked_model_dir, tmp_path, serve):
    shutil.copytree(asked_model_dir, tmp_path / "1")
    warm(tmp_path / "1", predict_log(), predict_log(signature_name="letters"), classify_log())
    page = serve(tmp_path)._metrics.page().decode()
    assert (
        f':tensorflow:serving:model_warmup_latency_count{{model_path="{tmp_path}/1",status="OK"}} 1' in page
    )
    assert (
        ':tensorflow:serving:runtime_latency_count{API="Predict",model_name="length",runtime="TF1"} 2' in page
    )
    assert 'runtime_latency_count{API="Classify",model_name="length",runtime="TF1"} 1' in page
    assert ":tensorflow:serving:request_count{" not in page  # nobody has asked yet


@pytest.mark.parametrize(
    ("logs", "message"),
    [
        ([predict_log(), predict_log(signature_name="none")], 'Serving signature key "none" not found'),
        (
            [
                prediction_log_pb2.PredictionLog(
                    session_run_log={"request": session_service_pb2.SessionRunRequest()}
                )
            ],
            "Unsupported log_type for warmup: session_run_log",
        ),
        (
            [prediction_log_pb2.PredictionLog()] * (MAX_RECORDS + 1),
            r"Number of warmup records exceeds the maximum \(1000\)",
        ),
    ],
)
def test_a_failing_warm_up_keeps_a_version_from_being_served(asked_model_dir, tmp_path, logs, message):
    shutil.copytree(asked_model_dir, tmp_path / "1")
    warm(tmp_path / "1", *logs)
    with pytest.raises(ValueError, match=message):
        Server([ModelSettings(MODEL, str(tmp_path))], ServerOptions(port=0, rest_api_port=0))
