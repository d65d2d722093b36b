"""What belongs to a version of a model: requests to warm up with, batching parameters, the card."""

from pathlib import Path
from typing import NamedTuple

from kbert.files.whole_file import write_text

from ..folder_names import EXTRA_FOLDER
from ..gate.saved_model_session import SavedModelSession
from ..gate.session_check import run_loaded
from .measurements import measure, num_cores
from .server_protos import batching_text
from .warmup_requests import BATCH_SIZES, read_warmup_requests, warmup_requests, write_warmup_requests

BATCHING_FILE = "batching_params.pbtxt"
# A larger batch is worth its wait only where a text then takes at most this share of the time.
_WORTH = 0.95
# Requests that would wait longer than this are refused at once.
_LONGEST_QUEUE_SECONDS = 1.0


class VersionFiles(NamedTuple):
    """What was written.

    Args:
      num_warmup_requests: how many requests a server replays.
      measured: what `measure` gives; None where nothing was measured.
      batching: the parameters; None where the model cannot be batched.
      not_batched: the reason for that.
    """

    num_warmup_requests: int
    measured: dict | None
    batching: dict | None
    not_batched: str | None


def write_version_files(
    directory: Path, model_name: str, serving_model, examples, session: SavedModelSession, measured: bool
) -> VersionFiles:
    """Writes warm-up requests and batching parameters into the folder of a version, and tries the former.

    A server that batches replays the requests through its queue, which refuses those larger than the largest
    batch; then it does not load the version at all. So the file that stays has none of these.

    Args:
      directory: the folder, with the SavedModel in it.
      model_name: under which the model is served.
      serving_model: what was written there.
      examples: dicts of inputs, whose words the requests are made of.
      session: the folder, loaded.
      measured: whether to measure time and memory in another process, which replays the requests too.

    Raises:
      ValueError: when a request fails.
    """
    extra = directory / EXTRA_FOLDER
    extra.mkdir(exist_ok=True)
    requests = list(warmup_requests(serving_model.signatures, serving_model.loaded.text_inputs, examples))
    number = write_warmup_requests(extra, model_name, requests)
    found = None
    if measured:
        found = measure(directory, [request[:3] for request in requests])
    else:
        for signature, inputs in read_warmup_requests(extra):
            run_loaded(session, signature, inputs)
    reason = _not_batched(serving_model.signatures)
    batching = None if reason else batching_parameters(found)
    if batching:
        write_text(batching_comment(found) + batching_text(**batching), directory / BATCHING_FILE)
        largest = batching["batch_sizes"][-1]
        fitting = [request for request in requests if request.batch_size <= largest]
        number = write_warmup_requests(extra, model_name, fitting)
    return VersionFiles(number, found, batching, reason)


def batching_parameters(measured: dict | None) -> dict:
    """The arguments of `batching_text`, from what was measured."""
    sizes, queue = list(BATCH_SIZES), None
    if measured:
        times = {int(size): value / 1000 for size, value in measured["milliseconds"].items()}
        while len(sizes) > 1 and times[sizes[-1]] / sizes[-1] > _WORTH * times[sizes[-2]] / sizes[-2]:
            sizes.pop()
        queue = max(1, round(_LONGEST_QUEUE_SECONDS / times[sizes[-1]]))
    return {"batch_sizes": sizes, "num_batch_threads": num_cores(), "max_enqueued_batches": queue}


def batching_comment(measured: dict | None) -> str:
    """What stands above the parameters: where they come from."""
    how = "not measured (export with --measure)"
    if measured:
        times = ", ".join(f"{size}: {value:.1f}" for size, value in measured["milliseconds"].items())
        where = f"{measured['num_threads']} cores, {measured['num_tokens']} tokens"
        how = f"measured on {where}, ms by batch: {times}"
    return f"# For --enable_batching with --enable_per_model_batching_parameters; {how}.\n"


def _not_batched(signatures) -> str | None:
    scalars = [
        f"{name} of {signature}"
        for signature, one in signatures.items()
        for name, (_, shape) in one.inputs.items()
        if not shape
    ]
    if not scalars:
        return None
    return f"a batch joins inputs along their first axis, which {', '.join(scalars)} lack"
