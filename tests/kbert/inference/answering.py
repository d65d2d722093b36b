"""Examples and their answers as `kbert predict` writes them."""

from kbert.inference.answers import answered
from kbert.inference.loaded_model import LoadedModel


def answers(source, examples, checkpoint=None, top_k=5, **options):
    """Yields each example with its answer; `source`: a `RunDirectory` or a `LoadedModel`."""
    loaded = source if isinstance(source, LoadedModel) else LoadedModel.from_run(source, checkpoint)
    for example, answer in answered(loaded, examples, {"top_k": top_k, "whole_words": False}, **options):
        yield example | answer
