"""A classifier in ONNX Runtime, as a worker of benchmarks/serving.py (texts) and litert.py (rows of ids).

PyTorch exports the graph. In float32 ONNX Runtime's optimizer fuses attention, norms and GELU; for int8
`quantize_dynamic` takes the plain graph (the fused one was no faster).
"""

import tempfile
from pathlib import Path

import numpy as np
import onnxruntime
import torch
import transformers
from onnxruntime.quantization import QuantType, quantize_dynamic
from onnxruntime.transformers import optimizer
from turns import Turns

NAMES = ("input_ids", "attention_mask", "token_type_ids")
NAMES_OF_KBERT = ("input_ids", "input_mask", "segment_ids")

turns = Turns()
settings = turns.settings
tokenizer = transformers.AutoTokenizer.from_pretrained(settings["hugging_face_folder"])


def export(file):
    # The optimizer knows the attention that this implementation writes.
    model = transformers.AutoModelForSequenceClassification.from_pretrained(
        settings["hugging_face_folder"], attn_implementation="eager"
    ).eval()
    row = torch.ones((1, 4), dtype=torch.int64)
    axes = {name: {0: "batch", 1: "length"} for name in NAMES} | {"logits": {0: "batch"}}
    torch.onnx.export(
        model,
        (row, row, torch.zeros_like(row)),
        str(file),
        input_names=list(NAMES),
        output_names=["logits"],
        dynamic_axes=axes,
        opset_version=17,
        dynamo=False,
    )
    return model.config


def session(folder):
    """The session, and the bytes of the graph's file."""
    plain, finished = Path(folder, "plain.onnx"), Path(folder, "finished.onnx")
    config = export(plain)
    if settings["precision"] == "int8":
        quantize_dynamic(str(plain), str(finished), weight_type=QuantType.QInt8)
    else:
        shape = {"num_heads": config.num_attention_heads, "hidden_size": config.hidden_size}
        fused = optimizer.optimize_model(str(plain), model_type="bert", opt_level=1, use_gpu=False, **shape)
        fused.save_model_to_file(str(finished))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = settings["threads"]
    made = onnxruntime.InferenceSession(str(finished), options, providers=["CPUExecutionProvider"])
    return made, finished.stat().st_size


def encoded(batch):
    """Texts, or a row of token ids by kbert's names, as arrays by NAMES."""
    if isinstance(batch, dict):
        names = zip(NAMES, NAMES_OF_KBERT, strict=True)
        return {name: np.array([batch[ours]], np.int64) for name, ours in names}
    return tokenizer(
        batch, padding=True, truncation=True, max_length=settings["max_seq_length"], return_tensors="np"
    )


def answer(batch):
    arrays = encoded(batch)
    (logits,) = model.run(["logits"], {name: arrays[name] for name in NAMES})
    exponentials = np.exp(logits - logits.max(-1, keepdims=True))
    return exponentials / exponentials.sum(-1, keepdims=True)


with tempfile.TemporaryDirectory() as made_in:
    model, size = session(made_in)
turns.ready(onnxruntime=onnxruntime.__version__, transformers=transformers.__version__, bytes=size)
turns.answer_batches(answer)
