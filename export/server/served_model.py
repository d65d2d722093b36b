"""The model of a server: an exported version as it is; a run or any checkpoint is written as one first.

So there is one engine: the session by which TensorFlow Serving runs models, and answers are those of an
export.
"""

import json
import pathlib
import shutil
import tempfile

import numpy as np
import tensorflow as tf

from kbert.cli.progress import activity
from kbert.config.pooling_config import PoolingConfig
from kbert.features import ENCODER_INPUTS
from kbert.inference.loaded_model import load_model
from kbert.inference.text_answers import PAIR_NUMBERS
from kbert.tokenization.text_inputs import TextInputs
from kbert.tokenization.vocabulary_files import VOCABULARY_FILES, read_vocabulary

from ..export_savedmodel import write_beside
from ..folder_names import ABOUT_FILE, EXTRA_FOLDER
from ..gate.saved_model_session import DEFAULT_SIGNATURE, RequestError, SavedModelSession
from ..serving_model import ServingModel

_SAVED_MODEL = "saved_model.pb"
_FOLDERS_ASIDE: list[str] = []  # where runs and checkpoints are written


class ServedModel:
    """A loaded model, and what lies beside it.

    Args:
      path: a folder of exported versions, of which the newest answers; one version; a run; or any
        checkpoint that `kbert.load` takes.
      name: what clients call it.

    Attributes:
      name, path: as given.
      version: its number; 1 where it has none.
      session: the `SavedModelSession`.
      signatures: name -> `SignatureDef`, without those that only TensorFlow itself uses.
      about: what the export's kbert.json says; empty for SavedModels of other programs.
      text_inputs: its `TextInputs`; None where no vocabulary lies beside it.

    Raises:
      ValueError: nothing there can be served.
    """

    def __init__(self, path: str, name: str):
        self.path, self.name = str(path), name
        folder = _version_folder(pathlib.Path(path))
        with tempfile.TemporaryDirectory(prefix="kbert_serve_") as aside:
            _FOLDERS_ASIDE.append(aside)
            if folder is None:
                folder = _exported(self.path, pathlib.Path(aside) / "1")
            self.version = int(folder.name) if folder.name.isdecimal() and len(folder.name) < 19 else 1
            with activity(f"loading {name}"):
                try:
                    self.session = SavedModelSession(str(folder))
                except (tf.errors.OpError, OSError, RuntimeError, ValueError) as error:
                    raise ValueError(f"{folder} cannot be served: {error}") from error
            self.about = _read_about(folder)
            self.text_inputs = self._read_text_inputs(folder)
        definitions = self.session.signatures.items()
        self.signatures = {
            n: signature
            for n, signature in definitions
            if signature.inputs and signature.outputs and n[:2] != "__"
        }
        # Traced once; a call then takes a fraction of a millisecond.
        self._rows = self.text_inputs and tf.function(
            self.text_inputs.rows, input_signature=[tf.TensorSpec([None], tf.string)], autograph=False
        )

    @property
    def prompts(self) -> dict[str, str]:
        """What some models want before a text, by name: {"query": "query: "}."""
        return self.about.get("prompts") or {}

    @property
    def embedding_signature(self) -> str | None:
        """The signature from token ids to the vector of a text; None where the model gives none."""
        for name, signature in self.signatures.items():
            if (
                "embedding" in signature.outputs
                and set(signature.inputs) == set(ENCODER_INPUTS)
                and self.text_inputs
            ):
                return name
        return None

    @property
    def pair_number(self) -> tuple[str, str] | None:
        """(signature, output) that is one number for a pair of texts; None where there is none."""
        for name, signature in self.signatures.items():
            if set(signature.inputs) == {"text", "text_pair"}:
                for output in PAIR_NUMBERS:
                    if output in signature.outputs and len(signature.outputs[output].tensor_shape.dim) == 1:
                        return name, output
        return None

    def signature(self, name: str):
        """(name, `SignatureDef`) of what a request calls; an empty name is `serving_default`.

        Raises:
          RequestError: there is none of this name.
        """
        name = name or DEFAULT_SIGNATURE
        if name not in self.signatures:
            raise RequestError(
                "INVALID_ARGUMENT",
                f"signature {name[:100]!r} is not one of {', '.join(sorted(self.signatures))}.",
            )
        return name, self.signatures[name]

    def tokenize(self, texts: list[bytes]) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """(encoder inputs, padded to the longest; whether each text was cut).

        Raises:
          RequestError: the model came without its vocabulary.
        """
        if self._rows is None:
            raise RequestError(
                "NOT_FOUND",
                f"{self.name} has no vocabulary beside it, so this server cannot tokenize for it.",
            )
        rows = self._rows(tf.constant(texts, tf.string))
        return {name: values.numpy() for name, values in rows.features.items()}, rows.truncated.numpy()

    def _read_text_inputs(self, folder) -> TextInputs | None:
        extra, description = folder / EXTRA_FOLDER, self.about.get("vocabulary", {})
        has_files = any((extra / name).is_file() for name in VOCABULARY_FILES)
        if not has_files or "do_lower_case" not in description or "max_seq_length" not in self.about:
            return None
        vocabulary = read_vocabulary(extra, description)
        return TextInputs(vocabulary, self.about["max_seq_length"])


def remove_folders_aside() -> None:
    """Removes what was written of a model that still loads: for a process that ends at once."""
    for folder in _FOLDERS_ASIDE:
        shutil.rmtree(folder, ignore_errors=True)


def _version_folder(path: pathlib.Path) -> pathlib.Path | None:
    """The folder of a SavedModel: `path` or the newest version in it. None for anything else."""
    if (path / _SAVED_MODEL).is_file():
        return path
    versions = [file.parent for file in path.glob(f"*/{_SAVED_MODEL}") if file.parent.name.isdecimal()]
    return max(versions, key=lambda folder: int(folder.name), default=None)


def _exported(path: str, folder: pathlib.Path) -> pathlib.Path:
    """Writes a run or a checkpoint as `kbert export` does, without its checks."""
    loaded = load_model(path)
    # An encoder that does not say how to pool takes the default, as `LoadedModel.embed`.
    if loaded.task.serving is None:
        loaded.task = loaded.task.with_pooling(PoolingConfig(loaded.pooling, loaded.normalize))
    with activity("writing the graph"):
        model = ServingModel(loaded)
        # Those of `tf.Example`s are for TensorFlow Serving's Classify and Regress.
        model.signatures = {
            name: signature for name, signature in model.signatures.items() if signature.texts is None
        }
        model.write(folder)
        write_beside(folder, model)
    return folder


def _read_about(folder: pathlib.Path) -> dict:
    try:
        about = json.loads((folder / EXTRA_FOLDER / ABOUT_FILE).read_bytes())
    except (OSError, ValueError):
        return {}
    return about if isinstance(about, dict) else {}
