"""A LiteRT file -> the same model as MediaPipe's TextClassifier and TextEmbedder take it.

By its metadata MediaPipe Tasks knows the tensors, the vocabulary and the labels. The numbers below are those
of the tables' fields in MediaPipe's schema, metadata_schema.fbs (file identifier M001), in the order in which
it declares them; a union counts as two fields, its kind and itself.
"""

import io
import zipfile
from collections.abc import Mapping

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema

from kbert.tokenization.vocabulary import VOCABULARY_FILE

from ...folder_names import LABELS_FILE
from ..flatbuffer import add_buffer, read_model, write_model

IDENTIFIER = b"M001"
# The oldest parser that knows all that is said here, BertTokenizerOptions being the newest of it.
_MIN_PARSER_VERSION = "1.1.0"
# MediaPipe finds the inputs by these names alone: other names are an error, exchanged ones a wrong answer.
INPUT_NAMES = {"input_ids": "ids", "input_mask": "mask", "segment_ids": "segment_ids"}
_LONG_AGO = (1980, 1, 1, 0, 0, 0)  # a zip's first day, so that equal exports are equal files

_FILE_NAME, _FILE_TYPE = 0, 2  # AssociatedFile
_TENSOR_AXIS_LABELS, _VOCABULARY = 2, 5  # AssociatedFileType
_TENSOR_NAME, _TENSOR_FILES = 0, 6  # TensorMetadata
_VOCAB_FILE = 0  # BertTokenizerOptions
_OPTIONS_KIND, _OPTIONS, _BERT_TOKENIZER = 0, 1, 4  # ProcessUnit, and the kind of its options
_INPUTS, _OUTPUTS, _INPUT_UNITS = 2, 3, 5  # SubGraphMetadata
_MODEL_NAME, _SUBGRAPHS, _PARSER_VERSION = 0, 3, 7  # ModelMetadata


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
    model = read_model(content)
    (graph,), (signature,) = model.subgraphs, model.signatureDefs
    signature.outputs = [tensor for tensor in signature.outputs if tensor.name.decode() == output]
    graph.outputs = np.array([tensor.tensorIndex for tensor in signature.outputs], np.int32)
    names = {tensor.tensorIndex: tensor.name.decode() for tensor in signature.inputs}
    metadata = model_metadata(name, [names[index] for index in graph.inputs], output, LABELS_FILE in files)
    entry = schema.MetadataT("TFLITE_METADATA", add_buffer(model, metadata))
    model.metadata = [*(model.metadata or []), entry]
    # A zip behind the model. MediaPipe reads the files in place, so they are not compressed.
    whole = io.BytesIO(write_model(model, len(content)))
    with zipfile.ZipFile(whole, "a", zipfile.ZIP_STORED) as archive:
        for file_name, file_content in files.items():
            archive.writestr(zipfile.ZipInfo(file_name, _LONG_AGO), file_content)
    return whole.getvalue()


def model_metadata(name: str, inputs: list[str], output: str, has_labels: bool) -> bytes:
    """The metadata of a BERT model with one output, as a flatbuffer.

    Args:
      name: of the model.
      inputs: ENCODER_INPUTS, in the order of the model's input tensors.
      output: the name of the output.
      has_labels: whether the numbers of the output stand for the lines of LABELS_FILE.
    """
    labels = {_FILE_NAME: LABELS_FILE, _FILE_TYPE: _TENSOR_AXIS_LABELS}
    vocabulary = {_FILE_NAME: VOCABULARY_FILE, _FILE_TYPE: _VOCABULARY}
    tokenizer = {_OPTIONS_KIND: _BERT_TOKENIZER, _OPTIONS: {_VOCAB_FILE: [vocabulary]}}
    graph = {
        _INPUTS: [{_TENSOR_NAME: INPUT_NAMES[tensor]} for tensor in inputs],
        _OUTPUTS: [{_TENSOR_NAME: output} | ({_TENSOR_FILES: [labels]} if has_labels else {})],
        _INPUT_UNITS: [tokenizer],
    }
    model = {_MODEL_NAME: name, _SUBGRAPHS: [graph], _PARSER_VERSION: _MIN_PARSER_VERSION}
    builder = flatbuffers.Builder(1024)
    builder.Finish(_written(builder, model), file_identifier=IDENTIFIER)
    return bytes(builder.Output())


def _written(builder, value) -> int:
    """The offset of a text, a list of tables, or a table (field -> text, list, table or small number)."""
    if isinstance(value, str):
        return builder.CreateString(value)
    if isinstance(value, list):
        offsets = [_written(builder, item) for item in value]
        builder.StartVector(4, len(offsets), 4)
        for offset in reversed(offsets):  # a flatbuffer is written from its end
            builder.PrependUOffsetTRelative(offset)
        return builder.EndVector()
    offsets = {field: _written(builder, item) for field, item in value.items() if not isinstance(item, int)}
    builder.StartObject(max(value) + 1)
    for field, item in value.items():
        if isinstance(item, int):
            builder.PrependUint8Slot(field, item, 0)
        else:
            builder.PrependUOffsetTRelativeSlot(field, offsets[field], 0)
    return builder.EndObject()
