"""Run by the peers' Python: sentence-transformers' MatryoshkaLoss on given vectors.

A line of standard input: {"embeddings": (rows, texts, width), "scores": (rows,), "dims": [...]}.
"""

import json
import sys

import torch
from sentence_transformers.sentence_transformer import losses


class Given(torch.nn.Module):
    """A model whose vectors are given."""

    def get_embedding_dimension(self):
        return None

    def forward(self, features):
        return {"sentence_embedding": features["given"]}


def main():
    given, model = json.loads(sys.stdin.read()), Given()
    texts = [{"given": part} for part in torch.tensor(given["embeddings"]).transpose(0, 1)]
    kinds = {
        "ranking": (losses.MultipleNegativesRankingLoss, texts, None),
        "cosine": (losses.CosineSimilarityLoss, texts[:2], torch.tensor(given["scores"])),
    }
    print(
        json.dumps(
            {
                name: float(losses.MatryoshkaLoss(model, loss(model), given["dims"])(features, labels))
                for name, (loss, features, labels) in kinds.items()
            }
        )
    )


if __name__ == "__main__":
    main()
