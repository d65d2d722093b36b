"""`--help`: what a script does, an example, its flags in groups, and the rest of its docstring."""

import os
import re
import sys
import textwrap

from absl import flags

from kbert import commands
from kbert.command_flags.groups import grouped
from kbert.interrupt import PACKAGES_OF_SCRIPTS
from kbert.log_lines import WIDTH

_INDENT = 4  # of a flag's explanation, below its name
NOT_GIVEN = "must have a value other than None."  # absl/flags/_validators.py, mark_flag_as_required
_REPEATED = "repeat this option to specify a list of values"  # absl/flags/_flag.py, MultiFlag


class HelpFlag(flags.BooleanFlag):
    """A flag that prints the page and ends with exit code 0; absl's own would end with 1."""

    def __init__(self, name: str, short_name: str | None = None):
        super().__init__(name, False, "show this help", short_name=short_name, allow_override=True)

    def parse(self, argument):
        super().parse(argument)
        if self.value:
            _print(help_page())
            sys.exit(0)


def _print(text):
    try:
        print(text, flush=True)
    except BrokenPipeError:  # `--help | head`: Python would complain when it closes standard output
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def own_flags() -> dict[str, flags.Flag]:
    """The flags that this project's scripts define, without those of absl and TensorFlow."""
    values = flags.FLAGS
    modules = values.flags_by_module_dict()
    return {flag.name: flag for module, found in modules.items() if _is_ours(module) for flag in found}


def _is_ours(module):
    # absl names the main module by its path, all others by their import name.
    return module == sys.argv[0] or module.partition(".")[0] in PACKAGES_OF_SCRIPTS


def program() -> str:
    """What a user types for this script: "kbert finetune", or "python -m MODULE" where it has no command."""
    module = _module()
    return commands.command_of(module) or f"python -m {module}"


def _module():
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    return spec.name if spec else sys.argv[0]


def help_page() -> str:
    """The whole page."""
    summary, examples, rest = _parts_of(_docstring())
    known = own_flags()
    lines = [textwrap.fill(f"{program()}: {summary}", WIDTH), ""]
    if examples:
        lines += ["example:", "", textwrap.indent(examples[0], "  "), ""]
    for heading, names in grouped(known).items():
        lines += [f"{heading}:", *(_flag_lines(known[name]) for name in names), ""]
    if examples[1:]:
        lines += ["more examples:", "", *(textwrap.indent(one, "  ") for one in examples[1:]), ""]
    if rest:
        lines += [rest, ""]
    lines.append("--helpfull also shows the flags of absl and TensorFlow.")
    return "\n".join(lines)


def _docstring():
    return (sys.modules["__main__"].__doc__ or "").strip()


def _parts_of(text):
    """(first sentence or two, the examples, the other paragraphs) of a script's docstring."""
    first, *others = text.split("\n\n")
    examples = [part for part in others if part.startswith(" ") and program() in part]
    rest = "\n\n".join(part for part in others if part not in examples)
    commands_of = [one for part in examples for one in _commands_in(textwrap.dedent(part))]
    first = first.removeprefix("Script: ")
    begins_a_word = first[1:2].islower() or first[1:2] == " "  # not with a name such as GLUE
    return first[:1].lower() + first[1:] if begins_a_word else first, commands_of, rest


def _commands_in(block):
    """The commands of an indented block; a line that begins with spaces goes on with the one before."""
    return re.split(r"\n(?! )", block)


def example_of_script() -> str | None:
    """The first example of the script's docstring on one line; None where it has none."""
    examples = _parts_of(_docstring())[1]
    return " ".join(examples[0].replace("\\\n", " ").split()) if examples else None


def _flag_lines(flag):
    shown = f"--[no]{flag.name}" if flag.boolean else f"--{flag.name}"
    space = " " * _INDENT
    body = textwrap.fill(_explained(flag), WIDTH, initial_indent=space, subsequent_indent=space)
    return f"  {shown}\n{body}"


def _explained(flag):
    """The flag's own words, then its choices and its default."""
    words = " ".join((flag.help or "").split()).removesuffix(_REPEATED).rstrip("; ")
    choices = getattr(flag.parser, "enum_values", None)
    if choices:
        words = words.removeprefix(f"<{'|'.join(choices)}>: ")  # absl's form
        words = f"{words} One of: {', '.join(choices)}."
    if flag.flag_type().startswith("comma separated"):
        words = f"{words} Separated by commas."
    if is_required(flag):
        return f"{words} (required)"
    if flag.default in (None, [], ""):
        return words
    return f"{words} (default: {flag.default_as_str.strip(chr(39))})"


def is_required(flag: flags.Flag) -> bool:
    """Whether a flag must be given, by `flags.mark_flag_as_required`."""
    return any(validator.message == f"Flag --{flag.name} {NOT_GIVEN}" for validator in flag.validators)
