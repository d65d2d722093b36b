"""One browser for all tests of the page, which comes through a proxy, below a path of its own."""

import http.server
import threading
import urllib.error
import urllib.request

import pytest

from .browser import Browser, find_browser

PREFIX = "/models/demo/"


@pytest.fixture(scope="session")
def chromium(tmp_path_factory):
    program = find_browser()
    if program is None:
        pytest.skip("NO PAGE LOOKED AT: no Chromium is installed")
    browser = Browser(program, tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


@pytest.fixture(scope="module")
def proxy_url(page_server):
    """The address of a proxy that takes `PREFIX` off each path, as nginx and Kubernetes' ingresses do."""

    class Proxy(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            if not self.path.startswith(PREFIX):
                return self.send_error(404)
            url = f"http://localhost:{page_server.rest_api_port}/{self.path.removeprefix(PREFIX)}"
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            sent = urllib.request.Request(url, body or None, {"content-type": "application/json"})
            try:
                answer = urllib.request.urlopen(sent, timeout=120)
            except urllib.error.HTTPError as error:
                answer = error
            with answer:
                whole = answer.read()
                self.send_response(answer.status)
                for name in ("content-type", "content-security-policy"):
                    self.send_header(name, answer.headers.get(name, ""))
                self.send_header("content-length", str(len(whole)))
                self.end_headers()
                self.wfile.write(whole)

        do_POST = do_GET

        def log_message(self, *unused):
            pass

    with http.server.ThreadingHTTPServer(("localhost", 0), Proxy) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://localhost:{server.server_port}{PREFIX}"
        server.shutdown()


@pytest.fixture()
def page(chromium, proxy_url):
    """The browser, with an empty list of troubles; a test that expects some empties it again."""
    chromium.url = proxy_url
    chromium.troubles.clear()
    yield chromium
    assert chromium.troubles == []
