import io
import sys

import pytest

from heed.cli.progress import in_portions, shown


@pytest.mark.parametrize(("n", "size", "sizes"), [(0, 3, []), (2, 3, [2]), (3, 3, [3]), (7, 3, [3, 3, 1])])
def test_portions(n: int, size: int, sizes: list[int]) -> None:
    portions = list(in_portions(list(range(n)), size))
    assert [len(portion) for portion in portions] == sizes
    assert [item for portion in portions for item in portion] == list(range(n))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("stream", [io.StringIO, Terminal])
def test_what_is_shown_passes_through(stream: type[io.StringIO], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", seen := stream())
    assert list(shown([[1, 2], [3]], 3, "counting")) == [[1, 2], [3]]
    assert ("counting" in seen.getvalue()) == (stream is Terminal)
