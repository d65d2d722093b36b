"""The files of the page, each with its type, under a policy that lets it load from this server alone."""

import pathlib
from typing import NamedTuple

_FOLDER = pathlib.Path(__file__).parent / "files"
_TOKENIZER = pathlib.Path(__file__).parents[2] / "tokenizers" / "javascript"
_TYPES = {
    ".html": b"text/html; charset=utf-8",
    ".css": b"text/css; charset=utf-8",
    ".js": b"text/javascript; charset=utf-8",
    ".svg": b"image/svg+xml",
}
# Scripts and styles of its own only, nothing inline, no other page around it: a text that was taken for HTML
# could load and run nothing. https://www.w3.org/TR/CSP3/
_POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = (
    (b"content-security-policy", _POLICY),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-cache"),  # a newer kbert has newer files under the same names
)


class PageFile(NamedTuple):
    """A file's content, and its Content-Type."""

    content: bytes
    kind: bytes


def read_page_files() -> dict[str, PageFile]:
    """Reads all files of the page: path of the URL -> `PageFile`.

    The page itself is `/`, the others are below `/page/`, and the tokenizer's below `/page/tokenizer/`.

    Raises:
        FileNotFoundError: the installed package came without them.
    """
    files = _files_of(_FOLDER, "/page/") | _files_of(_TOKENIZER, "/page/tokenizer/")
    for needed, folder in (("/page/index.html", _FOLDER), ("/page/tokenizer/vocabulary.js", _TOKENIZER)):
        if needed not in files:
            raise FileNotFoundError(f"{folder / pathlib.Path(needed).name} is missing; install kbert anew.")
    return {"/": files.pop("/page/index.html")} | files


def _files_of(folder, prefix):
    return {
        prefix + path.relative_to(folder).as_posix(): PageFile(path.read_bytes(), _TYPES[path.suffix])
        for path in sorted(folder.rglob("*"))
        if path.suffix in _TYPES
    }
