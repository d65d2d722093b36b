"""How many of kbert's files each of six journeys opens: files in which a function runs, not merely imported.

  python -m tests.journeys
  python -m tests.journeys ../before ../another --show=request

A column for each checkout, this one by default. What runs while a module is imported does not count, nor what
other processes do. Each checkout trains a small run of its own first.
"""

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

PRODUCT = ("kbert", "tfrecords_tools", "export")
_PATIENCE = 600  # seconds
_OPTIMIZED = 1  # a flag of code: of functions, not of modules and class bodies
# What must be there before; {in} holds the inputs of the pins.
_RECORDS = "pretraining-data --vocab_file={in}/vocab.txt --input_files={in}/corpus.txt --num_workers=1"
_MADE = (
    f"{_RECORDS} --output_dir={{out}}/pairs --max_seq_length=32",
    "pretrain --config={in}/pretraining.json --input_dir={out}/pairs --run_dir={out}/mlm",
    "finetune --config={in}/finetuning.json --train_file={in}/train.tsv --init_checkpoint={out}/mlm "
    "--run_dir={out}/tuned",
    "convert --from={out}/tuned --to={out}/hf --format=hugging_face",
)
# Name -> what is run: a command, or a function of this file.
JOURNEYS = {
    "gradient": "finetune --config={in}/finetuning.json --train_file={in}/train.tsv --dev_file={in}/dev.tsv "
    "--init_checkpoint={out}/mlm --run_dir={out}/again",
    "logits": "predict --run_dir={out}/tuned --input_file={in}/texts.tsv --output_file={out}/answers.jsonl",
    "record": f"{_RECORDS} --output_dir={{out}}/records --max_seq_length=32",
    "weights": "load {out}/hf",
    "request": "request {out}/tuned",
    "savedmodel": "export --run_dir={out}/tuned --model_base_path={out}/served",
}
_WHAT = {
    "gradient": "flag of kbert finetune -> first gradient",
    "logits": "row of a file -> logits (kbert predict)",
    "record": "text -> pretraining record",
    "weights": "Hugging Face folder -> weights (kbert.load)",
    "request": "HTTP request -> answer, after loading",
    "savedmodel": "run -> SavedModel",
}


class Opened:
    """Collects the files of a checkout in which a function is called, while `counts` is true.

    Args:
      checkout: its folder.
      result: the file that `end` writes.
      until: ends at the first call of a function of this name in TensorFlow's backprop.py.
    """

    def __init__(self, checkout: Path, result: Path, until: str | None):
        self._root, self._result, self._until = f"{checkout}{os.sep}", result, until
        self._files, self._seen, self.counts, self._leave = set(), set(), True, os._exit
        os._exit = self.end  # which ends every command

    def start(self):
        threading.setprofile(self)
        sys.setprofile(self)

    def end(self, code=0):
        """Writes what was found, and ends the process."""
        self.counts = False
        self._result.write_text(json.dumps(sorted(self._files)), encoding="utf-8")
        self._leave(code)

    def __call__(self, frame, event, _argument):
        code = frame.f_code
        if event != "call" or not self.counts or code in self._seen:
            return
        if code.co_name == self._until and code.co_filename.endswith("backprop.py"):
            self.end()
        inside = code.co_filename.removeprefix(self._root)
        if inside == code.co_filename or inside.split(os.sep)[0] not in PRODUCT:
            self._seen.add(code)
        elif code.co_flags & _OPTIMIZED and not self._is_importing(frame):
            self._seen.add(code)
            self._files.add(inside)

    def _is_importing(self, frame):
        while frame := frame.f_back:
            is_module = frame.f_code.co_name == "<module>" and frame.f_code.co_filename.startswith(self._root)
            if is_module and frame.f_globals["__name__"] != "__main__":
                return True
        return False


def command(*arguments):
    """Runs a command as the terminal does; it ends the process."""
    from kbert.cli import commands

    commands.main(["kbert", *arguments])


def load(opened, folder):
    import kbert

    opened.start()
    kbert.load(folder).model.get_weights()


def request(opened, run):
    """Serves the run, waits until it answers, and counts one request."""
    opened.counts = False
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1/models/tuned"
    threading.Thread(target=_ask, args=(opened, url), daemon=True).start()
    opened.start()
    rest = f"--rest_api_port={url.split(':')[2].split('/')[0]}"
    command("serve", run, rest, "--port=0", f"--rest_api_timeout_in_ms={_PATIENCE}000")


def _ask(opened, url):
    while True:
        try:
            urllib.request.urlopen(url, timeout=_PATIENCE).read()
            break
        except OSError:
            time.sleep(0.2)
    body = json.dumps({"instances": [{"text": "the river", "text_pair": "a road"}]}).encode()
    asked = urllib.request.Request(f"{url}:predict", body, {"Content-Type": "application/json"})
    opened.counts = True
    urllib.request.urlopen(asked, timeout=_PATIENCE).read()
    opened.end()


def walk(folder: Path):
    """Makes what must be there, then walks each journey, each in a fork; in the folder of a checkout."""
    import keras  # noqa: F401  once for all
    import tensorflow_text  # noqa: F401

    for name, line in [*(("", line) for line in _MADE), *JOURNEYS.items()]:
        words = line.replace("{in}", str(folder / "in")).replace("{out}", str(folder / "out")).split()
        if (process := os.fork()) == 0:
            _walk_one(name, words, folder / f"{name}.json")
        if os.waitpid(process, 0)[1]:
            sys.exit(f"error: {' '.join(words)}")


def _walk_one(name, words, result):
    if not name:
        command(*words)
    opened = Opened(Path.cwd(), result, "gradient" if name == "gradient" else None)
    if words[0] in ("load", "request"):
        globals()[words[0]](opened, *words[1:])
    else:
        opened.start()
        command(*words)
    opened.end()


def opened_files(checkout: Path) -> dict[str, list[str]]:
    """Journey -> the files that it opens in a checkout."""
    with tempfile.TemporaryDirectory(prefix="journeys_") as folder:
        for made in (inputs := Path(folder, "in"), Path(folder, "out")):
            made.mkdir()
        from tests.pins.inputs import write_inputs

        write_inputs(inputs)
        environment = os.environ | {"PYTHONPATH": str(checkout), "CUDA_VISIBLE_DEVICES": "-1"}
        walker = [sys.executable, "-P", Path(__file__).resolve(), "--walk", folder]
        done = subprocess.run(walker, cwd=checkout, env=environment, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"error: in {checkout}:\n{done.stdout[-1000:]}{done.stderr[-3000:]}")
        return {name: json.loads(Path(folder, f"{name}.json").read_text()) for name in JOURNEYS}


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.journeys", description=__doc__.partition("\n")[0])
    parser.add_argument("checkouts", nargs="*", type=Path, default=[Path.cwd()])
    parser.add_argument("--show", choices=JOURNEYS, help="also list the files of this journey")
    parser.add_argument("--walk", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.walk:
        walk(given.walk)
        return
    columns = [opened_files(checkout.resolve()) for checkout in given.checkouts]
    for name, what in _WHAT.items():
        print(f"{what:45}" + "".join(f"{len(column[name]):6}" for column in columns))
    for column in columns if given.show else ():
        print("", *column[given.show], sep="\n")


if __name__ == "__main__":
    main()
