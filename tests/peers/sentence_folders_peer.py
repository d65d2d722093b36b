"""The other side of test_sentence_folders.py, run by the peers' own Python: sentence-transformers, no kbert.

python sentence_folders_peer.py make CASES.json     saves a model of case["kind"] on an encoder of kbert's
python sentence_folders_peer.py answer CASES.json   what each folder answers, as its own kind of model
python sentence_folders_peer.py activate CASES.json   what torch's activations give
"""

import json
import sys
from pathlib import Path

import torch
from sentence_transformers import CrossEncoder, MultiVectorEncoder, SentenceTransformer, SparseEncoder
from sentence_transformers.base.modules import Dense, Normalize, Transformer
from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask
from sentence_transformers.sentence_transformer.modules import Pooling
from sentence_transformers.sparse_encoder.modules import SpladePooling

PROMPTS = {"query": "the ", "document": "play: "}
EVERY_MODE = ("weightedmean", "max", "lasttoken", "cls", "mean_sqrt_len_tokens", "mean")
TOKENS = {"module_input_name": "token_embeddings"}
EXPANSION = {"strategy": "fixed", "length": 12}
LINEAR = torch.nn.Identity()


def dense(inputs, units, activation, **settings):
    layer = Dense(inputs, units, activation_function=activation, **settings)
    for parameter in layer.parameters():
        parameter.copy_(torch.randn_like(parameter) * 0.4)
    return layer


def one_vector(base, *modules, **settings):
    return SentenceTransformer(modules=[Transformer(base), *modules], device="cpu", **settings)


def many_vectors(base, mask, *modules, settings=None, **lengths):
    modules = [Transformer(base, **lengths), *modules, MultiVectorMask(**mask)]
    return MultiVectorEncoder(modules=modules, device="cpu", **settings or {})


def with_tokens_of_prompts(model):
    """As PyLate makes a ColBERT: what stands before a text is a token of its own, with its blank."""
    transformer = model[0]
    transformer.tokenizer.add_tokens(list(model.prompts.values()))
    transformer.auto_model.resize_token_embeddings(len(transformer.tokenizer), mean_resizing=False)
    return model


def words(base, pooling, **settings):
    modules = [Transformer(base, transformer_task="fill-mask"), SpladePooling(*pooling)]
    return SparseEncoder(modules=modules, device="cpu", **settings)


KINDS = {
    "modes": lambda base: one_vector(
        base, Pooling(8, EVERY_MODE, include_prompt=False), prompts=PROMPTS, default_prompt_name="document"
    ),
    "chain": lambda base: one_vector(
        base,
        Pooling(8, ("cls", "mean")),
        Normalize(),
        dense(16, 20, torch.nn.GELU(), use_residual=True),
        dense(20, 20, torch.nn.Mish(), bias=False, use_residual=True),
        Normalize(),
        dense(20, 11, torch.nn.Softmax()),
        truncate_dim=7,
        similarity_fn_name="manhattan",
    ),
    "fixed": lambda base: many_vectors(
        base,
        {"skiplist_words": [".", "no piece"]},
        dense(8, 6, LINEAR, bias=False, **TOKENS),
        Normalize(**TOKENS),
        query_expansion=EXPANSION,
        document_length=9,
        settings={"prompts": PROMPTS},
    ),
    "prompt_tokens": lambda base: with_tokens_of_prompts(
        many_vectors(
            base,
            {"skiplist_words": ["."]},
            dense(8, 6, LINEAR, bias=False, **TOKENS),
            Normalize(**TOKENS),
            query_expansion=EXPANSION,
            document_length=9,
            settings={"prompts": {"query": "[Q] ", "document": "[D] "}},
        )
    ),
    "min": lambda base: many_vectors(
        base,
        {
            "skiplist_words": ["the"],
            "skiplist_tasks": ["query", "document"],
            "keep_only_token_ids": [*range(5, 20)],
        },
        dense(8, 16, torch.nn.Tanh(), **TOKENS),
        dense(16, 8, LINEAR, **TOKENS),
        query_expansion={"strategy": "min", "length": 6, "attend": True, "token": "a"},
        query_length=8,
        settings={"similarity_fn_name": "meanmaxsim"},
    ),
    "words": lambda base: words(
        base, ("max", "log1p_relu"), prompts=PROMPTS, similarity_fn_name="cosine", max_active_dims=9
    ),
    "sum": lambda base: words(base, ("sum", "relu"), default_prompt_name="query", prompts=PROMPTS),
}


def make(case):
    """Saves a model; weights of Dense in PyTorch's format where the case says so."""
    torch.manual_seed(1)
    model = KINDS[case["kind"]](case["base"])
    model.save_pretrained(case["folder"], safe_serialization=case["kind"] != "chain")


def answer(case):
    """Vectors of case["texts"] and, as a query and a document, of each; or the scores of case["pairs"]."""
    folder = case["folder"]
    if "pairs" in case:
        return {"scores": CrossEncoder(folder, device="cpu").predict(case["pairs"]).tolist()}
    settings = json.loads((Path(folder) / "config_sentence_transformers.json").read_text())
    kinds = {kind.__name__: kind for kind in (SentenceTransformer, SparseEncoder, MultiVectorEncoder)}
    model, texts = kinds[settings["model_type"]](folder, device="cpu"), case["texts"]
    ways = {"vectors": model.encode, "queries": model.encode_query, "documents": model.encode_document}
    answers = {name: encode(texts) for name, encode in ways.items()}
    answers["similarity"] = model.similarity(answers["queries"], answers["documents"])
    return {name: as_lists(values) for name, values in answers.items()}


def activate(case):
    """What torch's activations of these names make of case["inputs"], a matrix."""
    inputs = torch.tensor(case["inputs"])
    layers = {name: getattr(torch.nn, name)().eval() for name in case["names"]}
    return {name: layer(inputs).tolist() for name, layer in layers.items()}


def as_lists(values):
    if isinstance(values, list):
        return [as_lists(value) for value in values]
    return (values.to_dense() if torch.is_tensor(values) else values).tolist()


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    command, cases = sys.argv[1:]
    for entry in json.loads(Path(cases).read_text()):
        if command == "make":
            make(entry)
            continue
        answers = answer(entry) if command == "answer" else activate(entry)
        Path(entry["answers"]).write_text(json.dumps(answers))
