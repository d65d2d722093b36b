"""The model of a server: an exported version as it is; a run or any checkpoint is written as one first.

So there is one engine: the session by which TensorFlow Serving runs models, and answers are those of an
export.
"""

import dataclasses
import math
import pathlib
import shutil
import tempfile

import numpy as np
import tensorflow as tf
from absl import logging
from tensorflow_serving.apis import get_model_metadata_pb2

from kbert.cli.progress import activity
from kbert.config.vectors_config import TEXT_TASKS
from kbert.features import ENCODER_INPUTS
from kbert.files.json_file import read_json_object
from kbert.files.version_folders import version_folder, version_number
from kbert.inference.loading import open_model
from kbert.tasks import TASKS
from kbert.tasks.late_interaction.late_serving import DOCUMENT, VECTORS
from kbert.tasks.late_interaction.token_inputs import PromptTokens
from kbert.tasks.sequences.long_texts import LongTexts
from kbert.tasks.sequences.settings import LongTextSettings
from kbert.tasks.sparse_embedding.sparse_serving import INDICES
from kbert.tokenization.text_inputs import TextInputs
from kbert.tokenization.vocabulary_files import VOCABULARY_FILES, read_vocabulary

from ..export_savedmodel import write_with_assets
from ..folder_names import ABOUT_FILE, EXTRA_FOLDER
from ..gate.saved_model_session import DEFAULT_SIGNATURE, RequestError, SavedModelSession
from ..serving_model import ServingModel

# Outputs that may be one number for a pair of texts.
_PAIR_NUMBERS = ("prediction", "cosine")
_TEMPORARY_FOLDERS: list[str] = []  # where runs and checkpoints are written


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
      serving: how its task answers, a `Serving`; None where `about` does not say it.
      text_inputs: its `TextInputs`; None where no vocabulary lies beside it.

    Raises:
      ValueError: nothing there can be served.
    """

    def __init__(self, path: str, name: str):
        self.path, self.name = str(path), name
        folder = version_folder(pathlib.Path(path))
        with tempfile.TemporaryDirectory(prefix="kbert_serve_") as aside:
            _TEMPORARY_FOLDERS.append(aside)
            if folder is None:
                folder = _exported(self.path, pathlib.Path(aside) / "1")
            number = version_number(folder)
            self.version = 1 if number is None else number
            with activity(f"loading {name}"):
                self.session = SavedModelSession(str(folder))
            self.signatures = {
                name: signature
                for name, signature in self.session.signatures.items()
                if signature.inputs and signature.outputs and name[:2] != "__"
            }
            self.about = _read_about(folder)
            self.serving = _recorded_serving(self.about)
            self.text_inputs = self._read_text_inputs(folder)
        # By the number of texts. Traced once; a call then takes a fraction of a millisecond.
        self._rows = {
            number: tf.function(
                rows, input_signature=[tf.TensorSpec([None], tf.string)] * number, autograph=False
            )
            for number, rows in (self._readers() if self.text_inputs else {}).items()
        }

    @property
    def signature_map(self) -> get_model_metadata_pb2.SignatureDefMap:
        """`signatures` as one message."""
        return get_model_metadata_pb2.SignatureDefMap(signature_def=self.signatures)

    @property
    def prompts(self) -> dict[str, str]:
        """What some models want before a text, by name: {"query": "query: "}."""
        return self._vector_setting("prompts") or {}

    @property
    def default_prompt_name(self) -> str | None:
        """The prompt of texts for which none is named."""
        return self._vector_setting("default_prompt_name")

    @property
    def similarity(self) -> str:
        """How its vectors are compared, in sentence-transformers' words."""
        usual = "dot" if self.ids_signature(INDICES) else "cosine"
        return self._vector_setting("similarity_fn_name") or usual

    @property
    def normalizes(self) -> bool:
        """Whether it says that its vectors have length 1."""
        return bool((self.about.get("task_config") or {}).get("normalize"))

    @property
    def counts_prompts(self) -> bool:
        """Whether the tokens of a prompt count in the vector of its text, as those of all texts do."""
        return self._vector_setting("include_prompt") is not False

    def _vector_setting(self, name: str):
        """A setting of models that give vectors; None where it is not said."""
        further = (self.about.get("task_config") or {}).get("further_pooling") or {}
        return self.about.get(name, further.get(name))

    @property
    def embedding_signature(self) -> str | None:
        """The signature from token ids to the vector of a text; None where the model gives none."""
        return self.ids_signature("embedding")

    def signature_behind(self, prompt_name: str | None) -> str | None:
        """The `embedding_signature` of texts behind a prompt: where tokens of prompts do not count, those
        with another number of tokens have their own."""
        own = f"ids_{prompt_name}"
        return own if own in self.signatures and self.text_inputs else self.embedding_signature

    def ids_signature(self, output: str) -> str | None:
        """The signature from token ids to an output; None where there is none, or no vocabulary."""
        for name in ("ids", *self.signatures):
            signature = self.signatures.get(name)
            if signature and output in signature.outputs and set(signature.inputs) == set(ENCODER_INPUTS):
                return name if self.text_inputs else None
        return None

    @property
    def gives_token_vectors(self) -> bool:
        """Whether it gives a vector for each token of queries and of documents (ColBERT)."""
        known = (self.signatures[name].outputs for name in TEXT_TASKS if name in self.signatures)
        return [VECTORS in outputs for outputs in known] == [True] * len(TEXT_TASKS)

    @property
    def width(self) -> int | None:
        """How many numbers a vector of a text has; None where it is not known."""
        signature = self.embedding_signature and self.signatures[self.embedding_signature]
        size = signature.outputs["embedding"].tensor_shape.dim[-1].size if signature else -1
        return None if size < 0 else size

    @property
    def pair_number(self) -> tuple[str, str] | None:
        """(signature, output) that is one number for a pair of texts; None where there is none.

        The cosine of an export without its vocabulary is none: prompts and similarity would be left out.
        """
        names = _PAIR_NUMBERS if self.text_inputs or not self.about.get("vocabulary") else _PAIR_NUMBERS[:1]
        for name, signature in self.signatures.items():
            if set(signature.inputs) == {"text", "text_pair"}:
                for output in names:
                    if output in signature.outputs and len(signature.outputs[output].tensor_shape.dim) == 1:
                        return name, output
        return None

    @property
    def ranks_by_vectors(self) -> bool:
        """Whether pairs are compared by one vector of each text: no number for a pair is more than that."""
        return self.embedding_signature is not None and (self.pair_number or ("", "cosine"))[1] == "cosine"

    @property
    def ranks(self) -> bool:
        """Whether it ranks texts in any of these ways."""
        known = (self.pair_number, self.ids_signature(INDICES))
        return any(known) or self.ranks_by_vectors or self.gives_token_vectors

    @property
    def most_tokens(self) -> float:
        """The most tokens that are read of a text; infinite where windows read all, or it is not known."""
        return math.inf if self._settings.in_windows else self.longest() or math.inf

    def longest(self, task: str = DOCUMENT) -> int | None:
        """The tokens of the longest row of a text; ColBERT's queries have another. None: not known."""
        most = self.about.get("max_seq_length")
        if most is None or not self.gives_token_vectors:
            return most
        return TASKS.recorded(self.about).pooling.longest(task, most)

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

    def require_text_inputs(self) -> TextInputs:
        """The `TextInputs`. RequestError where the model came without its vocabulary."""
        if self.text_inputs is None:
            raise RequestError(
                "NOT_FOUND",
                f"{self.name} has no vocabulary beside it, so this server cannot tokenize for it.",
            )
        return self.text_inputs

    def tokenize(self, texts, pairs=None) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """(encoder inputs, padded to the longest; whether each text or pair was cut).

        Pairs are read as the model reads them, in windows if it does: then there is a feature
        `window_numbers`, and a pair may have several rows.

        Args:
          texts, pairs: texts as bytes, and the second ones of pairs.

        Raises:
          RequestError: the model came without its vocabulary.
        """
        self.require_text_inputs()
        columns = [tf.constant(list(texts), tf.string) for texts in (texts, pairs) if texts is not None]
        rows = self._rows[len(columns)](*columns)
        return {name: values.numpy() for name, values in rows.features.items()}, rows.truncated.numpy()

    @property
    def _settings(self) -> LongTextSettings:
        """What becomes of texts that are too long."""
        settings = self.about.get("task_config") or {}
        names = [field.name for field in dataclasses.fields(LongTextSettings)]
        is_said = names[0] in settings
        return LongTextSettings(**{name: settings[name] for name in names if is_said and name in settings})

    def _readers(self) -> dict:
        """Number of texts -> function from them to `TextRows`."""
        inputs, pairs = self.text_inputs, LongTexts(self._settings, None).reader(self.text_inputs)
        if not self.gives_token_vectors:
            return {1: inputs.rows, 2: pairs.rows}
        tokens = PromptTokens(TASKS.recorded(self.about).pooling, inputs.tokenizer)
        return {1: lambda texts: inputs.pack_tokens(tokens(texts)), 2: pairs.rows}

    def _read_text_inputs(self, folder) -> TextInputs | None:
        extra, description = folder / EXTRA_FOLDER, self.about.get("vocabulary", {})
        has_files = any((extra / name).is_file() for name in VOCABULARY_FILES)
        if description and not has_files:
            logging.warning(
                "%s describes a vocabulary that does not lie beside it: this server tokenizes nothing, gives "
                "no vectors, and ranks by none. Copy the whole folder of the version.", extra / ABOUT_FILE,
            )  # fmt: skip
        if not has_files or "do_lower_case" not in description or "max_seq_length" not in self.about:
            return None
        vocabulary = read_vocabulary(extra, description)
        return TextInputs(vocabulary, max(self.longest(task) or 0 for task in TEXT_TASKS))


