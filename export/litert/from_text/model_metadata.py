"""The metadata by which MediaPipe Tasks knows the tensors, the vocabulary and the labels of a file.

The numbers below are those of the tables' fields in MediaPipe's schema, metadata_schema.fbs (file identifier
M001), in the order in which it declares them; a union counts as two fields, its kind and itself.
"""

import flatbuffers

from ...folder_names import VOCABULARY_FILE
from ...labels_file import LABELS_FILE

IDENTIFIER = b"M001"
# The oldest parser that knows all that is said here, BertTokenizerOptions being the newest of it.
_MIN_PARSER_VERSION = "1.1.0"
# MediaPipe finds the inputs by these names alone: other names are an error, exchanged ones a wrong answer.
INPUT_NAMES = {"input_ids": "ids", "input_mask": "mask", "segment_ids": "segment_ids"}

_FILE_NAME, _FILE_TYPE = 0, 2  # AssociatedFile
_TENSOR_AXIS_LABELS, _VOCABULARY = 2, 5  # AssociatedFileType
_TENSOR_NAME, _TENSOR_FILES = 0, 6  # TensorMetadata
_VOCAB_FILE = 0  # BertTokenizerOptions
_OPTIONS_KIND, _OPTIONS, _BERT_TOKENIZER = 0, 1, 4  # ProcessUnit, and the kind of its options
_INPUTS, _OUTPUTS, _INPUT_UNITS = 2, 3, 5  # SubGraphMetadata
_MODEL_NAME, _SUBGRAPHS, _PARSER_VERSION = 0, 3, 7  # ModelMetadata


def text_model_metadata(name: str, inputs: list[str], output: str, has_labels: bool) -> bytes:
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
        _INPUTS: [{_TENSOR_NAME: INPUT_NAMES[one]} for one in inputs],
        _OUTPUTS: [{_TENSOR_NAME: output} | ({_TENSOR_FILES: [labels]} if has_labels else {})],
        _INPUT_UNITS: [tokenizer],
    }
    model = {_MODEL_NAME: name, _SUBGRAPHS: [graph], _PARSER_VERSION: _MIN_PARSER_VERSION}
    builder = flatbuffers.Builder(1024)
    builder.Finish(_written(builder, model), file_identifier=IDENTIFIER)
    return bytes(builder.Output())


def _written(builder, value) -> int:
    """Writes a text, a list of tables, or a table (field -> text, list, table or small number): its place."""
    if isinstance(value, str):
        return builder.CreateString(value)
    if isinstance(value, list):
        places = [_written(builder, one) for one in value]
        builder.StartVector(4, len(places), 4)
        for place in reversed(places):  # a flatbuffer is written from its end
            builder.PrependUOffsetTRelative(place)
        return builder.EndVector()
    places = {field: _written(builder, one) for field, one in value.items() if not isinstance(one, int)}
    builder.StartObject(max(value) + 1)
    for field, one in value.items():
        if isinstance(one, int):
            builder.PrependUint8Slot(field, one, 0)
        else:
            builder.PrependUOffsetTRelativeSlot(field, places[field], 0)
    return builder.EndObject()
