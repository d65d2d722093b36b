"""What the server counts, under the real server's names, for Prometheus to read."""

import threading

from prometheus_client import CollectorRegistry, Gauge, Histogram, generate_latest
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

PATH = "/monitoring/prometheus/metrics"  # PrometheusExporter::kPrometheusPath of the real server
# Scale of 10, power of 1.8, as in the real server (servables/tensorflow/util.cc): 10 us to about 20 minutes.
_BUCKETS = tuple(10 * 1.8**power for power in range(32))
_OTHERS = "unknown"  # requests may name anything; each new name would be a new line for ever


class Metrics:
    """Counts requests and measures times, in microseconds.

    Args:
        is_served: tells whether a name is that of a model. Others are counted together.
    """

    def __init__(self, is_served=lambda name: True):
        self.is_served = is_served
        self._registry = CollectorRegistry()
        self._requests = _RequestCount()
        self._registry.register(self._requests)
        self._request_latency = self._histogram("request_latency", ["model_name", "API", "entrypoint"])
        self._runtime_latency = self._histogram("runtime_latency", ["model_name", "API", "runtime"])
        self._warmup_latency = self._histogram("model_warmup_latency", ["model_path", "status"])

    def answered(self, model_name: str, api: str, entrypoint: str, status: str, seconds: float) -> None:
        """Counts one request; its time counts where it was answered."""
        name = model_name if self.is_served(model_name) else _OTHERS
        self._requests.add(name, status)
        if status == "OK":
            self._request_latency.labels(name, api, entrypoint).observe(1e6 * seconds)

    def ran(self, model_name: str, api: str, seconds: float) -> None:
        """Counts one run of a signature, with its wait for room or for a batch."""
        self._runtime_latency.labels(model_name, api, "TF1").observe(1e6 * seconds)

    def warmed_up(self, model_path: str, status: str, seconds: float) -> None:
        """Counts the warm-up of one version."""
        self._warmup_latency.labels(model_path, status).observe(1e6 * seconds)

    def watch_pending(self, count_pending) -> None:
        """Shows how many requests run or wait; the real server has no such number."""
        text = "Requests that run or wait, of both APIs."
        gauge = Gauge(":kbert:serving:pending_requests", text, registry=self._registry)
        gauge.set_function(count_pending)

    def page(self) -> bytes:
        """Returns everything in Prometheus' text form."""
        return generate_latest(self._registry)

    def _histogram(self, name: str, labels: list[str]) -> Histogram:
        text = f"/tensorflow/serving/{name}, in microseconds."
        return Histogram(
            f":tensorflow:serving:{name}", text, labels, registry=self._registry, buckets=_BUCKETS
        )


class _RequestCount(Collector):
    """The real server's counter, whose name does not end in `_total` as the library's own would."""

    def __init__(self):
        self._counts: dict[tuple[str, str], int] = {}
        self._lock = threading.Lock()

    def add(self, model_name: str, status: str) -> None:
        with self._lock:
            self._counts[model_name, status] = self._counts.get((model_name, status), 0) + 1

    def collect(self):
        name = ":tensorflow:serving:request_count"
        metric = Metric(name, "/tensorflow/serving/request_count", "untyped")
        with self._lock:
            for (model_name, status), count in sorted(self._counts.items()):
                metric.add_sample(name, {"model_name": model_name, "status": status}, count)
        yield metric
