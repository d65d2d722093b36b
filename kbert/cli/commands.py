"""The command `kbert`: one name for every script. Standard library only: `kbert --help` answers at once."""

import importlib.util
import sys
from pathlib import Path

from kbert import __version__
from kbert.files.near_names import did_you_mean

_INSTALLED = "kbert_export"  # a package called `export` could clash with those of other projects
_EXPORTERS = "{export}."  # a checkout and an installed package have different names for this folder

# Heading -> command -> the module that it runs, and what it does in one line.
COMMANDS = {
    "fine-tuning and serving": {
        "finetune": ("kbert.scripts.run_finetuning", "fine-tune on labelled text or records"),
        "evaluate": ("kbert.scripts.run_evaluation", "measure a run on held-out data"),
        "predict": ("kbert.scripts.run_prediction", "use a trained model on texts"),
        "convert": ("kbert.scripts.convert_checkpoint", "read and write checkpoints of other formats"),
        "export": (_EXPORTERS + "export_savedmodel", "write a SavedModel for TensorFlow Serving"),
        "serve": (
            _EXPORTERS + "development_server",
            "serve a run, a checkpoint or an export: REST, gRPC, a page",
        ),
    },
    "getting started": {
        "quickstart": ("kbert.scripts.quickstart", "from raw text to a served model, in a few minutes"),
        "configs": ("kbert.scripts.copy_configs", "list the configs that come with kbert, or copy them"),
    },
    "text and records": {
        "vocab": ("tfrecords_tools.build_vocabulary", "learn a vocabulary from a corpus"),
        "tokenize": ("tfrecords_tools.tokenize_text", "show the tokens of lines of text"),
        "pretraining-data": ("tfrecords_tools.create_pretraining_data", "corpus -> masked records"),
        "finetuning-data": ("tfrecords_tools.create_finetuning_data", "labelled text -> records"),
        "show-records": ("tfrecords_tools.show_records", "print records as text, or check all of them"),
    },
    "more training": {
        "pretrain": ("kbert.scripts.run_pretraining", "pretrain on records"),
        "glue": ("kbert.scripts.run_glue", "fine-tune on the tasks of GLUE, with a table and a submission"),
        "hard-negatives": (
            "kbert.scripts.find_hard_negatives",
            "add texts that are nearly right to pairs",
        ),
        "curves": ("kbert.scripts.draw_curves", "draw losses and scores of a run, or of several"),
    },
    "more from a trained model": {
        "features": ("kbert.scripts.extract_features", "turn texts into vectors"),
        "attention": ("kbert.scripts.draw_attention", "draw what the heads of a model attend to in a text"),
        "trim": ("tfrecords_tools.trim_vocabulary", "cut a checkpoint to the tokens that a corpus needs"),
        "export-litert": (_EXPORTERS + "export_tflite", "write LiteRT files for phones"),
    },
}
_HELP = ("--help", "-help", "-h", "help")
_VERSION = ("--version", "-version", "version")


def main(argv: list[str] | None = None) -> int:
    """Runs the script that the first argument names, as `python -m` runs it.

    Args:
      argv: the command line, with the program's name first; None takes this process's command line.

    Returns:
      The exit code. A script that ends with its own exit code raises SystemExit instead.
    """
    argv = sys.argv if argv is None else argv
    command = argv[1] if len(argv) > 1 else None
    if command is None or command in _HELP:
        return _print(command_list()) or int(command is None)
    if command in _VERSION:
        return _print(f"kbert {__version__}")
    module = modules().get(command)
    if module is None:
        print(f"error: {_complaint(command)}", file=sys.stderr)
        return 1
    import runpy

    # Like `python -m module`: the script is `__main__`, defines its flags and ends the process.
    sys.argv = [module, *argv[2:]]  # runpy replaces the first entry by the script's path
    runpy.run_module(module, run_name="__main__", alter_sys=True)
    return 0


def _print(text) -> int:
    """Prints a text; returns the exit code."""
    try:
        print(text, flush=True)
    except BrokenPipeError:  # `kbert --help | head`
        return 0
    except OSError as error:
        print(f"error: standard output takes no more: {error.strerror}.", file=sys.stderr)
        return 1
    return 0


def export_package() -> str:
    """The import name of the exporters that belong to this kbert: a checkout and an installed one differ."""
    spec = importlib.util.find_spec(_INSTALLED)
    folders = spec.submodule_search_locations if spec is not None else None
    root = Path(__file__).parents[2]  # with its links, as the folders: the files of some installers are links
    is_ours = any(Path(folder).parent == root for folder in folders or ())
    return _INSTALLED if is_ours else "export"


def modules() -> dict[str, str]:
    """command -> the module that it runs."""
    export = export_package()
    return {
        command: module.format(export=export)
        for commands in COMMANDS.values()
        for command, (module, _) in commands.items()
    }


def find_command(module: str) -> str | None:
    """`kbert COMMAND` for a module that `python -m` runs; None for a module without a command."""
    return next((f"kbert {command}" for command, runs in modules().items() if runs == module), None)


def command_list() -> str:
    """What `kbert --help` prints."""
    lines = ["kbert COMMAND --flag=value ...", ""]
    for heading, commands in COMMANDS.items():
        lines += [f"{heading}:", *(f"  {name:<18}{line}" for name, (_, line) in commands.items()), ""]
    lines += ["`kbert COMMAND --help` explains a command and its flags; `kbert --version` shows the version."]
    return "\n".join(lines)


def _complaint(command):
    if command.startswith("-"):
        return f"expected a command before the flag {command!r}, for example: kbert pretrain --help."
    hint = did_you_mean(command, modules(), nearness=0.6)
    return f"unknown command {command[:100]!r}.{hint} `kbert --help` lists all commands."
