"""A label for every word, from stored outputs of a frozen encoder's layers: a BiLSTM on top of them."""

import dataclasses

import keras
from keras import ops

from kbert.features import Feature, layer_feature
from kbert.heads.bilstm_head import BiLstmHead
from kbert.heads.parts import LAYER_OUTPUTS, BiLstmPart, ScalarMixPart
from kbert.layers.scalar_mix import ScalarMix
from kbert.tasks.feature_based.layer_model import LayerModel
from kbert.tasks.feature_based.settings import WEIGHTED_SUM, FeatureBasedSettings
from kbert.tasks.feature_based.word_rows import WordRows
from kbert.tasks.task import ExampleFeatures, Task
from kbert.tasks.token_classification.sentence_rows import SentenceRows
from kbert.tasks.token_classification.token_classification import TokenClassification
from kbert.tasks.token_classification.word_windows import WordWindows
from kbert.tokenization.text_inputs import TextInputs

_HEAD, _MIX = "bilstm_tagger", "scalar_mix"


class FeatureBasedTagging(TokenClassification):
    """Token classification without an encoder: a two-layer BiLSTM over stored vectors of words.

    The encoder has seen each text once, when the records were made; here it is no part of the model. A word's
    vector is that of its first piece, as the encoder gives it in its window, and a row is a sentence. Reading
    of files, windows, losses, scores and pages are those of `TokenClassification`.

    Features of a row: `layer_output_i`, float32 of shape (max_seq_length, hidden_size), for each layer that
    the model reads (records hold all); those of token classification, where a place is a word.

    Args:
      labels: the label names in id order, at least two.
      settings: those of `FeatureBasedSettings`.

    Reference: arXiv 1810.04805, section 5.3 and table 7. Size per direction, dropout and optimizer are not
    given there.
    """

    name = "feature_based_tagging"
    settings_class = FeatureBasedSettings
    row_settings = (
        *TokenClassification.row_settings,
        "window_length",
        "num_hidden_layers",
        "hidden_size",
        "stored",
    )
    has_encoder = False
    can_pack = False
    inputs = ()
    answers = ()
    architecture = None
    settings: FeatureBasedSettings

    def __init__(self, labels, **settings):
        super().__init__(labels)
        self.settings = FeatureBasedSettings(**settings)
        self.settings.check_labels(self.labels)

    @property
    def parts(self):
        settings = self.settings
        layers, mixes = settings.layers, settings.how == WEIGHTED_SUM
        size = settings.hidden_size * (1 if mixes else len(layers))
        head = BiLstmPart(_HEAD, LAYER_OUTPUTS, len(self.labels), True, size, settings.lstm_size)
        mix = ScalarMixPart(_MIX, LAYER_OUTPUTS, num_layers=len(layers))
        return (mix, head) if mixes else (head,)

    # ------------------------------------------------------------------------------- examples

    def check_training(self, config, examples):
        """Raises ValueError for another encoder than the records', and for settings of its weights."""
        self.check_encoder(config.encoder)
        without = {
            "lora": config.lora,
            "distillation": config.distillation,
            "reinit_layers": config.reinit_layers,
            "recompute_activations": config.recompute_activations,
            "frozen": config.frozen != type(config.frozen)(),
        }
        if asked := [name for name, value in without.items() if value]:
            raise ValueError(
                f"{', '.join(asked)}: a model for {self.name} has no encoder, so there is nothing to apply "
                "this to; leave it out."
            )

    def check_encoder(self, encoder):
        """Raises ValueError where number or size of layers differ, or a window does not fit into it."""
        for name in ("num_hidden_layers", "hidden_size"):
            ours, theirs = getattr(self.settings, name), getattr(encoder, name)
            if ours != theirs:
                raise ValueError(
                    f"task_settings.{name}={ours}, but the encoder has {theirs}; give the checkpoint that "
                    f"the features are from, or set task_settings.{name}={theirs}."
                )
        if self.settings.window_length > encoder.max_position_embeddings:
            raise ValueError(
                f"task_settings.window_length={self.settings.window_length} is more than the encoder's "
                f"max_position_embeddings={encoder.max_position_embeddings}."
            )

    @classmethod
    def complete_settings(cls, values, encoder, stored):
        found = {
            "num_hidden_layers": encoder.num_hidden_layers,
            "hidden_size": encoder.hidden_size,
            "stored": stored,
        }
        for name, value in found.items():
            if values.get(name, value) != value:
                raise ValueError(
                    f"task_settings.{name}={values[name]!r} of the config, but the features have {value!r}; "
                    "leave it out."
                )
        return values | found

    def features(self, max_seq_length):
        return self._features(max_seq_length, self.settings.layers)

    def record_features(self, max_seq_length):
        """The embeddings and every layer."""
        return self._features(max_seq_length, range(self.settings.num_hidden_layers + 1))

    def _features(self, max_seq_length, layers):
        vectors = Feature("float32", (max_seq_length, self.settings.hidden_size), self.settings.stored)
        return super().features(max_seq_length) | {layer_feature(layer): vectors for layer in layers}

    def examples_to_features(self, examples, text_inputs):
        raise ValueError(
            f"a model for {self.name} reads stored features, no texts: make records of them with "
            "kbert layer-features."
        )

    def num_stored_vectors(self, examples):
        return sum(len(sentence.words) for sentence in examples)

    def layer_features(self, examples, text_inputs, vectors_at):
        """The rows of `WordRows`; all layers, whatever `reads` says."""
        windows = TextInputs(text_inputs.vocabulary, self.settings.window_length)
        label_ids = {label: index for index, label in enumerate(self.labels)}
        sentence_rows = SentenceRows(
            WordWindows(windows, self.settings.doc_stride), label_ids, self.settings.document_context
        )
        return ExampleFeatures(*WordRows(sentence_rows, vectors_at, text_inputs.max_seq_length)(examples))

    # ------------------------------------------------------------------------------- model

    def build_model(self, encoder):
        """`layer_output_i` and `input_mask` -> float32 `logits`, `probabilities` (batch, seq_length, labels).

        Of `encoder` only the config's dropout rate and initializer range, and the dtype policy, are used.
        """
        config, settings = encoder.config, self.settings
        inputs = {
            layer_feature(layer): keras.Input((None, settings.hidden_size), name=layer_feature(layer))
            for layer in settings.layers
        }
        layers = list(inputs.values())
        inputs["input_mask"] = keras.Input((None,), dtype="int32", name="input_mask")
        if settings.how == WEIGHTED_SUM:
            vectors = ScalarMix(dtype=encoder.policy, name=_MIX)(layers)
        else:
            vectors = ops.concatenate(layers, axis=-1) if len(layers) > 1 else layers[0]
        head = BiLstmHead(
            num_labels=len(self.labels),
            width=settings.lstm_size,
            dropout=config.hidden_dropout_prob,
            initializer_range=config.initializer_range,
            dtype=encoder.policy,
            name=_HEAD,
        )
        logits = head(vectors, inputs["input_mask"])
        outputs = {"logits": logits, "probabilities": ops.softmax(logits, axis=-1)}
        return LayerModel(self, config, encoder.policy, inputs, outputs)

    def soft_targets(self, outputs, batch):
        return Task.soft_targets(self, outputs, batch)

    def signatures(self, model, text_inputs):
        """Raises ValueError: the encoder that answers to texts would need is no part of the model."""
        return Task.signatures(self, model, text_inputs)

    def get_config(self):
        return {"labels": list(self.labels), **dataclasses.asdict(self.settings)}
