"""The entities that the page shows are those of `find_entities`."""

import itertools
import json
import shutil
import subprocess

import pytest

from kbert.tasks.token_classification.entity_scores import find_entities
from tests.places import REPOSITORY

_PAGE = REPOSITORY / "export" / "server" / "page"
_PROGRAM = """
import { readFileSync } from "node:fs";
const source = encodeURIComponent(readFileSync(process.argv[1], "utf8"));
const { findEntities } = await import(`data:text/javascript,${source}`);
const found = JSON.parse(readFileSync(0, "utf8")).map(findEntities);
console.log(JSON.stringify(found.map((each) => each.map(({ type, start, end }) => [type, start, end]))));
"""


def test_entities_of_every_short_sentence_are_pythons():
    node = shutil.which("node")
    if node is None:
        pytest.skip("THE PAGE'S ENTITIES WERE NOT COMPARED: Node.js is not installed")
    tags = ["O", *(f"{prefix}-{kind}" for prefix in "BIES" for kind in ("PER", "a-b"))]
    sentences = [each for length in range(5) for each in itertools.product(tags, repeat=length)]
    command = [node, "--input-type=module", "--eval", _PROGRAM, str(_PAGE / "entities.js")]
    done = subprocess.run(command, input=json.dumps(sentences), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    expected = [[list(entity) for entity in find_entities(sentence)] for sentence in sentences]
    assert json.loads(done.stdout) == expected
