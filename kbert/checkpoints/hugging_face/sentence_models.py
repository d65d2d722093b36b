"""The four kinds of sentence-transformers' models: which modules each has, and what these say."""

import dataclasses
from dataclasses import dataclass, field
from pathlib import Path

from kbert.checkpoints.hugging_face.folder_keys import check_keys
from kbert.checkpoints.hugging_face.sentence_vectors import OF_TEXTS, OF_TOKENS, read_chain, read_pooling
from kbert.config.pooling_config import POOLING_LAYER, PoolingConfig
from kbert.config.sparse_pooling_config import SparsePoolingConfig
from kbert.config.token_vectors_config import TOKEN_VECTORS_LAYER, QueryExpansion, TokenVectorsConfig
from kbert.config.vectors_config import VectorsConfig
from kbert.files.json_file import read_json_object
from kbert.files.json_values import json_count, json_texts, json_value, shown, shown_name
from kbert.files.stored_tensor import StoredTensor

MODULES_FILE = "modules.json"
DENSE_MODEL, CROSS_ENCODER = "SentenceTransformer", "CrossEncoder"
SPARSE_MODEL, TOKEN_MODEL = "SparseEncoder", "MultiVectorEncoder"
OF_TRANSFORMER = ("query_length", "document_length", "query_expansion")  # of late interaction alone
_CHAIN = {"Dense", "Normalize"}


@dataclass(frozen=True)
class SentenceModules:
    """The modules of a sentence-transformers folder.

    Args:
      encoder_folder: where the Hugging Face files of the encoder lie.
      vectors: how texts become vectors, without `prompt_lengths`; None for a cross-encoder.
      max_seq_length: the longest sequence in tokens, or None where the folder leaves it to the encoder.
      do_lower_case: whether texts are lower-cased before the tokenizer sees them.
      width: the length of what the modules behind the Transformer read of a token; None where the folder does
        not say it.
      activation: the class by which a cross-encoder makes a score of its output, as
        config_sentence_transformers.json says it.
      tensors: the weights of the modules behind the Transformer, under kbert's names.
      outsides: the same names -> file and name there.
    """

    encoder_folder: Path
    vectors: VectorsConfig | None
    max_seq_length: int | None
    do_lower_case: bool
    width: int | None = None
    activation: str | None = None
    tensors: dict[str, StoredTensor] = field(default_factory=dict)
    outsides: dict[str, str] = field(default_factory=dict)


def model_kind(kinds):
    """The kind of a model whose folder does not say it."""
    if kinds == {"Transformer"}:
        return CROSS_ENCODER
    by_module = {"SpladePooling": SPARSE_MODEL, "MultiVectorMask": TOKEN_MODEL}
    return next((model for kind, model in by_module.items() if kind in kinds), DENSE_MODEL)


def require_modules(model, kinds, folder):
    first, *others = kinds or [""]
    fits = first == "Transformer" and {
        DENSE_MODEL: others[:1] == ["Pooling"] and {*others[1:]} <= _CHAIN,
        CROSS_ENCODER: not others,
        SPARSE_MODEL: others == ["SpladePooling"],
        TOKEN_MODEL: {*others} <= _CHAIN | {"MultiVectorMask"} and others.count("MultiVectorMask") == 1,
    }.get(model)
    if not fits:
        raise ValueError(
            f"{folder / MODULES_FILE} lists the modules {shown_name(', '.join(kinds) or '(none)')} of a "
            f"{model}; kbert reads a Transformer, then a Pooling and any Dense and Normalize "
            "(SentenceTransformer), a Transformer alone (CrossEncoder), with a SpladePooling "
            "(SparseEncoder), or with Dense, Normalize and one MultiVectorMask (MultiVectorEncoder). To read "
            "its encoder alone, pass "
            f"allow_unmatched={MODULES_FILE}."
        )


