"""WordPiece's vocabulary: vocab.txt <-> ids, special tokens, rules. Standard library only."""

import functools
import hashlib
import logging
from dataclasses import asdict
from os import PathLike
from pathlib import Path

from kbert.checks import with_checked_values
from kbert.files.file_format import path_problem
from kbert.files.json_values import is_unicode
from kbert.files.whole_file import write_text
from kbert.tokenization.base_vocabulary import BERT_TOKENS, BaseVocabulary, SpecialTokens
from kbert.tokenization.casing import Contradiction, casing_contradiction
from kbert.tokenization.wordpiece_rules import MAX_CHARACTERS_PER_WORD, WordPieceRules

VOCABULARY_FILE = "vocab.txt"
MAX_BYTES_PER_PIECE = 256  # of UTF-8, without "##"; TF-Text's WordPiece op takes no longer ones
# The published Chinese vocabulary has this as a token, and stripping its line leaves nothing: the token is
# "" in the original as well. Written as it was, it cannot be mistaken for a line that is empty.
LINE_OF_EMPTY_TOKEN = "\u2028"
_PLACEHOLDER = "[repeated_line_"


class Vocabulary(BaseVocabulary):
    """The WordPieces of a `vocab.txt` (one a line, id = line number from 0) and the rules for texts.

    The rules are no property of the file, so they are kept beside the tokens wherever these travel:
    manifests, run directories and exports record `do_lower_case`, and what else google-research/bert lacks.

    Args:
      tokens: strings, in id order.
      do_lower_case: whether texts are lower-cased before WordPiece.
      source: a name for messages, such as the path of the file.
      special_tokens: the `SpecialTokens`; MPNet's are others than BERT's.
      strip_accents, tokenize_chinese_chars, max_input_chars_per_word: see `WordPieceRules`.

    Attributes:
      rules: the `WordPieceRules`.

    Raises:
      ValueError: for a path (see `from_file`), without a casing, for an empty vocabulary, a repeated token, a
        missing special token, or a token that has a line end, a NUL, or more than 256 bytes.

    Examples:
      >>> from kbert import Vocabulary
      >>> vocabulary = Vocabulary(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "play", "##ing"], True)
      >>> vocabulary.cls_id, vocabulary.ids["##ing"], len(vocabulary)
      (2, 6, 7)
    """

    kind = "wordpiece"
    do_lower_case: bool

    @with_checked_values
    def __init__(
        self,
        tokens,
        do_lower_case: bool | None = None,
        source: str = "vocabulary",
        special_tokens: SpecialTokens = BERT_TOKENS,
        *,
        strip_accents: bool | None = None,
        tokenize_chinese_chars: bool = True,
        max_input_chars_per_word: int = MAX_CHARACTERS_PER_WORD,
    ):
        if isinstance(tokens, str | PathLike):
            raise ValueError(
                f"Vocabulary({str(tokens)[:100]!r}) takes the tokens themselves; read a file with "
                "Vocabulary.from_file(path, do_lower_case=True), or False for a cased vocabulary."
            )
        if do_lower_case is None:
            raise ValueError(
                f"{source} needs its casing, which is no property of the tokens: do_lower_case=True, or "
                "False for a cased vocabulary."
            )
        super().__init__(tokens, special_tokens, source)
        self.rules = WordPieceRules(
            bool(do_lower_case), strip_accents, tokenize_chinese_chars, max_input_chars_per_word
        )
        self.do_lower_case = self.rules.do_lower_case
        for index, token in enumerate(self.tokens):
            # TF-Text's trie of tokens ends a token at a NUL; no text has one after its control characters.
            if "\n" in token or "\0" in token or not is_unicode(token):
                raise ValueError(
                    f"{source}: the token on line {index + 1}, {ascii(token[:20])}, cannot be in a "
                    "vocab.txt; expected Unicode without line ends, NUL, and half a surrogate pair."
                )
            num_bytes = len(token.removeprefix("##").encode("utf-8"))
            if num_bytes > MAX_BYTES_PER_PIECE:
                raise ValueError(
                    f"{source}: the token on line {index + 1}, {token[:20]!r}..., has {num_bytes} bytes; "
                    f"expected at most {MAX_BYTES_PER_PIECE}. Put an [unused] token in its place, so that "
                    "the other ids stay."
                )

    @classmethod
    @with_checked_values
    def from_file(
        cls, path: str | Path, do_lower_case: bool, special_tokens: SpecialTokens = BERT_TOKENS, **rules
    ) -> "Vocabulary":
        """Reads a `vocab.txt`. Raises ValueError as `read_pieces`, and for whatever makes no vocabulary.

        Args:
          path: the file.
          do_lower_case, special_tokens, rules: arguments of the class.
        """
        return cls(read_pieces(path), do_lower_case, str(path), special_tokens, **rules)

    def with_tokens(self, tokens, source: str = "vocabulary") -> "Vocabulary":
        """Other tokens with the same rules and special tokens."""
        return Vocabulary(tokens, source=source, special_tokens=self.special_tokens, **asdict(self.rules))

    def with_rules(self, **rules) -> "Vocabulary":
        """The same tokens with other rules; those that are not named stay."""
        return Vocabulary(self.tokens, special_tokens=self.special_tokens, **asdict(self.rules) | rules)

    def write(self, path: str | Path):
        """Writes the tokens one a line."""
        write_text(self._text(), path)

    def files(self):
        return {VOCABULARY_FILE: self._text().encode("utf-8")}

    def _text(self):
        return "".join(f"{token or LINE_OF_EMPTY_TOKEN}\n" for token in self.tokens)

    def continues_word(self, token):
        return token.startswith("##")

    def describe(self):
        return super().describe() | self.rules.not_googles

    @functools.cached_property
    def fingerprint(self) -> str:
        """A short digest: equal ones give equal ids for every text, but for the limit of a word's length.

        The limit is left out so that records may be made with a model's vocab.txt alone. It is recorded.
        """
        content = "\n".join(self.tokens) + f"\ndo_lower_case={self.do_lower_case}"
        for name, value in self.rules.not_googles.items():
            if name != "max_input_chars_per_word":
                content += f"\n{name}={value}"
        if self.special_tokens != BERT_TOKENS:
            content += f"\nspecial_tokens={','.join(self.special_tokens)}"
        return hashlib.sha256(content.encode("utf-8")).hexdigest()[:16]

    @property
    def other_casing(self) -> Contradiction | None:
        contradiction = casing_contradiction(self.tokens, self.rules)
        return contradiction if contradiction and contradiction.is_certain else None


