"""The same first weights in the format of each contestant, and the batches that all contestants get."""

import dataclasses
from pathlib import Path

import numpy as np

from benchmarks.workers.environments import parts_of
from kbert.checkpoints.bert_checkpoint import BertCheckpoint
from kbert.checkpoints.formats import read_checkpoint, write_checkpoint
from kbert.checkpoints.report import Report
from kbert.config import EncoderConfig
from kbert.files.stored_tensor import stored_array
from kbert.tokenization.base_vocabulary import BERT_TOKENS
from kbert.tokenization.vocabulary import Vocabulary

# KerasHub's masked-LM model has no next-sentence head, and its own activation and epsilon in the other head.
_NOT_IN_KERAS_HUB = ("next_sentence*", "masked_lm_settings")


def write_weights(
    folder: Path, encoder: EncoderConfig, vocabulary: Vocabulary | None, keras_hub: bool
) -> dict:
    """Writes random weights of a pretraining model, the same for the same encoder.

    Args:
      folder: an existing folder.
      encoder: the shape.
      vocabulary: None makes one up, for ids without text.
      keras_hub: whether to write a KerasHub preset as well.

    Returns:
      Settings for the workers: the paths of what was written.
    """
    checkpoint = BertCheckpoint(
        source="fresh weights",
        encoder=encoder,
        task="pretraining",
        labels=(),
        vocabulary=vocabulary or made_up_vocabulary(encoder.vocab_size),
        tensors={},
        max_seq_length=encoder.max_position_embeddings,
        report=Report("fresh", "fresh weights"),
    )
    weights = {name: tensor.read() for name, tensor in checkpoint.complete().items()}
    checkpoint.tensors.update({name: stored_array(array) for name, array in weights.items()})
    places = {"hugging_face_folder": folder / "hugging_face", "weights": folder / "weights.npz"}
    write_checkpoint(checkpoint, places["hugging_face_folder"], "hugging_face")
    np.savez(places["weights"], **weights)
    if keras_hub:
        places["keras_hub_folder"] = folder / "keras_hub"
        write_checkpoint(checkpoint, places["keras_hub_folder"], "keras_hub", _NOT_IN_KERAS_HUB)
    return {name: str(path) for name, path in places.items()}


def write_classifier(folder: Path, source, encoder: EncoderConfig | None, max_seq_length: int) -> dict:
    """Writes a classifier as a run and as a Hugging Face folder.

    Args:
      folder: an existing folder.
      source: a checkpoint with a vocabulary. A classifier is taken with its head; another gets a random head
        for two labels.
      encoder: None takes the encoder of `source`; else random weights of this shape, and the vocabulary of
        `source`.
      max_seq_length: tokens of a text at most.

    Returns:
      Settings for the workers: `run_dir` and `hugging_face_folder`.
    """
    checkpoint = read_checkpoint(source)
    changes: dict = {"max_seq_length": max_seq_length}
    if encoder is not None or checkpoint.task != "sequence_classification":
        checkpoint = checkpoint.encoder_alone()
        changes |= {"task": "sequence_classification", "labels": ("no", "yes"), "takes_pairs": False}
    if encoder is not None:
        vocab_size = len(checkpoint.vocabulary)
        changes |= {"encoder": dataclasses.replace(encoder, vocab_size=vocab_size), "tensors": {}}
    checkpoint = dataclasses.replace(checkpoint, **changes)
    for name, tensor in checkpoint.complete().items():
        checkpoint.tensors[name] = stored_array(tensor.read())
    places = {"run_dir": folder / "run", "hugging_face_folder": folder / "hugging_face"}
    write_checkpoint(checkpoint, places["run_dir"], "kbert")
    write_checkpoint(checkpoint, places["hugging_face_folder"], "hugging_face")
    return {name: str(path) for name, path in places.items()}


def write_litert(folder: Path, loaded, lengths, contestants) -> dict:
    """Writes the LiteRT files that contestants such as "litert/float32" read.

    Args:
      folder: an existing folder.
      loaded: the `LoadedModel`.
      lengths: of the rows that the files take, ascending.
      contestants: the names of all.

    Returns:
      Settings for the workers: the path of each, `litert_float32` and so on.
    """
    from export.litert.conversion import convert_to_litert

    signature = loaded.task.serving.signatures(loaded.model, loaded.text_inputs)["ids"]
    parts = (parts_of(name) for name in contestants)
    paths = {}
    for quantization in {quantization for system, quantization, _ in parts if system == "litert"}:
        path = folder / f"model_{quantization}.tflite"
        path.write_bytes(convert_to_litert(signature, lengths, quantization))
        paths[f"litert_{quantization}"] = str(path)
    return paths


def made_up_vocabulary(size: int) -> Vocabulary:
    words = (f"word{number}" for number in range(size - len(BERT_TOKENS)))
    return Vocabulary([*BERT_TOKENS, *words], do_lower_case=True)


def random_batches(number: int, batch_size: int, seq_length: int, predictions: int, vocab_size: int) -> dict:
    """Batches without padding, as running text gives them; the same batches every time.

    Returns:
      Feature name -> array of shape [number, batch_size, ...]: two segments, and distinct masked positions
      in ascending order.
    """
    generator = np.random.default_rng(0)
    shape = (number, batch_size, seq_length)
    first = generator.integers(seq_length // 4, 3 * seq_length // 4, shape[:2])
    candidates = generator.permuted(
        np.broadcast_to(np.arange(1, seq_length), (*shape[:2], seq_length - 1)), axis=2
    )
    words = (len(BERT_TOKENS), vocab_size)
    return {
        "input_ids": generator.integers(*words, shape, dtype=np.int32),
        "input_mask": np.ones(shape, np.int32),
        "segment_ids": (np.arange(seq_length) >= first[..., None]).astype(np.int32),
        "masked_lm_positions": np.sort(candidates[..., :predictions], axis=2).astype(np.int32),
        "masked_lm_ids": generator.integers(*words, (*shape[:2], predictions), dtype=np.int32),
        "masked_lm_weights": np.ones((*shape[:2], predictions), np.float32),
        "next_sentence_labels": generator.integers(0, 2, (*shape[:2], 1), dtype=np.int32),
    }
