"""A reverse proxy that shows a server below a path of its own, and takes that path off."""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

PASSED_ON = ("Content-Type", "Content-Encoding", "Content-Security-Policy")


@contextmanager
def below(prefix: str, server: str) -> Iterator[str]:
    """The address under which the server is seen.

    Arguments:
        prefix: such as `/user/board/`.
        server: its address, which ends with a slash.
    """

    class Proxy(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if not self.path.startswith(prefix):
                self.send_error(404)
                return
            self._pass_on(urllib.request.Request(server + self.path.removeprefix(prefix)))

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            kind = {"Content-Type": self.headers["Content-Type"]}
            address = server + self.path.removeprefix(prefix)
            self._pass_on(urllib.request.Request(address, body, kind))

        def _pass_on(self, request: urllib.request.Request) -> None:
            try:
                answer = urllib.request.urlopen(request)
            except urllib.error.HTTPError as refused:
                answer = refused
            with answer:
                body = answer.read()
                self.send_response(answer.status)
                for name in PASSED_ON:
                    if value := answer.headers[name]:
                        self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        def log_message(self, *told: object) -> None:
            """Nothing."""

    proxy = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    thread = Thread(target=proxy.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{proxy.server_port}{prefix}"
    finally:
        proxy.shutdown()
        proxy.server_close()
        thread.join()
