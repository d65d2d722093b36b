"""Loads and runs a SavedModel as the server does, so that a test sees what a server would do.

`tf.saved_model.load` does not replace this check. It rebuilds Python objects, and each function
finds its variables through them; the C++ server only restores the graph and runs it in a session.
A model saved by `tf.saved_model.save` with a Keras 3 object attached answers correctly after
`tf.saved_model.load`, but in a session it fails with "Could not find variable ...": Keras' wrapper
is restored into one resource while the functions read another.
"""

import numpy as np
import tensorflow as tf

from .saved_model_session import RequestError, SavedModelSession


def run_signature(saved_model_dir: str, signature: str, inputs: dict) -> dict[str, np.ndarray]:
    """Loads a SavedModel through the session loader and runs one signature.

    Args:
      saved_model_dir: folder that holds `saved_model.pb`.
      signature: name of the signature, for example `serving_default`.
      inputs: input name -> array, or list of Python values, which takes the signature's dtype.

    Returns:
      Output name -> NumPy array; strings are object arrays of bytes.

    Raises:
      ValueError: its message begins with the real server's words, then says what the model
        expects and how to mend the request.
    """
    return run_loaded(load_session(saved_model_dir), signature, inputs)


def run_loaded(model: SavedModelSession, signature: str, inputs: dict) -> dict[str, np.ndarray]:
    """Does what `run_signature` does, for a model loaded once and asked several times."""
    try:
        return model.run(signature, _as_arrays(model, signature, inputs))
    except RequestError as error:
        raise ValueError(f"{error.message}\n{_mend(model, signature, inputs, error)}") from error


def load_session(saved_model_dir: str) -> SavedModelSession:
    """Loads a SavedModel as the server does, with a clear error where it would refuse."""
    try:
        return SavedModelSession(saved_model_dir)
    except (tf.errors.OpError, OSError, RuntimeError, ValueError) as error:
        raise ValueError(
            f"The session loader, which is how TF Serving loads, refuses {saved_model_dir}: "
            f"{error}\nExpected a SavedModel with the tag `serve` and ops that are registered "
            "here. Export it again with kbert export; see docs/serving.md."
        ) from error


def _as_arrays(model: SavedModelSession, signature: str, inputs: dict) -> dict[str, np.ndarray]:
    # A plain Python list has no dtype of its own and takes the signature's; an array keeps its
    # own, because a client would send it like that.
    expected = model.signature(signature).inputs
    return {
        name: value
        if isinstance(value, np.ndarray) or name not in expected
        else np.array(value, tf.as_dtype(expected[name].dtype).as_numpy_dtype)
        for name, value in inputs.items()
    }


def _mend(model: SavedModelSession, signature: str, inputs: dict, error: RequestError) -> str:
    if error.status == "FAILED_PRECONDITION" and "signature key" in error.message:
        names = ", ".join(name for name in sorted(model.signatures) if not name.startswith("__"))
        return f"The model has the signatures {names}. Ask for one of these."

    if "Could not find variable" in error.message or "uninitialized" in error.message:
        return (
            "The graph reads a variable that the session loader did not restore, so every server "
            "fails here. tf.saved_model.save with a Keras 3 object attached does this: save with "
            "keras.export.ExportArchive without track(); see docs/serving.md."
        )

    expected = ", ".join(
        f"{name} {tf.as_dtype(info.dtype).name} {_shape(info)}"
        for name, info in sorted(model.signature(signature).inputs.items())
    )
    received = ", ".join(
        f"{name} {np.asarray(value).dtype} {list(np.shape(value))}" for name, value in sorted(inputs.items())
    )
    return (
        f"Signature {signature or 'serving_default'} expects {expected}; received {received}. "
        "Send exactly these names, dtypes and ranks (-1 is any size)."
    )


def _shape(info) -> str:
    if info.tensor_shape.unknown_rank:
        return "[?]"
    return str([dim.size for dim in info.tensor_shape.dim])
