"""A SavedModel loaded the way the C++ server loads it: into one graph and one session."""

import contextlib

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import meta_graph_pb2

from kbert.forked import require_own_tensorflow
from kbert.full_float32 import keep_full_float32
from kbert.tokenization.text_ops import import_tf_text

DEFAULT_SIGNATURE = "serving_default"
# The C++ names of the dtypes, where they are not Python's.
_CPP_NAMES = {"float32": "float", "float64": "double", "float16": "half"}


class RequestError(ValueError):
    """A request that the model refuses, in the words of the real server.

    Args:
      status: name of the gRPC status code, for example `INVALID_ARGUMENT`.
      message: what the real server would say.
    """

    def __init__(self, status: str, message: str):
        super().__init__(message)
        self.status = status
        self.message = message


class SavedModelSession:
    """Loads a SavedModel through the graph/session loader and runs its signatures.

    `run` may be called from several threads at once. The session lives as long as the object. A
    thread that still runs a request keeps the object alive, so nothing has to be closed by hand.

    Args:
      saved_model_dir: folder that holds `saved_model.pb`.

    Examples:
      model = SavedModelSession("served/sst2/1")
      answer = model.run("serving_default", {"text": np.array(["fine"], object)})
    """

    def __init__(self, saved_model_dir: str):
        require_own_tensorflow()
        keep_full_float32()
        import_tf_text()  # registers its ops, as the server's binary does
        with tf.Graph().as_default() as graph, _without_remarks():
            self._session = tf.compat.v1.Session(graph=graph)
            meta_graph = tf.compat.v1.saved_model.loader.load(
                self._session, [tf.saved_model.SERVING], str(saved_model_dir)
            )
        self.signatures = dict(meta_graph.signature_def)

    def signature(self, name: str) -> meta_graph_pb2.SignatureDef:
        """Returns a signature; an empty name means `serving_default`."""
        name = name or DEFAULT_SIGNATURE
        if name not in self.signatures:
            raise RequestError("FAILED_PRECONDITION", f'Serving signature key "{name}" not found.')
        return self.signatures[name]

    def close(self) -> None:
        """Cancels what still runs, with status `CANCELLED`, and refuses later runs."""
        self._session.close()

    def run(
        self,
        name: str,
        inputs: dict[str, np.ndarray],
        output_filter=(),
        timeout_seconds: float | None = None,
    ) -> dict:
        """Runs one signature.

        Args:
          name: signature; empty means `serving_default`.
          inputs: input name -> array of the signature's dtype.
          output_filter: names of the outputs wanted; empty means all.
          timeout_seconds: when to give up, with status `DEADLINE_EXCEEDED`; None means never.

        Returns:
          Output name -> array; strings are object arrays of bytes.

        Raises:
          RequestError: with the server's status and words.
        """
        require_own_tensorflow()
        signature = self.signature(name)
        feeds = self._feeds(signature, inputs)
        fetches = self._fetches(signature, output_filter)
        try:
            return self._session.run(fetches, feeds, _run_options(timeout_seconds))
        except tf.errors.OpError as error:
            raise RequestError(status_name(error), error.message) from error
        except RuntimeError as error:  # the session was closed
            raise RequestError("UNAVAILABLE", "The server is stopping.") from error
        except (TypeError, ValueError) as error:  # a shape that does not fit the placeholder
            raise RequestError("INVALID_ARGUMENT", str(error)) from error

    def _feeds(self, signature, inputs) -> dict:
        expected = set(signature.inputs)
        if set(inputs) != expected:
            raise RequestError("INVALID_ARGUMENT", _wrong_inputs(set(inputs), expected))

        feeds = {}
        for index, name in enumerate(sorted(inputs)):
            info = signature.inputs[name]
            array = np.asarray(inputs[name])
            wanted, received = tf.as_dtype(info.dtype), _tensor_dtype(array)
            if received != wanted:
                raise RequestError(
                    "INVALID_ARGUMENT",
                    f"Expects arg[{index}] to be {cpp_dtype_name(wanted)} "
                    f"but {cpp_dtype_name(received)} is provided",
                )
            feeds[info.name] = array
        return feeds

    def _fetches(self, signature, output_filter) -> dict:
        for position, name in enumerate(output_filter):
            if name not in signature.outputs:
                raise RequestError(
                    "INVALID_ARGUMENT",
                    f"output tensor alias not found in signature: {name} "
                    f"Outputs expected to be in the set {_braced(signature.outputs)}.",
                )
            if name in output_filter[:position]:
                raise RequestError("INVALID_ARGUMENT", f"duplicate output tensor alias: {name}")
        names = output_filter or signature.outputs
        return {name: signature.outputs[name].name for name in names}


def _run_options(timeout_seconds: float | None):
    if timeout_seconds is None:
        return None  # options are serialized for every run, so none are made without need
    return tf.compat.v1.RunOptions(timeout_in_ms=max(1, int(1000 * timeout_seconds)))


@contextlib.contextmanager
def _without_remarks():
    """Keeps TensorFlow from telling people that this loader, which is the server's, is the old one."""
    logger = tf.get_logger()
    level = logger.level
    logger.setLevel("ERROR")
    try:
        yield
    finally:
        logger.setLevel(level)


def status_name(error: tf.errors.OpError) -> str:
    """Returns the name of TensorFlow's status code, for example `NOT_FOUND`; gRPC's is the same."""
    return next(name for name, code in vars(tf.errors).items() if name.isupper() and code == error.error_code)


def cpp_dtype_name(dtype: tf.DType) -> str:
    """Returns the dtype's name as the server's messages write it, for example `float`."""
    return _CPP_NAMES.get(dtype.name, dtype.name)


def _wrong_inputs(received: set[str], expected: set[str]) -> str:
    # If the number of names is right, the server reports the first unknown name instead.
    if len(received) == len(expected):
        stranger = min(received - expected)
        return (
            f"input tensor alias not found in signature: {stranger}. "
            f"Inputs expected to be in the set {_braced(expected)}."
        )
    return (
        f"input size does not match signature: {len(received)}!={len(expected)} "
        f"len({_braced(received)}) != len({_braced(expected)}). "
        f"Sent extra: {_braced(received - expected)}. "
        f"Missing but required: {_braced(expected - received)}."
    )


def _braced(names) -> str:
    return "{" + ",".join(sorted(names)) + "}"


def _tensor_dtype(array: np.ndarray) -> tf.DType:
    return tf.string if array.dtype.kind in "OSU" else tf.as_dtype(array.dtype)
