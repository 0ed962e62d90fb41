"""Data sets to line-aligned files: from a server, from folders, and into folders that hold something already."""

import hashlib
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from heed.datasets.catalogue import DATA_SETS, Bitext, DataSet, Part, Text, Upstream, find
from heed.datasets.get import Written, get
from heed.errors import CheckpointError, ConfigError, DataError
from heed.lock import FolderLock
from tests.datasets.conftest import Server, packed, tar, zipped

SGM = '<doc>\n<seg id="1">{} one</seg>\n<seg id="2">{} two</seg>\n</doc>\n'
FILES = {
    "news.tgz": tar({"t/news.en": b"n1\r\nn2\n", "t/more": b"", "t/news.de": b"N1\nN2"}),
    "talks.zip": zipped({"talks.de.gz": packed(b"T1\n"), "talks.en.gz": packed(b"t1\n")}),
    "test.tar": tar({"src.en.sgm": SGM.format("e", "e").encode(), "ref.de.sgm": SGM.format("d", "d").encode()}, "w"),
    "val.en.gz": packed(b"v1\nv2\nv3\n"),
    "val.de.gz": packed(b"V1\nV2\nV3\n"),
}
UPSTREAM = {
    name: Upstream(f"http://127.0.0.1:1/{name}", len(content), f"sha256:{hashlib.sha256(content).hexdigest()}")
    for name, content in FILES.items()
}


def members(file: str, source: str, target: str) -> Bitext:
    return Bitext(Text(UPSTREAM[file], source), Text(UPSTREAM[file], target))


VAL = Bitext(Text(UPSTREAM["val.en.gz"]), Text(UPSTREAM["val.de.gz"]))
DATA = DataSet(
    name="some",
    title="",
    source="en",
    target="de",
    pairs="",
    parts=(
        Part(
            "train",
            (members("news.tgz", "t/news.en", "t/news.de"), members("talks.zip", "talks.en.gz", "talks.de.gz")),
            3,
            other_names=("all",),
        ),
        Part("val", (VAL,), every=-2),
        Part("held", (VAL,), every=2),
        Part("test", (members("test.tar", "src.en.sgm", "ref.de.sgm"),), is_optional=True),
        Part("extra", is_optional=True),
    ),
    licence="",
    attribution="",
    home="",
    preset="tiny",
)
EXPECTED = {
    "train.en": "n1\nn2\nt1\n",
    "train.de": "N1\nN2\nT1\n",
    "val.en": "v1\nv3\n",
    "val.de": "V1\nV3\n",
    "held.en": "v2\n",
    "held.de": "V2\n",
    "test.en": "e one\ne two\n",
    "test.de": "d one\nd two\n",
}
OURS = {"lock", "data.json", "archives"}


@contextmanager
def unseen(total: int | None, what: str) -> Iterator[Callable[[int], None]]:
    yield lambda done: None


def got(out: Path, origin: object, data: DataSet = DATA) -> list[Written]:
    return get(data, out, str(origin), unseen, (0.01,))


def texts(out: Path) -> dict[str, str]:
    return {path.name: path.read_bytes().decode() for path in out.iterdir() if path.name not in OURS}


@pytest.fixture
def mirror(tmp_path: Path) -> Path:
    folder = tmp_path / "mirror"
    folder.mkdir()
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    return folder


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "new" / "out"


def test_from_a_server(server: Server, out: Path) -> None:
    server.files |= {f"wmt/{name}": content for name, content in FILES.items()}
    server.cuts = [100, 50]
    made = got(out, f"{server.url}/wmt/")
    assert texts(out) == EXPECTED
    assert [(one.part.name, one.n_pairs, one.was_there) for one in made] == [
        ("train", 3, False),
        ("val", 2, False),
        ("held", 1, False),
        ("test", 2, False),
    ]
    assert {path.name: path.read_bytes() for path in (out / "archives").iterdir()} == FILES
    server.asked.clear()
    again = got(out, f"{server.url}/wmt/")
    assert [(one.n_pairs, one.was_there) for one in again] == [(3, True), (2, True), (1, True), (2, True)]
    assert server.asked == []


