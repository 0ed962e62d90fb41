import gzip
import io
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heed.errors import DataError
from heed.text.lines import decode_lines, read_lines


def read(path: Path) -> list[str]:
    return list(read_lines(path))


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"one\ntwo\n", ["one", "two"]),
        (b"one\ntwo", ["one", "two"]),
        (b"one\r\ntwo\r\n", ["one", "two"]),
        (b"one\r\r\ntwo\r", ["one\r", "two"]),
        (b"a\rb\n", ["a\rb"]),
        ("a\u2028b\u2029c\u0085d\n".encode(), ["a\u2028b\u2029c\u0085d"]),
        (b"a\x0bb\x0cc\x1cd\x1de\x1ef\x00g\n", ["a\x0bb\x0cc\x1cd\x1de\x1ef\x00g"]),
        (b"\xef\xbb\xbfone\n\xef\xbb\xbftwo\n", ["one", "\ufefftwo"]),
        (b"\n\n\nlast", ["", "", "", "last"]),
    ],
)
def test_what_a_line_is(tmp_path: Path, content: bytes, lines: list[str]) -> None:
    (tmp_path / "text").write_bytes(content)
    assert read(tmp_path / "text") == lines
    (tmp_path / "text.gz").write_bytes(gzip.compress(content))
    assert read(tmp_path / "text.gz") == lines


@given(st.lists(st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), min_size=1)))
def test_only_a_line_feed_ends_a_line(lines: list[str]) -> None:
    stream = io.BytesIO("".join(f"{line}\r\n" for line in lines).encode())
    expected = [lines[0].removeprefix("\ufeff"), *lines[1:]] if lines else []
    assert list(decode_lines(stream, "text")) == expected


def test_a_line_of_a_hundred_thousand_characters(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("x" * 100_000 + "\nshort\n", encoding="utf-8")
    assert [len(line) for line in read(tmp_path / "text")] == [100_000, 5]


def test_lines_come_one_at_a_time(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(b"good\n\xff\n")
    assert next(read_lines(tmp_path / "text")) == "good"


@pytest.mark.parametrize("name", ["text", "text.gz"])
def test_what_is_not_utf8_is_named_with_file_and_line(tmp_path: Path, name: str) -> None:
    content = "erste\nzweite\nGrüße\n".encode("latin1")
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    with pytest.raises(DataError, match=rf"{name}, line 3: not UTF-8 \(byte 0xfc at position 3\); .*iconv"):
        read(tmp_path / name)


@pytest.mark.parametrize("bad", [b"\xed\xa0\x80", b"\xc0\x80", b"\xf5\x80\x80\x80", b"\xe2\x82"])
def test_what_looks_like_utf8_but_is_not(tmp_path: Path, bad: bytes) -> None:
    (tmp_path / "text").write_bytes(b"ok\n" + bad + b"\n")
    with pytest.raises(DataError, match="line 2: not UTF-8"):
        read(tmp_path / "text")


def test_utf16_is_refused_not_misread(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes("hello\n".encode("utf-16"))
    with pytest.raises(DataError, match="line 1: not UTF-8"):
        read(tmp_path / "text")


@pytest.mark.parametrize("name", ["absent", "absent.gz"])
def test_a_missing_file(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError, match=f"{name}: no such file"):
        read(tmp_path / name)


@pytest.mark.parametrize("name", ["folder", "folder.gz"])
def test_a_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    with pytest.raises(DataError, match=f"{name}: is a folder, not a text file"):
        read(tmp_path / name)


READ = """
import os
from heed.errors import DataError
from heed.text.lines import read_lines
if os.geteuid() == 0:
    os.setuid(65534)  # root may read everything, so read as nobody
print(*read_lines("readable"))
try:
    print(*read_lines("text"))
except DataError as error:
    print(error)
"""


@pytest.mark.skipif(os.name != "posix", reason="needs users and permissions")
def test_an_unreadable_file(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    for name, mode in (("readable", 0o644), ("text", 0)):
        (tmp_path / name).write_bytes(b"x\n")
        (tmp_path / name).chmod(mode)
    done = subprocess.run([sys.executable, "-c", READ], cwd=tmp_path, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("x\ntext: cannot be read (Permission denied)\n", "")


def test_a_damaged_gzip_file(tmp_path: Path) -> None:
    whole = gzip.compress(random.Random(0).randbytes(5000).hex().encode())
    changed = bytearray(whole)
    changed[len(whole) // 2] ^= 0xFF
    for content in (whole[: len(whole) // 2], whole[:-4], bytes(changed), b"not gzip at all"):
        (tmp_path / "text.gz").write_bytes(content)
        with pytest.raises(DataError, match=r"text\.gz: not a whole gzip file"):
            read(tmp_path / "text.gz")


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"one\ntwo\xff\n")))
    lines = read_lines("-")
    assert next(lines) == "one"
    with pytest.raises(DataError, match="standard input, line 2: not UTF-8"):
        next(lines)
    assert not sys.stdin.buffer.closed