def remove_folders_aside() -> None:
    """Removes what was written of a model that still loads: for a process that ends at once."""
    for folder in _TEMPORARY_FOLDERS:
        shutil.rmtree(folder, ignore_errors=True)


def _exported(path: str, folder: pathlib.Path) -> pathlib.Path:
    """Writes a run or a checkpoint as `kbert export` does, without its checks."""
    loaded = open_model(path)
    # An encoder that does not say how to pool takes the default, as `LoadedModel.embed`.
    if loaded.task.serving is None:
        pooling = loaded.text_pooling("the server", "the mean is the usual choice")
        loaded.task = loaded.task.with_pooling(pooling)
    with activity("writing the graph"):
        model = ServingModel(loaded)
        # Those of `tf.Example`s are for TensorFlow Serving's Classify and Regress.
        model.signatures = {
            name: signature for name, signature in model.signatures.items() if signature.texts is None
        }
        model.write(folder)
        write_with_assets(folder, model)
    return folder


def _recorded_serving(about: dict):
    try:
        return TASKS.recorded(about).serving
    except (KeyError, TypeError, ValueError):  # of another program, or of a task that is not known here
        return None


def _read_about(folder: pathlib.Path) -> dict:
    """What kbert.json says; nothing for a SavedModel without one."""
    path = folder / EXTRA_FOLDER / ABOUT_FILE
    if not path.is_file():
        return {}
    try:
        return read_json_object(path)
    except ValueError as error:
        raise ValueError(
            f"{str(error).rstrip('.')}; copy the export again, or delete {path} to serve the SavedModel "
            "without its labels and settings."
        ) from None