def test_from_the_publisher_itself(server: Server, out: Path) -> None:
    server.files["here/val.en.gz"], server.files["there/val.de.gz"] = FILES["val.en.gz"], FILES["val.de.gz"]
    sides = (Text(Upstream(f"{server.url}/{place}")) for place in ("here/val.en.gz", "there/val.de.gz"))
    data = DataSet("x", "", "en", "de", "", (Part("val", (Bitext(*sides),)),), "", "", "", "tiny")
    got(out, "", data)
    assert texts(out) == {"val.en": "v1\nv2\nv3\n", "val.de": "V1\nV2\nV3\n"}


@pytest.mark.parametrize("form", ["{}", "file://{}"])
def test_from_a_folder_of_archives(mirror: Path, out: Path, form: str) -> None:
    got(out, form.format(mirror))
    assert texts(out) == EXPECTED
    assert not (out / "archives").exists()  # read where they are


def test_from_a_folder_of_line_aligned_text(tmp_path: Path, out: Path) -> None:
    folder = tmp_path / "aligned"
    folder.mkdir()
    (folder / "all.en.gz").write_bytes(packed(b"a\nb"))
    (folder / "all.de").write_bytes(b"A\r\nB\r\n")
    (folder / "val.tsv.gz").write_bytes(packed(b"x\tX\t3\ny\tY\t1\n"))
    for name, content in (("held.en", b"h\n"), ("held.de", b"H\n"), ("extra.en", b"e\n"), ("extra.de", b"E\n")):
        (folder / name).write_bytes(content)
    made = got(out, folder)
    assert texts(out) == {
        "train.en": "a\nb\n",
        "train.de": "A\nB\n",
        "val.en": "x\ny\n",
        "val.de": "X\nY\n",
        "held.en": "h\n",
        "held.de": "H\n",
        "extra.en": "e\n",
        "extra.de": "E\n",
    }
    assert [one.part.name for one in made] == ["train", "val", "held", "extra"]


def test_what_a_folder_lacks_is_named_before_anything_is_written(mirror: Path, out: Path, tmp_path: Path) -> None:
    leave = "put it there, or leave --from out to download"
    (mirror / "val.de.gz").unlink()
    with pytest.raises(DataError) as half:
        got(out, mirror)
    assert str(half.value) == f"{mirror}: val.de (or val.de.gz) is missing beside val.en.gz; {leave}"
    (mirror / "val.en.gz").unlink()
    with pytest.raises(DataError) as neither:
        got(out, mirror)
    assert str(neither.value) == (
        f"{mirror}: val.en and val.de are missing; put them there, or val.tsv, or any of these as .gz; "
        "or leave --from out to download"
    )
    (mirror / "talks.zip").unlink()
    with pytest.raises(
        DataError, match="train.tsv, or any of these as .gz, or the publisher's news.tgz and talks.zip;"
    ):
        got(out, mirror)
    assert [path.name for path in tmp_path.iterdir()] == ["mirror"]


def test_a_refusal_leaves_nothing_behind(mirror: Path, server: Server, tmp_path: Path) -> None:
    (mirror / "val.de.gz").unlink()
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "test.de").write_text("mine")
    for origin in (mirror, server.url):  # which has no file at all
        with pytest.raises((ConfigError, DataError)):
            got(mine, origin)
        assert {path.name for path in mine.iterdir()} == {"test.de"}
        with pytest.raises(DataError):
            got(tmp_path / "new" / "out", origin)
        assert not (tmp_path / "new").exists()
    (mine / "test.de").unlink()
    (mine / "lock").write_text("")  # of another command
    with pytest.raises(DataError):
        got(mine, mirror)
    assert (mine / "lock").exists()


def test_altered_bytes_in_a_folder(mirror: Path, out: Path) -> None:
    content = bytearray(FILES["talks.zip"])
    content[40] ^= 1
    (mirror / "talks.zip").write_bytes(content)
    with pytest.raises(DataError, match=f"talks.zip: wrong content: .*{UPSTREAM['talks.zip'].checksum[7:]}"):
        got(out, mirror)
    assert (mirror / "talks.zip").read_bytes() == content
    assert not out.exists()


