"""Ports for servers and workers of tests."""

import contextlib
import socket


def free_ports(number: int) -> list[int]:
    """Ports of this machine that nobody listens on."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("localhost", 0))) for _ in range(number)]
        return [each.getsockname()[1] for each in sockets]
