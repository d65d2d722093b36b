"""The shape of an encoder."""

from dataclasses import dataclass
from typing import Annotated, Literal, get_args

from kbert.bounds import Bounds
from kbert.checks import Epsilon, Length, Rate, Width, check_values, require

Activation = Literal["gelu", "gelu_erf", "relu", "tanh", "linear"]
ACTIVATIONS = get_args(Activation)
_Base = Annotated[float, Bounds(above=0, largest=1e12)]
_MOST_NUMBERS = 20 * 10**9  # parameters of an encoder


@dataclass(frozen=True)
class EncoderConfig:
    """The shape of a BERT encoder, under the keys of BERT's own `bert_config.json`.

    `vocab_size` tokens have vectors of `hidden_size`, in sequences of at most `max_position_embeddings`.
    There are `num_hidden_layers` blocks. Each has `num_attention_heads` heads, and a feed-forward layer of
    width `intermediate_size`. Dropout is `hidden_dropout_prob`, and `attention_probs_dropout_prob` for
    attention probabilities. `initializer_range` is the standard deviation of new weights; `layer_norm_eps` is
    added to the variance in layer normalization. `hidden_act` is the activation between the feed-forward
    layers.

    `hidden_act="gelu"` is the tanh approximation, as in the original code (modeling.py, `gelu`);
    `"gelu_erf"` is the exact form that PyTorch checkpoints use. The initializer range, the activation and the
    epsilon are defined only here; layers and heads read them. The masked-LM head uses the
    encoder's activation and epsilon, unless `masked_lm_hidden_act` and `masked_lm_layer_norm_eps` give it
    others, as in KerasHub's models and RoBERTa's.

    Three settings are not BERT's own. `embedding_size` is the width of the tables, as in ELECTRA: a dense
    layer brings their sum to `hidden_size`. None, or the same width, is BERT: no such layer.
    `pooler_hidden_act` is the activation of the pooler: "tanh" in BERT, "relu" in DistilBERT,
    "gelu_erf" in ELECTRA's. `relative_attention_num_buckets` are the rows of a table that the distance of two
    tokens is looked up in, and added to their attention scores, as in MPNet; None is BERT: no such table.

    A model with a `type_vocab_size` of 1, as RoBERTa, adds its one vector to every token whatever
    `segment_ids` say; one with 0, as MPNet and DistilBERT, has no segments at all.

    The rest is ModernBERT's (arXiv 2412.13663), under the names of Hugging Face's config where it has them:

    - `normalize_first`: a norm stands before attention and before feed-forward, not after them. The first
      attention has none, the last block ends with one. So does the pooler, after its activation.
    - `is_gated_act`: the feed-forward multiplies what the activation gives by as many further products (GLU).
    - `attention_bias`, `mlp_bias`, `norm_bias`, `classifier_bias`: whether the dense layers of attention and
      feed-forward, all norms, and the dense layers of pooler and masked-LM head have biases.
    - `classifier_pooling`: whether the pooler reads the first token ("cls") or the mean of all ("mean").
    - `global_rope_theta`: queries and keys are turned by their position, with this base; then there is no
      table of positions. `local_rope_theta` is the base of layers with local attention, if it is another.
    - `local_attention`: the window, in tokens, of all layers but each `global_attn_every_n_layers`-th, the
      first among them; a token attends to `local_attention // 2` tokens on each side.

    Raises:
      ValueError: for values from which no encoder can be built.

    Examples:
      >>> from kbert import EncoderConfig
      >>> tiny = EncoderConfig(hidden_size=128, num_hidden_layers=2, num_attention_heads=2)
      >>> tiny.vocab_size, tiny.max_position_embeddings
      (30522, 512)
    """

    vocab_size: Annotated[int, Bounds(above=0, largest=10_000_000)] = 30522
    hidden_size: Width = 768
    num_hidden_layers: Annotated[int, Bounds(above=0, largest=1000)] = 12
    num_attention_heads: Width = 12
    intermediate_size: Annotated[int, Bounds(above=0, largest=262_144)] = 3072
    hidden_act: Activation = "gelu"
    hidden_dropout_prob: Rate = 0.1
    attention_probs_dropout_prob: Rate = 0.1
    max_position_embeddings: Length = 512
    type_vocab_size: Annotated[int, Bounds(0, 65_536)] = 2
    initializer_range: Annotated[float, Bounds(0, 10)] = 0.02
    layer_norm_eps: Epsilon = 1e-12
    masked_lm_hidden_act: Activation | None = None
    masked_lm_layer_norm_eps: Epsilon | None = None
    embedding_size: Width | None = None
    pooler_hidden_act: Activation = "tanh"
    # A quarter for one distance each, all below 128.
    relative_attention_num_buckets: Annotated[int, Bounds(4, 256)] | None = None
    normalize_first: bool = False
    is_gated_act: bool = False
    attention_bias: bool = True
    mlp_bias: bool = True
    norm_bias: bool = True
    classifier_bias: bool = True
    classifier_pooling: Literal["cls", "mean"] = "cls"
    global_rope_theta: _Base | None = None
    local_rope_theta: _Base | None = None
    local_attention: Annotated[int, Bounds(above=0, largest=2**20)] | None = None
    global_attn_every_n_layers: Annotated[int, Bounds(above=0, largest=1000)] | None = None

    def __post_init__(self):
        check_values(self)
        hidden, heads = self.hidden_size, self.num_attention_heads
        below = hidden // heads * heads or heads
        require(
            hidden % heads == 0,
            f"hidden_size={hidden} is not divisible by num_attention_heads={heads}; choose a multiple "
            f"of {heads}, for example {below} or {below + heads}.",
        )
        self._check_attention()
        self._check_size()
        if self.embedding_size == hidden:  # said in one way, so that equal encoders are equal
            object.__setattr__(self, "embedding_size", None)

    def _check_attention(self):
        require(
            (self.local_attention is None) == (self.global_attn_every_n_layers is None),
            f"local_attention={self.local_attention} and global_attn_every_n_layers="
            f"{self.global_attn_every_n_layers} belong together; set both or neither.",
        )
        rotary, head_size = self.global_rope_theta is not None, self.hidden_size // self.num_attention_heads
        require(
            rotary or self.local_rope_theta is None,
            f"local_rope_theta={self.local_rope_theta} needs global_rope_theta; set it too.",
        )
        require(
            not rotary or head_size % 2 == 0,
            f"global_rope_theta={self.global_rope_theta} turns pairs of numbers, but heads have {head_size}; "
            "choose hidden_size and num_attention_heads for an even number.",
        )
        require(
            self.relative_attention_num_buckets is None or not (rotary or self.local_attention),
            f"relative_attention_num_buckets={self.relative_attention_num_buckets} goes with neither "
            "global_rope_theta nor local_attention; leave it out.",
        )

    def _check_size(self):
        hidden, layers = self.hidden_size, self.num_hidden_layers
        rows = self.vocab_size + self.num_position_rows + self.type_vocab_size
        numbers = self.embedding_width * rows + layers * self.block_weights
        require(
            numbers <= _MOST_NUMBERS,
            f"vocab_size={self.vocab_size}, hidden_size={hidden}, num_hidden_layers={layers} make an encoder "
            f"of {numbers:,} parameters; choose smaller ones: kbert builds up to {_MOST_NUMBERS:,}.",
        )

    def require_settings_read(self):
        """Raises ValueError for a setting that nothing reads; an encoder that was trained so is still one."""
        require(
            self.local_rope_theta is None or self.local_attention is not None,
            f"local_rope_theta={self.local_rope_theta} is that of local attention, but there is none; leave "
            "it out, or set local_attention.",
        )

    @property
    def embedding_width(self) -> int:
        """The width of the tables of words, positions and segments."""
        return self.hidden_size if self.embedding_size is None else self.embedding_size

    @property
    def num_position_rows(self) -> int:
        """Rows of the table of positions; 0 for an encoder without one."""
        return self.max_position_embeddings if self.global_rope_theta is None else 0

    @property
    def block_weights(self) -> int:
        """The numbers in the matrices of a block."""
        widths = self.intermediate_size * (3 if self.is_gated_act else 2)
        return self.hidden_size * (4 * self.hidden_size + widths)

    @property
    def output_initializer_range(self) -> float:
        """The initializer range of the layers whose outputs are added up, one after the other.

        With `normalize_first` nothing brings the sum back to its size, so it is smaller: Megatron's
        initialization (arXiv 1909.08053, section 5.1), which ModernBERT has.
        """
        sums = 2 * self.num_hidden_layers if self.normalize_first else 1
        return self.initializer_range / sums**0.5

    def window(self, layer: int) -> int | None:
        """How many tokens on each side a token of a layer attends to; None for all."""
        every = self.global_attn_every_n_layers
        if every is None or self.local_attention is None or layer % every == 0:
            return None
        return self.local_attention // 2

    def rope_theta(self, layer: int) -> float | None:
        """The base of a layer's rotary positions; None for an encoder without them."""
        local = None if self.window(layer) is None else self.local_rope_theta
        return local or self.global_rope_theta

    @property
    def masked_lm_settings(self) -> tuple[str, float]:
        """Activation and epsilon of the masked-LM head's transform."""
        own_eps = self.masked_lm_layer_norm_eps
        return (
            self.masked_lm_hidden_act or self.hidden_act,
            self.layer_norm_eps if own_eps is None else own_eps,
        )
