"""A classifier in OpenVINO, as a worker of benchmarks/serving.py.

OpenVINO reads PyTorch's model. For int8 `nncf.quantize` measures the ranges of activations on the first
texts of the benchmark. In bfloat16 the plugin for CPUs is asked to compute so (`INFERENCE_PRECISION_HINT`);
+bfloat16 asks it for the part that int8 leaves.
"""

import itertools
import tempfile
from pathlib import Path

import nncf
import openvino
import torch
import transformers
from turns import Turns

NAMES = ("input_ids", "attention_mask", "token_type_ids")
CALIBRATION_TEXTS = 300

turns = Turns()
settings = turns.settings
tokenizer = transformers.AutoTokenizer.from_pretrained(settings["hugging_face_folder"])


def encoded(texts):
    return dict(
        tokenizer(
            texts, padding=True, truncation=True, max_length=settings["max_seq_length"], return_tensors="np"
        )
    )


def converted():
    model = transformers.AutoModelForSequenceClassification.from_pretrained(
        settings["hugging_face_folder"], attn_implementation="eager"
    ).eval()
    row = torch.ones((1, 4), dtype=torch.int64)
    example = dict(zip(NAMES, (row, row, torch.zeros_like(row)), strict=True))
    graph = openvino.convert_model(model, example_input=example)
    if settings["precision"] != "int8":
        return graph
    batches = itertools.chain.from_iterable(settings["batches"].values())
    texts = itertools.islice(itertools.chain.from_iterable(batches), CALIBRATION_TEXTS)
    data = nncf.Dataset([encoded([text]) for text in texts])
    return nncf.quantize(graph, data, model_type=nncf.ModelType.TRANSFORMER, subset_size=CALIBRATION_TEXTS)


def compiled(graph):
    in_bfloat16 = settings["precision"] == "bfloat16" or "bfloat16" in settings["options"]
    return openvino.Core().compile_model(
        graph,
        "CPU",
        {
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_NUM_THREADS": settings["threads"],
            "INFERENCE_PRECISION_HINT": "bf16" if in_bfloat16 else "f32",
        },
    )


def size_of(graph):
    with tempfile.TemporaryDirectory() as folder:
        openvino.save_model(graph, Path(folder, "model.xml"), compress_to_fp16=False)
        return sum(path.stat().st_size for path in Path(folder).iterdir())


graph = converted()
request = compiled(graph).create_infer_request()


def answer(texts):
    logits = torch.from_numpy(request.infer(encoded(texts))["logits"])
    return torch.softmax(logits, -1).numpy()


turns.ready(openvino=openvino.__version__, nncf=nncf.__version__, bytes=size_of(graph))
turns.answer_batches(answer)
