"""The development server loads what any known server can run, whatever servers it was exported for."""

import pathlib

import pytest

from export.gate.op_gate import check_servable
from export.server.composition import Server, ServerOptions
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
