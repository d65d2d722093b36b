"""A world built once: its tokenizer, its checkpoint, its data and its trained run."""

import dataclasses
import functools
import random
from pathlib import Path

import numpy as np

import kbert
from kbert.checkpoints import KBERT
from kbert.checkpoints.formats import write_checkpoint
from kbert.config import EncoderConfig, FinetuningConfig, PretrainingConfig, from_dict, to_dict
from kbert.config.vectors_config import VectorsConfig
from kbert.inference.answers import to_examples
from kbert.tasks import TASKS
from tests.kbert.checkpoints.random_checkpoint import random_checkpoint
from tests.kbert.experiments.every_training import PAIRINGS
from tests.kbert.tokenization.small_vocabularies import odd_vocabulary
from tests.lives import space
from tests.lives.data import Rows
from tests.tfrecords_tools import small_corpus
from tfrecords_tools.create_pretraining_data import create_pretraining_data

_SHAPE = {
    "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 40,
    "max_position_embeddings": 40, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0,
}  # fmt: skip
_TRAINING = {
    "train_batch_size": 4, "eval_batch_size": 4, "log_every_steps": 1, "save_checkpoints_steps": 2,
    "steps_per_execution": 2,
}  # fmt: skip


# Settings of lengths that do not fit these short texts.
_SHORT = {"question_answering": {"max_query_length": 8}, "late_interaction": {"query_length": 8}}
_MOST_TOKENS = 2000  # of a vocabulary


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
        self.is_pretraining = self.task_name in PAIRINGS
        self.rows = Rows(world, self.folder)

    def rng(self, what: str) -> random.Random:
        """Draws of its own for each thing that a life draws."""
        return random.Random(f"{what} of {self.world['seed']}")

    @functools.cached_property
    def vocabulary(self):
        return odd_vocabulary(self.world["tokenizer"], self._chosen("rules"))

    @functools.cached_property
    def encoder(self) -> EncoderConfig:
        own = _SHAPE | space.FAMILIES[self.world["family"]] | self._chosen("encoder")
        return EncoderConfig(**own | {"vocab_size": len(self.vocabulary)})

    @functools.cached_property
    def config(self):
        """The config of the training; its default lengths are those of the small texts."""
        values = _TRAINING | {"optimizer": {"name": "adamw", "learning_rate": 2e-3}} | self._chosen("config")
        if "distillation" in values:
            values["distillation"]["teacher"] = str(self.folder / "teacher")
        if self.is_pretraining:
            steps = {} if "phases" in values else {"num_train_steps": 6}  # each phase has its own
            values = steps | {"num_warmup_steps": 2, "eval_every_steps": 6} | values
            values["encoder"] = to_dict(self.encoder)
            return from_dict(PretrainingConfig, values | {"task": self.task_name}, "config")
        every = {} if "eval_every_steps" in values else {"eval_every_epochs": 1.0}
        values = {"max_seq_length": 24, "num_train_epochs": 2.0} | every | values
        if self.world.get("start") == "vocabulary":
            values["encoder"] = to_dict(self.encoder)
        settings = _SHORT.get(self.task_name, {}) | self._chosen("settings")
        TASKS[self.task_name].read_settings(settings)
        own = {"task": self.task_name, "task_settings": settings, "dataset": self.rows.dataset()}
        return from_dict(FinetuningConfig, values | own, "config")

    def _chosen(self, prefix: str) -> dict:
        """What the world says under a prefix, as nested dicts."""
        chosen: dict = {}
        for name, value in self.world.items():
            first, *path, last = name.split(".") if "." in name else (name, "")
            if first == prefix:
                place = functools.reduce(lambda place, part: place.setdefault(part, {}), path, chosen)
                place[last] = value if not isinstance(value, dict) else place.get(last, {}) | value
        return chosen

    @functools.cached_property
    def checkpoint(self) -> Path:
        """An encoder of random weights, as a run."""
        settings = {name: value for name, value in to_dict(self.encoder).items() if name != "vocab_size"}
        made = random_checkpoint("encoder", vocabulary=self.vocabulary, **settings)
        made = dataclasses.replace(made, max_seq_length=24, pooling=self.pooling)
        write_checkpoint(made, self.folder / "start", KBERT)
        return self.folder / "start"

    @functools.cached_property
    def pooling(self) -> VectorsConfig | None:
        """How the encoder makes vectors of texts, where the world says it."""
        chosen, vectors_class = self._chosen("pooling"), TASKS[self.task_name].vectors_class
        return vectors_class(**chosen) if chosen else None

    @functools.cached_property
    def files(self) -> dict[str, Path]:
        """split -> the file of its rows."""
        return {split: self.rows.write(split) for split in self.rows.splits}

    @functools.cached_property
    def records(self) -> Path:
        """Records of a small corpus, for pretraining."""
        corpus, _ = small_corpus.write_corpus(self.folder, 4, 1)
        create_pretraining_data(
            str(corpus), None, self.folder / "records", tokenizer=self.checkpoint, **self.corpus
        )
        return self.folder / "records"

    @functools.cached_property
    def corpus(self) -> dict:
        """The settings of these records."""
        plain = {"max_seq_length": 24, "max_predictions_per_seq": 4, "dupe_factor": 1, "num_shards": 2}
        return plain | {"masking": "dynamic"} | self._chosen("corpus") | {"pairing": PAIRINGS[self.task_name]}

    @functools.cached_property
    def evaluated(self) -> dict:
        """The data of the evaluations, as `kbert.evaluate` takes them."""
        if self.is_pretraining:
            return {"input_dir": self.records}
        held_out = {"eval_file": self.files["train"], "split": "dev"}
        return {"eval_file": self.files["dev"]} if self.config.dev_split is None else held_out

    def train(self, name: str, **arguments):
        """Trains in a folder of this name; (the run, the metrics of its last evaluation)."""
        config, train = self.config, kbert.pretrain if self.is_pretraining else kbert.finetune
        if config.distillation:
            self._train_teacher()
        if self.is_pretraining:
            phases = [self.records] * max(1, len(config.phases))
            data = {"input_dir": phases, "eval_input_dir": self.records}
            if any(config.needs_weights.values()):
                data["init_checkpoint"] = self.checkpoint
        else:
            splits = ("train",) if config.dev_split else ("train", "dev")
            files = {
                f"{split}_file": self.files[split] for split in splits if f"{split}_dir" not in arguments
            }
            data = self._start() | files
        _, metrics = train(**{"config": config, "run_dir": self.folder / name} | data | arguments)
        return self.folder / name, metrics or {}

    def _start(self) -> dict:
        """What a fine-tuning begins from."""
        start = self.world.get("start")
        if start == "vocabulary":
            return {"vocabulary": self.vocabulary}
        return {"init_checkpoint": self.checkpoint, "from_scratch": start == "from_scratch"}

    def _train_teacher(self):
        if not (self.folder / "teacher").exists():
            plain = {name: value for name, value in self.world.items() if not name.startswith("config.")}
            teacher = Life(plain, self.folder / "for_teacher")
            teacher.folder.mkdir()
            teacher.train("teacher")[0].rename(self.folder / "teacher")

    @functools.cached_property
    def trained(self):
        """(the folder of the run, the metrics of its last evaluation)."""
        return self.train("run")

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
    def loaded(self):
        return kbert.load(self.run)

    @functools.cached_property
    def examples(self) -> list:
        """Some examples that the task answers, besides those of its files."""
        return self.rows.examples(5, self.vocabulary.special_tokens.mask)

    @functools.cached_property
    def named_examples(self) -> list[dict]:
        """They as dicts of the task's inputs."""
        return to_examples(self.examples, [self.loaded.task.serving.inputs]).listed

    @functools.cached_property
    def answers(self) -> list:
        """The answer to each example, asked one by one."""
        return ask(self.loaded, self.examples)


def ask(model, examples) -> list:
    """One by one: the answers of a model, or its vectors where it answers no texts."""
    if model.task.serving is None:
        return [model.embed(example) for example in examples]
    return [comparable(model.predict(example)) for example in examples]


def comparable(answer):
    """An answer; words with weights as a vector, since rounding decides which of two equals stands first."""
    if isinstance(answer, dict) and "indices" in answer:
        vector = np.zeros(_MOST_TOKENS)
        np.put(vector, answer["indices"], answer["weights"])
        return {"vector": vector}
    return answer
