"""A stand-in for the Hugging Face hub on this machine: it takes real uploads and serves real downloads."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit


class LocalHub:
    """Repositories by name (owner/name), each a dictionary of files at one revision, main."""

    def __init__(self) -> None:
        self.repositories: dict[str, dict[str, bytes]] = {}
        self.private: dict[str, bool] = {}
        self.requests: list[str] = []
        self.address = ""

    def commit(self, name: str) -> str:
        """The commit of a repository: forty digits that depend on its files."""
        files = self.repositories[name]
        return hashlib.sha1(b"".join(key.encode() + files[key] for key in sorted(files))).hexdigest()


def _handler(hub: LocalHub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def answer(self, status: int, body: bytes = b"", **headers: str) -> None:
            self.send_response(status)
            for key, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(key.replace("_", "-"), value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def answer_json(self, value: object) -> None:
            self.answer(200, json.dumps(value).encode(), Content_Type="application/json")

        def body(self) -> bytes:
            if self.headers.get("Transfer-Encoding") == "chunked":
                out = b""
                while size := int(self.rfile.readline(), 16):
                    out += self.rfile.read(size)
                    self.rfile.readline()
                self.rfile.readline()
                return out
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))

        def do_POST(self) -> None:
            path, content = urlsplit(self.path).path, self.body()
            hub.requests.append(f"POST {path}")
            parts = path.strip("/").split("/")
            if path == "/api/repos/create":
                asked = json.loads(content)
                name = "/".join(filter(None, (asked.get("organization"), asked["name"])))
                hub.repositories.setdefault(name, {})
                hub.private[name] = bool(asked.get("private") or asked.get("visibility") == "private")
                self.answer_json({"url": f"{hub.address}/{name}", "name": name, "id": name})
            elif path == "/api/validate-yaml":
                self.answer_json({"errors": [], "warnings": []})
            elif parts[4:5] == ["preupload"]:
                files = [
                    {"path": file["path"], "uploadMode": "regular", "shouldIgnore": False, "oid": None}
                    for file in json.loads(content)["files"]
                ]
                self.answer_json({"files": files})
            elif parts[4:5] == ["commit"]:
                name = "/".join(parts[2:4])
                for line in map(json.loads, content.splitlines()):
                    if line["key"] == "file":
                        data = base64.b64decode(line["value"]["content"])
                        hub.repositories[name][line["value"]["path"]] = data
                commit = hub.commit(name)
                self.answer_json(
                    {
                        "success": True,
                        "commitOid": commit,
                        "commitUrl": f"{hub.address}/{name}/commit/{commit}",
                        "hookOutput": "",
                    }
                )
            else:
                self.answer(404)

        def do_HEAD(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            path = unquote(urlsplit(self.path).path)
            hub.requests.append(f"{self.command} {path}")
            parts = path.strip("/").split("/")
            name = "/".join(parts[2:4] if parts[0] == "api" else parts[:2])
            if name not in hub.repositories:
                self.answer(404, X_Error_Code="RepoNotFound")
            elif parts[0] != "api":
                self.send_file(name, "/".join(parts[4:]))
            elif parts[4:5] == ["tree"]:
                files = hub.repositories[name]
                self.answer_json([_listed(file, data) for file, data in files.items()])
            elif parts[4:5] == ["revision"] and parts[5] not in ("main", hub.commit(name)):
                self.answer(404, X_Error_Code="RevisionNotFound")
            else:
                siblings = [{"rfilename": file} for file in hub.repositories[name]]
                self.answer_json({"id": name, "sha": hub.commit(name), "siblings": siblings})

        def send_file(self, name: str, file: str) -> None:
            data = hub.repositories[name].get(file)
            if data is None:
                self.answer(404, X_Error_Code="EntryNotFound")
            else:
                etag = hashlib.sha1(data).hexdigest()
                self.answer(200, data, ETag=f'"{etag}"', X_Repo_Commit=hub.commit(name))

    return Handler


def _listed(file: str, data: bytes) -> dict[str, object]:
    return {"type": "file", "path": file, "size": len(data), "oid": hashlib.sha1(data).hexdigest()}


@contextmanager
def running() -> Iterator[LocalHub]:
    """A hub at `.address`, until the block ends."""
    hub = LocalHub()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(hub))
    hub.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