def read_dense_model(modules, shared, report):
    _refuse_lengths(shared, report)
    shared.pop("max_active_dims", None)
    pooling = read_pooling(modules[0], report)
    number = pooling["mode"].count("+") + 1
    width = pooling["width"] and pooling["width"] * number
    chain = read_chain(modules[1:], OF_TEXTS, width, report)
    vectors = PoolingConfig(
        pooling["mode"],
        chain.normalize,
        include_prompt=pooling["include_prompt"],
        dense=chain.dense,
        **shared,
    )
    return _modules(vectors, pooling["width"], chain, f"{POOLING_LAYER}/dense")


def read_sparse_model(modules, shared, report):
    _refuse_lengths(shared, report)
    shared.pop("truncate_dim", None)
    (module,) = modules
    settings = read_json_object(module.file)
    check_keys("SpladePooling/config.json", settings, module.file, report)
    width = json_count(settings, "embedding_dimension", module.file)
    width = width or json_count(settings, "word_embedding_dimension", module.file)
    own = {"pooling_strategy": "pooling", "activation_function": "activation"}
    values = {
        ours: json_value(settings, theirs, str, module.file, getattr(SparsePoolingConfig, ours))
        for theirs, ours in own.items()
    }
    return _modules(SparsePoolingConfig(**values, **shared), width)


def read_token_model(modules, shared, report):
    shared.pop("truncate_dim", None)
    shared.pop("max_active_dims", None)
    (mask,) = (module for module in modules if module.kind == "MultiVectorMask")
    settings = read_json_object(mask.file)
    check_keys("MultiVectorMask/config.json", settings, mask.file, report)
    shared["skiplist_words"] = json_texts(settings, "skiplist_words", mask.file, [])
    tasks = settings.get("skiplist_tasks")
    if tasks is not None:
        tasks = [tasks] if isinstance(tasks, str) else json_texts(settings, "skiplist_tasks", mask.file)
        shared["skiplist_tasks"] = tasks
    shared["keep_only_token_ids"] = json_value(settings, "keep_only_token_ids", list, mask.file) or None
    if "query_expansion" in shared:
        shared["query_expansion"] = _expansion(shared["query_expansion"], report)
    chain = read_chain([module for module in modules if module is not mask], OF_TOKENS, None, report)
    width = None
    if chain.dense:
        width = chain.tensors["dense_0/kernel"].shape[0]
    vectors = TokenVectorsConfig(dense=chain.dense, normalize=chain.normalize, **shared)
    return _modules(vectors, width, chain, TOKEN_VECTORS_LAYER)


def _expansion(values, report):
    known = [field.name for field in dataclasses.fields(QueryExpansion)]
    if not isinstance(values, dict) or not {"length", "strategy"} <= values.keys() <= {*known}:
        raise ValueError(f"query_expansion={shown(values)} should be an object of {', '.join(known)}.")
    return QueryExpansion(**values)


def read_cross_encoder(modules, shared, report):
    _refuse_lengths(shared, report)
    if any(shared.get("prompts", {}).values()):
        report.note("prompts of a cross-encoder are not kept: none stands before a text unless it is named")
    return _modules(None)


def _modules(vectors, width=None, chain=None, layer=""):
    tensors = {f"{layer}/{name}": tensor for name, tensor in chain.tensors.items()} if chain else {}
    outsides = {f"{layer}/{name}": outside for name, outside in chain.outsides.items()} if chain else {}
    return SentenceModules(Path(), vectors, None, False, width, None, tensors, outsides)


def _refuse_lengths(shared, report):
    for name in OF_TRANSFORMER:
        if name in shared:
            report.conflict(
                name, f"{name}={shown(shared.pop(name))}, which kbert follows in a {TOKEN_MODEL} alone"
            )


# Kind of a model -> the function from (modules behind the Transformer, what else the folder says, report) to
# `SentenceModules`, without what the Transformer says.
READERS = {
    DENSE_MODEL: read_dense_model,
    CROSS_ENCODER: read_cross_encoder,
    SPARSE_MODEL: read_sparse_model,
    TOKEN_MODEL: read_token_model,
}
