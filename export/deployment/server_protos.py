"""The settings files of a server, as text protos.

`ModelServerConfig` is in pip's tensorflow-serving-api. `BatchingParameters` and `MonitoringConfig` are not,
so both are described here: the fields that kbert writes, as TensorFlow Serving numbers them
(servables/tensorflow/session_bundle_config.proto, config/monitoring_config.proto). What is written is a
message that was printed, so it parses; what is read goes through the same messages, which refuse unknown
fields.
"""

from collections.abc import Mapping

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format, wrappers_pb2
from tensorflow_serving.config import model_server_config_pb2

_INT64, _BOOL, _STRING, _MESSAGE = 3, 8, 9, 11  # FieldDescriptorProto.Type
_ONE, _MANY = 1, 3  # FieldDescriptorProto.Label
_WRAPPED_INT64, _WRAPPED_STRING = ".google.protobuf.Int64Value", ".google.protobuf.StringValue"
_PACKAGE = "kbert.tensorflow_serving"
# message -> {field: (number, label, type, name of the type)}
_FIELDS: dict[str, dict[str, tuple]] = {
    "BatchingParameters": {
        "max_batch_size": (1, _ONE, _MESSAGE, _WRAPPED_INT64),
        "batch_timeout_micros": (2, _ONE, _MESSAGE, _WRAPPED_INT64),
        "max_enqueued_batches": (3, _ONE, _MESSAGE, _WRAPPED_INT64),
        "num_batch_threads": (4, _ONE, _MESSAGE, _WRAPPED_INT64),
        "thread_pool_name": (5, _ONE, _MESSAGE, _WRAPPED_STRING),
        "allowed_batch_sizes": (6, _MANY, _INT64, None),
        "pad_variable_length_inputs": (7, _ONE, _BOOL, None),
    },
    "PrometheusConfig": {"enable": (1, _ONE, _BOOL, None), "path": (2, _ONE, _STRING, None)},
    "MonitoringConfig": {"prometheus_config": (1, _ONE, _MESSAGE, f".{_PACKAGE}.PrometheusConfig")},
}


def _message_class(name: str):
    file = descriptor_pb2.FileDescriptorProto(
        name="kbert_server_settings.proto",
        package=_PACKAGE,
        syntax="proto3",
        dependency=[wrappers_pb2.DESCRIPTOR.name],
    )
    for message, fields in _FIELDS.items():
        described = file.message_type.add(name=message)
        for field, (number, label, kind, type_name) in fields.items():
            described.field.add(name=field, number=number, label=label, type=kind, type_name=type_name)
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(wrappers_pb2.DESCRIPTOR.serialized_pb)
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{name}"))


BatchingParameters = _message_class("BatchingParameters")
MonitoringConfig = _message_class("MonitoringConfig")


def batching_text(batch_sizes, num_batch_threads: int, max_enqueued_batches: int | None) -> str:
    """batching_params.pbtxt. The last of `batch_sizes`, which rise, is the largest batch; no batch waits."""
    parameters = BatchingParameters(allowed_batch_sizes=batch_sizes)
    parameters.max_batch_size.value = batch_sizes[-1]
    parameters.batch_timeout_micros.value = 0
    parameters.num_batch_threads.value = num_batch_threads
    if max_enqueued_batches is not None:
        parameters.max_enqueued_batches.value = max_enqueued_batches
    return text_format.MessageToString(parameters)


def monitoring_text() -> str:
    """monitoring.config: Prometheus, at the path that it asks by default."""
    config = MonitoringConfig()
    config.prometheus_config.enable = True
    config.prometheus_config.path = "/monitoring/prometheus/metrics"
    return text_format.MessageToString(config)


def models_text(model_name: str, base_path: str, labels: Mapping[str, int]) -> str:
    """models.config: one model, the versions that have labels, and the labels."""
    config = model_server_config_pb2.ModelServerConfig()
    model = config.model_config_list.config.add(
        name=model_name, base_path=base_path, model_platform="tensorflow"
    )
    model.model_version_policy.specific.versions.extend(sorted(set(labels.values())))
    for label, version in sorted(labels.items()):
        model.version_labels[label] = version
    return text_format.MessageToString(config)


def labels_of(text: str, model_name: str, where) -> dict[str, int]:
    """The version labels of a model in a models.config.

    Raises:
      ValueError: naming `where`, for what is no `ModelServerConfig`, or one without the model.
    """
    try:
        config = text_format.Parse(text, model_server_config_pb2.ModelServerConfig())
    except text_format.ParseError as error:
        raise ValueError(
            f"{where} is not a ModelServerConfig as text ({error}); mend or remove it."
        ) from None
    for model in config.model_config_list.config:
        if model.name == model_name:
            return dict(model.version_labels)
    raise ValueError(f"{where} has no model of the name {model_name!r}; mend or remove it.")
