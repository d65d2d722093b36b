"""The versions of one model under a base path, the wanted ones of them loaded."""

import dataclasses
import pathlib
import threading
import time
from collections.abc import Callable

import tensorflow as tf
from absl import logging

from ...gate.saved_model_session import RequestError, status_name
from .loaded_version import LoadedVersion
from .model_settings import ModelSettings
from .version_folders import check_base_path, contents, versions


@dataclasses.dataclass(frozen=True)
class VersionStatus:
    """What `GetModelStatus` reports of one version.

    Attributes:
        version: its number.
        state: `LOADING`, `AVAILABLE`, or `END`: not served any more, or never.
        error_code, error_message: why it cannot be served.
    """

    version: int
    state: str
    error_code: str = "OK"
    error_message: str = ""


class ServedModel:
    """Keeps the wanted versions of a model loaded.

    The base path holds one folder per version, named by an integer; other names are ignored, so
    an exporter may write to `tmp.7` and rename it to `7`. `poll` looks for new versions and
    loads them *before* older ones are dropped: while one loads, and if it cannot be loaded, the
    older one answers. A request that began on the older one ends on it.

    By default the newest version that can be loaded is served, and requests for others are refused, as in the
    real server.

    Args:
        settings: the model.
        load: `(name, version, folder) -> LoadedVersion`, warmed up.

    Raises:
        ValueError: no version can be served.
    """

    def __init__(self, settings: ModelSettings, load: Callable[[str, int, pathlib.Path], LoadedVersion]):
        self.settings = settings
        self._load_version = load
        self._base_path = pathlib.Path(settings.base_path).absolute()
        # Both are replaced as a whole, never changed, so that requests read them without a lock.
        self._loaded: dict[int, LoadedVersion] = {}
        self._statuses: dict[int, VersionStatus] = {}
        self._failed_contents: dict[int, frozenset] = {}
        self._served: set[int] = set()  # as of the last change, for the log
        self._polling = threading.Lock()

        check_base_path(self._base_path)
        self.poll()
        if not self._loaded:
            status = max(self._statuses.values(), key=lambda one: one.version, default=None)
            reason = f": version {status.version}: {status.error_message}" if status else ""
            raise ValueError(
                f"{settings.name} cannot be served{reason}\n"
                f"Expected at least one wanted version under {self._base_path} that loads. "
                "Export it again, or remove the folder so that an older version is served."
            )

    @property
    def newest_version(self) -> int:
        """The version that answers requests without a number."""
        return max(self._loaded)

    def find(self, version: int | None) -> LoadedVersion | None:
        """Returns a loaded version, or None if it is not served; a version of None means the newest."""
        loaded = self._loaded  # `poll` replaces it while we read
        return loaded.get(max(loaded, default=0) if version is None else version)

    def statuses(self) -> list[VersionStatus]:
        """Lists the versions whose folders are there, newest first."""
        return sorted(self._statuses.values(), key=lambda status: -status.version)

    def configure(self, settings: ModelSettings) -> None:
        """Takes over a new policy and new labels for the same base path."""
        self.settings = settings
        self.poll()

    def poll(self) -> None:
        """Loads the wanted versions that are on disk, then drops the others."""
        with self._polling:
            folders = versions(self._base_path)
            self._failed_contents = {
                version: seen for version, seen in self._failed_contents.items() if version in folders
            }
            wanted = self._load_wanted(folders)
            # With nothing wanted left, what is loaded goes on answering: a folder may come back.
            if wanted and set(wanted) != self._served:
                self._loaded = {version: self._loaded[version] for version in wanted}
                self._served = set(wanted)
                logging.info("%s: version %s is served", self.settings.name, ", ".join(map(str, wanted)))
            self._statuses = self._new_statuses(folders)

    def close(self) -> None:
        """Cancels what still runs."""
        for loaded in self._loaded.values():
            loaded.close()

    def _load_wanted(self, folders: dict[int, pathlib.Path]) -> list[int]:
        """Loads wanted versions, newest first, and returns those that are loaded."""
        settings, wanted = self.settings, []
        for version in sorted(folders, reverse=True):
            if settings.versions and version not in settings.versions:
                continue
            if not settings.versions and len(wanted) == settings.num_latest:
                break
            if version not in self._loaded:
                self._load(version, folders[version])
            if version in self._loaded:
                wanted.append(version)
        return wanted

    def _load(self, version: int, folder: pathlib.Path) -> None:
        # A broken folder is not tried again every second, but only after something in it has changed:
        # it may have been seen in the middle of a copy.
        seen = contents(folder)
        if self._failed_contents.get(version) == seen:
            return
        self._statuses = {**self._statuses, version: VersionStatus(version, "LOADING")}
        began = time.monotonic()
        try:
            loaded = self._load_version(self.settings.name, version, folder)
        except Exception as error:  # no error of one version may stop the other versions
            self._failed_contents[version] = seen
            failure = VersionStatus(version, "END", _error_code(error), str(error))
            self._statuses = {**self._statuses, version: failure}
            logging.error("%s version %d cannot be loaded: %s", self.settings.name, version, error)
            return
        self._failed_contents.pop(version, None)
        self._loaded = {**self._loaded, version: loaded}
        logging.info("%s version %d loaded in %.1f s", self.settings.name, version, time.monotonic() - began)

    def _new_statuses(self, folders: dict[int, pathlib.Path]) -> dict[int, VersionStatus]:
        new = {version: VersionStatus(version, "AVAILABLE") for version in self._loaded}
        for version, status in self._statuses.items():
            if version not in new and version in folders:
                failed = version in self._failed_contents
                new[version] = status if failed else VersionStatus(version, "END")
        return new


def _error_code(error: Exception) -> str:
    if isinstance(error, RequestError):
        return error.status
    if isinstance(error, tf.errors.OpError):
        return status_name(error)
    return "INVALID_ARGUMENT" if isinstance(error, ValueError) else "UNKNOWN"
