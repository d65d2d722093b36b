"""The server that is asked: that of the server's own tests."""

import pytest

from export.client.task_client import TaskClient
from tests.export.server.asking import MODEL


@pytest.fixture
def address(server):
    """API -> host:port."""
    return {"grpc": f"localhost:{server.port}", "rest": f"localhost:{server.rest_api_port}"}


@pytest.fixture(params=["grpc", "rest"])
def client(request, address):
    with TaskClient(address[request.param], MODEL, request.param) as client:
        yield client
