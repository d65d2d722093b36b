"""Lives one after the other: what differs, shrunk to the smallest world that still shows it."""

import collections
import json
import random
import re
import tempfile
import traceback
from dataclasses import dataclass, field
from pathlib import Path

import keras

from tests.lives.hops import HOPS
from tests.lives.life import Life
from tests.lives.space import draw_world
from tfrecords_tools.pretraining.pretraining_settings import PretrainingSettings

_HOPS_A_LIFE = 3
_FEWEST = 9  # choices that make a world
# How often a hop is drawn beside the others: slow ones less, those that share no code with kbert more.
_WEIGHTS = {"transformers": 12, "ids": 6, "served": 6, "at_the_threshold": 12}
_PLAIN = {
    "family": "bert", "tokenizer": "wordpiece", "pairs": False, "format": "jsonl",
    "columns": ["text", "text_pair", "label"], "labels": ["0", "1"], "scale": [0, 1], "class_label": False,
}  # fmt: skip


@dataclass(frozen=True)
class Finding:
    """A fault: the hop that shows it, the smallest world, and what it says."""

    hop: str
    world: dict
    message: str

    @property
    def kind(self) -> str:
        return f"{self.hop}: {masked(self.message)}"

    @property
    def command(self) -> str:
        return (
            f"python -m tests.lives --hop={self.hop} --world='{json.dumps(self.world, ensure_ascii=False)}'"
        )


@dataclass
class Search:
    """What lives found and how much they compared.

    Attributes:
      findings: kind -> the first finding of it.
      compared: hop -> how many comparisons.
      refusals: sentence -> how many worlds or hops it refused.
    """

    findings: dict = field(default_factory=dict)
    compared: collections.Counter = field(default_factory=collections.Counter)
    refusals: collections.Counter = field(default_factory=collections.Counter)
    lives: int = 0
    shrinks: bool = True

    def live(self, seed: int) -> list[Finding]:
        """Lives the life of a seed, some of the hops, heavy ones sooner; the findings of a new kind."""
        world, self.lives = draw_world(seed, self._accepts), self.lives + 1
        draw, found, names = random.Random(f"hops of {seed}").random, [], sorted(HOPS.keys() - {"training"})
        hops = sorted(names, key=lambda hop: draw() ** (1 / _WEIGHTS.get(hop, 3)), reverse=True)
        for finding in self._walk_smaller(world, hops):
            if finding.kind not in self.findings:
                self.findings[finding.kind] = shrink(finding) if self.shrinks else finding
                found.append(self.findings[finding.kind])
        return found

    def _walk_smaller(self, world, hops):
        """As `walk`; a world that training refuses loses its newest choices until one is trained."""
        trained, choices = self.compared["training"], list(world.items())
        while True:
            found = self.walk(dict(choices), hops, _HOPS_A_LIFE)
            if found or self.compared["training"] > trained or len(choices) <= _FEWEST:
                return found
            choices.pop()

    def _accepts(self, world):
        try:
            life = Life(world, Path())
            corpus = life.is_pretraining and PretrainingSettings(**life.corpus)
            return all((life.encoder, life.config, corpus or True, life.pooling or True))
        except ValueError as refusal:
            self.refuse(refusal)
            return False

    def walk(self, world: dict, hops, most: int = len(HOPS)) -> list[Finding]:
        """The findings of some hops in one world, until `most` of them have compared something."""
        found, compared = [], collections.Counter()
        with tempfile.TemporaryDirectory(prefix="life_") as folder:
            life = Life(world, Path(folder), self.refuse)
            for hop in ("training", *hops):
                try:
                    compared[hop] = HOPS[hop](life)
                    self.compared[hop] += compared[hop]
                except Exception as error:
                    if _is_refusal(error):
                        self.refuse(error)
                    else:
                        found.append(Finding(hop, world, f"{type(error).__name__}: {_last_line(error)}"))
                if not life.is_trained or len(+compared) > most:  # and the training
                    break
        keras.backend.clear_session()
        return found

    def refuse(self, refusal: ValueError):
        """Counts a refusal by its sentence."""
        self.refusals[masked(str(refusal))] += 1

    def table(self) -> str:
        """What was compared, refused and found."""
        lines = [
            f"{self.lives} lives, {sum(self.compared.values()):,} comparisons, {len(self.findings)} findings"
        ]
        lines += [f"  {hop:26} {self.compared[hop]:8,} comparisons" for hop in HOPS]
        lines += [f"  {number:5} x refused: {sentence}" for sentence, number in self.refusals.most_common()]
        lines += [f"FOUND {finding.kind}\n  {finding.command}" for finding in self.findings.values()]
        return "\n".join(lines)


def shrink(finding: Finding) -> Finding:
    """The same finding in the smallest world: each choice is taken back that it does not need."""
    smallest = finding
    names = [name for name in finding.world if name not in ("seed", "task")]  # without these it is none
    # Everything at once, the halves, then one by one.
    half = len(names) // 2
    for part in (names, names[:half], names[half:], *([name] for name in names)):
        world = {name: value for name, value in smallest.world.items() if name not in part}
        world |= {name: value for name, value in _PLAIN.items() if name in part}
        if world != smallest.world:
            again = Search().walk(world, [finding.hop])
            smallest = next((one for one in again if one.kind == finding.kind), smallest)
    return smallest


def masked(message: str) -> str:
    """A message without the names and numbers of one life, so that equal faults read the same."""
    message = re.sub(r"/\S*life_\S*|'[^']*'|\"[^\"]*\"|\[[^]]*\]", "…", message.replace("\n", " "))
    return re.sub(r"-?\d[\d.,e+-]*", "N", message)[:220]


def _is_refusal(error: Exception) -> bool:
    """Whether an error is a sentence of kbert's, none of another library, no check of its own numbers."""
    deepest = traceback.extract_tb(error.__traceback__)[-1].filename
    ours = any(f"/{package}/" in deepest for package in ("kbert", "export", "tfrecords_tools"))
    return (
        isinstance(error, ValueError)
        and ours
        and "site-packages" not in deepest
        and not re.search("differ|not the same|Exception encountered", str(error))
    )


def _last_line(error) -> str:
    return str(error).strip().splitlines()[-1][:300] if str(error).strip() else type(error).__name__
