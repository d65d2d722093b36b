"""A classifier in ONNX Runtime, for the workers of benchmarks/serving.py and benchmarks/litert.py.

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

NAMES = ("input_ids", "attention_mask", "token_type_ids")


def probabilities_of(settings):
    """A function from arrays by NAMES to probabilities, and the bytes of the graph's file."""
    with tempfile.TemporaryDirectory() as folder:
        plain, finished = Path(folder, "plain.onnx"), Path(folder, "finished.onnx")
        config = _export(settings["hugging_face_folder"], plain)
        if settings["precision"] == "int8":
            quantize_dynamic(str(plain), str(finished), weight_type=QuantType.QInt8)
        else:
            shape = {"num_heads": config.num_attention_heads, "hidden_size": config.hidden_size}
            fused = optimizer.optimize_model(
                str(plain), model_type="bert", opt_level=1, use_gpu=False, **shape
            )
            fused.save_model_to_file(str(finished))
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = settings["threads"]
        session = onnxruntime.InferenceSession(str(finished), options, providers=["CPUExecutionProvider"])
        size = finished.stat().st_size

    def probabilities(encoded):
        (logits,) = session.run(["logits"], {name: encoded[name] for name in NAMES})
        exponentials = np.exp(logits - logits.max(-1, keepdims=True))
        return exponentials / exponentials.sum(-1, keepdims=True)

    return probabilities, size


def _export(folder, file):
    # The optimizer knows the attention that this implementation writes.
    model = transformers.AutoModelForSequenceClassification.from_pretrained(
        folder, attn_implementation="eager"
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
