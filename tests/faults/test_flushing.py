"""Check from the system calls of a real training that it survives a power cut.

A kill loses nothing that was written; a power cut loses what was not flushed. So a file's content must be flushed
before the file gets its name, a name before anything relies on it, and new data before old data is deleted.
"""

import re
from pathlib import PurePath

from tests.faults.conftest import Call

NEVER_RELIED_ON = {"events.jsonl", "lock"}


def path_of(call: Call) -> PurePath:
    """Return the file or folder that a call is about."""
    by_number = call.kind in ("write", "fsync", "ftruncate", "unlinkat")
    name = re.match(r"\d+<([^>]+)>", call.line) if by_number else re.search(r'"([^"]+)"', call.line)
    assert name is not None, call
    return PurePath(name[1])


def test_everything_is_flushed_before_it_counts(calls: list[Call]) -> None:
    content: set[PurePath] = set()  # files whose content is not flushed yet
    names: set[PurePath] = set()  # folders whose names are not flushed yet
    renamed = 0
    for call in calls:
        path = path_of(call)
        if path.name in NEVER_RELIED_ON:
            continue
        match call.kind:
            case "openat" | "mkdir":
                names.add(path.parent)
            case "write":
                content.add(path)
            case "fsync":
                content.discard(path)
                names.discard(path)
            case "rename":
                inside = [found for found in content | names if found.is_relative_to(path)]
                assert inside == [], f"{call}\nwithout a flush of {inside}"
                if path.name.startswith("step-"):  # about to be deleted
                    assert path.parent not in names, f"{call}\nbefore what replaces it was flushed"
                names.add(path.parent)
                renamed += 1
            case "unlinkat" | "rmdir":
                assert path.parent not in names, f"{call}\nbefore its new name was flushed"
            case other:
                raise AssertionError(f"{other}: what does it change?")
    assert renamed >= 12
    assert content == set()
    assert {folder for folder in names if not folder.name.startswith(".")} == set()
