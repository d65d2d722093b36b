"""The files of a tokenizer, and what the tokenizer.json of all kinds share: read, compared, written."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from kbert.checkpoints.hugging_face.families import find_model_type
from kbert.checkpoints.report import Report
from kbert.files.json_file import read_json_object
from kbert.files.json_values import json_texts, json_value, shown, shown_name
from kbert.tokenization.base_vocabulary import BaseVocabulary

ROLES_FILE = "special_tokens_map.json"
# Types of models that add something to the second text of a pair.
WITH_SEGMENTS = ("bert", "electra")
# These follow tokenizer.json; other classes make their rules of tokenizer_config.json.
CLASSES_OF_THE_FILE = ("PreTrainedTokenizerFast", "TokenizersBackend")


class TokenizerFiles:
    """The files of a folder that say how texts are cut. Settings that would give other ids are refused.

    Args:
      folder: holds them.
      report: takes notes.
      architecture: the class of the model that reads the ids; None for a vocabulary alone.
      prompt_tokens: added tokens with which prompts begin; they become pieces, without blanks around them.

    Attributes:
      rules: the content of `tokenizer.json`; None without one.
      settings: the content of `tokenizer_config.json`; empty without one.
      model: the part of `rules` that makes pieces of words.

    Raises:
      ValueError: for a file that is no JSON object.
    """

    def __init__(self, folder: Path, report: Report, architecture: str | None, prompt_tokens=()):
        self.folder, self.report, self.architecture = folder, report, architecture or ""
        self.prompt_tokens = tuple(prompt_tokens)
        self.path, self.settings_path = folder / "tokenizer.json", folder / "tokenizer_config.json"
        self.rules = self.read("tokenizer.json")
        self.settings = self.read("tokenizer_config.json") or {}
        self.model = json_value(self.rules or {}, "model", dict, self.path, {})

    def read(self, name: str) -> dict | None:
        """The content of a JSON file of the folder; None where there is none."""
        path = self.folder / name
        return read_json_object(path) if path.is_file() else None

    @property
    def reads_words(self) -> bool:
        """Whether the folder is a tagger's, which puts a space before each word."""
        path = self.folder / "config.json"
        classes = json_texts(self.read(path.name) or {}, "architectures", path) or ()
        return reads_words(self.architecture or next(iter(classes), ""))

    @property
    def class_name(self) -> str | None:
        """The class in transformers, as tokenizer_config.json says it, or else config.json."""
        path = self.folder / "config.json"
        name = json_value(self.settings, "tokenizer_class", str, self.settings_path)
        return name or json_value(self.read(path.name) or {}, "tokenizer_class", str, path)

    def role(self, name: str):
        """The text of a special token, which may be an object; None where no file says it."""
        files = (self.settings, self.read(ROLES_FILE) or {})
        return next((token_text(values[name]) for values in files if values.get(name) is not None), None)

    def same_content(self, contents: Mapping[Path, tuple]) -> tuple[Path, tuple]:
        """The first file with its content.

        Args:
          contents: by file; the first value of each is the list of its pieces.

        Raises:
          ValueError: when two files hold different contents.
        """
        (path, content), *others = contents.items()
        for other, theirs in others:
            if theirs != content:
                raise ValueError(
                    f"{self.folder}: {path.name} ({len(content[0])} tokens) and {other.name} "
                    f"({len(theirs[0])} tokens) are not the same vocabulary; remove the one that is not this "
                    "model's."
                )
        return path, content

    def added_tokens(self, special_tokens) -> dict[str, int]:
        """Token -> id of the tokens that were added to the model's own, but for special ones and those of
        prompts.

        Raises:
          ValueError: if there are any, unless `added_tokens` is allowed.
        """
        added = {
            token: index
            for token, index in self.all_added_tokens().items()
            if token not in (*special_tokens, *self.prompt_tokens)
        }
        if added:
            names = ", ".join(shown_name(token) for token in sorted(added)[:4])
            self.report.conflict(
                "added_tokens",
                f"{self.folder} has {len(added)} added tokens ({names}), which its tokenizer never splits; "
                "in kbert they would be ordinary text",
            )
        return added

    def prompt_pieces(self) -> dict[str, int]:
        """The pieces of `prompt_tokens`, without blanks around them -> their ids."""
        added = self.all_added_tokens()
        return {token.strip(): added[token] for token in self.prompt_tokens}

    def all_added_tokens(self) -> dict[str, int]:
        """Token -> id, from the three files that may name them."""
        added = dict(self.read("added_tokens.json") or {})
        try:
            added |= {entry["content"]: int(entry["id"]) for entry in self.added_entries()}
            if all(type(token) is str and type(index) is int for token, index in added.items()):
                return added
        except (KeyError, TypeError, ValueError):
            pass
        raise ValueError(f"{self.folder}: expected every added token to have its text (content) and its id.")

    def added_entries(self) -> list[dict]:
        """What tokenizer.json, and then tokenizer_config.json, say of each added token, with its `id`."""
        entries = json_value(self.rules or {}, "added_tokens", list, self.path, [])
        decoder = json_value(self.settings, "added_tokens_decoder", dict, self.settings_path, {})
        return [*entries, *({**entry, "id": index} for index, entry in decoder.items())]

    def refuse_other_ids(self, vocabulary: BaseVocabulary):
        """Raises ValueError where a file numbers a special token otherwise than the vocabulary."""
        added = self.all_added_tokens() | self.prompt_pieces()
        for token in (*vocabulary.special_tokens, *self.prompt_pieces()):
            if added.get(token, vocabulary.ids[token]) != vocabulary.ids[token]:
                raise ValueError(
                    f"{self.folder}: {token} is number {added[token]} among the added tokens, but "
                    f"{vocabulary.ids[token]} in the vocabulary; copy the files of one model."
                )

    def refuse_other_model(self, expected: dict):
        """Refuses values of `model`; `expected` maps keys to our value and to what a missing key means."""
        for key, (ours, absent) in expected.items():
            theirs = json_value(self.model, key, type(ours), f"{self.path}: model", absent)
            if theirs != ours:
                setting = "special_tokens" if key == "unk_token" else key
                self.report.conflict(setting, f"{self.path}: its {key} is {shown(theirs)}, not {ours!r}")

    def steps(self, key: str, inner: str) -> list[dict]:
        """What a part such as the normalizer does: the steps of a sequence, or itself, or nothing.

        Raises:
          ValueError: for what is no object, or a sequence of other things.
        """
        step = json_value(self.rules or {}, key, dict, self.path, {})
        steps = json_value(step, inner, list, f"{self.path}: {key}", [step] if step else [])
        if not all(isinstance(part, dict) for part in steps):
            raise ValueError(f"{self.path}: {key} should consist of objects, received {shown(steps)}.")
        return steps

    def refuse_other_steps(self, key: str, steps: list[dict], expected: str):
        """Refuses a normalizer or a pre-tokenizer that kbert does not have."""
        kinds = ", ".join(shown(step.get("type")) for step in steps) or "None"
        self.report.conflict(key, f"{self.path}: its {key} is {kinds}, not {expected}")

    @property
    def model_type(self):
        """The family, as config.json says it, by which transformers finds the tokenizer's class."""
        path = self.folder / "config.json"
        return json_value(self.read(path.name) or {}, "model_type", str, path)

    @property
    def has_segments(self) -> bool:
        """Whether the folder's model adds something for the second text of a pair."""
        if not self.architecture or find_model_type(self.architecture) not in WITH_SEGMENTS:
            return False
        return (self.read("config.json") or {}).get("type_vocab_size", 2) != 1

    def refuse_other_processor(self, vocabulary: BaseVocabulary):
        """Refuses a tokenizer.json that packs texts otherwise than kbert."""
        steps = self.steps("post_processor", "processors")
        # One of bytes moves offsets alone.
        packing = [step for step in steps if step.get("type") != "ByteLevel"] or [{}]
        is_ours = len(packing) == 1 and _packs_as_ours(packing[0], vocabulary, self.has_segments)
        if self.rules is not None and not is_ours:
            special = vocabulary.special_tokens
            between = " ".join([special.sep] * vocabulary.pair_separators)
            self.report.conflict(
                "post_processor",
                f"{self.path}: its post_processor does not make {special.cls} a {between} b {special.sep}, "
                "which kbert always makes, or has other segments",
            )


