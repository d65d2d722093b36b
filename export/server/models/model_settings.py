"""What a server is told about each model: TensorFlow Serving's model config, checked."""

import dataclasses
import pathlib

from google.protobuf import text_format
from tensorflow_serving.config import model_server_config_pb2

from ...gate.saved_model_session import RequestError

_PLATFORM = "tensorflow"


@dataclasses.dataclass(frozen=True)
class ModelSettings:
    """One model.

    Attributes:
        name: its name in requests.
        base_path: the folder of its version folders.
        num_latest: how many of the newest versions to serve; None means all.
        versions: the versions to serve, where they are listed; empty means that `num_latest` decides.
        labels: label -> version.
    """

    name: str
    base_path: str
    num_latest: int | None = 1
    versions: tuple[int, ...] = ()
    labels: tuple[tuple[str, int], ...] = ()


def read_config_file(path: str) -> list[ModelSettings]:
    """Reads a model config file: the text form of a `ModelServerConfig`, as the real server takes it.

    Raises:
        ValueError: the file cannot be read as one, or says what is not possible.
    """
    config = model_server_config_pb2.ModelServerConfig()
    try:
        text_format.Parse(pathlib.Path(path).read_text(encoding="utf-8"), config)
        return settings_of(config)
    except (text_format.ParseError, UnicodeDecodeError, RequestError) as error:
        raise ValueError(
            f"model_config_file={path}: {error}. Expected model_config_list {{ config {{ name: 'sst2' "
            "base_path: '/served/sst2' model_platform: 'tensorflow' } }."
        ) from error


def settings_of(config) -> list[ModelSettings]:
    """Checks a `ModelServerConfig`, and returns the models it lists.

    Raises:
        RequestError: in the words of the real server.
    """
    if config.WhichOneof("config") == "custom_model_config":
        raise _invalid(
            "ServerModelConfig type not supported by HandleReloadConfigRequest. "
            "Only ModelConfigList is currently supported"
        )
    listed: dict[str, ModelSettings] = {}
    for model in config.model_config_list.config:
        if model.name in listed:
            raise _invalid(f"Illegal to list model {model.name} multiple times in config list")
        listed[model.name] = _settings(model)
    return list(listed.values())


def _settings(model) -> ModelSettings:
    if not pathlib.PurePath(model.base_path).is_absolute():
        raise _invalid(
            f"Expected model {model.name} to have an absolute path or URI; got base_path()={model.base_path}"
        )
    if model.model_platform != _PLATFORM:
        raise _invalid(f"Model {model.name}: model_platform={model.model_platform!r}; expected 'tensorflow'.")
    policy = model.model_version_policy
    kind = policy.WhichOneof("policy_choice")
    versions, num_latest = (), max(1, policy.latest.num_versions)
    if kind == "all":
        num_latest = None
    elif kind == "specific":
        versions = tuple(sorted(policy.specific.versions))
        if not versions:
            raise _invalid(f"Model {model.name}: a specific version policy without versions.")
    labels = tuple(sorted(model.version_labels.items()))
    return ModelSettings(model.name, model.base_path, num_latest, versions, labels)


def _invalid(message: str) -> RequestError:
    return RequestError("INVALID_ARGUMENT", message)
