import pytest
from google.protobuf import text_format
from tensorflow_serving.config import model_server_config_pb2

from export.deployment.server_protos import (
    BatchingParameters,
    MonitoringConfig,
    batching_text,
    labels_of,
    models_text,
    monitoring_text,
)


def test_batching_parameters_end_with_the_largest_batch():
    parsed = text_format.Parse(batching_text([1, 8, 32], 4, 100), BatchingParameters())
    assert list(parsed.allowed_batch_sizes) == [1, 8, 32] and parsed.max_batch_size.value == 32
    assert parsed.num_batch_threads.value == 4 and parsed.max_enqueued_batches.value == 100
    assert parsed.HasField("batch_timeout_micros") and parsed.batch_timeout_micros.value == 0
    assert not parsed.pad_variable_length_inputs  # the server would fill masks with 1


def test_the_form_is_that_of_the_servers_own_examples():
    """Written as in TensorFlow Serving's documentation; fields that it does not have are refused."""
    text = "max_batch_size { value: 128 }\nbatch_timeout_micros { value: 0 }\nallowed_batch_sizes: 128\n"
    assert text_format.Parse(text, BatchingParameters()).max_batch_size.value == 128
    for wrong in ("max_batch_size: 128", "max_batch { value: 1 }"):
        with pytest.raises(text_format.ParseError):
            text_format.Parse(wrong, BatchingParameters())


def test_monitoring_is_where_prometheus_asks():
    config = text_format.Parse(monitoring_text(), MonitoringConfig()).prometheus_config
    assert config.enable and config.path == "/monitoring/prometheus/metrics"


def test_a_models_file_serves_the_versions_that_have_labels():
    text = models_text("sst2", "/models/sst2", {"stable": 3, "canary": 4})
    (model,) = text_format.Parse(text, model_server_config_pb2.ModelServerConfig()).model_config_list.config
    assert (model.name, model.base_path, model.model_platform) == ("sst2", "/models/sst2", "tensorflow")
    assert list(model.model_version_policy.specific.versions) == [3, 4]
    assert labels_of(text, "sst2", "here") == {"stable": 3, "canary": 4}
    with pytest.raises(ValueError, match="here has no model of the name 'mnli'"):
        labels_of(text, "mnli", "here")
    with pytest.raises(ValueError, match="here is not a ModelServerConfig as text"):
        labels_of("model_config_lists {}", "sst2", "here")
