"""The command line of a script: what `--help` shows, and how a wrong flag is answered."""

import itertools
import re
import shlex
import sys

from absl import flags

from kbert.checks import with_home
from kbert.cli.commands import find_command
from kbert.cli.declared_flags import FUNCTIONS, headings
from kbert.config.setting_paths import other_meaning, suggested_setting
from kbert.files.near_names import nearest_name

WIDTH = 100  # columns of a line
_HELP = {"--help", "-help", "-h", "-?", "--helpshort", "-helpshort"}
_REQUIRED = re.compile(r"--(\w+) must have a value other than None")  # absl's words

_OF_PATHS = re.compile(r"_(dir|file|files)$")  # the names of repeated flags that hold paths
_OF_TEXTS = {"text", "text_pair", "question", "context", "api_key"}  # of one flag
_REPEATED = "; repeat this option to specify a list of values"  # too


def parse_flags(argv: list[str], config_classes=(), positions=()) -> list[str]:
    """Parses a command line into `flags.FLAGS`. `--help` prints its page and ends the process.

    Args:
      argv: the command line, with the program's name first.
      config_classes: the configs whose settings this script's --override changes.
      positions: the flags that the first arguments may stand for, see `named_positions`.

    Returns:
      The program's name, and what is no flag.

    Raises:
      ValueError: for a flag that is unknown, has a value that is not allowed or none, is missing, or is there
        twice; one sentence.
    """
    if any(argument.partition("=")[0] in _HELP for argument in argv[1:]):
        print(help_page(positions), flush=True)
        sys.exit(0)
    arguments = named_positions(argv[1:], positions)
    _require_once(arguments)
    try:
        rest = flags.FLAGS([argv[0], *arguments])
    except UnicodeDecodeError:
        raise ValueError("--flagfile: the file is no text in UTF-8; save it as UTF-8.") from None
    except flags.UnrecognizedFlagError as error:
        raise ValueError(_unknown(error.flagname, error.flagvalue, config_classes)) from None
    except flags.Error as error:
        sentence = (
            _missing(str(error))
            or _not_boolean(str(error))
            or _flagfile(str(error))
            or " ".join(str(error).split()).removeprefix("flag ")
        )
        raise ValueError(sentence) from None
    for flag in own_flags().values():
        _take_value(flag)
    return rest


def named_positions(arguments: list[str], names) -> list[str]:
    """`kbert serve DIR` as `kbert serve --model_base_path=DIR`: what stands before all flags gets names."""
    values = [*itertools.takewhile(lambda argument: not argument.startswith("-"), arguments)][: len(names)]
    named = (f"--{name}={value}" for name, value in zip(names, values, strict=False))
    return [*named, *arguments[len(values) :]]


def _require_once(arguments):
    """Raises ValueError for a flag that is there twice, of which absl takes the last, and for one that takes
    the next flag for its value. Flags of --flagfile may be changed."""
    known, own, seen = flags.FLAGS, own_flags(), {}
    rest = iter(arguments)
    for argument in rest:
        name, equals, _ = re.sub("^--?", "", argument).partition("=")
        name = name if name in known else name.removeprefix("no")
        if not argument.startswith("-") or name not in known:
            continue
        if not equals and not known[name].boolean:
            value = next(rest, "")
            if re.match(r"--\w", value) and value.lstrip("-").partition("=")[0] in known:
                raise ValueError(f"{argument} has no value before {value}; write {argument}=VALUE.")
            argument = f"{argument} {value}"
        if name in seen:
            raise ValueError(
                f"{seen[name]} and {argument} both say --{name}; leave one of them out. `{program()} --help` "
                "says which flags take several values."
            )
        if name in own and not isinstance(own[name], flags.MultiFlag):
            seen[name] = argument


def _take_value(flag):
    """`--output_dir=~/models` with the home folder, which bash puts there only where a word begins: else a
    folder called ~ would be made. Texts stay as they are; so do the values of repeated flags, unless their
    names say files or folders.

    Raises:
      ValueError: for an empty value, as of a shell variable that is not set.
    """
    holds_texts = isinstance(flag, flags.MultiFlag) and not _OF_PATHS.search(flag.name)
    if not flag.present or holds_texts:
        return
    if flag.value in ("", []) or (isinstance(flag.value, list) and "" in flag.value):
        raise ValueError(
            f"--{flag.name} has an empty value, as of a shell variable that is not set; give it one, or "
            "leave the flag out."
        )
    if flag.name not in _OF_TEXTS:
        flag.value = with_home("~/" if flag.value == "~" else flag.value)