def test_sides_of_different_length_are_refused(mirror: Path, out: Path) -> None:
    (mirror / "news.tgz").unlink()
    (mirror / "train.en").write_bytes(b"1\n2\n3\n")
    (mirror / "train.de").write_bytes(b"1\n2\n")
    with pytest.raises(DataError, match=r"train.en has 3 lines, but .*train.de has 2"):
        got(out, mirror)
    assert not out.exists()


def test_other_text_is_never_overwritten(mirror: Path, out: Path) -> None:
    out.mkdir(parents=True)
    (out / "notes.txt").write_text("mine")
    (out / "test.de").write_text("mine")
    with pytest.raises(ConfigError, match=r"test.de: exists already, and was not written by this command"):
        got(out, mirror)
    assert texts(out) == {"notes.txt": "mine", "test.de": "mine"}
    (out / "test.de").unlink()
    got(out, mirror)
    assert texts(out) == {**EXPECTED, "notes.txt": "mine"}
    (out / "val.en").write_text("edited\n")
    with pytest.raises(ConfigError, match=r"val.en: exists already, and was changed since"):
        got(out, mirror)
    assert (out / "val.en").read_text() == "edited\n"


def test_what_is_missing_is_completed(mirror: Path, out: Path) -> None:
    got(out, mirror)
    (out / "train.de").unlink()
    (out / ".train.en.new").write_text("left by a crash")
    before = (out / "val.en").stat().st_mtime_ns
    made = got(out, mirror)
    assert texts(out) == EXPECTED
    assert [one.was_there for one in made] == [False, True, True, True]
    assert (out / "val.en").stat().st_mtime_ns == before


def test_another_data_set_in_the_folder(mirror: Path, out: Path) -> None:
    got(out, mirror)
    other = DataSet("other", "", "en", "de", "", DATA.parts, "", "", "", "tiny")
    with pytest.raises(ConfigError, match="holds the data set some; name another folder"):
        got(out, mirror, other)


def test_two_at_once(mirror: Path, out: Path) -> None:
    out.mkdir(parents=True)
    with FolderLock.acquire(out), pytest.raises(CheckpointError, match="in use by process"):
        got(out, mirror)


def test_origins_that_cannot_be(tmp_path: Path, out: Path) -> None:
    for origin, complaint in (("ftp://x/y", "begins with ftp://"), (tmp_path / "absent", "no such folder")):
        with pytest.raises(ConfigError, match=complaint):
            got(out, origin)
    (tmp_path / "file").write_text("x")
    with pytest.raises(ConfigError, match="is a file"):
        got(tmp_path / "file", tmp_path)


# --- the catalogue ----------------------------------------------------------------------------------------


def test_unknown_names() -> None:
    with pytest.raises(ConfigError, match=r'unknown data set "wmt14-de-en"; did you mean "wmt14-en-de"\? There are:'):
        find("wmt14-de-en")
    with pytest.raises(ConfigError, match='unknown data set "qqq"; there are: multi30k, tatoeba-en-de, wmt14-en-de'):
        find("qqq")


@pytest.mark.parametrize("data", DATA_SETS.values(), ids=DATA_SETS)
def test_every_entry_is_in_order(data: DataSet) -> None:
    assert data.parts[0].name == "train"
    assert data.valid == "" or data.valid in {part.name for part in data.parts}
    assert len({file.name for file in data.files()}) == len(data.files())  # they share a folder
    for file in data.files():
        assert file.url.startswith("https://")
        assert re.fullmatch(r"(sha256:[0-9a-f]{64}|md5:[0-9a-f]{32})?", file.checksum)
    for value in (data.title, data.licence, data.attribution, data.home):
        assert value and len(value) < 72


def test_the_tokenised_multi30k_has_the_checksums_stated(data_dir: Path) -> None:
    checked = 0
    for file in DATA_SETS["multi30k"].files():
        if file.checksum:
            content = (data_dir / "multi30k" / file.name).read_bytes()
            assert (len(content), f"sha256:{hashlib.sha256(content).hexdigest()}") == (file.n_bytes, file.checksum)
            checked += 1
    assert checked == 6
