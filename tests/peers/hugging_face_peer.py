"""The other side of test_hugging_face.py, run by the peers' own Python: torch and transformers, no kbert.

python hugging_face_peer.py make CASES.json     random models, their folders, and what they answer
python hugging_face_peer.py answer CASES.json   what folders written by kbert answer, loaded by Auto classes
"""

import json
import sys
from pathlib import Path

import numpy as np
import torch
import transformers

INPUTS = {"input_ids": "input_ids", "input_mask": "attention_mask", "segment_ids": "token_type_ids"}


def make(case):
    """Writes a random model to case["folder"], in the file format asked for, with inputs and answers."""
    folder = Path(case["folder"])
    torch.manual_seed(case["seed"])
    model_class = getattr(transformers, case["model_class"])
    config = model_class.config_class(**case["config"])
    config._attn_implementation = "eager"
    model = model_class(config).eval()
    with torch.no_grad():
        for (
            parameter
        ) in model.parameters():  # fresh biases are 0 and fresh scales 1: they would hide mistakes
            parameter.add_(torch.randn_like(parameter) * case["spread"])
    model = model.to(getattr(torch, case.get("dtype", "float32")))
    save(model, folder, case["file"], case.get("shard_size", "40KB"))
    generator = np.random.default_rng(case["seed"])
    rows, length = case["rows"], case["length"]
    lengths = generator.integers(2, length + 1, rows)
    lengths[0] = length
    mask = (np.arange(length) < lengths[:, None]).astype(np.int32)
    ids = generator.integers(case.get("first_id", 0), config.vocab_size, (rows, length))
    inputs = {
        "input_ids": ids.astype(np.int32),
        "input_mask": mask,
        "segment_ids": (np.arange(length) >= lengths[:, None] // 2).astype(np.int32) * mask,
    }
    np.savez_compressed(folder / "expected.npz", **inputs, **answers(model.float(), inputs))


def save(model, folder, kind, shard_size):
    if kind == "safetensors":
        model.save_pretrained(folder)
    elif kind == "shards":
        model.save_pretrained(folder, max_shard_size=shard_size)
    else:
        model.config.save_pretrained(folder)
        config = json.loads((folder / "config.json").read_text())
        config["architectures"] = [type(model).__name__]
        (folder / "config.json").write_text(json.dumps(config))
        torch.save(
            model.state_dict(),
            folder / "pytorch_model.bin",
            _use_new_zipfile_serialization=kind == "bin",
        )


def as_tensors(model, inputs):
    """The encoder inputs under transformers' names, without those that the model does not take."""
    tensors = {theirs: torch.tensor(inputs[ours], dtype=torch.long) for ours, theirs in INPUTS.items()}
    name = type(model).__name__
    if name.startswith(("DistilBert", "MPNet", "ModernBert")) or model.config.type_vocab_size < 2:
        del tensors["token_type_ids"]
    return tensors


def answers(model, inputs):
    """Every tensor output of the model but the hidden states, as float32 arrays."""
    tensors = as_tensors(model, inputs)
    if type(model).__name__.endswith("MultipleChoice"):
        tensors = {key: value.reshape(-1, 2, value.shape[-1]) for key, value in tensors.items()}
    with torch.no_grad():
        outputs = model(**tensors)
    return {key: value.numpy() for key, value in outputs.items() if isinstance(value, torch.Tensor)}


def answer(case):
    """Loads case["folder"] by the Auto class named and writes what it answers to case["answers"]."""
    folder = case["folder"]
    model, info = getattr(transformers, case["auto_class"]).from_pretrained(
        folder, output_loading_info=True, attn_implementation="eager"
    )
    found = {key: np.array(sorted(map(str, value))) for key, value in info.items() if value}
    result = {f"loading/{key}": value for key, value in found.items()}
    if case["texts"]:
        result |= ids_of_texts(folder, case["texts"])
    inputs = dict(np.load(case["inputs"]))
    result |= answers(model.eval(), {name: inputs[name] for name in INPUTS})
    np.savez(case["answers"], **result)


def ids_of_texts(folder, texts):
    """The ids of each text, and ids and segments of the first two as a pair."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    pair = tokenizer(texts[0], texts[1], return_token_type_ids=True)
    return {
        "ids": np.array([" ".join(map(str, tokenizer(text)["input_ids"])) for text in texts]),
        "pair_ids": np.array(pair["input_ids"]),
        "pair_segments": np.array(pair["token_type_ids"]),
    }


def tokenize(case):
    """Writes the ids of case["texts"], without special tokens, to case["answers"] as JSON."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(case["folder"])
    ids = [tokenizer(text, add_special_tokens=False)["input_ids"] for text in case["texts"]]
    Path(case["answers"]).write_text(json.dumps(ids))


if __name__ == "__main__":
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(2)
    command, cases = sys.argv[1:]
    for entry in json.loads(Path(cases).read_text()):
        {"make": make, "answer": answer, "tokenize": tokenize}[command](entry)
