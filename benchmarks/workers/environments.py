"""Finds the Python of each peer: every peer has its own environment, made by `make bench-peers`."""

from pathlib import Path

from absl import flags

from benchmarks import REPOSITORY

PEERS = {
    "model_garden": "Model Garden",
    "keras_hub": "KerasHub",
    "hugging_face": "Hugging Face",
    "onnx_runtime": "ONNX Runtime",
}


def define_flags(*peers: str):
    """Defines a flag `--<peer>_python` for each of `peers`, which are among PEERS."""
    for peer in peers:
        flags.DEFINE_string(
            f"{peer}_python",
            None,
            f"Python with benchmarks/peers/{peer}.txt installed; by default {_place(peer)}.",
        )


def pythons(*peers: str) -> dict[str, str]:
    """Peer -> path of its Python, for those that are installed; prints a line for each of the others.

    Raises:
      ValueError: for a Python that was given but does not exist.
    """
    found = {}
    for peer in peers:
        given = flags.FLAGS[f"{peer}_python"].value
        path = Path(given) if given else REPOSITORY / _place(peer)
        if path.is_file():
            found[peer] = str(path)
        elif given:
            raise ValueError(f"--{peer}_python={given} does not exist; `make bench-peers` makes one.")
        else:
            print(f"{PEERS[peer]} is left out: no {_place(peer)}; `make bench-peers` makes it.", flush=True)
    return found


def _place(peer):
    return f".venv_peers_{peer}/bin/python"
