"""Models of any task and settings, as data: no model is built and no file read."""

from kbert.checkpoints.bert_checkpoint import BertCheckpoint
from kbert.checkpoints.hugging_face.tokenizer_wordpiece import MPNET_TOKENS
from kbert.checkpoints.model_variables import fresh_value, model_shapes
from kbert.checkpoints.report import Report
from kbert.config import EncoderConfig
from kbert.files.stored_tensor import stored_array
from kbert.tasks import TASKS
from kbert.tokenization.vocabulary import Vocabulary
from tests.kbert.checkpoints import foreign_files

SEGMENTS = "embeddings/token_type_embeddings"
ELECTRA = {"embedding_size": 4, "pooler_hidden_act": "gelu_erf", "hidden_act": "gelu_erf"}
MPNET = {"type_vocab_size": 0, "relative_attention_num_buckets": 32, "hidden_act": "gelu_erf"}
ROBERTA = {"type_vocab_size": 1, "layer_norm_eps": 1e-5, "hidden_act": "gelu_erf"}
MODERNBERT = {
    "type_vocab_size": 0,
    "hidden_act": "gelu_erf",
    "pooler_hidden_act": "gelu_erf",
    "normalize_first": True,
    "is_gated_act": True,
    "attention_bias": False,
    "mlp_bias": False,
    "norm_bias": False,
    "classifier_bias": False,
    "global_rope_theta": 160_000.0,
    "local_rope_theta": 10_000.0,
    "local_attention": 8,
    "global_attn_every_n_layers": 3,
}
MPNET_TOKENIZER = ["<s>", "<pad>", "</s>", "[UNK]", *foreign_files.WORDS, "<mask>"]
DISTILBERT = {"type_vocab_size": 0, "pooler_hidden_act": "relu", "hidden_act": "gelu_erf"}


def numbers(checkpoint):
    return {name: tensor.read().tobytes() for name, tensor in checkpoint.tensors.items()}


def random_checkpoint(task, labels=(), vocabulary=None, **settings):
    """A model of any task and settings."""
    is_mpnet = settings.get("relative_attention_num_buckets")
    own = (MPNET_TOKENIZER, True, "MPNet", MPNET_TOKENS) if is_mpnet else (foreign_files.TOKENS, True)
    vocabulary = vocabulary or Vocabulary(*own)
    encoder = EncoderConfig(**foreign_files.SHAPE | {"vocab_size": len(vocabulary)} | settings)
    shapes = model_shapes(encoder, TASKS[task].from_labels(labels))
    weights = {name: fresh_value(name, shape, 0.3) for name, shape in shapes.items()}
    return BertCheckpoint(
        source="there",
        encoder=encoder,
        task=task,
        labels=labels,
        vocabulary=vocabulary,
        tensors={name: stored_array(array) for name, array in weights.items()},
        max_seq_length=16,
        report=Report("kbert", "there"),
    )
