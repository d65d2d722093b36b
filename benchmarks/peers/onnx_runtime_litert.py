"""ONNX Runtime as a worker of benchmarks/litert.py: a row of token ids in, probabilities out."""

import numpy as np
import onnxruntime
from onnx_runtime_session import NAMES, probabilities_of
from turns import Turns

NAMES_OF_KBERT = ("input_ids", "input_mask", "segment_ids")

turns = Turns()
probabilities, size = probabilities_of(turns.settings)


def answer(row):
    names = zip(NAMES, NAMES_OF_KBERT, strict=True)
    return probabilities({name: np.array([row[ours]], np.int64) for name, ours in names})


turns.ready(onnxruntime=onnxruntime.__version__, bytes=size)
turns.answer_batches(answer)
