"""How a vector for each token is made of a text, for late interaction (ColBERT)."""

import string
from dataclasses import dataclass, field
from typing import Literal

from kbert.checks import Length, check_values, require
from kbert.config.dense_config import DenseConfig, chain_width, dense_configs
from kbert.config.vectors_config import TEXT_TASKS, VectorsConfig

TOKEN_VECTORS_LAYER = "token_vectors"  # the name of the layer behind the encoder in a model
MaxSim = Literal["maxsim", "meanmaxsim"]
Expansion = Literal["fixed", "min"]
FIXED: Expansion = "fixed"
_LISTS = ("skiplist_words", "skiplist_tasks", "prompt_tokens")
_OF_ALL_TOKENS = ("Softmax", "Softmin", "LogSoftmax")  # torch takes them over the texts of a batch there


@dataclass(frozen=True)
class QueryExpansion:
    """What fills a query that is shorter than `length` tokens.

    With the `strategy` "fixed" a longer query is cut to that length, with "min" it is not. `attend` says
    whether the encoder attends to what was filled in; it is scored in either case. `token` is a piece of the
    vocabulary; None is the mask token.
    """

    length: Length
    strategy: Expansion = FIXED
    attend: bool = False
    token: str | None = None

    def __post_init__(self):
        check_values(self, "query_expansion.")


@dataclass(frozen=True)
class TokenVectorsConfig(VectorsConfig):
    """How a text becomes a matrix: a vector for each token that is scored.

    The encoder's vectors go through the layers of `dense`; `normalize` brings each to length 1 then. A query
    is cut to `query_length` tokens and a document to `document_length`, which may be longer than the model's
    length, up to the encoder's positions; None is the model's length. `query_expansion` fills
    short queries. In texts of the `skiplist_tasks` the pieces `skiplist_words` are not scored; a text of no
    task counts as a document. Where `keep_only_token_ids` are given, none but these are scored in documents.
    `prompt_tokens`, such as "[Q] " and "[D] ", are one token each at the beginning of a text, where prompts
    put them: the piece of the vocabulary without blanks around it. Elsewhere they are ordinary text.
    `similarity_fn_name` is "maxsim", or "meanmaxsim", which divides by the number of the query's vectors.

    Raises:
      ValueError: for other words, lengths below 1, and as `VectorsConfig` does.

    Reference: arXiv 2004.12832, section 3; sentence-transformers, multi_vector_encoder/modules.
    """

    dense: tuple[DenseConfig, ...] = ()
    normalize: bool = False
    query_length: Length | None = None
    document_length: Length | None = None
    query_expansion: QueryExpansion | None = None
    skiplist_words: tuple[str, ...] = ()
    skiplist_tasks: tuple[str, ...] = (TEXT_TASKS[1],)
    keep_only_token_ids: tuple[int, ...] | None = None
    prompt_tokens: tuple[str, ...] = ()
    similarity_fn_name: MaxSim = field(default="maxsim", kw_only=True)

    def __post_init__(self):
        super().__post_init__()
        own: dict = {"dense": dense_configs(self.dense)}
        own |= {name: tuple(getattr(self, name)) for name in _LISTS}
        if isinstance(self.query_expansion, dict):
            own["query_expansion"] = QueryExpansion(**self.query_expansion)
        if self.keep_only_token_ids is not None:
            own["keep_only_token_ids"] = tuple(self.keep_only_token_ids)
        for name, value in own.items():
            object.__setattr__(self, name, value)
        expansion = self.query_expansion
        require(
            expansion is None or self.query_length is None or self.query_length >= expansion.length,
            f"query_length={self.query_length} is less than query_expansion's length; leave it out.",
        )
        wrong = [dense.activation for dense in self.dense if dense.activation in _OF_ALL_TOKENS]
        require(not wrong, f"activation={', '.join(wrong)} has no meaning for the vectors of tokens.")

    @classmethod
    def colbert(cls, query_length: int) -> "TokenVectorsConfig":
        """Vectors of a new model as the paper has them: 128 wide, of length 1, of queries that are filled up
        to their length with mask tokens, and of documents without punctuation."""
        return cls(
            dense=(DenseConfig(128, activation="Identity", use_bias=False),),
            normalize=True,
            query_expansion=QueryExpansion(query_length),
            skiplist_words=tuple(string.punctuation),
        )

    @property
    def is_mean(self) -> bool:
        """Whether the similarity is divided by the number of the query's vectors."""
        return self.similarity_fn_name == "meanmaxsim"

    @property
    def own_tokens(self) -> tuple[str, ...]:
        """The pieces that a model adds to texts: those of prompts, and what fills a query."""
        filled = self.query_expansion.token if self.query_expansion else None
        return (*map(str.strip, self.prompt_tokens), *filter(None, [filled]))

    def width(self, hidden_size: int) -> int:
        """The length of a token's vector."""
        return chain_width(self.dense, hidden_size)

    def longest(self, task: str | None, max_seq_length: int) -> int:
        """The most tokens of a text of a task in a model of this length."""
        own = {TEXT_TASKS[0]: self.query_length, TEXT_TASKS[1]: self.document_length}.get(task or "")
        if task == TEXT_TASKS[0] and self.query_expansion is not None:
            length = self.query_expansion.length
            is_fixed = self.query_expansion.strategy == FIXED
            own = length if is_fixed else own and max(own, length)
        return own or max_seq_length

    def row_length(self, max_seq_length: int) -> int:
        """The tokens of the longest row, filled ones included, in a model of this length."""
        filled = self.query_expansion.length if self.query_expansion else 0
        return max(max_seq_length, filled, *(self.longest(task, max_seq_length) for task in TEXT_TASKS))

    def require_positions(self, positions: int):
        """Raises ValueError where rows would be longer than an encoder has positions."""
        longest = self.row_length(1)
        require(
            longest <= positions,
            f"query_length, document_length or query_expansion's length is {longest}, but the encoder has "
            f"{positions} positions; choose at most so many.",
        )
