"""A server on this machine that answers like the Hugging Face hub, as far as a download needs it."""

import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit


class LocalHub:
    """Serves models: repository -> revision -> folder.

    Args:
      models: {"org/name": {"main": folder, "v1": folder}}.
      gated: repositories whose files are refused.

    Attributes:
      url: what HF_ENDPOINT is set to.
      requests: (method, path) of every request.
    """

    def __init__(self, models, gated=()):
        self.gated, self.requests, self.revisions = gated, [], {}
        for repository, folders in models.items():
            for name, folder in folders.items():
                commit = sha(f"{repository}@{name}")
                self.revisions |= dict.fromkeys([(repository, name), (repository, commit)], (commit, folder))
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                hub.answer(self, with_body=True)

            def do_HEAD(self):
                hub.answer(self, with_body=False)

            def log_message(self, *args):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def answer(self, request, with_body):
        path = unquote(urlsplit(request.path).path)
        self.requests.append((request.command, path))
        is_api = path.startswith("/api/models/")
        # org/name, or org/name and a kind of question, a revision, a file
        owner, name, *parts = path.removeprefix("/api/models").strip("/").split("/")
        repository, revision = f"{owner}/{name}", parts[1] if parts else "main"
        status, headers, body = 200, {}, b""
        if (repository, "main") not in self.revisions:  # as the hub answers those who are not logged in
            status, headers = 401, {"X-Error-Code": "RepoNotFound"}
        elif (repository, revision) not in self.revisions:
            status, headers = 404, {"X-Error-Code": "RevisionNotFound"}
        elif repository in self.gated and not is_api:
            status, headers = 401, {"X-Error-Code": "GatedRepo"}
        else:
            commit, folder = self.revisions[repository, revision]
            file = folder / "/".join(parts[2:])
            if is_api:
                facts = tree(folder) if "tree" in parts else {"id": repository, "sha": commit}
                body = json.dumps(facts).encode()
            elif not file.is_file():
                status, headers = 404, {"X-Repo-Commit": commit, "X-Error-Code": "EntryNotFound"}
            else:
                body = file.read_bytes()
                headers = {"X-Repo-Commit": commit, "ETag": f'"{hashlib.sha1(body).hexdigest()}"'}
        request.send_response(status)
        for name, value in ({"Content-Length": str(len(body))} | headers).items():
            request.send_header(name, value)
        request.end_headers()
        if with_body:
            request.wfile.write(body)


def tree(folder):
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    return [
        {
            "type": "file",
            "path": file.relative_to(folder).as_posix(),
            "size": file.stat().st_size,
            "oid": hashlib.sha1(file.read_bytes()).hexdigest(),
        }
        for file in files
    ]


def sha(text):
    return hashlib.sha1(text.encode()).hexdigest()
