"""The name tables: what each variable of kbert is called elsewhere, and whether it is transposed there.

PyTorch keeps the kernel of a dense layer as (outputs, inputs); kbert, Keras and TF1 keep (inputs, outputs).
TF1's classifier matrices, `output_weights`, are the exception: they are stored as (labels, hidden). `{layer}`
stands for the layer's number.

Sources: google-research/bert, modeling.py, run_pretraining.py, run_classifier.py, run_squad.py; the
parameters of transformers' BertModel, DistilBertModel, ElectraModel, RobertaModel, MPNetModel,
ModernBertModel and their heads; the variables of keras_hub's BertBackbone, BertTextClassifier and
BertMaskedLM; those of Model Garden's official/nlp/modeling.
"""

import itertools
from typing import NamedTuple


class NameRow(NamedTuple):
    """One variable: kbert's name, the other format's, and whether the two axes are exchanged there."""

    kbert: str
    outside: str
    transposed: bool = False


def _dense(kbert, pytorch):
    return (
        NameRow(f"{kbert}/kernel", f"{pytorch}.weight", transposed=True),
        NameRow(f"{kbert}/bias", f"{pytorch}.bias"),
    )


def _layer_norm(kbert, pytorch):
    return NameRow(f"{kbert}/gamma", f"{pytorch}.weight"), NameRow(f"{kbert}/beta", f"{pytorch}.bias")


def _keras_dense(kbert, tensorflow):
    return NameRow(f"{kbert}/kernel", f"{tensorflow}/kernel"), NameRow(f"{kbert}/bias", f"{tensorflow}/bias")


def _keras_layer_norm(kbert, tensorflow):
    return NameRow(f"{kbert}/gamma", f"{tensorflow}/gamma"), NameRow(f"{kbert}/beta", f"{tensorflow}/beta")


# The parts of a layer that every format has, in the order in which `_block` takes their names.
_PARTS = (
    "attention/query", "attention/key", "attention/value", "attention/output", "attention_layer_norm",
    "feed_forward/intermediate", "feed_forward/output", "feed_forward_layer_norm",
)  # fmt: skip


def _block(dense, layer_norm, prefix, names):
    """The rows of a layer: `prefix` stands before the names of its `_PARTS`, with spaces between them."""
    made = (
        (layer_norm if part.endswith("norm") else dense)(f"layer_{{layer}}/{part}", f"{prefix}{name}")
        for part, name in zip(_PARTS, names.split(), strict=True)
    )
    return tuple(itertools.chain.from_iterable(made))


# ------------------------------------------------------------------------------------ Google TF1


def _tf1_output(kbert, google):
    return (
        NameRow(f"{kbert}/dense/kernel", f"{google}output_weights", transposed=True),
        NameRow(f"{kbert}/dense/bias", f"{google}output_bias"),
    )


GOOGLE_TF1 = {
    "body": (
        NameRow("embeddings/word_embeddings", "bert/embeddings/word_embeddings"),
        NameRow("embeddings/position_embeddings", "bert/embeddings/position_embeddings"),
        NameRow("embeddings/token_type_embeddings", "bert/embeddings/token_type_embeddings"),
        *_keras_layer_norm("embeddings/layer_norm", "bert/embeddings/LayerNorm"),
        *_block(
            _keras_dense,
            _keras_layer_norm,
            "bert/encoder/layer_{layer}/",
            "attention/self/query attention/self/key attention/self/value attention/output/dense "
            "attention/output/LayerNorm intermediate/dense output/dense output/LayerNorm",
        ),
    ),
    "pooler": _keras_dense("pooler/dense", "bert/pooler/dense"),
    "masked_lm": (
        *_keras_dense("masked_lm/transform", "cls/predictions/transform/dense"),
        *_keras_layer_norm("masked_lm/layer_norm", "cls/predictions/transform/LayerNorm"),
        NameRow("masked_lm/output_bias", "cls/predictions/output_bias"),
    ),
    "next_sentence": _tf1_output("next_sentence", "cls/seq_relationship/"),
    "classification": _tf1_output("classification", ""),
    "span": _tf1_output("span", "cls/squad/"),
}

# --------------------------------------------------------------------------------- Hugging Face

