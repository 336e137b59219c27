"""A real HTTP server on this machine, for tests of what is asked over HTTP."""

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "sk-not-a-real-key-0123456789"
Reply = tuple[int, dict[str, str], bytes] | None
"""Status, headers and body; None hangs up. A content-length above the body's breaks off in it."""


def error(status: int, message: str, code: str | None = None, **headers: str) -> Reply:
    """An error in OpenAI's form; ``retry_after`` and the like are headers."""
    body = {"error": {"message": message, "type": "x", "code": code}}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return status, named, json.dumps(body).encode()


def json_reply(body: Any) -> Reply:
    return 200, {}, json.dumps(body).encode()


def completion(text, finish_reason="stop", refusal=None, **fields: Any) -> Reply:
    """An answer in OpenAI's form; ``fields`` are added next to the choices."""
    message = {"role": "assistant", "content": text, "refusal": refusal}
    body = {
        "choices": [{"index": 0, "message": message, "finish_reason": finish_reason}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 5, "total_tokens": 6},
        **fields,
    }
    return json_reply(body)


def streamed(*pieces: str, finish_reason="stop", **fields: Any) -> Reply:
    """An answer that comes in pieces, with its usage in the last event."""
    events = [{"choices": [{"delta": {"role": "assistant", "content": piece}}]} for piece in pieces]
    events += [{"choices": [{"delta": {}, "finish_reason": finish_reason}]}]
    events += [{"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 5}, **fields}]
    lines = "".join(f"data: {json.dumps(event)}\n\n" for event in events)
    return 200, {"content-type": "text/event-stream"}, f"{lines}data: [DONE]\n\n".encode()


@dataclass(frozen=True)
class Request:
    path: str
    headers: dict[str, str]
    body: dict[str, Any]


class Server(ThreadingHTTPServer):
    """Answers each request with what ``reply`` makes of its body; keeps the requests."""

    daemon_threads = True
    request_queue_size = 256
    reply: Callable[[dict[str, Any]], Reply]

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[Request] = []
        self.pages: dict[str, Any] = {}
        self.connections: list[object] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [request.body for request in self.requests]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: clients that give up are part of the tests."""


@contextlib.contextmanager
def serving() -> Iterator[Server]:
    server = Server()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def setup(self) -> None:
        super().setup()
        self.server.connections.append(self.client_address)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.requests.append(Request(self.path, headers, body))
        self._send(self.server.reply(body))

    def do_GET(self) -> None:
        found = self.server.pages.get(self.path)
        self._send(error(404, "no such page") if found is None else json_reply(found))

    def _send(self, reply: Reply) -> None:
        if reply is None:
            self.close_connection = True
            return
        status, further, content = reply
        length = str(len(content))
        headers = {"content-type": "application/json", "content-length": length, **further}
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)
        self.close_connection = headers["content-length"] != length

    def log_message(self, *_: Any) -> None:
        """Keep the tests' output clean."""
