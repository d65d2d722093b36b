"""What Vertex AI tells a container by variables.

Reference: https://cloud.google.com/vertex-ai/docs/predictions/custom-container-requirements
"""

import os
from typing import NamedTuple

_PORT, _HEALTH, _PREDICT = "AIP_HTTP_PORT", "AIP_HEALTH_ROUTE", "AIP_PREDICT_ROUTE"


class VertexRoutes(NamedTuple):
    """The REST port, the path of health checks, the path of requests; None where it says nothing."""

    port: int | None = None
    health: str | None = None
    predict: str | None = None

    @classmethod
    def from_environment(cls) -> "VertexRoutes":
        """Those of the variables.

        Raises:
          ValueError: one of them is no port, or no path.
        """
        port = os.environ.get(_PORT) or None
        if port is not None and not (port.isdecimal() and 0 < int(port) < 1 << 16):
            raise ValueError(f"{_PORT}={port[:40]!r} is no port; expected a number from 1 to 65535.")
        return cls(None if port is None else int(port), _path(_HEALTH), _path(_PREDICT))


def _path(variable: str) -> str | None:
    path = os.environ.get(variable) or None
    if path is not None and (path[0] != "/" or "{" in path):
        raise ValueError(f"{variable}={path[:100]!r} is no path; expected one that begins with a slash.")
    return path and (path.rstrip("/") or "/")
