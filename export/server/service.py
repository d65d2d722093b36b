"""What both APIs do around every request: count it, bound it, give every error its words."""

import contextlib
import time
import traceback

from absl import logging

from ..gate.saved_model_session import RequestError
from .admission import Admission
from .limits import Limits
from .metrics import Metrics
from .models.served_models import ServedModels


class Service:
    """Holds what the two APIs share.

    Attributes:
        models: the models that answer.
        limits: what is accepted.
        admission: counts the requests inside.
        metrics: what was answered.
    """

    def __init__(self, models: ServedModels, limits: Limits, metrics: Metrics):
        self.models = models
        self.limits = limits
        self.metrics = metrics
        self.admission = Admission(limits.max_pending, limits.max_pending_bytes)
        metrics.watch_pending(lambda: self.admission.pending)

    @contextlib.contextmanager
    def request(self, api: str, entrypoint: str, model_name: str):
        """Counts one request. An error inside that is not a `RequestError` becomes one, with status INTERNAL.

        Args:
            api: the method, for example Predict.
            entrypoint: GRPC or REST.
            model_name: the model that is asked for.
        """
        began, status = time.perf_counter(), "OK"
        try:
            yield
        except RequestError as error:
            status = error.status
            raise
        except Exception as error:  # a fault of this server: the client must not wait, nor read Python's text
            status = "INTERNAL"
            logging.error("%s %s: %s", entrypoint, api, traceback.format_exc())
            raise RequestError(
                "INTERNAL", "An error inside the development server; its log has more."
            ) from error
        finally:
            self.metrics.answered(model_name, api, entrypoint, status, time.perf_counter() - began)
