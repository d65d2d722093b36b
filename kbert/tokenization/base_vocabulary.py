"""What every kind of tokenizer has: tokens with their ids, special tokens, files. Standard library only."""

import functools
import hashlib
from pathlib import Path
from typing import NamedTuple

from kbert.checks import require_order
from kbert.files.whole_file import whole_file
from kbert.tokenization.casing import Contradiction


class SpecialTokens(NamedTuple):
    """The tokens that stand for no text, by their roles; BERT's names are the defaults."""

    pad: str = "[PAD]"
    unk: str = "[UNK]"
    cls: str = "[CLS]"
    sep: str = "[SEP]"
    mask: str = "[MASK]"


BERT_TOKENS = SpecialTokens()
ROBERTA_TOKENS = SpecialTokens("<pad>", "<unk>", "<s>", "</s>", "<mask>")


class BaseVocabulary:
    """The tokens of a model in the order of their ids, which of them are special, and what cuts texts.

    Nothing here depends on TensorFlow; `kbert.tokenization.tokenizer.build_tokenizer` makes the graph ops.

    Args:
      tokens: the tokens in id order.
      special_tokens: the `SpecialTokens`.
      source: a name for messages, such as the path of a file.

    Attributes:
      kind: "wordpiece", "bpe" or "sentencepiece".
      marks_first_word: whether the first word of a text is told from the rest of a word that was cut off.
      tokens: tuple of the tokens.
      ids: dict from token to id.
      special_tokens: as given.
      do_lower_case: the casing of WordPiece; None for the other kinds, whose files decide it.

    Raises:
      ValueError: without tokens, for a set or a dict of them, for a repeated token, and for a special token
        that is missing.
    """

    kind: str
    marks_first_word = True
    do_lower_case: bool | None = None

    def __init__(self, tokens, special_tokens: SpecialTokens, source: str):
        require_order(tokens, "tokens")
        self.tokens = tuple(tokens)
        self.special_tokens = SpecialTokens(*special_tokens)
        self.ids = {token: index for index, token in enumerate(self.tokens)}
        if not self.tokens:
            raise ValueError(f"{source} is empty; expected the tokens of a model.")
        if len(self.ids) < len(self.tokens):
            index = next(i for i, token in enumerate(self.tokens) if self.ids[token] != i)
            raise ValueError(
                f"{source}: token {self.tokens[index]!r} stands on line {index + 1} and again on line "
                f"{self.ids[self.tokens[index]] + 1}; each token must be unique."
            )
        missing = [token for token in self.special_tokens if token not in self.ids]
        if missing:
            raise ValueError(
                f"{source} lacks the special tokens {', '.join(missing)}; a {self._family} vocabulary has "
                f"{', '.join(self.special_tokens)}."
            )

    @property
    def _family(self):
        return "RoBERTa" if self.special_tokens.sep == ROBERTA_TOKENS.sep else "BERT"

    def __len__(self):
        return len(self.tokens)

    pad_id = property(lambda self: self.ids[self.special_tokens.pad])
    unk_id = property(lambda self: self.ids[self.special_tokens.unk])
    cls_id = property(lambda self: self.ids[self.special_tokens.cls])
    sep_id = property(lambda self: self.ids[self.special_tokens.sep])
    mask_id = property(lambda self: self.ids[self.special_tokens.mask])

    @property
    def pair_separators(self) -> int:
        """How many separators stand between two texts.

        BERT packs `[CLS] a [SEP] b [SEP]`, with segment 1 for `b [SEP]`. RoBERTa and those after it pack
        `<s> a </s></s> b </s>`, all of segment 0.
        """
        return 2 if self._family == "RoBERTa" else 1

    def count_special(self, num_texts: int) -> int:
        """How many special tokens stand around one text, or around and between two."""
        return 2 if num_texts == 1 else 2 + self.pair_separators

    def continues_word(self, token: str) -> bool:
        """Whether a token goes on with the word of the token before, for masks of whole words."""
        raise NotImplementedError

    def begins_text(self, token: str) -> bool:
        """Whether a token may be the whole first word of a text."""
        return not self.continues_word(token)

    def as_text(self, token: str) -> str:
        """What a token says, for people, without the mark of a word's beginning."""
        return token

    def files(self) -> dict[str, bytes]:
        """The contents of the files that make this vocabulary again, by their names."""
        raise NotImplementedError

    def write_files(self, folder: str | Path):
        """Writes `files` into a folder; `read_vocabulary` reads them."""
        for name, content in self.files().items():
            with whole_file(Path(folder) / name) as path:
                path.write_bytes(content)

    @functools.cached_property
    def fingerprint(self) -> str:
        """A short digest: equal fingerprints give equal ids for every text."""
        contents = [content for _, content in sorted(self.files().items())]
        names = "\n".join(self.special_tokens).encode("utf-8")
        return hashlib.sha256(b"\0".join([*contents, names])).hexdigest()[:16]

    def describe(self) -> dict:
        """What manifests and run directories record of the vocabulary; `read_vocabulary` needs it."""
        return {
            "kind": self.kind,
            "size": len(self),
            "do_lower_case": self.do_lower_case,
            "special_tokens": list(self.special_tokens),
            "fingerprint": self.fingerprint,
        }

    @property
    def other_casing(self) -> Contradiction | None:
        """What proves that the casing is another than `do_lower_case`, else None."""
        return None
