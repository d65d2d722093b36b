"""One browser for all tests of the page."""

import pytest

from .browser import Browser, find_browser


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
