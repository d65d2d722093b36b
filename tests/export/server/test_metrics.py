"""Prometheus reads what was answered, under the real server's names."""

import http.client

from prometheus_client.parser import text_string_to_metric_families

from export.server.metrics import Metrics

from .asking import MODEL, request_of


def samples(page: str) -> dict:
    return {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(page)
        for sample in family.samples
    }


def test_requests_of_both_apis_are_counted(server, stubs, asked):
    def counted():
        connection = http.client.HTTPConnection("localhost", server.rest_api_port, timeout=120)
        connection.request("GET", "/monitoring/prometheus/metrics")
        response = connection.getresponse()
        assert response.headers["Content-Type"].startswith("text/plain")
        page = samples(response.read().decode())
        connection.close()
        return page

    before = counted()
    stubs[0].Predict(request_of())
    asked.predict({"instances": ["a"]})
    asked.predict({"instances": [3]})
    after = counted()

    def more(name, **labels):
        key = (f":tensorflow:serving:{name}", *sorted(labels.items()))
        return after[key] - before.get(key, 0)

    assert more("request_count", model_name=MODEL, status="OK") == 2
    assert more("request_count", model_name=MODEL, status="INVALID_ARGUMENT") == 1
    assert more("request_latency_count", model_name=MODEL, API="Predict", entrypoint="GRPC") == 1
    assert more("request_latency_count", model_name=MODEL, API="Predict", entrypoint="REST") == 1
    assert more("runtime_latency_count", model_name=MODEL, API="Predict", runtime="TF1") == 2
    assert 0 < more("runtime_latency_sum", model_name=MODEL, API="Predict", runtime="TF1") < 1e7


def test_names_that_no_model_has_are_counted_together():
    metrics = Metrics(is_served=lambda name: name == "a")
    for name in ("a", "b", "c"):
        metrics.answered(name, "Predict", "GRPC", "NOT_FOUND", 0.1)
    counts = {key[1][1]: value for key, value in samples(metrics.page().decode()).items() if len(key) == 3}
    assert counts == {"a": 1.0, "unknown": 2.0}
