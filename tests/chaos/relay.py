"""A TCP relay in front of a server that can freeze its open connections."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import Self


class Relay:
    """Forwards data between its port and a server; ``freeze`` stops it for the connections open at that time."""

    def __init__(self, port: int) -> None:
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = self._server.getsockname()[1]
        self._to = port
        self._frozen = threading.Event()
        self._ends: list[socket.socket] = []

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.close()
        for end in self._ends:
            end.close()

    def freeze(self) -> None:
        """Stop forwarding on all open connections without closing them; new connections work."""
        self._frozen.set()
        self._frozen = threading.Event()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._server.accept()
                far = socket.create_connection(("127.0.0.1", self._to))
                self._ends += near, far
                for source, target in ((near, far), (far, near)):
                    threading.Thread(target=self._forward, args=(source, target, self._frozen), daemon=True).start()

    @staticmethod
    def _forward(source: socket.socket, target: socket.socket, frozen: threading.Event) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                if frozen.is_set():
                    return
                target.sendall(data)
            if not frozen.is_set():
                target.shutdown(socket.SHUT_WR)