def token_text(token):
    """A token's text, where a file may have an object for it."""
    return token.get("content") if isinstance(token, dict) else token


def _packs_as_ours(processor, vocabulary, has_segments):
    own = _roberta_processor(vocabulary) if vocabulary.pair_separators == 2 else _bert_processor(vocabulary)
    if processor.get("type") == own["type"]:  # without all keys the package takes a Roberta's for a Bert's
        return processor.keys() >= own.keys() and all(processor[key] == own[key] for key in ("cls", "sep"))
    # Segments without a meaning are numbered one way or the other.
    segments = (2 - vocabulary.pair_separators,) if has_segments else (0, 1)
    expected = [_template(vocabulary, segment) for segment in segments]
    tokens = processor.get("special_tokens")
    return (
        any(all(processor.get(key) == ours[key] for key in ("type", "single", "pair")) for ours in expected)
        and isinstance(tokens, dict)
        and all(tokens.get(token) == entry for token, entry in expected[0]["special_tokens"].items())
    )


# --------------------------------------------------------------------------------------- writing


class Rules(NamedTuple):
    """What differs from kind to kind in a tokenizer.json."""

    normalizer: dict | None
    pre_tokenizer: dict
    decoder: dict
    model: dict


def reads_words(architecture: str) -> bool:
    """Whether a class of transformers takes a text as words."""
    return architecture.endswith("ForTokenClassification")


