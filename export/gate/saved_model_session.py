"""A SavedModel loaded the way the C++ server loads it: into one graph and one session.

`tf.saved_model.load` shows nothing of that. It rebuilds Python objects, and each function finds its variables
through them; the C++ server only restores the graph and runs it in a session. A model saved by
`tf.saved_model.save` with a Keras 3 object attached answers correctly after `tf.saved_model.load`, but in a
session it fails with "Could not find variable ...": Keras' wrapper is restored into one resource while the
functions read another.
"""

import numpy as np
import tensorflow as tf
from tensorflow.python.saved_model import loader_impl

from kbert.forked import require_own_tensorflow
from kbert.full_float32 import keep_full_float32
from kbert.tokenization.text_ops import import_tf_text

DEFAULT_SIGNATURE = "serving_default"


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

    Attributes:
      signatures: name -> `SignatureDef`.

    Raises:
      ValueError: where the server would refuse the folder.

    Examples:
      model = SavedModelSession("served/sst2/1")
      answer = model.run("serving_default", {"text": np.array(["fine"], object)})
    """

    def __init__(self, saved_model_dir: str):
        require_own_tensorflow()
        keep_full_float32()
        import_tf_text()  # registers its ops, as the server's binary does
        try:
            with tf.Graph().as_default() as graph:
                self._session = tf.compat.v1.Session(graph=graph)
                # `tf.compat.v1.saved_model.loader.load` is this with remarks on its age.
                loader = loader_impl.SavedModelLoader(str(saved_model_dir))
                meta_graph = loader.load(self._session, [tf.saved_model.SERVING])
        except (tf.errors.OpError, OSError, RuntimeError, ValueError) as error:
            raise ValueError(
                f"{saved_model_dir} cannot be served: the session loader, which is how TensorFlow Serving "
                f"loads, refuses it: {error}\nExpected a SavedModel with the tag `serve` and ops that are "
                "registered here. Export it again with kbert export; see docs/serving.md."
            ) from error
        self.signatures = dict(meta_graph.signature_def)

    def run(
        self,
        name: str,
        inputs: dict[str, np.ndarray],
        output_filter=(),
        timeout_seconds: float | None = None,
    ) -> dict:
        """Runs one signature.

        Args:
          name: one of `signatures`.
          inputs: input name -> array or list of Python values; TensorFlow gives it the signature's dtype.
          output_filter: names of the outputs wanted; empty means all.
          timeout_seconds: when to give up, with status `DEADLINE_EXCEEDED`; None means never.

        Returns:
          Output name -> array; strings are object arrays of bytes.

        Raises:
          RequestError: with the server's status and words.
        """
        require_own_tensorflow()
        signature = self.signatures[name]
        feeds = {signature.inputs[key].name: value for key, value in inputs.items()}
        fetches = {key: signature.outputs[key].name for key in output_filter or signature.outputs}
        # Options are serialized for every run, so none are made without need.
        most = None if timeout_seconds is None else max(1, int(1000 * timeout_seconds))
        options = most and tf.compat.v1.RunOptions(timeout_in_ms=most)
        try:
            return self._session.run(fetches, feeds, options)
        except tf.errors.OpError as error:
            raise RequestError(status_name(error), error.message) from error
        except (TypeError, ValueError) as error:  # a shape that does not fit the placeholder
            raise RequestError("INVALID_ARGUMENT", str(error)) from error


def status_name(error: tf.errors.OpError) -> str:
    """Returns the name of TensorFlow's status code, for example `NOT_FOUND`; gRPC's is the same."""
    return next(name for name, code in vars(tf.errors).items() if name.isupper() and code == error.error_code)
