"""The development server loads what any known server can run, whatever servers it was exported for."""

import pathlib

import pytest
from tensorflow.core.protobuf import saved_model_pb2

from export.gate.op_gate import check_servable
from export.server.composition import Server, ServerOptions
from export.server.models.known_ops import check_known_ops
from export.server.models.model_settings import ModelSettings
from tests.export.server.asking import MODEL, Asked


def test_what_was_exported_for_the_newest_server_is_served(trimmer_dir):
    with pytest.raises(ValueError, match="RoundRobinTrim"):
        check_servable(trimmer_dir)  # not by the oldest one
    base_path = pathlib.Path(trimmer_dir).parent
    server = Server([ModelSettings(MODEL, str(base_path))], ServerOptions(port=0, rest_api_port=0))
    try:
        answer = Asked(server.rest_api_port).predict({"inputs": ["a b c"]})
        assert answer == (200, {"outputs": [["a", "b"]]})
    finally:
        assert server.stop()


def test_an_op_of_no_server_is_refused_without_a_flag_of_another_command(tmp_path):
    saved_model = saved_model_pb2.SavedModel()
    for op in ("MatMul", "NotYetInvented"):
        saved_model.meta_graphs.add().graph_def.node.add(name="n", op=op)
    (tmp_path / "saved_model.pb").write_bytes(saved_model.SerializeToString())
    with pytest.raises(ValueError) as refused:
        check_known_ops(tmp_path)
    message = str(refused.value)
    assert "1 of 2 ops that no known TensorFlow Serving has:\n  NotYetInvented: in graph" in message
    assert "Expected only ops of TensorFlow Serving 2.20 with TF-Text 2.20.0" in message
    assert "--min_server_version" not in message


def test_a_function_that_must_be_compiled_is_refused(tmp_path):
    saved_model = saved_model_pb2.SavedModel()
    function = saved_model.meta_graphs.add().graph_def.library.function.add()
    function.signature.name = "doubled"
    function.attr["_XlaMustCompile"].b = True
    (tmp_path / "saved_model.pb").write_bytes(saved_model.SerializeToString())
    with pytest.raises(ValueError, match="functions that XLA must compile: doubled"):
        check_known_ops(tmp_path)
