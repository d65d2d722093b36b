r"""Script: which version of a model is `stable`, which is `canary`: to promote one, or to roll back.

  kbert label-versions --model_base_path=serving/sst2 --stable=4
  kbert label-versions --model_base_path=serving/sst2 --stable=3 --canary=3

Writes models.config, which a server reads again by itself (--model_config_file_poll_wait_seconds). Clients
ask `.../labels/stable` and change nothing.
"""

from pathlib import Path

from absl import flags

from kbert import command_line
from kbert.command_flags.closing_output import define_json_flag, print_result

from .deployment.docker_line import MODELS_FILE
from .deployment.edited_files import is_edited, write_unless_edited

FLAGS = flags.FLAGS


def define_flags():
    flags.DEFINE_string("model_base_path", None, "Folder of the model's versions.")
    flags.DEFINE_integer("stable", None, "The version that most clients ask.", lower_bound=1)
    flags.DEFINE_integer("canary", None, "The version that is tried by a few.", lower_bound=1)
    define_json_flag()
    flags.mark_flags_as_required(["model_base_path"])


def label_versions(model_base_path, stable: int | None = None, canary: int | None = None) -> dict[str, int]:
    """Gives versions their labels; a label that is not given stays where it is.

    Args:
      model_base_path: the folder that the exporter wrote to.
      stable, canary: the versions.

    Returns:
      label -> version, as it is now.

    Raises:
      ValueError: when no label is given, there is no such version, or models.config is missing or was edited.
    """
    from .deployment.server_protos import labels_of, models_text

    base, given = Path(model_base_path), {"stable": stable, "canary": canary}
    given = {label: version for label, version in given.items() if version is not None}
    path, name = base / MODELS_FILE, base.resolve().name
    if not given:
        raise ValueError("received neither --stable nor --canary; give the version that gets the label.")
    if not path.is_file():
        raise ValueError(f"{base} holds no {MODELS_FILE}; export a version there first.")
    if is_edited(path):
        raise ValueError(
            f"{path} was edited, so it is left alone. Change the numbers below version_labels and versions "
            "yourself, or remove the file and export again."
        )
    labels = labels_of(path.read_text(encoding="utf-8"), name, path) | given
    for label, version in labels.items():
        if not (base / str(version)).is_dir():
            raise ValueError(f"there is no version {version} in {base}, which would be {label}.")
    write_unless_edited(path, models_text(name, f"/models/{name}", labels))
    return labels


def main(argv):
    del argv
    labels = label_versions(FLAGS.model_base_path, FLAGS.stable, FLAGS.canary)
    versions = {label: f"version {version}" for label, version in labels.items()}
    print_result(labels, versions | {"written to": Path(FLAGS.model_base_path) / MODELS_FILE})


if __name__ == "__main__":
    define_flags()
    command_line.run(main)
