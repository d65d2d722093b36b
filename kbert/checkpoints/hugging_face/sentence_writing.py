"""Makes a Hugging Face folder one of sentence-transformers: modules.json and the folders that it names."""

import dataclasses
from pathlib import Path

from kbert.checkpoints.hugging_face.sentence_models import (
    DENSE_MODEL,
    MODULES_FILE,
    SPARSE_MODEL,
    TOKEN_MODEL,
)
from kbert.checkpoints.hugging_face.sentence_transformers import LENGTH_FILES, SENTENCE_FILE
from kbert.checkpoints.hugging_face.sentence_vectors import (
    OF_TEXTS,
    OF_TOKENS,
    dense_names,
    dense_values,
    module_names,
    pooling_values,
)
from kbert.checkpoints.report import Report
from kbert.config.pooling_config import POOLING_LAYER, PoolingConfig
from kbert.config.sparse_pooling_config import SparsePoolingConfig
from kbert.config.token_vectors_config import TOKEN_VECTORS_LAYER, TokenVectorsConfig
from kbert.config.vectors_config import VectorsConfig
from kbert.files.safetensors_file import write_safetensors
from kbert.files.stored_tensor import StoredTensor
from kbert.files.whole_file import write_json

# Where the classes of the modules stand: those of version 5 and 6 that no older version has.
_PLACES = {
    "MLMTransformer": "sentence_transformers.sparse_encoder.models.MLMTransformer",
    "SpladePooling": "sentence_transformers.sparse_encoder.models.SpladePooling",
    "MultiVectorMask": "sentence_transformers.multi_vector_encoder.modules.multi_vector_mask.MultiVectorMask",
}


def write_sentence_modules(
    folder: Path, vectors: VectorsConfig, length: dict, width: int, tensors: dict, report: Report
):
    """Writes what makes the folder one of sentence-transformers.

    Args:
      folder: holds the files of the encoder.
      vectors: how texts become vectors.
      length: of the Transformer: `max_seq_length` in tokens, and `do_lower_case` before its tokenizer.
      width: the length of what stands behind the Transformer for a token: hidden_size, or of a sparse model
        the number of words.
      tensors: kbert's name -> tensor, of the whole model.
      report: takes the names of those that are written.
    """
    writer = _Writer(folder, tensors, report)
    settings: dict = {
        "prompts": dict(vectors.prompts),
        "default_prompt_name": vectors.default_prompt_name,
        "similarity_fn_name": vectors.similarity_fn_name,
    }
    if isinstance(vectors, SparsePoolingConfig):
        writer.module("MLMTransformer", None)
        values = {"pooling_strategy": vectors.pooling, "activation_function": vectors.activation}
        writer.module("SpladePooling", values | {"word_embedding_dimension": width})
        settings = {"model_type": SPARSE_MODEL} | settings | _set_values(vectors, "max_active_dims")
    elif isinstance(vectors, TokenVectorsConfig):
        writer.module("Transformer", None)
        writer.chain(vectors, width, OF_TOKENS, TOKEN_VECTORS_LAYER)
        writer.module("MultiVectorMask", _mask_values(vectors))
        settings = {"model_type": TOKEN_MODEL} | settings
        length = length | _set_values(vectors, "query_length", "document_length", "query_expansion")
    elif isinstance(vectors, PoolingConfig):
        writer.module("Transformer", None)
        writer.module("Pooling", pooling_values(vectors, width))
        writer.chain(vectors, width * len(vectors.modes), OF_TEXTS, f"{POOLING_LAYER}/dense")
        settings = {"model_type": DENSE_MODEL} | settings | _set_values(vectors, "truncate_dim")
    write_json(length, folder / LENGTH_FILES[0])
    write_json(settings, folder / SENTENCE_FILE)
    write_json(writer.modules, folder / MODULES_FILE)  # last: with it, the folder is one of theirs


def _set_values(vectors, *names):
    values = dataclasses.asdict(vectors)
    return {name: values[name] for name in names if values[name] is not None}


def _mask_values(vectors: TokenVectorsConfig) -> dict:
    only = vectors.keep_only_token_ids
    return {
        "skiplist_words": list(vectors.skiplist_words),
        "skiplist_tasks": list(vectors.skiplist_tasks),
        "keep_only_token_ids": None if only is None else list(only),
    }


class _Writer:
    """Writes modules one after the other; `modules` is the list of modules.json."""

    def __init__(self, folder: Path, tensors: dict[str, StoredTensor], report: Report):
        self._folder, self._tensors, self._report = folder, tensors, report
        self.modules: list[dict] = []

    def module(self, kind: str, values: dict | None) -> str:
        """Adds a module; its config.json holds `values`, and None is a module in the folder itself."""
        index = len(self.modules)
        path = "" if values is None else f"{index}_{kind}"
        if values is not None:
            (self._folder / path).mkdir()
            write_json(values, self._folder / path / "config.json")
        module_type = _PLACES.get(kind, f"sentence_transformers.models.{kind}")
        self.modules.append({"idx": index, "name": str(index), "path": path, "type": module_type})
        return path

    def chain(self, vectors: PoolingConfig | TokenVectorsConfig, width: int, of: str, layer: str):
        """Adds the dense layers of vectors of this width, and the normalizations between them."""
        for number, dense in enumerate(vectors.dense):
            if dense.normalize:
                self.module("Normalize", module_names(of))
            path = self.module("Dense", dense_values(dense, width, of))
            tensors = {}
            for ours, theirs in dense_names(dense, width).items():
                name = f"{layer}/{ours.replace('/', f'_{number}/')}"
                tensors[theirs] = self._tensors[name].as_float32(transposed=name.endswith("kernel"))
                self._report.taken.append((f"{path}: {theirs}", name, "transposed"))
            write_safetensors(self._folder / path / "model.safetensors", tensors, {"format": "pt"})
            width = dense.units
        if vectors.normalize:
            self.module("Normalize", module_names(of))
