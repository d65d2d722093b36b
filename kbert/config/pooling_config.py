"""How one vector is made of a text: its prompt, the tokens that count, and what becomes of the vector."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from kbert.checks import Many, python_numbers, require
from kbert.config.dense_config import DenseConfig, chain_width, dense_configs
from kbert.config.vectors_config import VectorsConfig
from kbert.files.json_values import shown

Pooling = Literal["cls", "mean", "max", "mean_sqrt_len", "weightedmean", "lasttoken"]
POOLINGS = get_args(Pooling)
POOLING_LAYER = "sequence_pooling"  # the name of the layer that pools in a model
JOIN = "+"  # between the modes whose vectors stand behind each other
SimilarityFunction = Literal["cosine", "dot", "euclidean", "manhattan"]
SIMILARITY_FUNCTIONS = get_args(SimilarityFunction)


def require_dimensions(name: str, dimensions, width: int | None = None):
    """Raises ValueError for more numbers than a vector of this width has, or none; None: any width."""
    most = "" if width is None else f" to {width}, the width of the vectors"
    number = python_numbers(dimensions)
    require(
        type(number) is int and 1 <= number <= (number if width is None else width),
        f"{name}={shown(dimensions)} should be a whole number from 1{most or ' on'}.",
    )


@dataclass(frozen=True)
class PoolingConfig(VectorsConfig):
    """How one vector is made of a text, see `kbert.SequencePooling`.

    `mode` is "cls", "mean", "max", "mean_sqrt_len", "weightedmean" or "lasttoken", or several of them, such
    as "cls+mean", whose vectors stand behind each other; special tokens count as sentence-transformers counts
    them. The vector goes through the layers of `dense`, one after the other. `normalize` says whether it is
    brought to length 1 then, and `truncate_dim` how many of its numbers are kept at last; None keeps all.

    Without `include_prompt` the tokens of a prompt, [CLS] among them, do not count; `prompt_lengths` says how
    many these are.

    Raises:
      ValueError: for an unknown mode or similarity, a `truncate_dim` below 1, and as `VectorsConfig` does.
    """

    mode: str = "mean"
    normalize: bool = True
    truncate_dim: Many | None = None
    include_prompt: bool = True
    prompt_lengths: Mapping[str, int] = field(default_factory=dict, hash=False)
    dense: tuple[DenseConfig, ...] = ()
    similarity_fn_name: SimilarityFunction = field(default="cosine", kw_only=True)

    def __post_init__(self):
        super().__post_init__()
        object.__setattr__(self, "dense", dense_configs(self.dense))
        require(
            set(self.modes) <= set(POOLINGS),
            f"pooling={shown(self.mode)} is not known; choose one of {', '.join(POOLINGS)}, or several with "
            f"{JOIN} between them.",
        )

    @property
    def modes(self) -> tuple[str, ...]:
        """The modes in the order of their vectors."""
        return tuple(self.mode.split(JOIN))

    @property
    def further(self) -> dict:
        """What it says beside mode and normalization, ready for JSON; only what is not the default."""
        return {name: value for name, value in self.changes.items() if name not in ("mode", "normalize")}

    def width(self, hidden_size: int) -> int:
        """The length of the vector that is made of vectors of length `hidden_size`."""
        whole = chain_width(self.dense, hidden_size * len(self.modes))
        return whole if self.truncate_dim is None else min(whole, self.truncate_dim)

    def skipped_tokens(self, name: str | None = None) -> int:
        """How many tokens of a text behind this prompt, or the default one, do not count; 0 mostly."""
        name = self.default_prompt_name if name is None else name
        if name is None or self.include_prompt or not self.prompt(name):
            return 0
        return self.prompt_lengths.get(name, 0)
