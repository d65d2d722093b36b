"""Classify, Regress and MultiInference: `tf.train.Example`s in, classes with scores or a number out.

The server does not read the examples: a signature of these methods takes them as strings in its one
input `inputs`, and parses them in the graph.
"""

import functools

import numpy as np
import tensorflow as tf
from tensorflow_serving.apis import classification_pb2, inference_pb2, regression_pb2

from ...gate.saved_model_session import DEFAULT_SIGNATURE, RequestError
from ..deadline import Deadline
from ..limits import Limits
from .predict import fill_model_spec
from .tensor_protos import check_texts

_INPUT = "inputs"
_CLASSES, _SCORES, _REGRESSIONS = "classes", "scores", "outputs"


def classify(loaded, request, limits: Limits, deadline: Deadline):
    """Answers a Classify request; see `predict.predict`."""
    name = request.model_spec.signature_name or DEFAULT_SIGNATURE
    response = classification_pb2.ClassificationResponse()
    fill_model_spec(response.model_spec, request.model_spec, loaded.version)
    # Not called yet: errors of the signature come before errors of the input.
    texts = functools.partial(_serialized, request.input, limits)
    _classify(loaded, _signature(loaded, name), name, texts, deadline, response.result)
    return response


def regress(loaded, request, limits: Limits, deadline: Deadline):
    """Answers a Regress request; see `predict.predict`."""
    name = request.model_spec.signature_name or DEFAULT_SIGNATURE
    response = regression_pb2.RegressionResponse()
    fill_model_spec(response.model_spec, request.model_spec, loaded.version)
    texts = functools.partial(_serialized, request.input, limits)
    _regress(loaded, _signature(loaded, name), name, texts, deadline, response.result)
    return response


def multi_inference(loaded, request, limits: Limits, deadline: Deadline):
    """Answers several Classify and Regress requests about the same examples; see `predict.predict`."""
    if len({task.model_spec.name for task in request.tasks}) > 1:
        raise _invalid("All ModelSpecs in a MultiInferenceRequest must access the same model name.")
    names = [task.model_spec.signature_name or DEFAULT_SIGNATURE for task in request.tasks]
    for position, name in enumerate(names):
        if name in names[:position]:
            raise _invalid(f"Duplicate evaluation of signature: {name}")
        if name not in loaded.signatures:
            raise _invalid(f"Requested signature not found in model graph: {name}")
    response = inference_pb2.MultiInferenceResponse()
    texts = functools.partial(_serialized, request.input, limits)
    for task, name in zip(request.tasks, names, strict=True):
        result = response.results.add()
        fill_model_spec(result.model_spec, task.model_spec, loaded.version)
        if task.method_name == tf.saved_model.CLASSIFY_METHOD_NAME:
            into, fill = result.classification_result, _classify
        elif task.method_name == tf.saved_model.REGRESS_METHOD_NAME:
            into, fill = result.regression_result, _regress
        else:
            raise RequestError("UNIMPLEMENTED", f"Unsupported signature method_name: {task.method_name}")
        fill(loaded, loaded.signatures[name], name, texts, deadline, into)
    return response


def _classify(loaded, signature, name, texts, deadline, result) -> None:
    _check_input(signature, "classification")
    if len(signature.outputs) not in (1, 2):
        raise _invalid(f"Expected one or two output Tensors, found {len(signature.outputs)}")
    wanted = [output for output in (_CLASSES, _SCORES) if output in signature.outputs]
    if not wanted:
        raise _invalid(
            f'Expected classification signature outputs to contain at least one of "{_CLASSES}" or '
            f'"{_SCORES}". Signature was: {signature}'
        )
    examples = texts()
    outputs = loaded.run("Classify", name, {_INPUT: examples}, deadline, wanted)
    _check_classes(outputs, len(examples))
    for row in range(len(examples)):
        classes = result.classifications.add().classes
        for column in range(next(iter(outputs.values())).shape[1]):
            one = classes.add()
            if _CLASSES in outputs:
                one.label = outputs[_CLASSES][row, column].decode("utf-8", "replace")
            if _SCORES in outputs:
                one.score = outputs[_SCORES][row, column]


def _check_classes(outputs, batch_size: int) -> None:
    kinds = {_CLASSES: (tf.string, "DT_STRING"), _SCORES: (tf.float32, "DT_FLOAT")}
    for name, array in outputs.items():
        dtype, called = kinds[name]
        if array.ndim != 2:
            shape = ",".join(map(str, array.shape))
            raise _invalid(f"Expected Tensor shape: [batch_size num_classes] but got [{shape}]")
        if tf.as_dtype(array.dtype) != dtype:
            got = tf.as_dtype(array.dtype).as_datatype_enum
            raise _invalid(f"Expected {name} Tensor of {called}. Got: {got}")
        if len(array) != batch_size:
            raise _invalid(f"Expected {name} output batch size of {batch_size}. Got: {len(array)}")
    sizes = [array.shape[1] for array in outputs.values()]
    if len(set(sizes)) > 1:
        raise _invalid(f"Tensors class and score should match in dim_size(1). Got {sizes[0]} vs. {sizes[1]}")


def _regress(loaded, signature, name, texts, deadline, result) -> None:
    _check_input(signature, "regression")
    if len(signature.outputs) != 1:
        raise _invalid("Expected one output Tensor.")
    if _REGRESSIONS not in signature.outputs:
        raise _invalid(f"No regression outputs found in SignatureDef: {signature}")
    examples = texts()
    values = loaded.run("Regress", name, {_INPUT: examples}, deadline, [_REGRESSIONS])[_REGRESSIONS]
    if not (values.ndim == 1 or (values.ndim == 2 and values.shape[1] == 1)):
        shape = ",".join(map(str, values.shape))
        raise _invalid(
            f"Expected output Tensor shape to be either [batch_size] or [batch_size, 1] but got [{shape}]"
        )
    if len(values) != len(examples):
        raise _invalid(f"Input batch size did not match output batch size: {len(examples)} vs. {len(values)}")
    if values.dtype != np.float32:
        raise _invalid(f"Expected output Tensor of DT_FLOAT.  Got: {values.dtype}")
    for value in values.ravel().tolist():
        result.regressions.add().value = value


def _signature(loaded, name: str):
    if name not in loaded.signatures:
        raise _invalid(f"No signature was found with the name: {name}")
    return loaded.signatures[name]


def _check_input(signature, method: str) -> None:
    if len(signature.inputs) != 1:
        raise _invalid("Expected one input Tensor.")
    if _INPUT not in signature.inputs:
        raise _invalid(f"No {method} inputs found in SignatureDef: {signature}")


def _serialized(sent, limits: Limits) -> np.ndarray:
    """Returns the examples as strings [batch]; a context's features come first, as in the real server."""
    kind = sent.WhichOneof("kind")
    context = b""
    if kind == "example_list_with_context":
        context = sent.example_list_with_context.context.SerializeToString()
    examples = getattr(sent, kind).examples if kind else []
    if not examples:
        raise _invalid("Input is empty.")
    if len(examples) * len(context) > limits.max_message_bytes:
        raise _invalid(f"A context of {len(context)} bytes for {len(examples)} examples is too much.")
    texts = np.empty(len(examples), object)
    texts[:] = [context + example.SerializeToString() for example in examples]
    check_texts(_INPUT, texts, limits)
    return texts


def _invalid(message: str) -> RequestError:
    return RequestError("INVALID_ARGUMENT", message)
