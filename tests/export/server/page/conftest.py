"""A server with the answering model, and one browser for all tests of the page."""

import pytest

from export.server.composition import Server, ServerOptions
from export.server.limits import Limits
from export.server.models.model_settings import ModelSettings
from tests.export.server.asking import Asked

from .answering_model import save_answering_model
from .browser import Browser, find_browser

MODEL = "a/model"  # a name that a path must encode


@pytest.fixture(scope="session")
def page_server(tmp_path_factory):
    base_path = tmp_path_factory.mktemp("answering")
    save_answering_model(base_path / "1")
    limits = Limits(max_text_bytes=5_000)
    server = Server(
        [ModelSettings(MODEL, str(base_path))], ServerOptions(port=0, rest_api_port=0, limits=limits)
    )
    yield server
    assert server.stop()


@pytest.fixture(scope="session")
def page_asked(page_server):
    return Asked(page_server.rest_api_port)


@pytest.fixture(scope="session")
def chromium(tmp_path_factory):
    program = find_browser()
    if program is None:
        pytest.skip("NO PAGE LOOKED AT: no Chromium is installed")
    browser = Browser(program, tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


@pytest.fixture()
def page(chromium, page_server):
    """The browser, with an empty list of troubles; a test that expects some empties it again."""
    chromium.url = f"http://localhost:{page_server.rest_api_port}/"
    chromium.troubles.clear()
    yield chromium
    assert chromium.troubles == []
