"""Hugging Face's classifier as a worker of benchmarks/serving.py."""

import torch
import transformers
from turns import Turns

turns = Turns()
settings = turns.settings
torch.set_num_threads(settings["threads"])
tokenizer = transformers.AutoTokenizer.from_pretrained(settings["hugging_face_folder"])
model = transformers.AutoModelForSequenceClassification.from_pretrained(
    settings["hugging_face_folder"], dtype=getattr(torch, settings["precision"])
).eval()
if "compile" in settings["options"]:
    model = torch.compile(model, dynamic=True)


@torch.inference_mode()
def answer(texts):
    encoded = tokenizer(
        texts, padding=True, truncation=True, max_length=settings["max_seq_length"], return_tensors="pt"
    )
    return model(**encoded).logits.float().softmax(-1).numpy()


turns.ready(torch=torch.__version__, transformers=transformers.__version__)
turns.answer_batches(answer)
