"""The versions of one model under a base path, the newest of them loaded."""

import dataclasses
import pathlib
import threading

import tensorflow as tf
from absl import logging

from ..gate.op_gate import check_servable
from ..gate.saved_model_session import RequestError, SavedModelSession, status_name


@dataclasses.dataclass(frozen=True)
class VersionStatus:
    """What `GetModelStatus` reports of one version: `AVAILABLE`, or `END` with the reason."""

    version: int
    state: str
    error_code: str = "OK"
    error_message: str = ""


class Servable:
    """Serves the newest version of a model, and any other numbered one on request.

    The base path holds one folder per version, named by an integer; other names are ignored, so
    an exporter may write to `tmp.7` and rename it to `7`. `poll` looks for a newer version and
    loads it *before* the older one is dropped: while it loads, and if it cannot be loaded, the
    older one answers. A request that began on the older one ends on it.

    An older version is loaded when a request names its number. The real server does this only
    with a `model_version_policy`; by default it unloads all but the newest version.

    Args:
        base_path: folder of version folders.
        name: the model's name in requests.
    """

    def __init__(self, base_path: str, name: str):
        self.base_path = pathlib.Path(base_path).absolute()
        self.name = name
        self._models: dict[int, SavedModelSession] = {}
        self._failures: dict[int, _Failure] = {}
        # Guards the two dictionaries and lets one version load at a time; answering does not
        # wait for it unless the version asked for is not loaded yet.
        self._loading = threading.Lock()
        self._newest = 0

        _check_base_path(self.base_path)
        self.poll()
        if not self._models:
            version, failure = max(self._failures.items())
            raise ValueError(
                f"Version {version} of {name} cannot be served: {failure.message}\n"
                f"Expected at least one version under {self.base_path} that loads. "
                "Export it again, or remove the folder so that an older version is served."
            )

    @property
    def newest_version(self) -> int:
        """The version that answers requests without a number."""
        return self._newest

    def poll(self) -> None:
        """Loads the newest version on disk, or the newest one that can be loaded."""
        with self._loading:
            folders = _versions(self.base_path)
            for version in self._failures.keys() - folders.keys():
                del self._failures[version]
            for version in sorted(folders, reverse=True):
                if version not in self._models:
                    self._load(version, folders[version])
                if version in self._models:
                    self._switch_to(version)
                    return

    def find(self, name: str, version: int | None = None) -> tuple[int, SavedModelSession]:
        """Returns version number and model; `None` means the newest.

        Raises:
            RequestError: `NOT_FOUND`, in the words of the real server.
        """
        if not name:
            raise RequestError("INVALID_ARGUMENT", "ModelSpec has no name specified.")
        if name != self.name:
            wanted = f"Latest({name})" if version is None else f"Specific({name}, {version})"
            raise RequestError("NOT_FOUND", f"Servable not found for request: {wanted}")

        models = self._models  # `_switch_to` replaces it while we read
        if version is None:
            version = self._newest if self._newest in models else max(models)
        elif version not in models:
            with self._loading:
                folder = _versions(self.base_path).get(version)
                if version not in self._models and folder is not None:
                    self._load(version, folder)
                models = self._models
        if version not in models:
            raise RequestError("NOT_FOUND", f"Servable not found for request: Specific({name}, {version})")
        return version, models[version]

    def statuses(self, name: str, version: int | None = None) -> list[VersionStatus]:
        """Lists loaded and failed versions, newest first.

        Raises:
            RequestError: `NOT_FOUND`, in the words of the real server.
        """
        loaded = {number: VersionStatus(number, "AVAILABLE") for number in list(self._models)}
        failed = {
            number: VersionStatus(number, "END", failure.error_code, failure.message)
            for number, failure in list(self._failures.items())
        }
        known = {**failed, **loaded} if name == self.name else {}
        if version is None and not known:
            raise RequestError("NOT_FOUND", f"Could not find any versions of model {name}")
        if version is not None and version not in known:
            raise RequestError("NOT_FOUND", f"Could not find version {version} of model {name}")
        wanted = known if version is None else [version]
        return [known[number] for number in sorted(wanted, reverse=True)]

    def _load(self, version: int, folder: pathlib.Path) -> None:
        # A broken folder is not tried again every second, but only after something in it has changed:
        # it may have been seen in the middle of a copy.
        contents = _contents(folder)
        if version in self._failures and self._failures[version].contents == contents:
            return
        try:
            check_servable(str(folder))
            model = SavedModelSession(str(folder))
        except Exception as error:  # no error of one version may stop the other versions
            self._failures[version] = _Failure(contents, _error_code(error), str(error))
            logging.error("%s version %d cannot be loaded: %s", self.name, version, error)
            return
        self._failures.pop(version, None)
        self._models = {**self._models, version: model}

    def _switch_to(self, version: int) -> None:
        if version == self._newest:
            return
        self._models = {version: self._models[version]}
        self._newest = version
        logging.info("%s version %d is served", self.name, version)


@dataclasses.dataclass(frozen=True)
class _Failure:
    contents: frozenset
    error_code: str
    message: str


def _versions(base_path: pathlib.Path) -> dict[int, pathlib.Path]:
    return {
        int(folder.name): folder
        for folder in base_path.glob("*")
        if folder.name.isdecimal() and folder.name.isascii() and folder.is_dir()
    }


def _contents(folder: pathlib.Path) -> frozenset:
    stats = [(str(file), file.stat()) for file in folder.rglob("*") if file.exists()]
    return frozenset((file, stat.st_size, stat.st_mtime_ns) for file, stat in stats)


def _error_code(error: Exception) -> str:
    if isinstance(error, tf.errors.OpError):
        return status_name(error)
    return "INVALID_ARGUMENT" if isinstance(error, ValueError) else "UNKNOWN"


def _check_base_path(base_path: pathlib.Path) -> None:
    if not base_path.is_dir():
        raise ValueError(
            f"model_base_path={base_path} is not a folder; expected a folder that holds one "
            "folder per version, for example served/sst2 with served/sst2/1/saved_model.pb."
        )
    if (base_path / "saved_model.pb").exists():
        raise ValueError(
            f"model_base_path={base_path} is itself a SavedModel; expected the folder above it, "
            f"which holds one numbered folder per version. Pass {base_path.parent}."
        )
    if not _versions(base_path):
        found = ", ".join(sorted(entry.name for entry in base_path.iterdir())) or "nothing"
        raise ValueError(
            f"model_base_path={base_path} holds no version; found {found}, expected a folder "
            "named by an integer, for example 1. Export a model there first."
        )
