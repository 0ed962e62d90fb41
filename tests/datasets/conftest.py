"""A real HTTP server that misbehaves as told, and real archives."""

import gzip
import io
import tarfile
import threading
import time
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

BLOCK_BYTES = 1024


@dataclass
class Server:
    """What it serves, how it misbehaves, and what it was asked."""

    files: dict[str, bytes]
    url: str = ""
    ranges: bool = True  # honour Range
    version: str | None = '"1"'  # the ETag; None: neither that nor a time
    shift_bytes: int = 0  # by which it misses the place to resume from
    chunked: bool = False  # does not say how long the file is
    cuts: list[int] = field(default_factory=list)  # bytes that each of the next requests gets before a cut
    statuses: list[int] = field(default_factory=list)  # answers of the next requests
    block_seconds: float = 0.0  # pause after each block
    asked: list[tuple[str, str | None]] = field(default_factory=list)  # path and Range of each request

    def content(self, path: str) -> bytes | None:
        return self.files.get(path.lstrip("/"))


def _handler(server: Server) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None:
            pass

        def do_GET(self) -> None:  # noqa: N802
            wanted = self.headers.get("Range")
            server.asked.append((self.path, wanted))
            if server.statuses and (status := server.statuses.pop(0)) != 200:
                self.send_error(status)
                return
            content = server.content(self.path)
            if content is None:
                self.send_error(404)
                return
            begin = 0
            if wanted and server.ranges and self.headers.get("If-Range", server.version) == server.version:
                begin = int(wanted.removeprefix("bytes=").removesuffix("-")) + server.shift_bytes
                if begin >= len(content):
                    self.send_response(416)
                    self.send_header("Content-Range", f"bytes */{len(content)}")
                    self.end_headers()
                    return
                self.send_response(206)
                self.send_header("Content-Range", f"bytes {begin}-{len(content) - 1}/{len(content)}")
            else:
                self.send_response(200)
            if server.version is not None:
                self.send_header("ETag", server.version)
                self.send_header("Last-Modified", formatdate(0, usegmt=True))
            if server.chunked:
                self.send_header("Transfer-Encoding", "chunked")
            else:
                self.send_header("Content-Length", str(len(content) - begin))
            self.end_headers()
            end = min(len(content), begin + server.cuts.pop(0)) if server.cuts else len(content)
            for first in range(begin, end, BLOCK_BYTES):
                block = content[first : min(first + BLOCK_BYTES, end)]
                try:
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(block), block) if server.chunked else block)
                except OSError:  # the client has gone
                    return
                time.sleep(server.block_seconds)
            if server.chunked and end == len(content):
                self.wfile.write(b"0\r\n\r\n")
            self.close_connection = True

    return Handler


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "*")
    made = Server({})
    with ThreadingHTTPServer(("127.0.0.1", 0), _handler(made)) as http:
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        made.url = f"http://127.0.0.1:{http.server_port}"
        yield made
        made.block_seconds = 0.0
        http.shutdown()
        thread.join()


def tar(members: dict[str, bytes], mode: str = "w:gz") -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode=mode) as archive:  # type: ignore[call-overload]
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return made.getvalue()


def zipped(members: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return made.getvalue()


def packed(content: bytes) -> bytes:
    return gzip.compress(content, mtime=0)
