"""The body of a REST classify or regress request: JSON objects to `tf.train.Example`s.

`{"signature_name": ..., "context": {...}, "examples": [{"name": value or list, ...}, ...]}`. Strings become
`bytes_list`, integers and booleans `int64_list`, other numbers `float_list`. The error texts are the real
server's own (util/json_tensor.cc).
"""

from .json_document import check_name, invalid, is_bytes, json_type, parse_body, read_bytes, shown

_KINDS = {"bytes_list": "bytes", "int64_list": "int64", "float_list": "float"}


def read_examples(body: bytes, request) -> None:
    """Fills signature name, context and examples of a `ClassificationRequest` or `RegressionRequest`.

    Raises:
        RequestError: `INVALID_ARGUMENT`.
    """
    document = parse_body(body)
    if "signature_name" in document:
        request.model_spec.signature_name = document["signature_name"]
    rows = document.get("examples")
    if "examples" not in document:
        raise invalid(
            f"JSON Value: {shown(document)} When method is classify, key 'examples' is expected and was "
            "not found"
        )
    if not isinstance(rows, list):
        raise invalid(f"JSON Value: {shown(document)} Expecting 'examples' value to be an list/array")
    if not rows:
        raise invalid(f"JSON Value: {shown(document)} 'examples' value is an empty array")
    if "context" in document:
        into = request.input.example_list_with_context
        _fill_example(document["context"], into.context)
    else:
        into = request.input.example_list
    for row in rows:
        _fill_example(row, into.examples.add())


def _fill_example(value, example) -> None:
    if not isinstance(value, dict):
        raise invalid(f"Example must be JSON object but got JSON {json_type(value)}")
    for name, content in value.items():
        check_name(name)
        feature = example.features.feature[name]
        for element in content if isinstance(content, list) else [content]:
            _add_value(element, name, feature)


def _add_value(value, name: str, feature) -> None:
    kind = _kind(value, name)
    present = feature.WhichOneof("kind")
    if present not in (None, kind):
        raise invalid(f"Unexpected element type in feature: {name} expecting type: {_KINDS[present]}")
    if kind == "bytes_list":
        feature.bytes_list.value.append(read_bytes(value))
    elif kind == "float_list":
        feature.float_list.value.append(value)
    elif -(2**63) <= value < 2**63:
        feature.int64_list.value.append(int(value))
    else:
        raise invalid(f"Feature: {name} has uint64_t element. Only int64_t is supported.")


def _kind(value, name: str) -> str:
    if isinstance(value, str) or is_bytes(value):
        return "bytes_list"
    if isinstance(value, int):  # booleans too
        return "int64_list"
    if isinstance(value, float):
        return "float_list"
    raise invalid(f"Feature: {name} has element with unexpected JSON type: {json_type(value)}")
