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
        self.models, self.gated, self.requests = models, gated, []
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

    def commit(self, repository, revision):
        """The 40 hex digits of a revision, or None."""
        if repository not in self.models:
            return None
        commits = {name: sha(f"{repository}@{name}") for name in self.models[repository]}
        return revision if revision in commits.values() else commits.get(revision)

    def folder(self, repository, commit):
        revisions = self.models[repository]
        return next(revisions[name] for name in revisions if sha(f"{repository}@{name}") == commit)

    def answer(self, request, with_body):
        path = unquote(urlsplit(request.path).path)
        self.requests.append((request.command, path))
        is_api = path.startswith("/api/models/")
        parts = path.removeprefix("/api/models").strip("/").split("/")
        repository, kind, revision, rest = "/".join(parts[:2]), "", "main", ""
        if len(parts) > 2:
            kind, revision, rest = parts[2], parts[3], "/".join(parts[4:])
        commit = self.commit(repository, revision)
        if repository not in self.models:
            error, status = "RepoNotFound", 401  # as the hub does for those who are not logged in
        elif commit is None:
            error, status = "RevisionNotFound", 404
        elif repository in self.gated and not is_api:
            error, status = "GatedRepo", 401
        else:
            error, status = None, 200
        body, headers = b"", {}
        if error:
            headers["X-Error-Code"] = error
        elif is_api and kind == "tree":
            body = json.dumps(self.tree(repository, commit)).encode()
        elif is_api:
            body = json.dumps({"id": repository, "sha": commit}).encode()
        else:
            body = (self.folder(repository, commit) / rest).read_bytes()
            headers |= {"X-Repo-Commit": commit, "ETag": f'"{hashlib.sha1(body).hexdigest()}"'}
        request.send_response(status)
        for name, value in ({"Content-Length": str(len(body))} | headers).items():
            request.send_header(name, value)
        request.end_headers()
        if with_body:
            request.wfile.write(body)

    def tree(self, repository, commit):
        folder = self.folder(repository, commit)
        return [
            {
                "type": "file",
                "path": file.relative_to(folder).as_posix(),
                "size": file.stat().st_size,
                "oid": hashlib.sha1(file.read_bytes()).hexdigest(),
            }
            for file in sorted(folder.rglob("*"))
            if file.is_file()
        ]


def sha(text):
    return hashlib.sha1(text.encode()).hexdigest()
