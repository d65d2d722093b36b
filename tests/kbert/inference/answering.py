"""Examples and their answers as `kbert predict` writes them."""

from kbert.inference.answers import answered
from kbert.inference.loading import open_model


def answers(source, examples, checkpoint=None, top_k=None, **options):
    """Yields each example with its answer; `source`: a `RunDirectory` or a `LoadedModel`."""
    loaded = open_model(source, checkpoint=checkpoint)
    settings = {} if top_k is None else {"top_k": top_k}
    for example, answer in answered(loaded, examples, settings, **options):
        yield example | answer
