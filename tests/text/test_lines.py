import bz2
import gzip
import io
import lzma
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heed.errors import DataError
from heed.text.lines import decode_lines, read_lines

Give = Callable[[bytes], None]


@pytest.fixture
def standard_input(monkeypatch: pytest.MonkeyPatch) -> Iterator[Give]:
    """Replace the standard input of this process by a real pipe."""
    with ExitStack() as streams:

        def give(content: bytes) -> None:
            ours, theirs = os.pipe()
            os.write(theirs, content)
            os.close(theirs)
            monkeypatch.setattr(sys, "stdin", streams.enter_context(open(ours, encoding="utf-8")))

        yield give


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


def test_gzip_is_known_by_its_first_bytes(tmp_path: Path, standard_input: Give) -> None:
    (tmp_path / "text.en").write_bytes(gzip.compress(b"one\ntwo\n"))
    assert read(tmp_path / "text.en") == ["one", "two"]
    standard_input(gzip.compress(b"one\ntwo\n"))
    assert list(read_lines("-")) == ["one", "two"]


WIDE = ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"]
SCRIPTS = {
    "German": "Ein Mann fährt Rad.\nZwei Frauen lächeln.\n",
    "Russian": "Мужчина едет на велосипеде.\nДве женщины улыбаются.\n",
    "short": "a\n",
}


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize("encoding", WIDE)
def test_utf16_and_utf32_are_refused_with_a_command_that_works(
    tmp_path: Path, standard_input: Give, encoding: str, script: str
) -> None:
    text = SCRIPTS[script]
    plain, packed = tmp_path / "my text", tmp_path / "my text.gz"
    plain.write_bytes(text.encode(encoding))
    packed.write_bytes(gzip.compress(text.encode(encoding)))
    named = encoding.upper().replace("-LE", "LE").replace("-BE", "BE")
    for path in (plain, packed):
        with pytest.raises(DataError, match=rf"my text(\.gz)?: is {named}, not UTF-8; convert it first: ") as caught:
            read(path)
        subprocess.run(str(caught.value).split("first: ")[1], shell=True, check=True)
        assert (tmp_path / "my text.utf8").read_text(encoding="utf-8") == text
        (tmp_path / "my text.utf8").unlink()
    standard_input(text.encode(encoding))
    with pytest.raises(DataError, match=rf"^standard input: is {named}, .*: iconv -f {named.lower()} -t utf-8$"):
        list(read_lines("-"))


@pytest.mark.parametrize("text", ["a\0b\0c\n", "\0\n", "a\0\nb\0\n" * 9, "x" * 3000 + "\0" * 40, *SCRIPTS.values()])
def test_text_with_a_few_zeros_is_text(tmp_path: Path, text: str) -> None:
    (tmp_path / "text").write_bytes(text.encode())
    assert read(tmp_path / "text") == text.removesuffix("\n").split("\n")


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (bz2.compress(b"one\n"), "compressed by bzip2"),
        (lzma.compress(b"one\n"), "compressed by xz"),
        (b"PK\x03\x04\x14\x00\x00\x00\x08\x00", "a zip archive"),
        (b"\x28\xb5\x2f\xfd\x04\x58", "compressed by zstd"),
    ],
    ids=["bzip2", "xz", "zip", "zstd"],
)
def test_other_archives_are_named(tmp_path: Path, content: bytes, kind: str) -> None:
    (tmp_path / "text").write_bytes(content)
    with pytest.raises(DataError, match=f"text: is {kind}, not text; unpack it first"):
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
    os.setuid(65534)  # root may read everything, so become the user "nobody"
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
        with pytest.raises(DataError, match=r"text\.gz: damaged or incomplete gzip file"):
            read(tmp_path / "text.gz")


def test_standard_input(standard_input: Give) -> None:
    standard_input(b"one\ntwo\xff\n")
    lines = read_lines("-")
    assert next(lines) == "one"
    with pytest.raises(DataError, match="standard input, line 2: not UTF-8"):
        next(lines)
    os.fstat(sys.stdin.fileno())  # still open
