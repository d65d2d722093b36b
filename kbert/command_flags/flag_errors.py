"""One sentence for a command line that is wrong, with what to type instead."""

import shlex

from absl import flags

from kbert.command_flags.groups import closest
from kbert.command_flags.help_page import (
    NOT_GIVEN,
    HelpFlag,
    example_of_script,
    is_required,
    own_flags,
    program,
)

# Flags by the name that they had, for the scripts that have the new one.
RENAMED = {"strategy": "pairing"}


def parse_flags(argv: list[str], config_classes=()) -> list[str]:
    """Parses a command line into `flags.FLAGS`. `--help` prints its page and ends the process.

    Args:
      argv: the command line, with the program's name first.
      config_classes: the configs whose settings this script's --override changes.

    Returns:
      The program's name, and what is no flag.

    Raises:
      ValueError: for a flag that is unknown, has a value that is not allowed, or is missing; one sentence.
    """
    for flag in (HelpFlag("help", "?"), HelpFlag("helpshort"), HelpFlag("h")):
        flags.FLAGS[flag.name] = flag  # in the place of absl's
    try:
        return flags.FLAGS(argv)
    except flags.UnrecognizedFlagError as error:
        name = error.flagname
        raise ValueError(_as_setting(name, _value_of(name, argv), config_classes) or _unknown(name)) from None
    except flags.Error as error:
        is_missing = str(error).endswith(NOT_GIVEN)
        raise ValueError(_missing() if is_missing else _sentence(error)) from None


def _value_of(name, argv):
    """What was given for an unknown flag: `--name=value`, or `--name value`; None without a value."""
    for place, argument in enumerate(argv):
        flag, equals, value = argument.lstrip("-").partition("=")
        if argument.startswith("-") and flag == name:
            following = argv[place + 1 : place + 2]
            return value if equals else next((text for text in following if not text.startswith("-")), None)
    return None


def _as_setting(name, value, config_classes):
    """The sentence for a flag that is a setting of the config; None for any other."""
    if not config_classes:
        return None
    from kbert.config.setting_paths import suggested_setting

    setting = suggested_setting(name, config_classes)
    if setting is None:
        return None
    override = shlex.quote(f"--override={setting}={'VALUE' if value is None else value}")
    return f"--{name} is a setting of the config, not a flag; write {override}."


def _unknown(name):
    known = own_flags()
    near = closest(name, [*known, *(f"no{one}" for one, flag in known.items() if flag.boolean)])
    near = near or _with_same_word(name, known)
    if RENAMED.get(name) in known:
        return f"--{name} is now --{RENAMED[name]}; `{program()} --help` says more."
    hint = f"did you mean --{near}? " if near else ""
    return f"unknown flag --{name[:100]}; {hint}`{program()} --help` lists the flags."


def _with_same_word(name, known):
    """The only flag that has this name as a word of its own, such as --input_file for --input."""
    found = [one for one in known if name in one.split("_")]
    return found[0] if len(found) == 1 else None


def _missing():
    """The sentence that names the required flags which are not there."""
    names = [f"--{name}" for name, flag in own_flags().items() if flag.value is None and is_required(flag)]
    listed = " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
    example = example_of_script()
    return (
        f"{listed} {'is' if len(names) == 1 else 'are'} missing"
        f"{f', as in: {example}' if example else ''}; `{program()} --help` lists the flags."
    )


def _sentence(error):
    """absl's message on one line: "flag --batch_size=x: invalid literal ..." -> "--batch_size=x: ..."."""
    return " ".join(str(error).split()).removeprefix("flag ")
