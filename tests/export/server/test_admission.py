"""What is too much is turned away at once; what is inside is counted until it is out."""

import threading

import grpc
import pytest
from tensorflow_serving.apis import prediction_service_pb2_grpc

from export.gate.saved_model_session import RequestError
from export.server.admission import Admission
from export.server.composition import Server, ServerOptions
from export.server.limits import Limits
from export.server.models.model_settings import ModelSettings

from .asking import MODEL, Asked, request_of, wait_until


def test_admission_counts_what_is_inside():
    admission = Admission(1, 100)
    with admission.enter(1):
        with pytest.raises(RequestError, match="takes no more .--max_pending") as error, admission.enter(1):
            pass
        assert error.value.status == "UNAVAILABLE"
        assert not admission.wait_until_empty(0.01)
    assert admission.wait_until_empty(0)
    with pytest.raises(KeyError), admission.enter(1):
        raise KeyError
    assert admission.pending == 0


def test_admission_counts_bytes_and_lets_one_large_request_in():
    admission = Admission(10, 100)
    with admission.enter(1000):
        with pytest.raises(RequestError, match="1000 bytes .*--max_pending_bytes"):
            admission.begin(1)
    with admission.enter(60), admission.enter(40):
        with pytest.raises(RequestError, match="100 bytes"):
            admission.begin(1)
    with admission.enter(100):
        pass


def test_a_full_server_answers_unavailable_at_once(two_versions):
    limits = Limits(max_pending=1, grace_seconds=0.1)
    settings = ModelSettings(MODEL, str(two_versions))
    server = Server([settings], ServerOptions(port=0, rest_api_port=0, limits=limits))
    with grpc.insecure_channel(f"localhost:{server.port}") as channel:
        stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
        asked = Asked(server.rest_api_port)
        long = stub.Predict.future(request_of(["1000000"], signature_name="work"))
        wait_until(lambda: server._service.admission.pending == 1)
        with pytest.raises(grpc.RpcError) as error:
            stub.Predict(request_of())
        assert error.value.code() == grpc.StatusCode.UNAVAILABLE
        status, answer = asked.predict({"instances": ["a"]})
        assert status == 503 and "takes no more" in answer["error"]
        # Whoever looks after the server still gets an answer.
        assert asked.rest("GET", f"/v1/models/{MODEL}")[0] == 200
        assert server._service.admission.pending == 1 and not long.done()  # nobody waited for its end
        # The grace period is over long before the request: it is cancelled, and everything ends.
        stopped = []
        thread = threading.Thread(target=lambda: stopped.append(server.stop()))
        thread.start()
        assert long.exception(timeout=120) is not None
        thread.join(timeout=120)
    assert stopped == [True]
