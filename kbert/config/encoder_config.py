"""The shape of an encoder."""

from dataclasses import dataclass

from kbert.config.checks import check_limits, require
from kbert.files.json_values import shown

ACTIVATIONS = ("gelu", "gelu_erf", "relu", "tanh", "linear")
_MOST_NUMBERS = 20 * 10**9  # parameters of an encoder


@dataclass(frozen=True)
class EncoderConfig:
    """The shape of a BERT encoder, under the keys of BERT's own `bert_config.json`.

    The initializer range, the activation and the epsilon are defined only here; layers and heads receive them
    as arguments. `embedding_size`, `pooler_hidden_act` and `relative_attention_num_buckets` are not BERT's
    own.

    Args:
      vocab_size: rows of the table of tokens.
      hidden_size: width of every layer's output.
      num_hidden_layers: transformer layers.
      num_attention_heads: heads of a layer; they share the `hidden_size`.
      intermediate_size: width of the feed-forward layer.
      hidden_act: "gelu" is the tanh approximation, as in the original code (modeling.py, `gelu`); "gelu_erf"
        is the exact form that PyTorch checkpoints use.
      hidden_dropout_prob: dropout behind embeddings, attention and feed-forward layers.
      attention_probs_dropout_prob: dropout of the attention probabilities.
      max_position_embeddings: rows of the table of positions, the longest sequence.
      type_vocab_size: rows of the table of segments. With 1, as in RoBERTa, the vector is added to every
        token whatever `segment_ids` say; with 0, as in MPNet, there are no segments at all.
      initializer_range: standard deviation of new weights.
      layer_norm_eps: the epsilon of every layer normalization.
      masked_lm_hidden_act: the activation of the masked-LM head; None takes the encoder's.
      masked_lm_layer_norm_eps: its epsilon; None takes the encoder's. KerasHub's models have others.
      embedding_size: the width of the tables, as in ELECTRA: a dense layer brings their sum to `hidden_size`.
        None, or the same width, is BERT: no such layer.
      pooler_hidden_act: the activation of the pooler: "tanh" in BERT, "relu" in DistilBERT's classifiers,
        "gelu_erf" in ELECTRA's.
      relative_attention_num_buckets: rows of a table that the distance of two tokens is looked up in, and
        added to their attention scores, as in MPNet; None is BERT: no such table.

    Raises:
      ValueError: for values from which no encoder can be built.

    Examples:
      >>> from kbert import EncoderConfig
      >>> tiny = EncoderConfig(hidden_size=128, num_hidden_layers=2, num_attention_heads=2)
      >>> tiny.vocab_size, tiny.max_position_embeddings
      (30522, 512)
    """

    vocab_size: int = 30522
    hidden_size: int = 768
    num_hidden_layers: int = 12
    num_attention_heads: int = 12
    intermediate_size: int = 3072
    hidden_act: str = "gelu"
    hidden_dropout_prob: float = 0.1
    attention_probs_dropout_prob: float = 0.1
    max_position_embeddings: int = 512
    type_vocab_size: int = 2
    initializer_range: float = 0.02
    layer_norm_eps: float = 1e-12
    masked_lm_hidden_act: str | None = None
    masked_lm_layer_norm_eps: float | None = None
    embedding_size: int | None = None
    pooler_hidden_act: str = "tanh"
    relative_attention_num_buckets: int | None = None

    def __post_init__(self):
        check_limits(self)
        hidden, heads = self.hidden_size, self.num_attention_heads
        below = hidden // heads * heads or heads
        require(
            hidden % heads == 0,
            f"hidden_size={hidden} is not divisible by num_attention_heads={heads}; choose a multiple "
            f"of {heads}, for example {below} or {below + heads}.",
        )
        for name in ("hidden_act", "masked_lm_hidden_act", "pooler_hidden_act"):
            value = getattr(self, name)
            require(
                value in ACTIVATIONS or (value is None and name == "masked_lm_hidden_act"),
                f"{name}={shown(value)} is not known; choose one of {', '.join(ACTIVATIONS)}.",
            )
        require(
            0 <= self.initializer_range <= 10,
            f"initializer_range={self.initializer_range} must be at least 0 and at most 10.",
        )
        for name in ("layer_norm_eps", "masked_lm_layer_norm_eps"):
            value = getattr(self, name)
            absent = value is None and name != "layer_norm_eps"
            require(absent or 0 < value <= 1, f"{name}={value} must be above 0 and at most 1.")
        self._check_size()
        if self.embedding_size == hidden:  # said in one way, so that equal encoders are equal
            object.__setattr__(self, "embedding_size", None)

    def _check_size(self):
        hidden, layers = self.hidden_size, self.num_hidden_layers
        rows = self.vocab_size + self.max_position_embeddings + self.type_vocab_size
        numbers = self.embedding_width * rows + hidden * layers * (4 * hidden + 2 * self.intermediate_size)
        require(
            numbers <= _MOST_NUMBERS,
            f"vocab_size={self.vocab_size}, hidden_size={hidden}, num_hidden_layers={layers} make an encoder "
            f"of {numbers:,} parameters; choose smaller ones: kbert builds up to {_MOST_NUMBERS:,}.",
        )

    @property
    def embedding_width(self) -> int:
        """The width of the tables of words, positions and segments."""
        return self.hidden_size if self.embedding_size is None else self.embedding_size

    def require_masked_lm(self):
        """Raises ValueError where the masked-LM head cannot share the token table, which is narrower."""
        require(
            self.embedding_size is None,
            f"embedding_size={self.embedding_size} is not hidden_size={self.hidden_size}, but the masked-LM "
            "head takes its output matrix from the token table, which must be as wide as the hidden states; "
            "leave embedding_size out, or choose another task.",
        )

    @property
    def masked_lm_settings(self) -> tuple[str, float]:
        """Activation and epsilon of the masked-LM head's transform."""
        own_eps = self.masked_lm_layer_norm_eps
        return (
            self.masked_lm_hidden_act or self.hidden_act,
            self.layer_norm_eps if own_eps is None else own_eps,
        )
