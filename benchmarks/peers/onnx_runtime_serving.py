"""The same classifier in ONNX Runtime, as a worker of benchmarks/serving.py and benchmarks/litert.py.

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
    encoded = tokenizer(["a text"], return_tensors="pt")
    axes = {name: {0: "batch", 1: "length"} for name in NAMES} | {"logits": {0: "batch"}}
    torch.onnx.export(
        model,
        tuple(encoded[name] for name in NAMES),
        str(file),
        input_names=list(NAMES),
        output_names=["logits"],
        dynamic_axes=axes,
        opset_version=17,
        dynamo=False,
    )
    return model.config


def session(folder):
    plain, finished = folder / "plain.onnx", folder / "finished.onnx"
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


def answer(texts):
    encoded = tokenizer(
        texts, padding=True, truncation=True, max_length=settings["max_seq_length"], return_tensors="np"
    )
    return probabilities(encoded)


def answer_ids(row):
    """One row of token ids, as benchmarks/litert.py gives it, without padding."""
    return probabilities(
        {name: np.array([row[ours]], np.int64) for name, ours in zip(NAMES, NAMES_OF_KBERT, strict=True)}
    )


def probabilities(encoded):
    (logits,) = model.run(["logits"], {name: encoded[name] for name in NAMES})
    exponentials = np.exp(logits - logits.max(-1, keepdims=True))
    return exponentials / exponentials.sum(-1, keepdims=True)


with tempfile.TemporaryDirectory() as made:
    model, size = session(Path(made))
turns.ready(onnxruntime=onnxruntime.__version__, torch=torch.__version__, bytes=size)
turns.answer_batches(answer_ids if settings.get("rows_of_ids") else answer)