def read_pieces(path: str | Path) -> list[str]:
    """The tokens of a `vocab.txt`: `read_stripped_lines`, of which `last_lines_count`."""
    return last_lines_count(read_stripped_lines(path), path)


def read_stripped_lines(path: str | Path) -> list[str]:
    """The lines of a `vocab.txt`, stripped as the original does (tokenization.py, `load_vocab`).

    One empty line at the end of the file is no token.

    Raises:
      ValueError: for a missing file, one that is not UTF-8 or has scores behind tabs, and an empty line
        before the end (the original counts it as a token, others do not, so ids after it are in doubt).
    """
    path = Path(path)
    if path.is_dir():
        raise ValueError(
            f"vocabulary file {path} is a folder; give the vocab.txt in it, or the folder as tokenizer "
            "(--tokenizer, of commands that have it)."
        )
    if not path.is_file():
        raise ValueError(f"vocabulary file {path} {path_problem(path)}; expected a vocab.txt.")
    try:
        # Some editors begin a file with a byte order mark; it is no part of the first token.
        text = path.read_bytes().decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8 (byte {error.start}); expected a vocab.txt.") from None
    # Only "\n" ends a line: the published Chinese vocabulary has U+2028 as a token.
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    if len(lines) > 1 and not lines[-1].strip("\r"):
        lines.pop()
    for number, line in enumerate(lines, start=1):
        if not line.strip(" \t\r"):
            raise ValueError(
                f"{path} line {number} is empty; expected one WordPiece a line. Delete the line if the "
                "model's ids were counted without it, or write a token such as [unused_line] there if it "
                "was counted."
            )
    if 2 * sum("\t" in line.strip() for line in lines) > len(lines):
        raise ValueError(
            f"{path} has tabs inside of its lines, as SentencePiece's .vocab has before its scores; expected "
            "one WordPiece a line. The folder of its .model is a tokenizer (--tokenizer, of commands that "
            "have it)."
        )
    return [line.strip() for line in lines]


def last_lines_count(tokens: list[str], path) -> list[str]:
    """The tokens with a placeholder for each that comes again; says so.

    `load_vocab` of the original puts the lines into a dictionary, so the last of several equal ones has the
    token. No text is cut into the others' numbers, nor into the placeholder: brackets are split off.
    """
    last = {token: index for index, token in enumerate(tokens)}
    if len(last) == len(tokens):
        return tokens
    repeated = [index for index, token in enumerate(tokens) if last[token] != index]
    first = tokens[repeated[0]]
    logging.getLogger(__name__).warning(
        "%s repeats tokens on %d lines, such as %r on line %d, which stands on line %d again: as in BERT's "
        "own code, the last one counts.", path, len(repeated), first, repeated[0] + 1, last[first] + 1,
    )  # fmt: skip
    return [placeholder(index) if last[token] != index else token for index, token in enumerate(tokens)]


def placeholder(index: int) -> str:
    """The token of a number that no text is cut into."""
    return f"{_PLACEHOLDER}{index + 1}]"


def is_placeholder(token: str) -> bool:
    """Whether a token is a `placeholder`."""
    return token.startswith(_PLACEHOLDER)


def require_wordpiece(vocabulary: BaseVocabulary, purpose: str) -> Vocabulary:
    """The vocabulary, if it is one of WordPieces.

    Args:
      vocabulary: a vocabulary of any kind.
      purpose: what needs WordPieces; the message begins with it.

    Raises:
      ValueError: for another kind.
    """
    if isinstance(vocabulary, Vocabulary):
        return vocabulary
    raise ValueError(f"{purpose} needs a WordPiece vocabulary; this model's tokenizer is {vocabulary.kind}.")
