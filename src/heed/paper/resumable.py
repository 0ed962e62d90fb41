"""Measured rows in a file, so that an interrupted experiment continues where it was."""

import json
from pathlib import Path
from typing import Any


class Rows:
    """Rows by name, one line of JSON each; a row is in the file as soon as it is measured."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._found: dict[str, dict[str, Any]] = {}
        if path.exists():
            for line in path.read_bytes().splitlines():
                try:
                    row = json.loads(line)
                    self._found[row["name"]] = row["values"]
                except (ValueError, KeyError, TypeError):
                    continue  # a line that a kill has cut short: it is measured again

    def get(self, name: str) -> dict[str, Any] | None:
        """Return the values of a row; None: it has not been measured."""
        return self._found.get(name)

    def add(self, name: str, values: dict[str, Any]) -> dict[str, Any]:
        """Write a row, and return its values."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        line = json.dumps({"name": name, "values": values}, ensure_ascii=False)
        with open(self._path, "ab") as file:
            if file.tell() and not self._path.read_bytes().endswith(b"\n"):
                file.write(b"\n")
            file.write(line.encode() + b"\n")
        self._found[name] = values
        return values
