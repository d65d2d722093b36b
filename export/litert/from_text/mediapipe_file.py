"""A LiteRT file -> the same model as MediaPipe's TextClassifier and TextEmbedder take it."""

import io
import zipfile
from collections.abc import Mapping

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema

from .model_metadata import text_model_metadata

_METADATA = "TFLITE_METADATA"
_ALIGNMENT = 16  # of weights: `force_align` of Buffer.data in LiteRT's schema
_LONG_AGO = (1980, 1, 1, 0, 0, 0)  # a zip's first day, so that equal exports are equal files


def mediapipe_content(content: bytes, name: str, output: str, files: Mapping[str, bytes]) -> bytes:
    """A file of one signature -> with one output, metadata, and the files that the metadata names.

    Weights and ops stay as they are. LiteRT reads the result as it reads any file: what follows the model is
    not looked at.

    Args:
      content: the .tflite file, with one length.
      name: of the model, for the metadata.
      output: the name of the signature's output that stays; MediaPipe takes a model with one alone.
      files: name -> content: VOCABULARY_FILE, and LABELS_FILE where the output has labels.
    """
    model = schema.ModelT.InitFromPackedBuf(content, 0)
    (graph,), (signature,) = model.subgraphs, model.signatureDefs
    signature.outputs = [one for one in signature.outputs if one.name.decode() == output]
    (kept,) = signature.outputs
    graph.outputs = np.array([kept.tensorIndex], np.int32)
    names = {one.tensorIndex: one.name.decode() for one in signature.inputs}
    inputs = [names[index] for index in graph.inputs]
    metadata = text_model_metadata(name, inputs, output, has_labels=len(files) > 1)
    _add_metadata(model, metadata)
    return _with_files(_packed(model, len(content)), files)


def _add_metadata(model, metadata: bytes):
    entry = schema.MetadataT()
    entry.name, entry.buffer = _METADATA, len(model.buffers)
    model.metadata = [*(model.metadata or []), entry]
    buffer = schema.BufferT()
    buffer.data = np.frombuffer(metadata, np.uint8)
    model.buffers.append(buffer)


class _AlignedBuffer(schema.BufferT):
    """A buffer whose bytes lie where LiteRT may read them as numbers; the generated one aligns no bytes."""

    def __init__(self, buffer):
        super().__init__()
        self.data, self.offset, self.size = buffer.data, buffer.offset, buffer.size

    def Pack(self, builder):
        data = None if self.data is None else np.asarray(self.data, np.uint8)
        if data is not None:
            builder.StartVector(1, len(data), _ALIGNMENT)
            builder.head = builder.head - len(data)
            builder.Bytes[builder.head : builder.head + len(data)] = data.tobytes()
            place = builder.EndVector()
        schema.BufferStart(builder)
        if data is not None:
            schema.BufferAddData(builder, place)
        schema.BufferAddOffset(builder, self.offset)
        schema.BufferAddSize(builder, self.size)
        return schema.BufferEnd(builder)


def _packed(model, size: int) -> bytes:
    model.buffers = [_AlignedBuffer(buffer) for buffer in model.buffers]
    builder = flatbuffers.Builder(size + (1 << 16))  # growing would copy all weights, again and again
    builder.Finish(model.Pack(builder), file_identifier=b"TFL3")
    return bytes(builder.Output())


def _with_files(model: bytes, files: Mapping[str, bytes]) -> bytes:
    """The model with a zip behind it; MediaPipe reads the files in place, so they are not compressed."""
    whole = io.BytesIO(model)
    with zipfile.ZipFile(whole, "a", zipfile.ZIP_STORED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name, _LONG_AGO), content)
    return whole.getvalue()
