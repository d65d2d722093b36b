"""sentence-transformers as a worker of benchmarks/search.py."""

import json
import pathlib

import sentence_transformers
import torch
from turns import Turns

turns = Turns()
settings = turns.settings
torch.set_num_threads(settings["threads"])
folder = pathlib.Path(settings["folder"])
about = folder / "config_sentence_transformers.json"  # which a cross-encoder need not have
kind = json.loads(about.read_text())["model_type"] if about.exists() else "CrossEncoder"
model = getattr(sentence_transformers, kind)(
    str(folder), device="cpu", model_kwargs={"dtype": getattr(torch, settings["precision"])}
)


def scores(texts):
    """(texts, queries); the first two texts are the queries."""
    if kind == "CrossEncoder":
        return model.predict([(texts[0], text) for text in texts], convert_to_tensor=True).float()[:, None]
    tensors = {} if kind == "MultiVectorEncoder" else {"convert_to_tensor": True}
    vectors = model.encode_document(texts, **tensors)
    return model.similarity(model.encode_query(texts[:2], **tensors), vectors).float().T


turns.ready(torch=torch.__version__, sentence_transformers=sentence_transformers.__version__)
turns.answer_batches(scores)
