"""assets.extra/tf_serving_warmup_requests: what a server asks a model before it serves it.

A server replays the file when it loads a version, so that no user's request waits for what TensorFlow does
at a first call. A request that fails makes the loading fail, and so do more than 1,000. The file is a
TFRecord of `PredictionLog`s (TensorFlow Serving, docs/saved_model_warmup).
"""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import tensorflow as tf
from tensorflow_serving.apis import predict_pb2, prediction_log_pb2

from kbert.input_pipelines.epochs import without_autotune
from kbert.tasks.signatures.signature import Signature

from ..folder_names import WARMUP_FILE
from ..gate.signature_inputs import make_inputs

BATCH_SIZES = (1, 8, 32)
_LENGTHS = [2**power for power in range(5, 16)]  # tokens; shorter texts are not worth a request of their own
_FIXED_WORDS = (
    "the quick brown fox jumps over a lazy dog and runs into the old wood before it is dark".split()
)
_MASKED_EVERY = 8  # words, where masks are filled
_MOST_REQUESTS = 1000  # that a server replays
_MOST_TOKENS = 1 << 14  # of a request with several examples: attention needs memory for all of them


class WarmupRequest(NamedTuple):
    """A request.

    Args:
      signature: its name.
      batch_size: how many examples it holds.
      num_tokens: how long each is in tokens, about; special tokens included.
      inputs: name -> array.
    """

    signature: str
    batch_size: int
    num_tokens: int
    inputs: dict[str, np.ndarray]


def length_buckets(max_seq_length: int) -> tuple[int, ...]:
    """Powers of two from 32 on, and the longest sequence: the lengths that requests are made for."""
    return (*(length for length in _LENGTHS if length < max_seq_length), max_seq_length)


def warmup_requests(signatures: dict[str, Signature], text_inputs, examples=()) -> Iterator[WarmupRequest]:
    """Yields a request for each signature, batch size and length, of at most 16,384 tokens or one example.

    Of many signatures the longest requests are left out, so that there are at most 1,000.

    Args:
      signatures: those of the model.
      text_inputs: the `TextInputs` of the model.
      examples: dicts of inputs, whose words are used; fixed English words without.
    """
    words = _example_words(examples) or _FIXED_WORDS
    mask = text_inputs.vocabulary.special_tokens.mask
    pieces = np.maximum(text_inputs.tokenizer(tf.constant(words)).row_lengths().numpy(), 1)
    sizes = [
        (num_tokens, batch_size)
        for num_tokens in length_buckets(text_inputs.max_seq_length)
        for batch_size in BATCH_SIZES
        if batch_size == 1 or batch_size * num_tokens <= _MOST_TOKENS
    ]
    for name, signature in signatures.items():
        for num_tokens, batch_size in sizes[: _MOST_REQUESTS // len(signatures)]:
            texts = _texts(signature, words, pieces, batch_size, num_tokens, mask)
            yield WarmupRequest(name, batch_size, num_tokens, _inputs(signature, texts, text_inputs))


def write_warmup_requests(folder: Path, model_name: str, requests) -> int:
    """Writes the file into a folder (`assets.extra`); returns how many requests it holds."""
    number = 0
    with tf.io.TFRecordWriter(str(folder / WARMUP_FILE)) as writer:
        for number, request in enumerate(requests, start=1):  # noqa: B007  the last is how many there are
            message = predict_pb2.PredictRequest(
                model_spec={"name": model_name, "signature_name": request.signature},
                inputs={name: tf.make_tensor_proto(value) for name, value in request.inputs.items()},
            )
            log = prediction_log_pb2.PredictLog(request=message)
            writer.write(prediction_log_pb2.PredictionLog(predict_log=log).SerializeToString())
    return number


def read_warmup_requests(folder: Path) -> Iterator[tuple[str, dict[str, np.ndarray]]]:
    """Yields (signature, inputs) of a file in a folder, in its order."""
    for record in without_autotune(tf.data.TFRecordDataset(str(folder / WARMUP_FILE))).as_numpy_iterator():
        request = prediction_log_pb2.PredictionLog.FromString(record).predict_log.request
        inputs = {name: tf.make_ndarray(tensor) for name, tensor in request.inputs.items()}
        yield request.model_spec.signature_name, inputs


def replay(requests: list[WarmupRequest], written, ask: Callable[[str, dict], object], seconds: float):
    """Asks requests as they were written, the smallest first, while they fit into some seconds.

    Of each signature one is asked in any case. What a larger one would take is known from those before.

    Args:
      requests: what was written.
      written: (signature, inputs) of each of them, as read from the file.
      ask: function from both to an answer.
      seconds: how long to ask.

    Raises:
      whatever `ask` does, for a request that a server could not replay.
    """
    signatures, start, per_token = set(), time.perf_counter(), 0.0
    by_size = zip(requests, written, strict=True)
    for request, (signature, inputs) in sorted(by_size, key=lambda both: _num_tokens(both[0])):
        begin = time.perf_counter()
        if signature in signatures and begin - start + per_token * _num_tokens(request) > seconds:
            continue
        ask(signature, inputs)
        signatures.add(signature)
        per_token = (time.perf_counter() - begin) / _num_tokens(request)


def _num_tokens(request):
    return request.batch_size * request.num_tokens


def _texts(signature, words, pieces, batch_size, num_tokens, mask) -> list[str]:
    """A text for each row, so long that the texts of an example have `num_tokens` tokens together."""
    strings = signature.texts or signature.inputs
    number = max(1, sum(dtype == "string" and len(shape) == 1 for dtype, shape in strings.values()))
    mask = mask if {"top_k", "candidates"} & set(signature.inputs) else None
    # Of each text one token is a [SEP], and one of the row a [CLS].
    room = max(1, (num_tokens - 1) // number - 1)
    return [_text(words, pieces, 7 * row, room, mask) for row in range(batch_size)]


def _text(words, pieces, start, room, mask) -> str:
    """Words from a position on, as many as have `room` pieces; some are the mask token if it is given."""
    chosen, position = [], start
    while room > 0:
        index = position % len(words)
        is_mask = mask and len(chosen) % _MASKED_EVERY == 1
        room -= 1 if is_mask else int(pieces[index])
        if room >= 0 or not chosen:
            chosen.append(mask if is_mask else words[index])
        position += 1
    return " ".join(chosen)


def _inputs(signature, texts, text_inputs):
    """As `make_inputs`; a signature that takes lists of words alone is given all words of the texts."""
    kinds = [(dtype, len(shape)) for dtype, shape in signature.inputs.values()]
    if kinds != [("string", 2)]:
        return make_inputs(signature, texts, text_inputs)
    rows = [text.split() for text in texts]
    longest = max(map(len, rows))
    return {
        name: np.array([row + [""] * (longest - len(row)) for row in rows], object)
        for name in signature.inputs
    }


def _example_words(examples):
    texts = []
    for example in examples:
        for value in example.values():
            texts.extend([value] if isinstance(value, str) else value)
    return [word for text in texts for word in text.split()][:5000]
