import io
import sys

import pytest

from heed.cli.progress import in_chunks, with_progress


@pytest.mark.parametrize(("n", "size", "sizes"), [(0, 3, []), (2, 3, [2]), (3, 3, [3]), (7, 3, [3, 3, 1])])
def test_chunks_hold_every_item_in_order(n: int, size: int, sizes: list[int]) -> None:
    chunks = list(in_chunks(list(range(n)), size))
    assert [len(chunk) for chunk in chunks] == sizes
    assert [item for chunk in chunks for item in chunk] == list(range(n))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("stream", [io.StringIO, Terminal])
def test_progress_passes_chunks_through(stream: type[io.StringIO], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", seen := stream())
    assert list(with_progress([[1, 2], [3]], 3, "counting")) == [[1, 2], [3]]
    assert ("counting" in seen.getvalue()) == (stream is Terminal)
