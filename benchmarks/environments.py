"""Where the peers' own Pythons are: one environment each, made by `make bench-peers`."""

from pathlib import Path

from absl import flags

REPOSITORY = Path(__file__).resolve().parents[1]
PEERS = {
    "model_garden": "Model Garden",
    "keras_hub": "KerasHub",
    "hugging_face": "Hugging Face",
}


def define_flags(*peers: str):
    """A flag `--<peer>_python` for each of `peers`, which are among PEERS."""
    for peer in peers:
        flags.DEFINE_string(
            f"{peer}_python",
            None,
            f"Python with benchmarks/peers/{peer}.txt; by default {_place(peer)} of `make bench-peers`.",
        )


def pythons(*peers: str) -> dict[str, str]:
    """Peer -> path of its Python, for those that are installed; the others are named.

    Raises:
      ValueError: for a Python that was given and is not there.
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
