"""Compares this checkout with an earlier one: the same ids, records, losses, weights and answers?

  git clone --no-local . ../before && git -C ../before checkout COMMIT
  python -m tests.pins --before=../before

Both run the same commands, as processes of their own with one thread each, side by side. A line for each
pin; exit code 1 where one differs. Without --before, only ids and record bytes are taken, and compared with
the digests in digests.json, as they always are; `--write` stores new ones. Numbers that a processor rounds
are never stored.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

from tests.pins.inputs import write_inputs

REPOSITORY = Path(__file__).resolve().parents[2]
DIGESTS = Path(__file__).with_name("digests.json")
GOLDEN = REPOSITORY.parent / "shared" / "data" / "golden" / "checkpoints"
_THREADS = {name: "1" for name in ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS", "OMP_NUM_THREADS")}
_ENVIRONMENT = os.environ | _THREADS | {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}

# (new, old) names of flags, such as ("--pairing", "--strategy"). A checkout whose sources lack the new name in
# quotes is given the old one.
RENAMED: tuple[tuple[str, str], ...] = ()

_PRODUCT = ("kbert", "tfrecords_tools", "export")
_COMMAND = re.compile(r"(^|&& )(?!cp |rm |/)([a-z])")
_MEASURED = re.compile("loss|accuracy|f1|norm|learning_rate|step|tokens_seen")  # the rest are times
RESUMED = "a resumed pretraining"

# What is pinned -> the command, and the files that it writes: {in} holds the inputs, {out} takes the outputs.
_PAIRS = "--vocab_file={in}/vocab.txt --num_shards=2 --num_workers=1"
_MASKED = (
    f"pretraining-data --input_files={{in}}/corpus.txt {_PAIRS} --dupe_factor=2 --max_seq_length=32 --seed=5"
)
_LABELLED = f"finetuning-data {_PAIRS} --shuffle --seed=5"
IDS = {
    "learnt vocabulary": (
        "vocab --input_files={in}/corpus.txt --vocab_size=150 --num_unused_tokens=0 --num_workers=1 "
        "--output_file={out}/learnt.txt",
        "learnt.txt",
    ),
    "token ids": ("tokenize --vocab_file={in}/vocab.txt < {in}/lines.txt > {out}/ids.jsonl", "ids.jsonl"),
    "records of sentence pairs": (f"{_MASKED} --output_dir={{out}}/pairs", "pairs/*.tfrecord*"),
    "records of full sentences": (
        f"{_MASKED} --strategy=full_sentences --do_whole_word_mask --max_ngram_size=2 "
        "--output_dir={out}/full",
        "full/*.tfrecord*",
    ),
    "records of sentence order": (
        f"{_MASKED} --strategy=sentence_order --masking=dynamic --output_dir={{out}}/order",
        "order/*.tfrecord*",
    ),
    "records of labelled pairs": (
        f"{_LABELLED} --config={{in}}/finetuning.toml "
        "--input_file={in}/train.tsv --output_dir={out}/labelled",
        "labelled/*.tfrecord*",
    ),
    "records of questions": (
        f"{_LABELLED} --config={{in}}/questions.toml "
        "--input_file={in}/questions.json --output_dir={out}/windows",
        "windows/*.tfrecord*",
    ),
    "records of tagged words": (
        f"{_LABELLED} --config={{in}}/tagging.toml "
        "--input_file={in}/words.conll --output_dir={out}/words",
        "words/*.tfrecord*",
    ),
}
_PRETRAIN = "--config={in}/pretraining.toml --input_dir={out}/pairs --eval_input_dir={out}/pairs"
_FINETUNE = "--config={in}/finetuning.toml --train_file={in}/train.tsv --dev_file={in}/dev.tsv"
_INTERRUPTED = "cp -r {out}/pretrained {out}/resumed && rm -r {out}/resumed/checkpoints/step-00000012 && "
_TRAINED = "--run_dir={out}/finetuned"
_ASK = f"{sys.executable} {Path(__file__).with_name('ask.py')}"
NUMBERS = {
    "losses of pretraining": (
        f"pretrain {_PRETRAIN} --run_dir={{out}}/pretrained",
        "pretrained/metrics.jsonl",
    ),
    "weights of pretraining": (
        "convert --from={out}/pretrained --to={out}/mlm --format=hugging_face",
        "mlm/*.safetensors",
    ),
    RESUMED: (
        f"{_INTERRUPTED}pretrain {_PRETRAIN} --run_dir={{out}}/resumed",
        "resumed/checkpoints/step-00000012/*.safetensors",
    ),
    "losses of fine-tuning": (
        f"finetune {_FINETUNE} --init_checkpoint={{out}}/pretrained {_TRAINED}",
        "finetuned/metrics.jsonl",
    ),
    "weights of fine-tuning": (
        "convert --from={out}/finetuned --to={out}/classifier --format=hugging_face",
        "classifier/*.safetensors",
    ),
    "answers in words": (
        f"predict {_TRAINED} --input_file={{in}}/unlabelled.tsv --output_file={{out}}/answers.jsonl",
        "answers.jsonl",
    ),
    "masks filled": (
        "predict --run_dir={out}/pretrained '--text=anna walks to the [MASK].' "
        "--output_file={out}/filled.jsonl",
        "filled.jsonl",
    ),
    "answers of a SavedModel": (
        f"export {_TRAINED} --model_base_path={{out}}/served --nomeasure && "
        f"{_ASK} {{out}}/served.npz savedmodel={{out}}/served",
        "served.npz",
    ),
    "answers of a .tflite": (
        f"export-litert {_TRAINED} --output_dir={{out}}/litert --eval_file={{in}}/dev.tsv "
        f"--quantization=float32 --min_agreement=0 && {_ASK} {{out}}/litert.npz tflite={{out}}/litert",
        "litert.npz",
    ),
}
_GOLDEN_PIN = "outputs of golden checkpoints"


class Checkout:
    """One of the two folders, and what its commands write."""

    def __init__(self, folder: Path, out: Path):
        self.folder, self.inputs, self.out = folder.resolve(), out / "in", out / "out"
        self.inputs.mkdir(parents=True)
        self.out.mkdir()
        write_inputs(self.inputs)

    def run(self, line: str):
        """Runs a line of the shell in which a command of kbert stands without `kbert`."""
        line = line.replace("{in}", str(self.inputs)).replace("{out}", str(self.out))
        for new, old in RENAMED:
            line = line if self._has(new) else line.replace(new, old)
        line = (
            line
            if line.startswith(sys.executable)
            else _COMMAND.sub(rf"\1{sys.executable} -m kbert \2", line)
        )
        environment = _ENVIRONMENT | {"PYTHONPATH": str(self.folder)}
        done = subprocess.run(
            line, shell=True, cwd=self.folder, env=environment, capture_output=True, text=True
        )
        if done.returncode:
            raise SystemExit(f"error: in {self.folder}: {line}\n{(done.stdout + done.stderr)[-4000:]}")

    def _has(self, name):
        quoted = f'"{name.lstrip("-").partition("=")[0]}"'
        sources = (file for part in _PRODUCT for file in (self.folder / part).rglob("*.py"))
        return any(quoted in file.read_text(encoding="utf-8") for file in sources)

    def found(self, pattern: str) -> dict:
        """name -> bytes, array, number or text: what the files of a pin hold."""
        files = sorted(self.out.glob(pattern))
        if not files:
            raise SystemExit(f"error: in {self.folder}: nothing was written to {pattern}.")
        return {f"{file.name}/{name}": value for file in files for name, value in _read(file).items()}


def _read(file):
    if file.suffix == ".safetensors":
        return load_file(file)
    if file.suffix == ".npz":
        return dict(np.load(file))
    if file.name == "metrics.jsonl":
        lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        return {
            f"{n}/{key}": line[key] for n, line in enumerate(lines) for key in line if _MEASURED.search(key)
        }
    if file.suffix == ".jsonl" and file.name != "ids.jsonl":
        return dict(_leaves(json.loads(f"[{','.join(file.read_text(encoding='utf-8').splitlines())}]"), ""))
    return {"bytes": file.read_bytes()}


def _leaves(value, name):
    if not isinstance(value, dict | list):
        yield name, value
        return
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        yield from _leaves(inner, f"{name}/{key}")


def difference(before: dict, after: dict) -> str | None:
    """What differs, and by how much; None where both are equal to the last bit."""
    if before.keys() != after.keys():
        return f"names differ: {sorted(before.keys() ^ after.keys())[:4]}"
    unequal = [n for n in before if not np.array_equal(np.asarray(before[n]), np.asarray(after[n]))]
    if not unequal:
        return None
    pairs = [(np.asarray(before[name]), np.asarray(after[name])) for name in unequal]
    fits = all(a.shape == b.shape and a.dtype.kind in "fi" and b.dtype.kind in "fi" for a, b in pairs)
    amount = f" by up to {max(np.abs(a - b).max() for a, b in pairs):.3g}" if fits else ""
    return f"{len(unequal)} of {len(before)} differ{amount}, the first {unequal[0]}"


def _digest(values):
    whole = hashlib.sha256()
    for name in sorted(values):
        whole.update(name.encode() + b"\0" + values[name])
    return whole.hexdigest()[:16]


def take(checkout: Checkout, numbers: bool) -> dict[str, dict]:
    """pin -> its values, in the order of the lists above."""
    pins = IDS | NUMBERS if numbers else IDS
    if numbers and GOLDEN.is_dir():
        folders = " ".join(f"checkpoint={folder}" for folder in sorted(GOLDEN.iterdir()))
        pins = pins | {_GOLDEN_PIN: (f"{_ASK} {{out}}/golden.npz {folders}", "golden.npz")}
    taken = {}
    for name, (line, pattern) in pins.items():
        checkout.run(line)
        taken[name] = checkout.found(pattern)
    return taken


def compare(after: Checkout, before: Checkout | None, write: bool) -> dict[str, str | None]:
    """pin -> what differs, or None."""
    sides = [after] if before is None else [after, before]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        taken = list(pool.map(lambda side: take(side, before is not None), sides))
    digests = {name: _digest(taken[0][name]) for name in IDS}
    if write:
        DIGESTS.write_text(json.dumps(digests, indent=1) + "\n", encoding="utf-8")
    stored = json.loads(DIGESTS.read_text(encoding="utf-8"))
    answers = {
        f"{name} (stored)": None if digest == stored.get(name) else f"{digest}, stored {stored.get(name)}"
        for name, digest in digests.items()
    }
    if before is not None:
        answers |= {name: difference(taken[1][name], taken[0][name]) for name in taken[0]}
        unbroken = after.found("pretrained/checkpoints/step-00000012/*.safetensors")
        answers["resumed = unbroken"] = difference(unbroken, taken[0][RESUMED])
    return answers


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.pins", description=__doc__.partition("\n")[0])
    parser.add_argument("--before", type=Path, help="a checkout of an earlier commit")
    parser.add_argument("--write", action="store_true", help="store the digests of ids and record bytes")
    given, began = parser.parse_args(), time.monotonic()
    if given.before and not (given.before / "kbert" / "__main__.py").is_file():
        parser.error(f"--before={given.before} is no checkout of kbert: it has no kbert/__main__.py.")
    with tempfile.TemporaryDirectory(prefix="pins_") as folder:
        before = Checkout(given.before, Path(folder) / "before") if given.before else None
        answers = compare(Checkout(REPOSITORY, Path(folder) / "after"), before, given.write)
    for name, differs in answers.items():
        print(f"{'DIFFERS' if differs else 'equal':8}{name}{f': {differs}' if differs else ''}")
    if given.before and not GOLDEN.is_dir():
        print(f"skipped {_GOLDEN_PIN}: {GOLDEN} is not here")
    wrong = sum(map(bool, answers.values()))
    print(f"{len(answers) - wrong} of {len(answers)} equal, {time.monotonic() - began:.0f} s")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