def shown_positions(positions) -> str:
    """`kbert predict RUN_DIR TEXT`, for people."""
    return " ".join([program(), *map(str.upper, positions)])


def _unknown(name, argument, config_classes):
    """The sentence about a flag that is a setting of the config, or nothing known."""
    if setting := suggested_setting(name, config_classes):
        override = shlex.quote(f"--override={setting}={argument.partition('=')[2] or 'VALUE'}")
        return f"--{name} is a setting of the config, not a flag; write {override}.{other_meaning(name)}"
    known = own_flags()
    booleans = (f"no{own}" for own, flag in known.items() if flag.boolean)
    near = nearest_name(name, [*known, *booleans], nearness=0.6)
    hint = f"did you mean --{near}? " if near else ""
    return f"unknown flag --{name[:100]}; {hint}`{program()} --help` lists the flags."


def _missing(message):
    """The sentence that names the required flags which are not there; "" for another complaint of absl."""
    names = ", ".join(f"--{name}" for name in _REQUIRED.findall(message))
    return names and f"missing: {names}; `{program()} --help` shows an example and the flags."


def _not_boolean(message):
    """The sentence about a value that is neither true nor false; "" for another complaint of absl."""
    match = re.match(r"flag (--(\w+)=.*): \('Non-boolean", message)
    return f"{match[1]}: expected true or false; --{match[2]} is true, --no{match[2]} false." if match else ""


def _flagfile(message):
    """The sentence about a file of flags that is not there; "" for another complaint of absl."""
    if message == "--flagfile with no argument":
        return "--flagfile has no value; write --flagfile=FILE, a text with a flag in each line."
    match = re.match(r"ERROR:: Unable to open flagfile: \[Errno \d+\] (.*): (['\"])(.*)\2", message)
    return f"--flagfile={match[3]} cannot be read: {match[1]}; check the path." if match else ""


def own_flags() -> dict[str, flags.Flag]:
    """The flags that this project's scripts define, without those of absl and TensorFlow, in their order."""
    modules = flags.FLAGS.flags_by_module_dict()
    others = ("absl.", "tensorflow.")
    own = {flag.name for module, known in modules.items() if not module.startswith(others) for flag in known}
    return {name: flags.FLAGS[name] for name in flags.FLAGS if name in own}


def program() -> str:
    """What a user types for this script: "kbert finetune", or "python -m MODULE" where it has no command."""
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    module = spec.name if spec else sys.argv[0]
    return find_command(module) or f"python -m {module}"


def help_page(positions=()) -> str:
    """The script's docstring, and its flags: those of its function, then those of each dataclass."""
    groups: dict[str, list] = {FUNCTIONS: []}
    for name, flag in own_flags().items():
        groups.setdefault(headings.get(name, FUNCTIONS), []).append(flag)
    about = (sys.modules["__main__"].__doc__ or "").strip().removeprefix("Script: ")
    lines = [f"{program()}: {about}", ""]
    if positions:
        lines += [f"The first arguments need no flag: {shown_positions(positions)}", ""]
    for heading, members in groups.items():
        if members:
            lines += [f"{heading}:", *map(_described, members), ""]
    return "\n".join([*lines, "--helpfull also shows the flags of absl and TensorFlow."])


def _described(flag):
    name = f"--[no]{flag.name}" if flag.boolean else f"--{flag.name}"
    return f"  {name}\n{flags.text_wrap(_explained(flag), WIDTH, indent='    ')}"


def _explained(flag):
    """The flag's own words, then what kind of value it takes, and its default."""
    notes = [] if flag.boolean else [flag.parser.syntactic_help]
    if any(_REQUIRED.search(validator.message) for validator in flag.validators):
        notes.append("required")
    elif flag.default not in (None, [], ""):
        notes.append(f"default: {flag.default_as_str.strip(chr(39))}")
    notes = "; ".join(filter(None, notes))
    words = " ".join(flag.help.split()).replace(_REPEATED, " May be repeated.")
    return f"{words} ({notes})" if notes else words
