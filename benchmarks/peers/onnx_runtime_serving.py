"""ONNX Runtime as a worker of benchmarks/serving.py: texts in, probabilities out."""

import onnxruntime
import transformers
from onnx_runtime_session import probabilities_of
from turns import Turns

turns = Turns()
settings = turns.settings
tokenizer = transformers.AutoTokenizer.from_pretrained(settings["hugging_face_folder"])
probabilities, _ = probabilities_of(settings)


def answer(texts):
    return probabilities(
        tokenizer(
            texts, padding=True, truncation=True, max_length=settings["max_seq_length"], return_tensors="np"
        )
    )


turns.ready(onnxruntime=onnxruntime.__version__, transformers=transformers.__version__)
turns.answer_batches(answer)
