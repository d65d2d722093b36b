"""Replays the requests that an export brings along, so that the first user does not wait.

The first run of a signature prunes its graph and takes memory. The real server therefore runs the requests
of `assets.extra/tf_serving_warmup_requests`, a TFRecord file of `PredictionLog`, before a version becomes
available, and so does this one. A request that fails keeps the version from being served.
"""

import pathlib

import tensorflow as tf
from google.protobuf.message import DecodeError
from tensorflow_serving.apis import prediction_log_pb2

from kbert.input_pipelines.epochs import without_autotune

from ...folder_names import EXTRA_FOLDER, WARMUP_FILE
from ...gate.saved_model_session import RequestError
from ..answers.examples import classify, multi_inference, regress
from ..answers.predict import predict
from ..deadline import Deadline
from ..limits import Limits

MAX_RECORDS = 1000  # WarmupConsts::kMaxNumRecords of the real server
_METHODS = {
    "predict_log": predict,
    "classify_log": classify,
    "regress_log": regress,
    "multi_inference_log": multi_inference,
}


def replay(loaded, folder: pathlib.Path, limits: Limits) -> int:
    """Runs all warm-up requests of a version.

    Args:
        loaded: the `LoadedVersion`.
        folder: its SavedModel.
        limits: the bounds of the server; a request that breaks them would be refused later too.

    Returns:
        How many requests there were; 0 without the file.

    Raises:
        RequestError: a request fails, is of a kind that cannot be replayed, or is one too many.
        tf.errors.OpError: the file is damaged.
    """
    path = folder / EXTRA_FOLDER / WARMUP_FILE
    if not path.exists():
        return 0
    number = 0
    for record in without_autotune(tf.data.TFRecordDataset(str(path))).as_numpy_iterator():
        number += 1
        if number > MAX_RECORDS:
            raise RequestError(
                "INVALID_ARGUMENT",
                f"Number of warmup records exceeds the maximum ({MAX_RECORDS}) at {path}",
            )
        _run(loaded, _parsed(record, number, path), limits)
    return number


def _parsed(record: bytes, number: int, path: pathlib.Path):
    try:
        return prediction_log_pb2.PredictionLog.FromString(record)
    except DecodeError as error:
        raise RequestError(
            "INVALID_ARGUMENT", f"Failed to parse warmup record: record {number} from {path}"
        ) from error


def _run(loaded, log, limits: Limits) -> None:
    kind = log.WhichOneof("log_type")
    if kind is None:
        return  # as in the real server: an empty record asks nothing
    if kind not in _METHODS:
        raise RequestError("UNIMPLEMENTED", f"Unsupported log_type for warmup: {kind}")
    _METHODS[kind](loaded, getattr(log, kind).request, limits, Deadline())
