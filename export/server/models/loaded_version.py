"""One version of a model, loaded and ready to answer."""

import dataclasses
import pathlib
import time

from ...gate.saved_model_session import DEFAULT_SIGNATURE, SavedModelSession
from ..deadline import Deadline
from ..metrics import Metrics
from .batching import Batching
from .known_ops import check_known_ops
from .runs import Runs


@dataclasses.dataclass(frozen=True)
class BatchingSettings:
    """The two numbers of cross-request batching; see `Batching`."""

    max_batch_size: int = 64
    batch_timeout_micros: int = 1000


class LoadedVersion:
    """Runs the signatures of one version.

    Args:
        model_name: its model, for the metrics.
        version: its number.
        folder: its SavedModel.
        runs: how many signatures run at a time, in the whole server.
        metrics: where running times go.
        batching: None runs every request alone.

    Attributes:
        version, folder: as given.

    Raises:
        ValueError, tf.errors.OpError: the folder cannot be loaded, or no stock server knows its ops.
    """

    def __init__(
        self,
        model_name: str,
        version: int,
        folder: pathlib.Path,
        runs: Runs,
        metrics: Metrics,
        batching: BatchingSettings | None = None,
    ):
        check_known_ops(folder)
        self.version = version
        self.folder = pathlib.Path(folder)
        self._model_name = model_name
        self._session = SavedModelSession(str(folder))
        self._runs = runs
        self._metrics = metrics
        self._batching = None
        if batching is not None:
            seconds = batching.batch_timeout_micros / 1e6
            self._batching = Batching(self._session, runs, batching.max_batch_size, seconds)

    @property
    def signatures(self) -> dict:
        """Signature name -> `SignatureDef`."""
        return self._session.signatures

    def signature(self, name: str):
        """Returns a signature; an empty name means `serving_default`. See `SavedModelSession`."""
        return self._session.signature(name)

    def run(self, api: str, signature: str, inputs: dict, deadline: Deadline, output_filter=()) -> dict:
        """Runs one signature.

        Args:
            api: the method of the request (Predict, Classify, ...), for the metrics.
            signature: its name; empty means `serving_default`.
            inputs: input name -> array.
            deadline: when the answer comes too late.
            output_filter: names of the outputs wanted; empty means all.

        Returns:
            Output name -> array; strings are object arrays of bytes.

        Raises:
            RequestError: in the words of the real server.
        """
        signature = signature or DEFAULT_SIGNATURE
        began = time.perf_counter()
        if self._batching is not None:
            outputs = self._batching.run(signature, inputs, list(output_filter), deadline)
        else:
            outputs = self._runs.run(self._session, signature, inputs, list(output_filter), deadline)
        self._metrics.ran(self._model_name, api, time.perf_counter() - began)
        return outputs

    def close(self) -> None:
        """Cancels what still runs."""
        self._session.close()