def build_tokenizer_json(vocabulary: BaseVocabulary, rules: Rules, prompt_tokens: Sequence[str] = ()) -> dict:
    """The content of a tokenizer.json that gives kbert's ids; `prompt_tokens` are never split.

    Those with a blank are no pieces: `tokenizers` numbers them behind the last one.
    """
    is_roberta, special = vocabulary.pair_separators == 2, vocabulary.special_tokens
    runs = [token for token in vocabulary.tokens if token and not token.strip(" ")]  # of spaces
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {
                "id": vocabulary.ids[token],
                "content": token,
                "single_word": False,
                # In RoBERTa's family and ModernBERT the mask takes the space before it.
                "lstrip": (is_roberta or vocabulary.kind == "bpe") and token == special.mask,
                "rstrip": False,
                "normalized": token in runs,
                "special": token not in runs,
            }
            for token in sorted((*special, *runs), key=vocabulary.ids.__getitem__)
        ]
        + [
            {
                "id": vocabulary.ids[token.strip()],
                "content": token,
                **dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False),
            }
            for token in sorted(prompt_tokens, key=lambda token: vocabulary.ids[token.strip()])
        ],
        "normalizer": rules.normalizer,
        "pre_tokenizer": rules.pre_tokenizer,
        "post_processor": _roberta_processor(vocabulary) if is_roberta else _template(vocabulary, 1),
        "decoder": rules.decoder,
        "model": rules.model | {"vocab": _without_blanks(rules.model["vocab"], prompt_tokens)},
    }


def added_alone(prompt_tokens: Sequence[str]) -> set[str]:
    """The pieces of tokens of prompts with a blank, which files name among the added tokens alone."""
    return {token.strip() for token in prompt_tokens if token != token.strip()}


def _without_blanks(pieces, prompt_tokens):
    """The pieces of a model without those that stand among the added tokens with a blank."""
    alone = added_alone(prompt_tokens)
    if not alone:
        return pieces
    kept = {piece: index for piece, index in pieces.items() if piece not in alone}
    if max(kept.values()) >= len(kept):
        raise ValueError(
            f"the tokens of prompts {shown(sorted(alone))} are not the last of the vocabulary, where "
            "tokenizers puts them; keep the model as a run (--format=kbert)."
        )
    return kept


def _ends(vocabulary):
    special = vocabulary.special_tokens
    return {"sep": [special.sep, vocabulary.sep_id], "cls": [special.cls, vocabulary.cls_id]}


def _bert_processor(vocabulary):
    return {"type": "BertProcessing", **_ends(vocabulary)}


def _roberta_processor(vocabulary):
    trims = vocabulary.kind == "bpe"  # its pieces hold the space before them
    return {
        "type": "RobertaProcessing",
        **_ends(vocabulary),
        "trim_offsets": trims,
        "add_prefix_space": False,
    }


def _template(vocabulary, second_segment):
    def special(token, segment):
        return {"SpecialToken": {"id": token, "type_id": segment}}

    def text(name, segment):
        return {"Sequence": {"id": name, "type_id": segment}}

    cls, sep = vocabulary.special_tokens.cls, vocabulary.special_tokens.sep
    single = [special(cls, 0), text("A", 0), special(sep, 0)]
    between = [special(sep, 0)] * (vocabulary.pair_separators - 1)
    return {
        "type": "TemplateProcessing",
        "single": single,
        "pair": [*single, *between, text("B", second_segment), special(sep, second_segment)],
        "special_tokens": {
            token: {"id": token, "ids": [vocabulary.ids[token]], "tokens": [token]} for token in (cls, sep)
        },
    }
