"""Run by the peers' Python: the losses of sentence-transformers on given vectors.

A line of standard input: {kind: what is given}, the kind being a function below.
"""

import json
import sys

import torch
from sentence_transformers.multi_vector_encoder import losses as late_losses
from sentence_transformers.sentence_transformer import losses as dense_losses
from sentence_transformers.sparse_encoder import losses as sparse_losses


class Given(torch.nn.Module):
    """A model whose answers are given: a copy, as a loss may cut what it gets."""

    def get_embedding_dimension(self):
        return None

    def forward(self, features, task=None):
        return dict(features)


def late(embeddings, scored, scores):
    """MultiVectorEncoder: vectors (rows, texts, tokens, width), scored (rows, texts, tokens), scores (rows,
    texts - 1)."""
    columns = [
        {"token_embeddings": vectors, "attention_mask": mask, "input_ids": mask}
        for vectors, mask in zip(embeddings.transpose(0, 1), scored.long().transpose(0, 1), strict=True)
    ]
    return {
        "loss": late_losses.MultiVectorMultipleNegativesRankingLoss(Given())(columns),
        "taught": late_losses.MultiVectorDistillKLDivLoss(Given())(columns, scores),
    }


def sparse(embeddings, scores):
    """SparseEncoder: weights of words (rows, texts, words), scores (rows, texts - 1)."""
    texts = list(embeddings.transpose(0, 1))
    ranking, margins = sparse_losses.SparseMultipleNegativesRankingLoss, sparse_losses.SparseMarginMSELoss
    flops = sparse_losses.FlopsLoss(None).compute_loss_from_embeddings
    return {
        "loss": ranking(None).compute_loss_from_embeddings(texts, None),
        "query_flops": flops(texts[0]),
        "document_flops": flops(torch.cat(texts[1:])),
        "taught": margins(None).compute_loss_from_embeddings(texts, scores),
    }


def nested(embeddings, scores, dims):
    """MatryoshkaLoss: vectors (rows, texts, width), scores (rows,)."""
    texts, model = [{"sentence_embedding": part} for part in embeddings.transpose(0, 1)], Given()
    dims = dims.long().tolist()  # the loss changes the `forward` of its model while it works
    ranking, cosine = (
        dense_losses.MultipleNegativesRankingLoss(model),
        dense_losses.CosineSimilarityLoss(model),
    )
    return {
        "ranking": dense_losses.MatryoshkaLoss(model, ranking, dims)(texts, None),
        "cosine": dense_losses.MatryoshkaLoss(model, cosine, dims)(texts[:2], scores),
    }


def main():
    kinds = {"late": late, "sparse": sparse, "nested": nested}
    for kind, given in json.loads(sys.stdin.read()):
        found = kinds[kind](
            **{name: torch.tensor(values, dtype=torch.float32) for name, values in given.items()}
        )
        print(json.dumps({name: float(value) for name, value in found.items()}))


if __name__ == "__main__":
    main()
