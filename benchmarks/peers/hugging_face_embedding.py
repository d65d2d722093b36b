"""Hugging Face's encoder as a worker of benchmarks/embedding.py: sorted by length, padded to the longest."""

import numpy as np
import torch
import transformers
from turns import Turns

turns = Turns()
settings = turns.settings
torch.set_num_threads(settings["threads"])
tokenizer = transformers.AutoTokenizer.from_pretrained(settings["hugging_face_folder"])
model = transformers.AutoModel.from_pretrained(
    settings["hugging_face_folder"], dtype=getattr(torch, settings["precision"]), add_pooling_layer=False
).eval()
if "compile" in settings["options"]:
    model = torch.compile(model, dynamic=True)


@torch.inference_mode()
def embed(texts):
    """The mean of the last layer over real tokens, of length 1, as sentence-transformers makes it."""
    order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
    found = np.empty((len(texts), model.config.hidden_size), np.float32)
    for start in range(0, len(order), settings["batch_size"]):
        places = order[start : start + settings["batch_size"]]
        encoded = tokenizer(
            [texts[place] for place in places],
            padding=True,
            truncation=True,
            max_length=settings["max_seq_length"],
            return_tensors="pt",
        )
        states = model(**encoded).last_hidden_state.float()
        mask = encoded["attention_mask"][:, :, None].float()
        means = (states * mask).sum(1) / mask.sum(1)
        found[places] = torch.nn.functional.normalize(means, dim=-1).numpy()
    return found


turns.ready(torch=torch.__version__, transformers=transformers.__version__)
turns.answer_batches(embed)
