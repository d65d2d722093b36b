"""All models of a server, found by the model spec of a request."""

import threading
from collections.abc import Callable, Set

from absl import logging

from ...gate.saved_model_session import RequestError
from .loaded_version import LoadedVersion
from .model_settings import ModelSettings
from .served_model import PreparedVersions, ServedModel, VersionStatus


class ServedModels:
    """Holds the models, looks for new versions, and takes a new configuration while it runs.

    Args:
        settings: the models to begin with.
        load: `(name, version, folder) -> LoadedVersion`, warmed up.
        poll_seconds: how often to look for new versions.

    Raises:
        ValueError: a model has no version that can be served, or a label points to none.
    """

    def __init__(self, settings: list[ModelSettings], load: Callable, poll_seconds: float = 1.0):
        self._load = load
        self._models = {one.name: ServedModel(one, load) for one in settings}
        for one in settings:
            _check_labels(one, self._models[one.name].served_versions)
        self._changing = threading.Lock()  # held while models or their versions change
        self._stopping = threading.Event()
        self._poller = threading.Thread(
            target=self._poll, args=(poll_seconds,), name="version_poll", daemon=True
        )
        self._poller.start()

    def __contains__(self, name: str) -> bool:
        return name in self._models

    def names(self) -> list[str]:
        """The names of all models, in alphabetical order."""
        return sorted(self._models)

    def newest_version(self, name: str) -> int:
        """The version of a model that answers requests without a number."""
        return self._models[name].newest_version

    def find(self, spec) -> LoadedVersion:
        """Returns the version that answers a request.

        Args:
            spec: a `ModelSpec`: a name, and a version, a label or neither.

        Raises:
            RequestError: in the words of the real server.
        """
        if not spec.name:
            raise RequestError("INVALID_ARGUMENT", "ModelSpec has no name specified.")
        version = self._version(spec)
        model = self._models.get(spec.name)
        loaded = model.find(version) if model else None
        if loaded is None:
            wanted = f"Latest({spec.name})" if version is None else f"Specific({spec.name}, {version})"
            raise RequestError("NOT_FOUND", f"Servable not found for request: {wanted}")
        return loaded

    def statuses(self, spec) -> list[VersionStatus]:
        """Lists the versions of a model, newest first, or the one that is asked for.

        Raises:
            RequestError: in the words of the real server.
        """
        model, version = self._models.get(spec.name), self._version(spec)
        known = {status.version: status for status in model.statuses()} if model else {}
        if version is None and not known:
            raise RequestError("NOT_FOUND", f"Could not find any versions of model {spec.name}")
        if version is not None and version not in known:
            raise RequestError("NOT_FOUND", f"Could not find version {version} of model {spec.name}")
        return list(known.values()) if version is None else [known[version]]

    def reload(self, settings: list[ModelSettings]) -> None:
        """Takes a new list of models: loads new ones, drops those that are not listed, moves labels.

        Either all of it happens or nothing: everything is loaded and checked before anything changes.

        Raises:
            RequestError: a model has no version that can be served, or a label points to none.
        """
        with self._changing:
            models: dict[str, ServedModel] = {}
            try:
                prepared = [self._prepared(one, models) for one in settings]
            except BaseException:
                for model in models.values():
                    model.abandon()
                raise
            for one in prepared:
                models[one.settings.name].take_over(one)
            self._models = models

    def begin_stop(self) -> None:
        """Looks for no more versions."""
        self._stopping.set()

    def wait_until_stopped(self, seconds: float) -> bool:
        """Waits for the last look that `begin_stop` ended; returns False if it still loads a version."""
        self._poller.join(seconds)
        return not self._poller.is_alive()

    def close(self) -> None:
        """Cancels what still runs."""
        for model in self._models.values():
            model.close()

    def _version(self, spec) -> int | None:
        if not spec.version_label:
            return spec.version.value if spec.HasField("version") else None
        model = self._models.get(spec.name)
        labels = dict(model.settings.labels) if model else {}
        if spec.version_label not in labels:
            raise RequestError(
                "INVALID_ARGUMENT", f"Unrecognized servable version label: {spec.version_label}"
            )
        return labels[spec.version_label]

    def _prepared(self, settings: ModelSettings, models: dict[str, ServedModel]) -> PreparedVersions:
        """What a model would serve; the model itself, the present one or a new one, is added to `models`."""
        model = self._models.get(settings.name)
        try:
            if model is None or model.settings.base_path != settings.base_path:
                model = ServedModel(settings, self._load)
            models[settings.name] = model
            prepared = model.prepare(settings)
        except (ValueError, OSError) as error:
            raise RequestError("UNKNOWN", f"1 servable(s) did not become available: {error}") from error
        _check_labels(settings, prepared.loaded.keys())
        return prepared

    def _poll(self, poll_seconds: float) -> None:
        while not self._stopping.wait(poll_seconds):
            with self._changing:
                for model in self._models.values():
                    self._look_for_versions(model)

    def _look_for_versions(self, model: ServedModel) -> None:
        if self._stopping.is_set():
            return
        try:
            model.poll()
        except OSError as error:  # a folder may vanish while it is read; the next poll looks again
            logging.warning("Looking for versions failed: %s", error)


def _check_labels(settings: ModelSettings, served: Set[int]) -> None:
    for _, version in settings.labels:
        if version not in served:
            raise RequestError(
                "FAILED_PRECONDITION",
                f"Request to assign label to version {version} of model {settings.name}, "
                "which is not currently available for inference",
            )
