"""The versions of one model under a base path, the wanted ones of them loaded."""

import dataclasses
import pathlib
import time
from collections.abc import Callable, Set

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


@dataclasses.dataclass(frozen=True)
class PreparedVersions:
    """What a model would serve with some settings: loaded, but not answering yet.

    Attributes:
        settings: these.
        folders: the versions on disk, wanted or not.
        loaded: version -> what would answer.
    """

    settings: ModelSettings
    folders: dict[int, pathlib.Path]
    loaded: dict[int, LoadedVersion]


class ServedModel:
    """Keeps the wanted versions of a model loaded.

    The base path holds one folder per version, named by an integer; other names are ignored, so
    an exporter may write to `tmp.7` and rename it to `7`. `poll` looks for new versions and
    loads them *before* older ones are dropped: while one loads, and if it cannot be loaded, the
    older one answers. A request that began on the older one ends on it.

    `poll` is `prepare`, which loads, and `take_over`, which changes what answers and cannot fail. Between the
    two a change of several models can still be given up: `abandon`. One thread at a time may call these four,
    which `ServedModels` sees to; the rest may be called from any.

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
        # All three are replaced as a whole, never changed, so that requests read them without a lock.
        self._loaded: dict[int, LoadedVersion] = {}
        self._statuses: dict[int, VersionStatus] = {}
        self._loading: frozenset[int] = frozenset()  # until they are taken over or abandoned
        self._failed_contents: dict[int, frozenset] = {}

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

    @property
    def served_versions(self) -> Set[int]:
        """The versions that answer."""
        return self._loaded.keys()

    def find(self, version: int | None) -> LoadedVersion | None:
        """Returns a loaded version, or None if it is not served; a version of None means the newest."""
        loaded = self._loaded  # `poll` replaces it while we read
        return loaded.get(max(loaded, default=0) if version is None else version)

    def statuses(self) -> list[VersionStatus]:
        """Lists the versions whose folders are there, newest first."""
        loading = {version: VersionStatus(version, "LOADING") for version in self._loading}
        return sorted((self._statuses | loading).values(), key=lambda status: -status.version)

    def poll(self) -> None:
        """Loads the wanted versions that are on disk, then drops the others."""
        try:
            self.take_over(self.prepare(self.settings))
        finally:
            self.abandon()

    def prepare(self, settings: ModelSettings) -> PreparedVersions:
        """Loads what `settings` want, a new policy or new labels for the same base path.

        What answers stays as it is. With nothing wanted left, what is loaded goes on answering: a folder may
        come back.
        """
        folders = versions(self._base_path)
        self._failed_contents = {
            version: seen for version, seen in self._failed_contents.items() if version in folders
        }
        return PreparedVersions(settings, folders, self._wanted(settings, folders) or self._loaded)

    def take_over(self, prepared: PreparedVersions) -> None:
        """Lets prepared versions answer, and drops the others."""
        if prepared.loaded.keys() != self._loaded.keys():
            served = ", ".join(map(str, prepared.loaded))
            logging.info("%s: version %s is served", prepared.settings.name, served)
        self.settings = prepared.settings
        self._loaded = prepared.loaded
        self._statuses = self._new_statuses(prepared.folders)
        self._loading = frozenset()

    def abandon(self) -> None:
        """Gives up what was prepared and not taken over."""
        self._loading = frozenset()

    def close(self) -> None:
        """Cancels what still runs."""
        for loaded in self._loaded.values():
            loaded.close()

    def _wanted(self, settings: ModelSettings, folders: dict[int, pathlib.Path]) -> dict[int, LoadedVersion]:
        """Returns the wanted versions, newest first, without those that cannot be loaded."""
        wanted: dict[int, LoadedVersion] = {}
        for version in sorted(folders, reverse=True):
            if settings.versions and version not in settings.versions:
                continue
            if not settings.versions and len(wanted) == settings.num_latest:
                break
            loaded = self._loaded.get(version) or self._load(settings.name, version, folders[version])
            if loaded is not None:
                wanted[version] = loaded
        return wanted

    def _load(self, name: str, version: int, folder: pathlib.Path) -> LoadedVersion | None:
        # A broken folder is not tried again every second, but only after something in it has changed:
        # it may have been seen in the middle of a copy.
        seen = contents(folder)
        if self._failed_contents.get(version) == seen:
            return None
        self._loading |= {version}
        began = time.monotonic()
        try:
            loaded = self._load_version(name, version, folder)
        except Exception as error:  # no error of one version may stop the other versions
            self._failed_contents[version] = seen
            failure = VersionStatus(version, "END", _error_code(error), str(error))
            self._statuses = {**self._statuses, version: failure}
            self._loading -= {version}
            logging.error("%s version %d cannot be loaded: %s", name, version, error)
            return None
        self._failed_contents.pop(version, None)
        logging.info("%s version %d loaded in %.1f s", name, version, time.monotonic() - began)
        return loaded

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
