"""The messages of TensorFlow Serving that a client needs, without TensorFlow.

`tensorflow-serving-api` brings them too, but imports TensorFlow: seconds and hundreds of MB in a program that
only sends texts. What travels is told by the numbers and types of the fields alone, so these have the same
bytes; a test compares them. They live in a pool of their own and under a package of their own, so that
both may be imported into one process. Fields that no client here reads or writes are left out.

Sources: tensorflow/core/framework/{tensor,tensor_shape}.proto, tensorflow/core/protobuf/meta_graph.proto,
tensorflow_serving/apis/{model,predict,get_model_metadata,get_model_status}.proto.
"""

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_PACKAGE = "kbert.serving"
_FIELD = descriptor_pb2.FieldDescriptorProto
# A field is "number name type"; a type that ends in * is repeated; map<T> is a map from string to T. An enum
# is an int32 here: the same bytes. Int64Value and Any are written out, so that this pool needs no other file.
_MESSAGES = {
    "Dim": "1 size int64",
    "TensorShapeProto": "2 dim Dim*; 3 unknown_rank bool",
    "TensorProto": (
        "1 dtype int32; 2 tensor_shape TensorShapeProto; 3 version_number int32; 4 tensor_content bytes; "
        "5 float_val float*; 6 double_val double*; 7 int_val int32*; 8 string_val bytes*; "
        "10 int64_val int64*; 11 bool_val bool*; 13 half_val int32*; "
        "16 uint32_val uint32*; 17 uint64_val uint64*"
    ),
    "Int64Value": "1 value int64",
    "ModelSpec": "1 name string; 2 version Int64Value; 3 signature_name string; 4 version_label string",
    "PredictRequest": "1 model_spec ModelSpec; 2 inputs map<TensorProto>; 3 output_filter string*",
    "PredictResponse": "2 model_spec ModelSpec; 1 outputs map<TensorProto>",
    "TensorInfo": "1 name string; 2 dtype int32; 3 tensor_shape TensorShapeProto",
    "SignatureDef": "1 inputs map<TensorInfo>; 2 outputs map<TensorInfo>; 3 method_name string",
    "SignatureDefMap": "1 signature_def map<SignatureDef>",
    "Any": "1 type_url string; 2 value bytes",
    "GetModelMetadataRequest": "1 model_spec ModelSpec; 2 metadata_field string*",
    "GetModelMetadataResponse": "1 model_spec ModelSpec; 2 metadata map<Any>",
}


def _file() -> descriptor_pb2.FileDescriptorProto:
    file = descriptor_pb2.FileDescriptorProto(name="kbert/serving.proto", package=_PACKAGE, syntax="proto3")
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for field in fields.split("; "):
            number, field_name, kind = field.split(" ")
            _add_field(message, int(number), field_name, kind)
    return file


def _add_field(message, number: int, name: str, kind: str) -> None:
    field = message.field.add(name=name, number=number, label=_FIELD.LABEL_OPTIONAL)
    if kind.startswith("map<"):
        entry = _map_entry(message, name, kind[4:-1])
        field.type, field.label = _FIELD.TYPE_MESSAGE, _FIELD.LABEL_REPEATED
        field.type_name = f".{_PACKAGE}.{message.name}.{entry}"
        return
    if kind.endswith("*"):
        field.label, kind = _FIELD.LABEL_REPEATED, kind[:-1]
    if kind in _MESSAGES:
        field.type, field.type_name = _FIELD.TYPE_MESSAGE, f".{_PACKAGE}.{kind}"
    else:
        field.type = getattr(_FIELD, f"TYPE_{kind.upper()}")


def _map_entry(message, field_name: str, kind: str) -> str:
    """Adds the message of a map's entries, as protoc does, and returns its name."""
    name = "".join(part.capitalize() for part in field_name.split("_")) + "Entry"
    entry = message.nested_type.add(name=name)
    entry.options.map_entry = True
    _add_field(entry, 1, "key", "string")
    _add_field(entry, 2, "value", kind)
    return name


_pool = descriptor_pool.DescriptorPool()
_pool.Add(_file())


def _class(name: str):
    return message_factory.GetMessageClass(_pool.FindMessageTypeByName(f"{_PACKAGE}.{name}"))


TensorProto = _class("TensorProto")
ModelSpec = _class("ModelSpec")
PredictRequest = _class("PredictRequest")
PredictResponse = _class("PredictResponse")
SignatureDefMap = _class("SignatureDefMap")
GetModelMetadataRequest = _class("GetModelMetadataRequest")
GetModelMetadataResponse = _class("GetModelMetadataResponse")
