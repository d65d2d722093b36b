import re

import pytest
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

from export.gate.op_gate import check_servable, list_ops


def _write(folder, saved_model):
    (folder / "saved_model.pb").write_bytes(saved_model.SerializeToString())
    return str(folder)


def test_trimmer_is_refused_with_op_function_node_server_and_mend(trimmer_dir):
    assert all(place.startswith("function ") for place in list_ops(trimmer_dir)["TFText>RoundRobinTrim"])
    for oldest_in_use in (None, "2.12", "2.19.1"):
        with pytest.raises(ValueError) as error:
            check_servable(trimmer_dir, oldest_in_use)
        message = str(error.value)
        refused = r"  TFText>RoundRobinTrim: in function __inference_\S+, node \S*RoundRobinTrim\S*; "
        assert re.search(refused + "servers have it from 2.20 on\n", message)
        assert "Use core ops, or name a newer server by --min_server_version" in message
        assert "WhitespaceTokenize" not in message
    report = check_servable(trimmer_dir, "2.20")
    assert report["oldest_server"] == "2.20" and "TFText>RoundRobinTrim" in report["text_ops"]


def test_ops_of_every_meta_graph_are_seen_and_calls_by_name_are_not_ops(tmp_path):
    saved_model = saved_model_pb2.SavedModel()
    for tags, op in ([["serve"], "MatMul"], [["serve", "tpu"], "NotYetInvented"]):
        meta_graph = saved_model.meta_graphs.add()
        meta_graph.meta_info_def.tags.extend(tags)
        meta_graph.graph_def.node.add(name="n", op=op)
        meta_graph.graph_def.node.add(name="c", op="my_function")
        meta_graph.graph_def.library.function.add().signature.name = "my_function"
    folder = _write(tmp_path, saved_model)

    assert list_ops(folder) == {
        "MatMul": ["graph [serve]"],
        "NotYetInvented": ["graph [serve,tpu]"],
    }
    refused = r"1 of 2 ops .*\n  NotYetInvented: in graph \[serve,tpu\], node n; no known server has it\n"
    with pytest.raises(ValueError, match=refused):
        check_servable(folder)


def test_a_function_that_must_be_compiled_is_refused(tmp_path):
    class Doubling(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
        def __call__(self, x):
            return double(x)

    @tf.function(jit_compile=True)
    def double(x):
        return x + x

    module = Doubling()
    tf.saved_model.save(module, str(tmp_path), signatures=module.__call__)
    with pytest.raises(ValueError, match=r"XLA must compile: __inference_double_\d+\. A stock"):
        check_servable(str(tmp_path))
