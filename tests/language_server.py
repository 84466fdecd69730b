"""The YAML language server that editors run, spoken to as an editor does.

Source: "Language Server Protocol Specification", 3.17; the server: redhat-developer/
yaml-language-server.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class LanguageServer:
    """One process. Messages have a length before them, and are answered by their number."""

    def __init__(self, program: Path) -> None:
        self._process = subprocess.Popen(
            ["node", str(program), "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._number = 0
        self._shown: dict[str, list[dict[str, Any]]] = {}
        settings = {
            "yaml": {
                "validate": True,
                "hover": True,
                "completion": True,
                "schemaStore": {"enable": False},
                "yamlVersion": "1.2",
            }
        }
        self._settings = settings
        self._ask("initialize", {"processId": None, "rootUri": None, "capabilities": {}})
        self._tell("initialized", {})
        self._tell("workspace/didChangeConfiguration", {"settings": settings})

    def open(self, path: Path, text: str) -> list[str]:
        """Lets it open a file, and says what the editor underlines."""
        uri = path.as_uri()
        document = {"uri": uri, "languageId": "yaml", "version": 1, "text": text}
        self._tell("textDocument/didOpen", {"textDocument": document})
        while uri not in self._shown:
            self._take(self._receive())
        return [
            f"{one['range']['start']['line'] + 1}: {one['message']}" for one in self._shown.pop(uri)
        ]

    def completes(self, path: Path, line: int, column: int) -> list[str]:
        """Keys and values that may stand there, from 0."""
        found = self._at("textDocument/completion", path, line, column)
        return [str(item["label"]) for item in found["items"]]

    def explains(self, path: Path, line: int, column: int) -> str:
        """What is shown of what stands there."""
        found = self._at("textDocument/hover", path, line, column)
        return "" if found is None else str(found["contents"]["value"])

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()

    def _at(self, method: str, path: Path, line: int, column: int) -> Any:
        position = {"line": line, "character": column}
        return self._ask(method, {"textDocument": {"uri": path.as_uri()}, "position": position})

    def _ask(self, method: str, parameters: object) -> Any:
        self._number += 1
        self._send({"id": self._number, "method": method, "params": parameters})
        while True:
            message = self._receive()
            if message.get("id") == self._number and "method" not in message:
                assert "error" not in message, message["error"]
                return message["result"]
            self._take(message)

    def _tell(self, method: str, parameters: object) -> None:
        self._send({"method": method, "params": parameters})

    def _take(self, message: dict[str, Any]) -> None:
        if message.get("method") == "textDocument/publishDiagnostics":
            found = message["params"]
            self._shown[found["uri"]] = found["diagnostics"]
        elif "id" in message and "method" in message:  # it asks
            wanted = message["params"].get("items", []) if message.get("params") else []
            answer = [self._settings.get(one.get("section", "")) for one in wanted]
            self._send({"id": message["id"], "result": answer or None})

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self._process.stdin is not None
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self._process.stdin.flush()

    def _receive(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        length = 0
        while line := self._process.stdout.readline().strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        assert length, "the language server ended"
        found = json.loads(self._process.stdout.read(length))
        assert isinstance(found, dict)
        return found


@contextlib.contextmanager
def language_server(program: Path) -> Iterator[LanguageServer]:
    server = LanguageServer(program)
    try:
        yield server
    finally:
        server.end()
