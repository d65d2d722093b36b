"""The vocabulary of a served model, so that the page can show the pieces of a text while it is typed."""

import json
import urllib.parse

from tensorflow_serving.apis import model_pb2

from ...gate.saved_model_session import RequestError
from ..models.served_models import ServedModels
from .export_files import vocabulary_of

PREFIX = "/page/vocabularies/"


def vocabulary(models: ServedModels, path: str) -> bytes:
    """The vocabulary of the version that answers, as JSON: `{"do_lower_case", "vocab_txt"}`.

    Args:
        models: the served models.
        path: PREFIX and the model's name, percent signs not yet decoded.

    Raises:
        RequestError: there is no such model, or it came without a vocabulary.
    """
    name = urllib.parse.unquote(path.removeprefix(PREFIX))
    loaded = models.find(model_pb2.ModelSpec(name=name))
    found = vocabulary_of(loaded.folder)
    if found is None:
        raise RequestError(
            "NOT_FOUND",
            f"The export of {name} has no vocabulary: expected assets.extra/vocab.txt and kbert.json.",
        )
    return json.dumps(found, ensure_ascii=False).encode()
