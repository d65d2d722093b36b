"""What was answered, counted for Prometheus."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from .request import Request

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Metrics:
    """The counters of one server; each server has its own."""

    def __init__(self):
        self._registry = CollectorRegistry()
        self._requests = Counter("kbert_requests", "Requests.", ["method", "status"], registry=self._registry)
        self._tokens = Counter(
            "kbert_tokens", "Tokens; an estimate where the graph tokenizes.", registry=self._registry
        )
        self._cut = Counter("kbert_texts_cut", "Texts longer than the model reads.", registry=self._registry)
        self._seconds = {
            name: Histogram(f"kbert_{name}_seconds", text, registry=self._registry, buckets=_SECONDS)
            for name, text in (
                ("request", "From the first byte to the last."),
                ("queue", "Waiting for a run."),
                ("tokenization", "Tokenizing outside of the graph."),
                ("inference", "Runs."),
            )
        }

    def watch_queue(self, length) -> None:
        """Shows what the function `length` says of the queue."""
        Gauge("kbert_queue_length", "What waits for a run.", registry=self._registry).set_function(length)

    def answered(self, method: str, status: object, request: Request) -> None:
        """Counts one request."""
        self._requests.labels(method, str(status)).inc()
        self._seconds["request"].observe(request.seconds())
        if request.texts:
            self._tokens.inc(request.tokens)
            self._cut.inc(request.cut)
            self._seconds["queue"].observe(request.queued)
            self._seconds["inference"].observe(request.inference)
        if request.tokenizing:
            self._seconds["tokenization"].observe(request.tokenizing)

    def text(self) -> bytes:
        """All of it, in Prometheus's text form."""
        return generate_latest(self._registry)
