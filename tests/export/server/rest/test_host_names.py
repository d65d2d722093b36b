"""Names are checked where only this machine can ask, and there only."""

import pytest

from export.gate.saved_model_session import RequestError
from export.server.rest.host_names import HostNames


def headers(host):
    return [(b"accept", b"*/*"), (b"host", host.encode())]


@pytest.mark.parametrize("listening_on", ["0.0.0.0", "::", "10.1.2.3", "bert.example"])
def test_a_server_for_other_machines_answers_to_every_name(listening_on):
    HostNames(listening_on).check(headers("any.example"))


@pytest.mark.parametrize("listening_on", ["127.0.0.1", "127.0.1.1", "::1", "localhost"])
def test_a_server_for_this_machine_answers_to_its_own_names_and_those_allowed(listening_on):
    names = HostNames(listening_on, ["Proxy.example"])
    for host in ("localhost", "127.0.0.1:8501", "[::1]:8501", "192.168.0.4", "proxy.example:80"):
        names.check(headers(host))
    names.check([(b"accept", b"*/*")])  # HTTP/1.0 needs no Host
    for host in ("proxy.example.evil", "other.example:8501", "localhost.example"):
        with pytest.raises(RequestError, match="--allowed_hosts") as caught:
            names.check(headers(host))
        assert caught.value.status == "PERMISSION_DENIED"
