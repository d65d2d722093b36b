"""Writes features of texts to a file: JSON lines (as the original does), a NumPy archive, or TFRecords.

Features are written text by text to a temporary file, which is renamed when it is complete.
"""

import contextlib
import json
import shutil
import tempfile
import zipfile
from typing import Any

import numpy as np

from kbert.files.compression import find_opener
from kbert.files.whole_file import final_name, whole_file
from kbert.late_tensorflow import tf


@contextlib.contextmanager
def feature_file(path, format: str, extractor):
    """A file of features. It appears only when the block has ended without an error.

    Args:
      path: the file; JSON lines are compressed as its name says.
      format: jsonl, npz or tfrecord.
      extractor: the `FeatureExtractor` whose features are written.

    Yields:
      A function that takes the index of a text in the input, from 0, and its `TextFeatures`.
    """
    writer_class: Any = {"jsonl": _JsonLines, "npz": _NumpyArchive, "tfrecord": _Records}[format]
    with whole_file(path) as aside:
        writer = writer_class(aside, extractor)
        try:
            yield writer.write
            writer.close()
        finally:
            writer.discard()


class _JsonLines:
    """One JSON object per line for each text.

    Without pooling and combination the format is that of the original extract_features.py: `linex_index`, and
    `features` with, for each token, `token` and `layers`; each layer has `index` and `values`, rounded to 6
    decimals. Combined layers have `values` instead of `layers`. A pooled text has its `layers` or `values`
    instead of `features`.
    """

    def __init__(self, path, extractor):
        opener = find_opener(final_name(str(path)))
        self._file = opener(path, "wt", encoding="utf-8", newline="\n")
        self._extractor = extractor

    def write(self, index, features):
        if self._extractor.pooling != "none":
            content = self._layers(features.values)
        else:
            content = {
                "features": [
                    {"token": token} | self._layers(values)
                    for token, values in zip(features.tokens, features.values, strict=True)
                ]
            }
        # As in the original: ASCII, other characters escaped.
        self._file.write(json.dumps({"linex_index": index} | content, allow_nan=False) + "\n")

    def _layers(self, values):
        if self._extractor.combine != "none":
            return {"values": _rounded(values)}
        layers = zip(self._extractor.layers, values, strict=True)
        return {"layers": [{"index": layer, "values": _rounded(row)} for layer, row in layers]}

    def close(self):
        self._file.close()

    discard = close


def _rounded(values):
    return [round(float(value), 6) for value in values]


class _NumpyArchive:
    """A .npz file for `numpy.load`.

    `values` is float32, of shape (texts, ...) for pooled texts and (all tokens, ...) otherwise. Without
    pooling there are also `input_ids` (all tokens) and `row_splits` (texts + 1): text i has the tokens
    row_splits[i] to row_splits[i + 1] - 1. `layers` holds the layers in order.
    """

    def __init__(self, path, extractor):
        self._path = path
        self._extractor = extractor
        # A file without a name: the system removes it even if the process is killed.
        self._raw = tempfile.TemporaryFile(dir=path.parent)
        self._row_shape = None
        self._rows = 0
        self._input_ids = []
        self._row_splits = [0]

    def write(self, index, features):
        values = features.values[None] if self._extractor.pooling != "none" else features.values
        self._raw.write(np.ascontiguousarray(values, "<f4"))
        self._row_shape = values.shape[1:]
        self._rows += len(values)
        self._input_ids.append(features.input_ids.astype("<i4"))
        self._row_splits.append(self._row_splits[-1] + len(features.input_ids))

    def close(self):
        arrays = {"layers": np.array(self._extractor.layers, "<i4")}
        if self._extractor.pooling == "none":
            arrays["input_ids"] = np.concatenate([np.zeros(0, "<i4"), *self._input_ids])
            arrays["row_splits"] = np.array(self._row_splits, "<i8")
        with zipfile.ZipFile(self._path, "w", allowZip64=True) as archive:
            for name, array in arrays.items():
                with archive.open(f"{name}.npy", "w") as entry:
                    np.lib.format.write_array(entry, array)
            # Only now is the number of rows known, which the header contains.
            with archive.open("values.npy", "w", force_zip64=True) as entry:
                shape = (self._rows, *(self._row_shape or ()))
                header = {"descr": "<f4", "fortran_order": False, "shape": shape}
                np.lib.format.write_array_header_2_0(entry, header)
                self._raw.seek(0)
                shutil.copyfileobj(self._raw, entry, 1 << 20)

    def discard(self):
        self._raw.close()


class _Records:
    """One tf.train.Example per text: `linex_index`, `input_ids`, `values` in row-major order, `shape`."""

    def __init__(self, path, extractor):
        self._writer = tf.io.TFRecordWriter(str(path))

    def write(self, index, features):
        example = tf.train.Example()
        feature = example.features.feature
        feature["linex_index"].int64_list.value.append(index)
        feature["input_ids"].int64_list.value.extend(features.input_ids.tolist())
        feature["values"].float_list.value.extend(features.values.ravel().tolist())
        feature["shape"].int64_list.value.extend(features.values.shape)
        self._writer.write(example.SerializeToString())

    def close(self):
        self._writer.close()

    discard = close
