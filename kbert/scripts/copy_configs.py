r"""Script: lists the configs that come with kbert, or copies them so that you can change them.

  kbert configs
  kbert configs --output_dir=my_configs

If kbert is installed as a package, `--config=configs/pretraining/smoke.toml` names the config inside the
package. To change one value use `--override`; to change more, copy the configs. The copy has the commands
and the text of the quickstart as well.
"""

import shutil
import stat
from pathlib import Path

from kbert.cli import script
from kbert.cli.declared_flags import declare_flags, flag_values
from kbert.files.json_file import read_json
from kbert.files.output_path import require_local
from kbert.files.toml_file import read_toml
from kbert.files.whole_file import whole_folder
from kbert.shipped_configs import FOLDER, configs_directory


def copy_configs(output_dir: str | Path | None = None):
    """Lists the configs, or copies them.

    Args:
      output_dir: a new folder for the copies. Without it the configs are listed.
    """
    directory = configs_directory()
    if output_dir is None:
        readers = {".toml": read_toml, ".json": read_json}
        for path in sorted(path for path in directory.rglob("*.*") if path.suffix in readers):
            description = readers[path.suffix](path).get("description", "")
            print(f"{Path(FOLDER) / path.relative_to(directory)!s:<52} {description}")
        return
    require_local(output_dir)
    output_dir = Path(output_dir)
    if output_dir.exists():
        raise ValueError(f"--output_dir={output_dir} exists already; choose a new folder for the copies.")
    with whole_folder(output_dir) as aside:
        shutil.copytree(directory, aside, dirs_exist_ok=True)
        for copy in (aside, *aside.rglob("*")):  # an installed package may be read-only
            copy.chmod(copy.stat().st_mode | stat.S_IWUSR)
    print(f"Configs copied to {output_dir}.")


def define_flags():
    declare_flags(copy_configs)


def main():
    copy_configs(**flag_values(copy_configs))


if __name__ == "__main__":
    define_flags()
    script.run(main)
