"""The page's files over HTTP, without a browser."""

import http.client
import json
from urllib.parse import quote

import pytest

from export.server.page.page_files import read_page_files

from .answering_model import LABELS, MODEL, THRESHOLDS, TOKENS


def get(server, path, method="GET"):
    connection = http.client.HTTPConnection("localhost", server.rest_api_port, timeout=120)
    connection.request(method, path)
    response = connection.getresponse()
    content = response.read()
    connection.close()
    return response.status, response.headers, content


def test_every_file_comes_with_its_type_and_the_policy(page_server):
    files = read_page_files()
    kinds = {"": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
    assert {path[path.rfind(".") :] if "." in path else "" for path in files} == set(kinds)
    for path, file in files.items():
        status, headers, content = get(page_server, path)
        ending = path[path.rfind(".") :] if "." in path else ""
        assert (status, content) == (200, file.content)
        assert headers["Content-Type"].split(";")[0] == kinds[ending]
        policy = dict(part.split(" ", 1) for part in headers["Content-Security-Policy"].split("; "))
        assert policy.pop("default-src") == "'none'" and set(policy.values()) == {"'self'", "'none'"}
        assert headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize(
    "path", ["/page", "/page/", "/page/page_files.py", "/page/../page_files.py", "/page/x.js"]
)
def test_there_is_nothing_else(page_server, path):
    status, headers, content = get(page_server, path)
    assert status == 404 and "No such path" in json.loads(content)["error"]


def test_the_list_of_models_tells_labels_and_thresholds_and_no_path(page_server):
    status, headers, content = get(page_server, "/page/models.json")
    described = {"name": MODEL, "version": 1, "labels": LABELS, "thresholds": THRESHOLDS}
    described |= {"has_vocabulary": True}
    assert (status, json.loads(content)) == (200, {"models": [described]})
    assert headers["Content-Type"] == "application/json"


def test_the_vocabulary_of_a_model_and_of_none(page_server, server):
    status, headers, content = get(page_server, f"/page/vocabularies/{quote(MODEL, safe='')}")
    expected = {"do_lower_case": True, "vocab_txt": "".join(f"{token}\n" for token in TOKENS)}
    assert (status, json.loads(content)) == (200, expected)
    assert headers["Content-Type"] == "application/json"
    for path, words in (("length", "The export of length has no vocabulary"), ("x", "Servable not found")):
        status, _, content = get(server, f"/page/vocabularies/{path}")
        assert status == 404 and words in json.loads(content)["error"]
