"""Lives one after the other: what differs, shrunk to the smallest world that still shows it."""

import collections
import json
import random
import re
import tempfile
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path

import keras
from absl import logging

from tests.lives.compare import Different
from tests.lives.hops import HOPS
from tests.lives.life import Life
from tests.lives.space import draw_world
from tfrecords_tools.pretraining.pretraining_settings import PretrainingSettings

_HOPS_A_LIFE = 3
_FEWEST = 9  # choices that make a world
# How often a hop is drawn beside the others: slow ones less, those that share no code with kbert more.
_WEIGHTS = {"killed": 1, "two_devices": 1, "transformers": 12, "ids": 6, "served": 6}
# Findings that wait: kind -> (why, since when). A kind is what the table prints behind FOUND.
KNOWN: dict[str, tuple[str, str]] = {}
_PLAIN = {
    "family": "bert", "tokenizer": "wordpiece", "pairs": False, "format": "jsonl",
    "columns": ["text", "text_pair", "label"], "labels": ["0", "1"],
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
      seconds: hop -> seconds.
    """

    findings: dict = field(default_factory=dict)
    compared: collections.Counter = field(default_factory=collections.Counter)
    refusals: collections.Counter = field(default_factory=collections.Counter)
    seconds: collections.Counter = field(default_factory=collections.Counter)
    lives: int = 0
    shrinks: bool = True

    def live(self, seed: int) -> list[Finding]:
        """Lives the life of a seed, some of the hops, in a drawn order; the findings of a new kind."""
        world, self.lives = draw_world(seed, self._accepts), self.lives + 1
        names = [hop for hop in HOPS if hop != "training"]
        counts = [_WEIGHTS.get(hop, 3) for hop in names]
        hops = dict.fromkeys(random.Random(f"hops of {seed}").sample(names, _HOPS_A_LIFE, counts=counts))
        found = []
        for finding in self._walk_smaller(world, hops):
            if finding.kind not in self.findings and finding.kind not in KNOWN:
                self.findings[finding.kind] = shrink(finding) if self.shrinks else finding
                found.append(self.findings[finding.kind])
        return found

    def _walk_smaller(self, world, hops):
        """As `walk`; a world that training refuses loses its newest choices until one is trained."""
        trained, choices = self.compared["training"], list(world.items())
        while True:
            found = self.walk(dict(choices), hops)
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

    def walk(self, world: dict, hops) -> list[Finding]:
        """The findings of some hops in one world."""
        found = []
        with tempfile.TemporaryDirectory(prefix="life_") as folder:
            life = Life(world, Path(folder), self.refuse)
            for hop in ("training", *hops):
                began = time.monotonic()
                try:
                    self.compared[hop] += HOPS[hop](life)
                except Different as difference:
                    found.append(Finding(hop, world, str(difference)))
                except ValueError as refusal:
                    if _is_fault(refusal):
                        found.append(Finding(hop, world, _last_line(refusal)))
                    else:
                        self.refuse(refusal)
                except Exception as error:
                    found.append(Finding(hop, world, f"{type(error).__name__}: {_last_line(error)}"))
                self.seconds[hop] += time.monotonic() - began
                if not life.is_trained:
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
        lines += [
            f"  {hop:26} {self.compared[hop]:8,} comparisons {self.seconds[hop]:8.0f} s" for hop in HOPS
        ]
        lines += [f"  {number:5} x refused: {sentence}" for sentence, number in self.refusals.most_common()]
        lines += [f"FOUND {finding.kind}\n  {finding.command}" for finding in self.findings.values()]
        return "\n".join(lines)


def shrink(finding: Finding) -> Finding:
    """The same finding in the smallest world: each choice is taken back that it does not need."""
    logging.set_verbosity(logging.FATAL)
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


def _is_fault(refusal: ValueError) -> bool:
    """Whether a ValueError is none of kbert's sentences: another library's, or a check of its own numbers."""
    deepest = traceback.extract_tb(refusal.__traceback__)[-1].filename
    ours = any(f"/{package}/" in deepest for package in ("kbert", "export", "tfrecords_tools"))
    return (
        not ours
        or "site-packages" in deepest
        or re.search("differ|not the same|Exception encountered", str(refusal)) is not None
    )


def _last_line(error) -> str:
    return str(error).strip().splitlines()[-1][:300] if str(error).strip() else type(error).__name__