# Without the prefix "bert." that the encoder's names have in models with a head.
HUGGING_FACE = {
    "body": (
        NameRow("embeddings/word_embeddings", "embeddings.word_embeddings.weight"),
        NameRow("embeddings/position_embeddings", "embeddings.position_embeddings.weight"),
        NameRow("embeddings/token_type_embeddings", "embeddings.token_type_embeddings.weight"),
        *_layer_norm("embeddings/layer_norm", "embeddings.LayerNorm"),
        *_block(
            _dense,
            _layer_norm,
            "encoder.layer.{layer}.",
            "attention.self.query attention.self.key attention.self.value attention.output.dense "
            "attention.output.LayerNorm intermediate.dense output.dense output.LayerNorm",
        ),
    ),
    "pooler": _dense("pooler/dense", "pooler.dense"),
    "masked_lm": (
        *_dense("masked_lm/transform", "cls.predictions.transform.dense"),
        *_layer_norm("masked_lm/layer_norm", "cls.predictions.transform.LayerNorm"),
        NameRow("masked_lm/output_bias", "cls.predictions.bias"),
    ),
    "next_sentence": _dense("next_sentence/dense", "cls.seq_relationship"),
    "classification": _dense("classification/dense", "classifier"),
    "token_classification": _dense("token_classification/dense", "classifier"),
    "multiple_choice": _dense("multiple_choice/dense", "classifier"),
    "span": _dense("span/dense", "qa_outputs"),
}

# Without the prefix "distilbert.". No segment table; what stands for a pooler belongs to the heads.
DISTILBERT = {
    "body": (
        NameRow("embeddings/word_embeddings", "embeddings.word_embeddings.weight"),
        NameRow("embeddings/position_embeddings", "embeddings.position_embeddings.weight"),
        *_layer_norm("embeddings/layer_norm", "embeddings.LayerNorm"),
        *_block(
            _dense,
            _layer_norm,
            "transformer.layer.{layer}.",
            "attention.q_lin attention.k_lin attention.v_lin attention.out_lin sa_layer_norm ffn.lin1 "
            "ffn.lin2 output_layer_norm",
        ),
    ),
    "masked_lm": (
        *_dense("masked_lm/transform", "vocab_transform"),
        *_layer_norm("masked_lm/layer_norm", "vocab_layer_norm"),
        NameRow("masked_lm/output_bias", "vocab_projector.bias"),
    ),
    "pooler": _dense("pooler/dense", "pre_classifier"),
    **{
        head: HUGGING_FACE[head]
        for head in ("classification", "token_classification", "multiple_choice", "span")
    },
}

# Without the prefix "electra.". What stands for a pooler belongs to the classifier.
ELECTRA = {
    "body": (*HUGGING_FACE["body"], *_dense("embeddings/projection", "embeddings_project")),
    "pooler": _dense("pooler/dense", "classifier.dense"),
    "masked_lm": (
        *_dense("masked_lm/transform", "generator_predictions.dense"),
        *_layer_norm("masked_lm/layer_norm", "generator_predictions.LayerNorm"),
        NameRow("masked_lm/output_bias", "generator_lm_head.bias"),
    ),
    "classification": _dense("classification/dense", "classifier.out_proj"),
    **{head: HUGGING_FACE[head] for head in ("token_classification", "multiple_choice", "span")},
}
# Of its class for multiple choice.
SUMMARY_POOLER = _dense("pooler/dense", "sequence_summary.summary")

# Of RoBERTa's and MPNet's classifiers, whose encoders have no pooler: a layer that stands for it.
CLASSIFIER_POOLER = ELECTRA["pooler"]
# Without the prefix "roberta.", which XLM-R's classes have too.
ROBERTA = {
    "masked_lm": (
        *_dense("masked_lm/transform", "lm_head.dense"),
        *_layer_norm("masked_lm/layer_norm", "lm_head.layer_norm"),
        NameRow("masked_lm/output_bias", "lm_head.bias"),
    ),
    "classification": ELECTRA["classification"],
    **{
        part: HUGGING_FACE[part]
        for part in ("body", "pooler", "token_classification", "multiple_choice", "span")
    },
}
# Without the prefix "mpnet.". No segment table; one table of relative positions for all layers.
MPNET = ROBERTA | {
    "body": (
        NameRow("embeddings/word_embeddings", "embeddings.word_embeddings.weight"),
        NameRow("embeddings/position_embeddings", "embeddings.position_embeddings.weight"),
        NameRow("embeddings/position_bias/relative_attention_bias", "encoder.relative_attention_bias.weight"),
        *_layer_norm("embeddings/layer_norm", "embeddings.LayerNorm"),
        *_block(
            _dense,
            _layer_norm,
            "encoder.layer.{layer}.",
            "attention.attn.q attention.attn.k attention.attn.v attention.attn.o attention.LayerNorm "
            "intermediate.dense output.dense output.LayerNorm",
        ),
    ),
}

