"""Run by the peers' Python: the losses of sentence-transformers' MultiVectorEncoder on given vectors.

A line of standard input: {"embeddings": (rows, texts, tokens, width), "scored": (rows, texts, tokens),
"scores": (rows, texts - 1)}.
"""

import json
import sys

import torch
from sentence_transformers.multi_vector_encoder import losses


class Given(torch.nn.Module):
    """Answers a text with its vectors and its mask."""

    def forward(self, features, task=None):
        return {"token_embeddings": features["vectors"], "attention_mask": features["attention_mask"]}


def main():
    given = json.loads(sys.stdin.read())
    vectors, scored = torch.tensor(given["embeddings"]), torch.tensor(given["scored"])
    columns = [
        {"vectors": vectors[:, place], "attention_mask": scored[:, place], "input_ids": scored[:, place]}
        for place in range(vectors.shape[1])
    ]
    found = {
        "loss": losses.MultiVectorMultipleNegativesRankingLoss(Given())(columns),
        "taught": losses.MultiVectorDistillKLDivLoss(Given())(columns, torch.tensor(given["scores"])),
    }
    print(json.dumps({name: float(value) for name, value in found.items()}))


if __name__ == "__main__":
    main()
