"""Run by the peers' Python: the losses of sentence-transformers' SparseEncoder on given vectors.

A line of standard input: {"embeddings": (rows, texts, words), "scores": (rows, texts - 1)}.
"""

import json
import sys

import torch
from sentence_transformers.sparse_encoder import losses


def main():
    given = json.loads(sys.stdin.read())
    texts = list(torch.tensor(given["embeddings"]).transpose(0, 1))
    flops = losses.FlopsLoss(None).compute_loss_from_embeddings
    found = {
        "loss": losses.SparseMultipleNegativesRankingLoss(None).compute_loss_from_embeddings(texts, None),
        "query_flops": flops(texts[0]),
        "document_flops": flops(torch.cat(texts[1:])),
    }
    scores = torch.tensor(given["scores"])
    taught = losses.SparseMarginMSELoss(None).compute_loss_from_embeddings(texts, scores)
    print(json.dumps({name: float(value) for name, value in (found | {"taught": taught}).items()}))


if __name__ == "__main__":
    main()