# Without the prefix "model.". Query, key and value are one tensor there, see `split_projections`.
MODERNBERT = {
    "body": (
        NameRow("embeddings/word_embeddings", "embeddings.tok_embeddings.weight"),
        *_layer_norm("embeddings/layer_norm", "embeddings.norm"),
        *_block(
            _dense,
            _layer_norm,
            "layers.{layer}.",
            "attn.Wqkv.query attn.Wqkv.key attn.Wqkv.value attn.Wo attn_norm mlp.Wi mlp.Wo mlp_norm",
        ),
        *_layer_norm("layer_{last}/final_layer_norm", "final_norm"),
    ),
    "pooler": (*_dense("pooler/dense", "head.dense"), *_layer_norm("pooler/layer_norm", "head.norm")),
    "masked_lm": (
        *_dense("masked_lm/transform", "head.dense"),
        *_layer_norm("masked_lm/layer_norm", "head.norm"),
        NameRow("masked_lm/output_bias", "decoder.bias"),
    ),
    **{head: HUGGING_FACE[head] for head in ("classification", "multiple_choice")},
    **{
        head: (
            *_dense(f"{head}/transform", "head.dense"),
            *_layer_norm(f"{head}/layer_norm", "head.norm"),
            *_dense(f"{head}/dense", "classifier"),
        )
        for head in ("token_classification", "span")
    },
}

# ------------------------------------------------------------------------------------ KerasHub

# Paths of the variables. Attention kernels have an axis for the heads there: (hidden, heads, head size), and
# (heads, head size, hidden) for the output. The order of the numbers is the same.
KERAS_HUB = {
    "body": (
        NameRow("embeddings/word_embeddings", "token_embedding/embeddings"),
        NameRow("embeddings/position_embeddings", "position_embedding/embeddings"),
        NameRow("embeddings/token_type_embeddings", "segment_embedding/embeddings"),
        *_keras_layer_norm("embeddings/layer_norm", "embeddings_layer_norm"),
        *_block(
            _keras_dense,
            _keras_layer_norm,
            "transformer_layer_{layer}/",
            "self_attention_layer/query self_attention_layer/key self_attention_layer/value "
            "self_attention_layer/attention_output self_attention_layer_norm "
            "feedforward_intermediate_dense feedforward_output_dense feedforward_layer_norm",
        ),
    ),
    "pooler": _keras_dense("pooler/dense", "pooled_dense"),
    "masked_lm": (
        *_keras_dense("masked_lm/transform", "mlm_head/intermediate_dense"),
        *_keras_layer_norm("masked_lm/layer_norm", "mlm_head/intermediate_layer_norm"),
        NameRow("masked_lm/output_bias", "mlm_head/output_bias"),
    ),
    "classification": _keras_dense("classification/dense", "logits"),
}

# ------------------------------------------------------------------------------------ Model Garden

# Full names of the variables of Model Garden's BertEncoder, so also of TF Hub's; heads: model_garden.py.
# The attention kernels have an axis for the heads, as KerasHub's.
MODEL_GARDEN = {
    "body": (
        NameRow("embeddings/word_embeddings", "word_embeddings/embeddings"),
        NameRow("embeddings/position_embeddings", "position_embedding/embeddings"),
        NameRow("embeddings/token_type_embeddings", "type_embeddings/embeddings"),
        *_keras_layer_norm("embeddings/layer_norm", "embeddings/layer_norm"),
        *_keras_dense("embeddings/projection", "embedding_projection"),
        *_block(
            _keras_dense,
            _keras_layer_norm,
            "transformer/layer_{layer}/",
            "self_attention/query self_attention/key self_attention/value self_attention/attention_output "
            "self_attention_layer_norm intermediate output output_layer_norm",
        ),
    ),
    "pooler": _keras_dense("pooler/dense", "pooler_transform"),
    "masked_lm": (
        *_keras_dense("masked_lm/transform", "masked_lm/dense"),
        *_keras_layer_norm("masked_lm/layer_norm", "masked_lm/layer_norm"),
        NameRow("masked_lm/output_bias", "masked_lm/output_bias"),
    ),
    "next_sentence": _keras_dense("next_sentence/dense", "next_sentence/logits"),
    "classification": _keras_dense("classification/dense", "classification/logits"),
    "token_classification": _keras_dense("token_classification/dense", "token_classification/logits"),
    "span": _keras_dense("span/dense", "span/logits"),
}


def rows(table: dict[str, tuple[NameRow, ...]], parts, num_layers: int) -> list[NameRow]:
    """The rows of "body" and of `parts`, with a row for each layer in place of `{layer}`.

    `{last}` stands for the last layer. A part that is not in the table has no rows: the other format has no
    such variables.
    """
    table_rows = [row for part in ("body", *parts) for row in table.get(part, ())]
    return [
        NameRow(
            row.kbert.format(layer=index, last=num_layers - 1),
            row.outside.format(layer=index),
            row.transposed,
        )
        for row in table_rows
        for index in range(num_layers if "{layer}" in row.kbert else 1)
    ]
