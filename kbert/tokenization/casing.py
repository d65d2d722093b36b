"""What the tokens of a vocabulary show of its casing, and of who cut its texts. Standard library only.

The original guesses from path names (tokenization.py, `validate_case_matches_checkpoint`). The tokens tell
more: a tokenizer that lower-cases and strips accents makes no capital, and nothing that NFD would decompose.
"""

import re
from collections.abc import Collection, Iterable
from typing import NamedTuple

from kbert.tokenization.character_classes import IDEOGRAPHS, in_python
from kbert.tokenization.wordpiece_rules import WordPieceRules

# [CLS], [unused7], <mask>: no text is cut into these.
NO_TEXT = re.compile(r"\[.*\]|<.*>")
_UNCASED = WordPieceRules(do_lower_case=True)
_FEW = 0.05  # of the tokens that could show it: somebody's own tokens, which were added later
_MANY = 100  # tokens with lower-case letters, without one capital anywhere
_SEVERAL_IDEOGRAPHS = re.compile(f"[{in_python(IDEOGRAPHS)}]{{2}}")
_SOME = 0.01  # of all tokens: somebody's own words, which were added later


class CasingEvidence(NamedTuple):
    """How many tokens show something. Letters without capitals and accents, such as ideographs, show nothing.

    Attributes:
      words: all tokens that a text could be cut into.
      capitals: have a capital.
      marks: have none, but an accent, a vowel sign or a syllable that stripping accents would change.
      accents: those of `marks` with a letter that has a capital, as é and unlike ガ.
      lower_case: have neither, but a letter that has a capital at the beginning of words.
      examples: a token or two with capitals or marks.
    """

    words: int
    capitals: int
    marks: int
    accents: int
    lower_case: int
    examples: tuple[str, ...]

    @property
    def informative(self) -> int:
        return self.capitals + self.marks + self.lower_case

    @property
    def looks_cased(self) -> bool:
        """Whether no tokenizer that lower-cases and strips accents can have made these tokens."""
        is_contradicted = self.capitals + self.marks > _FEW * self.informative
        # Many letters that have capitals and not one capital: lower-casing that keeps accents, perhaps.
        keeps_accents = not self.capitals and self.lower_case + 2 * self.accents > self.marks
        return is_contradicted and not keeps_accents

    @property
    def looks_uncased(self) -> bool:
        """Whether there are lower-case letters, many of them or in most tokens, and nothing else."""
        is_enough = self.lower_case >= _MANY or self.is_mostly_lower_case
        return is_enough and not self.capitals and not self.marks

    @property
    def is_mostly_lower_case(self) -> bool:
        return 2 * self.lower_case >= self.words > 0


def casing_evidence(tokens: Iterable[str]) -> CasingEvidence:
    """What the tokens show; those in square or angle brackets are left out."""
    words = [token for token in tokens if not NO_TEXT.fullmatch(token)]
    capitals = [token for token in words if token != token.lower()]
    others = [token for token in words if token == token.lower()]
    marks = [token for token in others if _UNCASED.normalized(token) != token]
    # By `title`, not `upper`: Georgian has capitals that no word begins with.
    lower_case = [token for token in set(others).difference(marks) if token != token.title()]
    accents = [token for token in marks if token != token.title()]
    examples = (*capitals[:1], *marks[:1])
    return CasingEvidence(len(words), len(capitals), len(marks), len(accents), len(lower_case), examples)


def casing_shown(tokens: Iterable[str]) -> bool | None:
    """`do_lower_case` as the tokens prove it; None where they prove nothing."""
    evidence = casing_evidence(tokens)
    return True if evidence.looks_uncased else False if evidence.looks_cased else None


class Contradiction(NamedTuple):
    """What speaks against the rules of a vocabulary.

    Attributes:
      what: what it is.
      looks: what the vocabulary looks like.
      flag: that of the other casing, where that is all; else None.
      is_certain: whether the tokens prove that the casing is the other one, and most of them matter.
    """

    what: str
    looks: str
    flag: str | None
    is_certain: bool

    @property
    def sentence(self) -> str:
        return f"{self.what}: {self.looks}" + (f"; try {self.flag}." if self.flag else ".")


def casing_contradiction(tokens: Iterable[str], rules: WordPieceRules) -> Contradiction | None:
    """What the tokens say against the rules; None for nothing."""
    evidence = casing_evidence(tokens)
    if not rules.do_lower_case and evidence.looks_uncased:
        return Contradiction(
            "no token holds an upper-case letter, so with do_lower_case=false every capitalised word "
            "becomes [UNK] or many tokens",
            "this looks like an uncased vocabulary",
            "--do_lower_case",
            # bert-base-chinese is published so on the hub: few of its tokens are of such words.
            is_certain=evidence.is_mostly_lower_case,
        )
    impossible = evidence.capitals * rules.do_lower_case + evidence.marks * bool(rules.strip_accents)
    if not impossible or impossible <= _FEW * evidence.informative:
        return None
    flag = None
    looks = (
        "they look as if accents were kept; a folder says that by strip_accents=false, Hugging Face's in "
        "tokenizer_config.json, Google's in bert_config.json"
    )
    if rules.do_lower_case and evidence.looks_cased:
        flag, looks = "--nodo_lower_case", "this looks like a cased vocabulary"
    return Contradiction(
        f"{impossible} of {evidence.words} tokens, such as {evidence.examples[-1]!r}, hold upper-case "
        f"letters or accents, which {rules.casing} never leaves",
        looks,
        flag,
        is_certain=evidence.looks_cased and impossible > _FEW * evidence.words,
    )


def cut_by_others(tokens: Collection[str], rules: WordPieceRules) -> str:
    """Where another program, such as jieba or MeCab, cut the texts of a model: what shows it, and the way on.

    Where every ideograph is a word, no token of several is found. Empty for other vocabularies.
    """
    never = [token for token in tokens if rules.tokenize_chinese_chars and _SEVERAL_IDEOGRAPHS.search(token)]
    if len(never) <= _SOME * len(tokens):
        return ""
    return (
        f"{len(never)} of {len(tokens)} tokens, such as {never[-1]!r}, are never found, because every "
        "ideograph is set apart: another program, such as jieba or MeCab, cut the texts of this model into "
        'words. Cut yours by it, with blanks between words, and write "tokenize_chinese_chars": false into '
        "bert_config.json (Google's format) or tokenizer_config.json (Hugging Face's)"
    )
