"""A world built once: its tokenizer, its checkpoint, its data and its trained run."""

import dataclasses
import functools
import math
from pathlib import Path

import kbert
from kbert.checkpoints import KBERT
from kbert.checkpoints.formats import write_checkpoint
from kbert.config import EncoderConfig, FinetuningConfig, PretrainingConfig, from_dict, to_dict
from kbert.inference.loaded_model import LoadedModel
from kbert.tasks import TASKS
from tests.kbert.checkpoints.random_checkpoint import random_checkpoint
from tests.lives import space
from tests.lives.data import NUM_DEV, NUM_TRAIN, Rows, make_vocabulary
from tests.tfrecords_tools import small_corpus
from tfrecords_tools.create_pretraining_data import create_pretraining_data

_SHAPE = {
    "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24,
    "max_position_embeddings": 40, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0,
}  # fmt: skip
_TRAINING = {
    "train_batch_size": 4, "eval_batch_size": 4, "log_every_steps": 1, "save_checkpoints_steps": 2,
    "steps_per_execution": 2,
}  # fmt: skip


class Life:
    """A world and what its hops share; each part is made when the first hop asks for it.

    Args:
      world: as `draw_world` gives it.
      folder: an empty folder, which the life fills.
      refused: called with each ValueError by which a hop went another way.
    """

    def __init__(self, world: dict, folder: Path, refused=lambda refusal: None):
        self.world, self.folder, self.refused = world, Path(folder), refused
        self.task_name = world["task"]
        self.is_pretraining = space.pairing(self.task_name) is not None
        self.rows = Rows(world, self.folder)

    @functools.cached_property
    def vocabulary(self):
        return make_vocabulary(self.world["tokenizer"])

    @functools.cached_property
    def encoder(self) -> EncoderConfig:
        own = _SHAPE | space.FAMILIES[self.world["family"]] | self._chosen("encoder")
        return EncoderConfig(**own | {"vocab_size": len(self.vocabulary)})

    @functools.cached_property
    def config(self):
        """The config of the training; its default lengths are those of the small texts."""
        values = _TRAINING | {"optimizer": {"name": "adamw", "learning_rate": 2e-3}} | self._chosen("config")
        if self.is_pretraining:
            steps = {"num_train_steps": 6, "num_warmup_steps": 2, "eval_every_steps": 6}
            known = {field.name for field in dataclasses.fields(PretrainingConfig)}
            values = {name: value for name, value in values.items() if name in known} | steps
            values["encoder"] = to_dict(self.encoder)
            return from_dict(PretrainingConfig, values | {"task": self.task_name}, "config")
        values |= {"task": self.task_name, "task_settings": self._chosen("settings")}
        values = {"max_seq_length": 24, "num_train_epochs": 2.0, "eval_every_epochs": 1.0} | values
        TASKS[self.task_name].read_settings(values["task_settings"])
        config = from_dict(FinetuningConfig, values, "config")
        return dataclasses.replace(config, dataset=self.rows.dataset())

    def _chosen(self, prefix: str) -> dict:
        """What the world says under a prefix, as nested dicts."""
        nested: dict = {}
        for name, value in self.world.items():
            first, *path = name.split(".")
            if first != prefix:
                continue
            place = nested
            for part in path[:-1]:
                place = place.setdefault(part, {})
            place[path[-1]] = value if not isinstance(value, dict) else place.get(path[-1], {}) | value
        return nested

    @functools.cached_property
    def checkpoint(self) -> Path:
        """An encoder of random weights, as a run."""
        settings = {name: value for name, value in to_dict(self.encoder).items() if name != "vocab_size"}
        made = random_checkpoint("encoder", vocabulary=self.vocabulary, **settings)
        made = dataclasses.replace(made, max_seq_length=24)
        write_checkpoint(made, self.folder / "start", KBERT)
        return self.folder / "start"

    @functools.cached_property
    def train_file(self) -> Path:
        return self.rows.write("train", NUM_TRAIN)

    @functools.cached_property
    def dev_file(self) -> Path:
        return self.rows.write("dev", NUM_DEV)

    @functools.cached_property
    def records(self) -> Path:
        """Records of a small corpus, for pretraining."""
        corpus, _ = small_corpus.write_corpus(self.folder, 4, 1)
        create_pretraining_data(
            str(corpus), None, self.folder / "records", tokenizer=self.checkpoint, max_seq_length=24,
            max_predictions_per_seq=4, dupe_factor=1, num_shards=2, pairing=space.pairing(self.task_name),
            masking="dynamic",
        )  # fmt: skip
        return self.folder / "records"

    def train(self, name: str, **arguments):
        """Trains in a folder of this name; the run."""
        if self.is_pretraining:
            arguments = {"input_dir": self.records, "eval_input_dir": self.records} | arguments
            _, metrics = kbert.pretrain(self.config, self.folder / name, **arguments)
        else:
            data = {"train_file": self.train_file, "dev_file": self.dev_file}
            if "train_dir" in arguments:
                data = {}
            arguments = {"init_checkpoint": self.checkpoint} | data | arguments
            _, metrics = kbert.finetune(self.config, self.folder / name, **arguments)
        return self.folder / name, metrics

    @functools.cached_property
    def trained(self):
        """(the folder of the run, the metrics of its last evaluation)."""
        run, metrics = self.train("run")
        if any(isinstance(value, float) and math.isinf(value) for value in metrics.values()):
            raise ValueError("the training gave infinite metrics")
        return run, metrics

    @property
    def is_trained(self) -> bool:
        return "trained" in vars(self)

    @property
    def drops_out(self) -> bool:
        """Whether training draws dropout masks."""
        lora = getattr(self.config, "lora", None)
        rates = (self.encoder.hidden_dropout_prob, self.encoder.attention_probs_dropout_prob)
        chosen = getattr(self.config, "dropout_prob", None)
        return any(rates if chosen is None else (chosen,)) or bool(lora and lora.dropout)

    @property
    def run(self) -> Path:
        return self.trained[0]

    @functools.cached_property
    def loaded(self) -> LoadedModel:
        loaded = kbert.load(self.run)
        assert isinstance(loaded, LoadedModel)
        return loaded

    @functools.cached_property
    def examples(self) -> list:
        """Some examples that the task answers, besides those of its files."""
        self.rows.mask = self.vocabulary.special_tokens.mask
        return self.rows.examples(5)

    @functools.cached_property
    def answers(self) -> list:
        """The answer to each example, asked one by one."""
        return ask(self.loaded, self.examples)


def ask(model, examples) -> list:
    """One by one: the answers of a model, or vectors where it makes some of single texts."""
    if model.task.serving is None:
        return [model.embed(example) for example in examples]
    if isinstance(examples[0], str) and model.task.pooling is not None:
        return [model.embed(example) for example in examples]
    return [model.predict(example) for example in examples]
