"""Asks one served model, whatever its task: what it can be asked stands in its metadata."""

import itertools
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent import futures

import numpy as np

from . import failures
from .example_batches import arrays_of, batches
from .grpc_transport import GrpcTransport
from .messages import ModelSpec
from .model_signatures import ModelSignature, ModelSignatures
from .rest_transport import RestTransport
from .retries import Retries

TRANSPORTS: dict[str, type[GrpcTransport] | type[RestTransport]] = {
    "grpc": GrpcTransport,
    "rest": RestTransport,
}


class ServingClient:
    """A client of one model on a server.

    Several threads may use one client.

    Args:
        server: `host:port`; TF Serving listens for gRPC on 8500 and for REST on 8501.
        model_name: the model's name on the server.
        api: "grpc" or "rest".
        version: which version answers; by default the newest.
        version_label: the same by a label.
        timeout_seconds: how long to wait for the answer to one request, all its attempts together.
        max_attempts: how often to send a request that the server turns away (UNAVAILABLE, 503).

    Raises of all methods that ask:
        ConnectionError: nobody answers at `server`, or something else than TensorFlow Serving, or it takes
            no more requests.
        TimeoutError: the answer took too long.
        ValueError: the server refuses the request; the sentence says why.

    Example:
        with ServingClient("localhost:8500", "sst2") as client:
            for answer in client.answer({"text": text} for text in texts):
                print(answer["label"], answer["probabilities"])
    """

    def __init__(
        self,
        server: str,
        model_name: str,
        api: str = "grpc",
        version: int | None = None,
        version_label: str = "",
        timeout_seconds: float = 10.0,
        max_attempts: int = 5,
    ):
        if api not in TRANSPORTS:
            raise ValueError(f"api={api!r}; expected one of {', '.join(TRANSPORTS)}.")
        if timeout_seconds <= 0:
            raise ValueError(f"timeout_seconds={timeout_seconds}; expected a number above 0.")
        if version is not None and version_label:
            raise ValueError(f"version={version} and version_label={version_label!r}; give one of them.")
        self._server = server
        self._transport = TRANSPORTS[api](server)
        self._spec = ModelSpec(name=model_name, version_label=version_label)
        if version is not None:
            self._spec.version.value = version
        self._timeout_seconds = timeout_seconds
        self._retries = Retries(max_attempts)
        self._signatures: ModelSignatures | None = None

    def __enter__(self) -> "ServingClient":
        return self

    def __exit__(self, *unused) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections."""
        self._transport.close()

    @property
    def signatures(self) -> ModelSignatures:
        """What the model can be asked; read from the server once."""
        if self._signatures is None:
            found = self._ask(
                lambda seconds: self._transport.signatures(self._spec, seconds), "for its signatures"
            )
            self._signatures = ModelSignatures(self._spec.name, found)
        return self._signatures

    def predict(
        self, inputs: dict[str, np.ndarray], signature_name: str = "serving_default"
    ) -> dict[str, np.ndarray]:
        """Sends one request as it is.

        Args:
            inputs: input name -> array; strings are `str` or bytes. Numbers must have the input's dtype.
            signature_name: which signature answers.

        Returns:
            Output name -> array; strings are object arrays of bytes.
        """
        signature = self.signatures[signature_name]
        arrays = {name: np.asarray(value) for name, value in inputs.items()}
        spec = ModelSpec()
        spec.CopyFrom(self._spec)
        spec.signature_name = signature_name

        def ask(seconds):
            return self._transport.predict(spec, arrays, signature.outputs, seconds)

        return self._ask(ask, failures.described(signature_name, arrays))

    def answer(
        self,
        examples: Iterable[dict],
        settings: dict | None = None,
        signature_name: str | None = None,
        outputs: Iterable[str] = (),
        batch_size: int = 32,
        num_parallel: int = 2,
    ) -> Iterator[dict[str, np.ndarray]]:
        """Answers many examples, in their order, a batch at a time.

        Args:
            examples: input name -> value, for example {"text": "fine"}; a list of strings where an input has
                two dimensions. All have the same inputs.
            settings: values for all examples, for signatures that take some, for example {"top_k": 5}.
            signature_name: which signature answers; by default the one that takes these inputs.
            outputs: names of outputs that the signature must have.
            batch_size: examples of one request. Lists of other lengths begin a new one.
            num_parallel: requests under way at a time.

        Yields:
            Output name -> that example's part of the array: a scalar, or an array without the batch.
        """
        if batch_size < 1 or num_parallel < 1:
            raise ValueError(f"batch_size={batch_size}, num_parallel={num_parallel}; expected 1 or more.")
        settings, examples = settings or {}, iter(examples)
        first = next(examples, None)
        if first is None:
            return
        signature = self._signature(first, settings, signature_name, list(outputs))
        with futures.ThreadPoolExecutor(num_parallel) as threads:
            under_way: deque = deque()
            for batch in batches(itertools.chain([first], examples), signature, batch_size):
                under_way.append(threads.submit(self._answer_batch, batch, settings, signature))
                if len(under_way) == num_parallel:
                    yield from under_way.popleft().result()
            while under_way:
                yield from under_way.popleft().result()

    def _signature(self, example, settings, signature_name, outputs) -> ModelSignature:
        if signature_name is None:
            return self.signatures.find(example, settings, outputs)
        signature = self.signatures[signature_name]
        if set(signature.columns) != set(example) or set(signature.settings) != set(settings):
            raise ValueError(
                f"signature {signature} takes {', '.join(signature.columns)} of each example and the "
                f"settings {signature.settings}; received {', '.join(example)} and {sorted(settings)}."
            )
        return signature

    def _answer_batch(self, batch: list[dict], settings: dict, signature: ModelSignature) -> list[dict]:
        outputs = self.predict(arrays_of(batch, settings, signature), signature.name)
        for name, array in outputs.items():
            if not array.ndim or len(array) != len(batch):
                raise ValueError(
                    f"output {name!r} of signature {signature.name!r} has shape {list(array.shape)} for "
                    f"{len(batch)} examples; expected a row for each. Ask it with predict()."
                )
        return [{name: array[row] for name, array in outputs.items()} for row in range(len(batch))]

    def _ask(self, ask, asked: str):
        try:
            return self._retries.call(ask, self._timeout_seconds)
        except failures.RequestFailed as failure:
            api, name = self._transport.name, self._spec.name
            raise failures.mendable(failure, self._server, api, name, asked) from failure
