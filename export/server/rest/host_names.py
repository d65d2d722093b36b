"""Which names a server that listens on its own machine alone may be asked by.

A page from elsewhere can have its own domain name resolved to 127.0.0.1 ("DNS rebinding"); to the browser it
then asks its own server and may read the answers. Its requests carry that name in their Host header.
"""

import ipaddress
from collections.abc import Iterable

from ...gate.saved_model_session import RequestError


class HostNames:
    """The names that a server answers to.

    On an address of this machine alone these are "localhost", addresses, and `allowed`; else all names.

    Args:
        listening_on: the address, or the name, that the server listens on.
        allowed: more names, for example that of a proxy in front of the server.
    """

    def __init__(self, listening_on: str, allowed: Iterable[str] = ()):
        self._all = not (listening_on == "localhost" or _is_loopback(listening_on))
        self._allowed = {"localhost", *(name.lower() for name in allowed)}

    def check(self, headers: Iterable[tuple[bytes, bytes]]) -> None:
        """Raises RequestError, PERMISSION_DENIED, for a Host header with another name.

        Args:
            headers: (name in lower case, value) of each.
        """
        if self._all:
            return
        for name, value in headers:
            if name == b"host" and not self._is_known(value.decode("latin-1").strip().lower()):
                raise RequestError(
                    "PERMISSION_DENIED",
                    f"This server listens on its own machine alone, and was asked by the name {value!r}. "
                    "Ask it by localhost or by its address, or name that host with --allowed_hosts.",
                )

    def _is_known(self, host: str) -> bool:
        if host.startswith("["):
            return _is_address(host[1:].partition("]")[0])
        name = host.partition(":")[0]
        return not name or name in self._allowed or _is_address(name)


def _is_loopback(address: str) -> bool:
    return _is_address(address) and ipaddress.ip_address(address).is_loopback


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
