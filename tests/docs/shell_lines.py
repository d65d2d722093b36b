"""Lines of a shell as commands: continued, commented, joined by `|`, `&&` and `;`."""

import re
import shlex
from typing import NamedTuple

_OPERATORS = {"|", "||", "&&", "&", ";"}
_VARIABLE = re.compile(r"[A-Za-z_]\w*=.*")
_IN_FRONT = {"srun", "time", "nice", "exec"}
_REDIRECTIONS = {"<", ">", ">>"}


class Command(NamedTuple):
    """Fields: the words of a command, and the number of the line that it begins on."""

    words: list[str]
    line: int


def commands(text: str, first_line: int = 1) -> list[Command]:
    """The commands of a block.

    Raises:
      ValueError: for quotes that do not close; then it is no block of commands.
    """
    found, number = [], first_line
    for line in re.sub(r"\\\n", "\\\\\x00", text).split("\n"):
        words: list[str] = []
        for word in [*_split(line.replace("\\\x00", " ")), ";"]:
            if word in _OPERATORS:
                found += [Command(words, number)] if (words := _bare(words)) else []
                words = []
            else:
                words.append(word)
        number += 1 + line.count("\x00")
    return found


def _split(line):
    lexer = shlex.shlex(line.removeprefix("$ "), posix=True, punctuation_chars="|&;")
    lexer.whitespace_split, lexer.commenters = True, "#"
    return list(lexer)


def _bare(words):
    """Without variables and runners in front, and without files behind `<` and `>`."""
    for number, word in enumerate(words):
        if word in _REDIRECTIONS:
            return _bare(words[:number] + words[number + 2 :])
    while words and (_VARIABLE.fullmatch(words[0]) or words[0] in _IN_FRONT):
        words = words[1:]
    return words
