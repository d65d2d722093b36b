"""How one vector is made of a text: its prompt, the tokens that count, and what becomes of the vector."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field

from kbert.config.checks import require
from kbert.files.json_values import shown

POOLINGS = ("cls", "mean", "max", "mean_sqrt_len", "weightedmean", "lasttoken")
JOIN = "+"  # between the modes whose vectors stand behind each other
# sentence-transformers has these two prompts, empty ones, where a folder has none of the name.
_EMPTY_PROMPTS = ("query", "document")
SIMILARITY_FUNCTIONS = ("cosine", "dot", "euclidean", "manhattan")


@dataclass(frozen=True)
class PoolingConfig:
    """How one vector is made of a text, see `kbert.SequencePooling`.

    `mode` is "cls", "mean", "max", "mean_sqrt_len", "weightedmean" or "lasttoken", or several of them, such
    as "cls+mean", whose vectors stand behind each other; special tokens count as sentence-transformers counts
    them. `normalize` says whether the vector is brought to length 1, and `truncate_dim` how many of its
    numbers are kept then; None keeps all.

    `prompts` may stand before a text, by name, and `default_prompt_name` does where none is named. Without
    `include_prompt` the tokens of a prompt, [CLS] among them, do not count; `prompt_lengths` says how many
    these are. `similarity_fn_name` is how the vectors are meant to be compared.

    Raises:
      ValueError: for an unknown mode or similarity, a `truncate_dim` below 1, prompts that are no texts, and
        a default that is none of them.
    """

    mode: str = "mean"
    normalize: bool = True
    truncate_dim: int | None = None
    prompts: Mapping[str, str] = field(default_factory=dict, hash=False)
    default_prompt_name: str | None = None
    include_prompt: bool = True
    prompt_lengths: Mapping[str, int] = field(default_factory=dict, hash=False)
    similarity_fn_name: str = SIMILARITY_FUNCTIONS[0]

    def __post_init__(self):
        require(
            isinstance(self.mode, str) and set(self.modes) <= set(POOLINGS),
            f"pooling={shown(self.mode)} is not known; choose one of {', '.join(POOLINGS)}, or several with "
            f"{JOIN} between them.",
        )
        require(
            self.truncate_dim is None or (type(self.truncate_dim) is int and self.truncate_dim > 0),
            f"truncate_dim={shown(self.truncate_dim)} should be a whole number of at least 1.",
        )
        require(
            all(isinstance(prompt, str) for prompt in self.prompts.values()),
            f"prompts={shown(self.prompts)} has prompts that are no texts; expected a text for each name.",
        )
        require(
            self.default_prompt_name in (None, *self.prompts, *_EMPTY_PROMPTS),
            f"default_prompt_name={shown(self.default_prompt_name)} is not among the prompts "
            f"({', '.join(self.prompts) or 'there are none'}).",
        )
        require(
            self.similarity_fn_name in SIMILARITY_FUNCTIONS,
            f"similarity_fn_name={shown(self.similarity_fn_name)} is not known; choose one of "
            f"{', '.join(SIMILARITY_FUNCTIONS)}.",
        )

    @property
    def modes(self) -> tuple[str, ...]:
        """The modes in the order of their vectors."""
        return tuple(self.mode.split(JOIN))

    @property
    def further(self) -> dict:
        """What it says beside mode and normalization, ready for JSON; only what is not the default."""
        values = dataclasses.asdict(self)
        absent = dataclasses.asdict(PoolingConfig())
        return {
            name: value
            for name, value in values.items()
            if name not in ("mode", "normalize") and value != absent[name]
        }

    def width(self, hidden_size: int) -> int:
        """The length of the vector that is made of vectors of length `hidden_size`."""
        whole = hidden_size * len(self.modes)
        return whole if self.truncate_dim is None else min(whole, self.truncate_dim)

    def prompt(self, name: str | None = None) -> str:
        """What stands before a text: the prompt of this name, or the default one; "" for none.

        Raises:
          ValueError: for a name that is not among the prompts.
        """
        name = self.default_prompt_name if name is None else name
        if name is None:
            return ""
        if name not in (*self.prompts, *_EMPTY_PROMPTS):
            raise ValueError(
                f"prompt_name={shown(name)} is not known; the model has "
                f"{', '.join(map(repr, self.prompts)) or 'no prompts'}."
            )
        return self.prompts.get(name, "")

    def skipped_tokens(self, name: str | None = None) -> int:
        """How many tokens of a text behind this prompt, or the default one, do not count; 0 mostly."""
        name = self.default_prompt_name if name is None else name
        if name is None or self.include_prompt or not self.prompt(name):
            return 0
        return self.prompt_lengths.get(name, 0)
