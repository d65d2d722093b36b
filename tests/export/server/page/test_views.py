"""What a view of the page asks, without a browser."""

import json
import shutil
import subprocess

import pytest

from tests.places import REPOSITORY

_VIEWS = REPOSITORY / "export" / "server" / "page" / "views.js"
_PROGRAM = """
import { readFileSync } from "node:fs";
const source = readFileSync(process.argv[1], "utf8").replaceAll(/^import .*$/gm, "");
const { VIEWS } = await import(`data:text/javascript,${encodeURIComponent(source)}`);
const { request } = VIEWS.find(({ title }) => title === "Rank texts");
console.log(JSON.stringify(request(JSON.parse(readFileSync(0, "utf8")))));
"""


def test_cut_texts_are_not_ranked(page_asked):
    node = shutil.which("node")
    if node is None:
        pytest.skip("THE PAGE'S REQUEST WAS NOT SENT: Node.js is not installed")
    for line, expected in (("a day", 200), ("a day " * 64, 400)):
        asked = json.dumps({"query": "play", "lines": ["a", line]})
        command = [node, "--input-type=module", "--eval", _PROGRAM, str(_VIEWS)]
        done = subprocess.run(command, input=asked, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        path, body = json.loads(done.stdout)
        status, answer = page_asked.post(f"/{path}", body)
        assert status == expected and (status == 200 or "texts[1] has more than" in str(answer)), answer
