"""Compares this checkout with an earlier one: the same ids, records, losses, weights and answers?

  git clone . ../before && git -C ../before checkout COMMIT
  python -m tests.pins --before=../before

Both run the same commands, each in a process of its own with one thread, side by side. A line for each pin;
exit code 1 where one differs. Without --before, only ids and record bytes are taken, and compared with the
digests in digests.json, as they always are; `--write` stores new ones. Numbers that a processor rounds are
never stored.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import re
import shlex
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
_ENVIRONMENT = dict.fromkeys(("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS", "OMP_NUM_THREADS"), "1") | {
    "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1", "TF_ENABLE_ONEDNN_OPTS": "1"
}  # fmt: skip
_TIMES = re.compile("_per_second|elapsed|^time$|share_of_peak")

# What is pinned -> the files that hold it, and the steps that write them, see work.py. {in}: inputs.py.
_RECORDS = "--vocab_file={in}/vocab.txt --num_shards=2 --num_workers=1 --seed=5"
_MASKED = f"pretraining-data {_RECORDS} --input_files={{in}}/corpus.txt --dupe_factor=2 --max_seq_length=32"
_LABELLED = f"finetuning-data {_RECORDS} --shuffle"
IDS = {
    "learnt vocabulary": (
        "learnt.txt",
        "vocab --input_files={in}/corpus.txt --vocab_size=150 --num_unused_tokens=0 --num_workers=1 "
        "--output_file={out}/learnt.txt",
    ),
    "records of sentence pairs": ("pairs/*.tfrecord*", f"{_MASKED} --output_dir={{out}}/pairs"),
    "records of full sentences": (
        "full/*.tfrecord*",
        f"{_MASKED} --pairing=full_sentences --do_whole_word_mask --max_ngram_size=2 "
        "--output_dir={out}/full",
    ),
    "records of sentence order": (
        "order/*.tfrecord*",
        f"{_MASKED} --pairing=sentence_order --masking=dynamic --output_dir={{out}}/order",
    ),
    "records of labelled pairs": (
        "pair/*.tfrecord*",
        f"{_LABELLED} --config={{in}}/finetuning.json --input_file={{in}}/train.tsv "
        "--output_dir={out}/pair",
    ),
    "records of questions": (
        "squad/*.tfrecord*",
        f"{_LABELLED} --config={{in}}/squad.json --input_file={{in}}/questions.json "
        "--output_dir={out}/squad",
    ),
    "records of tagged words": (
        "words/*.tfrecord*",
        f"{_LABELLED} --config={{in}}/tags.json --input_file={{in}}/tags.conll --output_dir={{out}}/words",
    ),
}
_PRETRAIN = "pretrain --config={in}/pretraining.json --input_dir={out}/pairs --eval_input_dir={out}/pairs"
_FINETUNE = "finetune --config={in}/finetuning.json --train_file={in}/train.tsv --dev_file={in}/dev.tsv"
_LAST = "checkpoints/step-00000012/*.safetensors"
NUMBERS = {
    "losses of pretraining": ("mlm/metrics.jsonl", f"{_PRETRAIN} --run_dir={{out}}/mlm"),
    "weights of pretraining": (
        "mlm_hf/*.safetensors",
        "convert --from={out}/mlm --to={out}/mlm_hf --format=hugging_face",
    ),
    "a resumed pretraining": (
        f"resumed/{_LAST}",
        "interrupted {out}/mlm {out}/resumed",
        f"{_PRETRAIN} --run_dir={{out}}/resumed",
    ),
    "losses of fine-tuning": (
        "tuned/metrics.jsonl",
        f"{_FINETUNE} --init_checkpoint={{out}}/mlm --run_dir={{out}}/tuned",
    ),
    "weights of fine-tuning": (
        "tuned_hf/*.safetensors",
        "convert --from={out}/tuned --to={out}/tuned_hf --format=hugging_face",
    ),
    "answers in words": (
        "answers.jsonl",
        "predict --run_dir={out}/tuned --input_file={in}/texts.tsv --output_file={out}/answers.jsonl",
    ),
    "masks filled": (
        "filled.jsonl",
        "predict --run_dir={out}/mlm '--text=anna is [MASK].' --output_file={out}/filled.jsonl",
    ),
    "answers of a SavedModel": (
        "served.npz",
        "export --run_dir={out}/tuned --model_base_path={out}/served --nomeasure",
        "ask_savedmodel {out}/served.npz {out}/served",
    ),
    "answers of a .tflite": (
        "litert.npz",
        "export-litert --run_dir={out}/tuned --output_dir={out}/litert --eval_file={in}/dev.tsv "
        "--quantization=float32 --min_agreement=0 --max_seq_length=32",
        "ask_tflite {out}/litert.npz {out}/litert",
    ),
}
if GOLDEN.is_dir():
    _FOLDERS = " ".join(map(str, sorted(GOLDEN.iterdir())))
    NUMBERS["outputs of golden checkpoints"] = (
        "golden.npz",
        f"ask_checkpoints {{out}}/golden.npz {_FOLDERS}",
    )


_UNBROKEN = f"mlm/{_LAST}"


def take(checkout: Path, folder: Path, pins: dict) -> dict[str, dict]:
    """Runs all steps in a checkout: files' pattern -> what they hold, by name."""
    inputs, out = folder / "in", folder / "out"
    for made in (folder, inputs, out):
        made.mkdir()
    write_inputs(inputs)
    lines = [line for _, *steps in pins.values() for line in steps]
    placed = [line.replace("{in}", str(inputs)).replace("{out}", str(out)) for line in lines]
    (folder / "steps.json").write_text(json.dumps([shlex.split(line) for line in placed]), encoding="utf-8")
    worker = [sys.executable, Path(__file__).with_name("work.py"), folder / "steps.json"]
    environment = os.environ | _ENVIRONMENT | {"PYTHONPATH": str(checkout)}
    done = subprocess.run(worker, cwd=checkout, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"error: in {checkout}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return {pattern: _read(out, pattern) for pattern in (_UNBROKEN, *(pin[0] for pin in pins.values()))}


def _read(out, pattern):
    """name -> bytes, array, number or text, of all files of a pattern."""
    found = {}
    for file in sorted(out.glob(pattern)):
        if file.suffix in (".safetensors", ".npz"):
            values = dict(load_file(file) if file.suffix == ".safetensors" else np.load(file))
        elif file.suffix == ".jsonl":
            lines = file.read_text(encoding="utf-8").splitlines()
            values = dict(_leaves([json.loads(line) for line in lines], ""))
        else:
            values = {"bytes": file.read_bytes()}
        found |= {f"{file.name}/{name}": value for name, value in values.items()}
    return found


def _leaves(value, name):
    """(name, number or text) of a JSON value; of lines of metrics those that are no times."""
    if not isinstance(value, dict | list):
        yield name, value
        return
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        if not isinstance(key, str) or not _TIMES.search(key):
            yield from _leaves(inner, f"{name}/{key}")


def difference(before: dict, after: dict) -> str | None:
    """What differs, and by how much; None where all is equal to the last bit."""
    if not after or before.keys() != after.keys():
        return (
            f"{len(before)} and {len(after)} names, one alone has {sorted(before.keys() ^ after.keys())[:4]}"
        )
    pairs = {name: (np.asarray(before[name]), np.asarray(after[name])) for name in before}
    unequal = {name: pair for name, pair in pairs.items() if not np.array_equal(*pair)}
    if not unequal:
        return None
    numbers = [
        (a, b) for a, b in unequal.values() if a.shape == b.shape and a.dtype.kind == b.dtype.kind == "f"
    ]
    amount = f" by up to {max(np.abs(a - b).max() for a, b in numbers):.3g}" if numbers else ""
    return f"{len(unequal)} of {len(before)} differ{amount}, the first {next(iter(unequal))}"


def _digest(values):
    return hashlib.sha256(b"".join(values[name] for name in sorted(values))).hexdigest()[:16]


def compare(before: Path | None, folder: Path, write: bool) -> dict[str, str | None]:
    """pin -> what differs, or None."""
    pins = IDS | NUMBERS if before else IDS
    sides = [REPOSITORY] if before is None else [REPOSITORY, before.resolve()]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        taken = list(pool.map(take, sides, [folder / "after", folder / "before"], [pins] * 2))
    after, digests = taken[0], {name: _digest(taken[0][pattern]) for name, (pattern, _) in IDS.items()}
    if write:
        DIGESTS.write_text(json.dumps(digests, indent=1) + "\n", encoding="utf-8")
    stored = json.loads(DIGESTS.read_text(encoding="utf-8"))
    answers = {
        f"{name}, as stored": None if digest == stored.get(name) else f"{digest}, was {stored.get(name)}"
        for name, digest in digests.items()
    }
    if before:
        answers |= {name: difference(taken[1][pin[0]], after[pin[0]]) for name, pin in pins.items()}
        answers["resumed = unbroken"] = difference(
            after[_UNBROKEN], after[NUMBERS["a resumed pretraining"][0]]
        )
    return answers


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.pins", description=__doc__.partition("\n")[0])
    parser.add_argument("--before", type=Path, help="a checkout of an earlier commit")
    parser.add_argument("--write", action="store_true", help="store the digests of ids and record bytes")
    given, began = parser.parse_args(), time.monotonic()
    if given.before and not (given.before / "kbert" / "__main__.py").is_file():
        parser.error(f"--before={given.before} is no checkout of kbert: it has no kbert/__main__.py.")
    with tempfile.TemporaryDirectory(prefix="pins_") as folder:
        answers = compare(given.before, Path(folder), given.write)
    for name, differs in answers.items():
        print(f"{'DIFFERS' if differs else 'equal':8}{name}{f': {differs}' if differs else ''}")
    if given.before and not GOLDEN.is_dir():
        print(f"skipped outputs of golden checkpoints: {GOLDEN} is not here")
    wrong = sum(map(bool, answers.values()))
    print(f"{len(answers) - wrong} of {len(answers)} equal, {time.monotonic() - began:.0f} s")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
