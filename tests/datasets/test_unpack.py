"""Lines out of real archives, and archives that are not to be trusted."""

import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from heed.datasets.unpack import chosen, extract, lines
from heed.errors import DataError
from tests.datasets.conftest import packed, tar, zipped

MEMBERS = {"b/text.de": b"eins\nzwei\n", "b/other": b"x" * 5000, "b/text.en": b"one\ntwo\n"}


def extracted(archive: Path, *members: str) -> list[bytes]:
    folder = archive.parent / "unpacked"
    folder.mkdir(exist_ok=True)
    return [path.read_bytes() for path in extract(archive, members, folder, lambda done: None)]


@pytest.mark.parametrize(
    "content",
    [tar(MEMBERS), tar(MEMBERS, "w"), tar({f"./{name}": text for name, text in MEMBERS.items()}), zipped(MEMBERS)],
    ids=["tgz", "tar", "dotted", "zip"],
)
def test_members_come_in_the_order_asked_for(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a").write_bytes(content)
    assert extracted(tmp_path / "a", "b/text.en", "b/text.de") == [b"one\ntwo\n", b"eins\nzwei\n"]
    assert len(list((tmp_path / "unpacked").iterdir())) == 2  # and nothing else


@pytest.mark.parametrize("make", [tar, zipped])
def test_a_path_that_escapes_writes_nothing_outside(tmp_path: Path, make) -> None:  # type: ignore[no-untyped-def]
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    escaping = {"../../evil": b"x", str(tmp_path / "outside"): b"x", "../x/text.en": b"ours"}
    (folder / "archive").write_bytes(make(escaping))
    (folder / "archive2").write_bytes(make({**escaping, "text.en": b"one\n"}))
    assert extracted(folder / "archive2", "text.en") == [b"one\n"]
    assert extracted(folder / "archive", "../x/text.en") == [b"ours"]  # even if asked for: under a name of ours
    assert {path.name for path in tmp_path.rglob("*") if path.is_file()} == {"archive", "archive2", "0-text.en"}


def test_a_link_in_the_place_of_a_text_is_refused(tmp_path: Path) -> None:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        link = tarfile.TarInfo("text.en")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    (tmp_path / "a.tgz").write_bytes(made.getvalue())
    with pytest.raises(DataError, match="text.en is a link"):
        extracted(tmp_path / "a.tgz", "text.en")


@pytest.mark.parametrize("content", [tar(MEMBERS), tar(MEMBERS, "w"), zipped(MEMBERS)], ids=["tgz", "tar", "zip"])
def test_an_archive_that_is_cut_short_is_named(tmp_path: Path, content: bytes) -> None:
    for size in (0, 1, 100, len(content) // 4):
        (tmp_path / "a.tgz").write_bytes(content[:size])
        with pytest.raises(DataError, match=r"a\.tgz: (not a whole archive|has no file b/text.en)"):
            extracted(tmp_path / "a.tgz", "b/text.en")
    (tmp_path / "a.tgz").write_bytes(b"<html>Not found</html>" * 100)
    with pytest.raises(DataError, match="not a whole archive"):
        extracted(tmp_path / "a.tgz", "b/text.en")


def test_a_damaged_member_of_a_zip_is_found(tmp_path: Path) -> None:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("text.en", b"one two three\n")
    (tmp_path / "a.zip").write_bytes(made.getvalue().replace(b"two", b"twu"))
    with pytest.raises(DataError, match="not a whole archive.*CRC"):
        extracted(tmp_path / "a.zip", "text.en")


def test_a_missing_member_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.tgz").write_bytes(tar(MEMBERS))
    with pytest.raises(DataError, match="has no file b/text.fr in it"):
        extracted(tmp_path / "a.tgz", "b/text.en", "b/text.fr")


def read(path: Path, content: bytes, column: int | None = None) -> list[str]:
    path.write_bytes(content)
    return [line.decode() for line in lines(path, column)]


def test_plain_text_keeps_what_is_no_line_end(tmp_path: Path) -> None:
    text = "\ufeffone\r\ntwo\u2028still two\x0b\x0c\u0085\rmore\n\nlast".encode()
    expected = ["one", "two\u2028still two\x0b\x0c\u0085\rmore", "", "last"]
    assert read(tmp_path / "a.en", text) == expected
    assert read(tmp_path / "a.en.gz", packed(text)) == expected


def test_segments_of_a_test_set(tmp_path: Path) -> None:
    sgm = """<srcset setid="newstest2014" srclang="any">
<doc sysid="ref" docid="1" genre="news" origlang="en">
<hl>
<seg id="1">A  headline </seg>
</hl>
<p>
<seg id="2">It costs &lt;5 &amp; more.</seg>
<SEG id="3">broken
over lines</SEG> <seg id="4"></seg>
</p></doc></srcset>
"""
    expected = ["A headline", "It costs &lt;5 &amp; more.", "broken over lines", ""]
    assert read(tmp_path / "a-src.en.sgm", sgm.encode()) == expected
    assert read(tmp_path / "a.en.xml", sgm.encode()) == expected


def test_talks_lose_their_details_and_keep_title_and_description(tmp_path: Path) -> None:
    talk = """<url>http://www.ted.com/talks/x</url>
<keywords>talks, x</keywords>
<speaker>A B</speaker>
<talkid>1</talkid>
<title>A B: Title</title>
<description>What it is about.</description>
First sentence.
 a < b is no tag
<reviewer href="x">C</reviewer>
<translator href="x">D</translator>
"""
    assert read(tmp_path / "0-train.tags.de-en.en", talk.encode()) == [
        "A B: Title",
        "What it is about.",
        "First sentence.",
        "a < b is no tag",
    ]


def test_columns(tmp_path: Path) -> None:
    table = b"one\teins\t3\ntwo\tzwei\n"
    assert read(tmp_path / "a.tsv", table, 0) == ["one", "two"]
    assert read(tmp_path / "a.tsv.gz", packed(table), 1) == ["eins", "zwei"]
    with pytest.raises(DataError, match="a.tsv, line 2: no tab"):
        read(tmp_path / "a.tsv", b"one\teins\ntwo\n", 0)


def test_every_nth_line() -> None:
    of_seven = [b"%d" % n for n in range(1, 8)]
    assert list(chosen(iter(of_seven), 3)) == [b"3", b"6"]
    assert list(chosen(iter(of_seven), -3)) == [b"1", b"2", b"4", b"5", b"7"]
    assert list(chosen(iter(of_seven), 0)) == of_seven
