"""Downloads from a real server that cuts connections, ignores Range, alters bytes or is not there."""

import hashlib
import random
import resource
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from heed.datasets.catalogue import Upstream
from heed.datasets.disk import write_all
from heed.datasets.download import download
from heed.errors import DataError
from tests.datasets.conftest import Server

CONTENT = random.Random(1).randbytes(60_000)
SHA256 = f"sha256:{hashlib.sha256(CONTENT).hexdigest()}"
MD5 = f"md5:{hashlib.md5(CONTENT).hexdigest()}"
QUICK = (0.01, 0.01, 0.01)


class Told:
    """Takes down what a progress bar would show."""

    def __init__(self) -> None:
        self.totals: list[int | None] = []
        self.done: list[int] = []

    @contextmanager
    def __call__(self, total: int | None, what: str) -> Iterator[Callable[[int], None]]:
        self.totals.append(total)
        yield self.done.append


def fetch(server: Server, path: Path, n_bytes: int | None = None, checksum: str = "", told: Told | None = None) -> None:
    file = Upstream(f"{server.url}/{path.name}", n_bytes, checksum)
    download(file, file.url, path, told or Told(), QUICK)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("checksum", ["", SHA256, MD5])
def test_a_file_arrives_whole(server: Server, tmp_path: Path, checksum: str) -> None:
    server.files["a.tgz"] = CONTENT
    told = Told()
    fetch(server, tmp_path / "a.tgz", None, checksum, told)
    assert (tmp_path / "a.tgz").read_bytes() == CONTENT
    assert names(tmp_path) == ["a.tgz"]
    assert told.totals == [len(CONTENT)] and told.done[0] == 0 and told.done[-1] == len(CONTENT)
    fetch(server, tmp_path / "a.tgz", None, checksum)
    assert len(server.asked) == 1  # what is there is not downloaded again


def test_a_connection_cut_at_random_places_is_resumed(server: Server, tmp_path: Path) -> None:
    server.files["a.tgz"] = CONTENT
    chance = random.Random(5)
    server.cuts = [chance.randrange(1, 15_000) for _ in range(4)]
    cuts = list(server.cuts)
    fetch(server, tmp_path / "a.tgz")
    assert (tmp_path / "a.tgz").read_bytes() == CONTENT
    assert [wanted for _, wanted in server.asked] == [
        None,
        *(f"bytes={sum(cuts[: n + 1])}-" for n in range(len(cuts))),
    ]


def test_a_file_of_unknown_length_that_is_cut_off_is_not_taken_for_whole(server: Server, tmp_path: Path) -> None:
    server.files["a.tgz"], server.chunked, server.cuts = CONTENT, True, [7_000]
    told = Told()
    fetch(server, tmp_path / "a.tgz", told=told)
    assert (tmp_path / "a.tgz").read_bytes() == CONTENT
    assert told.totals == [None, len(CONTENT)]  # the second from Content-Range


def test_the_next_call_resumes(server: Server, tmp_path: Path) -> None:
    server.files["a.tgz"] = CONTENT
    server.cuts = [7_000] + [0] * 20
    with pytest.raises(DataError, match=r"7,000 bytes are kept, and the same command resumes.*--from"):
        fetch(server, tmp_path / "a.tgz")
    assert (tmp_path / "a.tgz.part").read_bytes() == CONTENT[:7_000]
    assert not (tmp_path / "a.tgz").exists()
    server.cuts.clear()
    fetch(server, tmp_path / "a.tgz")
    assert (tmp_path / "a.tgz").read_bytes() == CONTENT
    assert server.asked[-1] == ("/a.tgz", "bytes=7000-")
    assert names(tmp_path) == ["a.tgz"]


def test_two_versions_are_never_mixed(server: Server, tmp_path: Path) -> None:
    server.files["a.tgz"] = CONTENT
    server.cuts = [7_000] + [0] * 20
    with pytest.raises(DataError):
        fetch(server, tmp_path / "a.tgz")
    server.files["a.tgz"], server.version, server.cuts = CONTENT[::-1], '"2"', []
    fetch(server, tmp_path / "a.tgz")
    assert (tmp_path / "a.tgz").read_bytes() == CONTENT[::-1]


@pytest.mark.parametrize("checksum", ["", SHA256])
def test_without_a_version_only_a_checksum_allows_to_resume(server: Server, tmp_path: Path, checksum: str) -> None:
    server.files["a.tgz"], server.version, server.cuts = CONTENT, None, [7_000]
    fetch(server, tmp_path / "a.tgz", None, checksum)
    assert (tmp_path / "a.tgz").read_bytes() == CONTENT
    assert server.asked[-1][1] == ("bytes=7000-" if checksum else None)


def test_a_server_without_range_starts_over_and_gives_up_in_the_end(server: Server, tmp_path: Path) -> None:
    server.files["a.tgz"], server.ranges = CONTENT, False
    server.cuts = [9_000, 20_000, 5_000]
    fetch(server, tmp_path / "a.tgz")
    assert (tmp_path / "a.tgz").read_bytes() == CONTENT
    server.asked.clear()
    server.files["b.tgz"], server.cuts = CONTENT, [9_000, 5_000] * 50
    with pytest.raises(DataError, match="the connection broke after 9,000 of 60,000 bytes"):
        fetch(server, tmp_path / "b.tgz")
    assert len(server.asked) == 1 + len(QUICK) + 1  # one with progress, then as many as allowed without


@pytest.mark.parametrize("n_bytes", [None, len(CONTENT)])
def test_altered_bytes_are_refused_by_name_and_both_checksums(
    server: Server, tmp_path: Path, n_bytes: int | None
) -> None:
    altered = CONTENT[:30_000] + bytes([CONTENT[30_000] ^ 1]) + CONTENT[30_001:]
    server.files["a.tgz"] = altered
    (tmp_path / "b.tgz").write_bytes(b"good")
    with pytest.raises(DataError) as caught:
        fetch(server, tmp_path / "a.tgz", n_bytes, SHA256)
    said = str(caught.value)
    assert "a.tgz" in said and SHA256[7:] in said and hashlib.sha256(altered).hexdigest() in said
    assert names(tmp_path) == ["a.tgz.wrong", "b.tgz"]
    server.files["a.tgz"] = CONTENT
    fetch(server, tmp_path / "a.tgz", n_bytes, SHA256)
    assert (tmp_path / "a.tgz").read_bytes() == CONTENT


def test_a_wrong_file_in_its_place_is_not_deleted(server: Server, tmp_path: Path) -> None:
    server.files["a.tgz"] = CONTENT
    (tmp_path / "a.tgz").write_bytes(b"mine")
    with pytest.raises(DataError, match="delete it to download it again"):
        fetch(server, tmp_path / "a.tgz", None, SHA256)
    assert (tmp_path / "a.tgz").read_bytes() == b"mine" and server.asked == []


def test_another_size_is_refused_before_the_download(server: Server, tmp_path: Path) -> None:
    server.files["a.tgz"] = CONTENT[:-1]
    with pytest.raises(DataError, match=r"has 59,999 bytes, expected 60,000"):
        fetch(server, tmp_path / "a.tgz", len(CONTENT))
    assert names(tmp_path) == []


def test_a_part_that_is_too_long_is_thrown_away(server: Server, tmp_path: Path) -> None:
    server.files["a.tgz"] = CONTENT
    (tmp_path / "a.tgz.part").write_bytes(CONTENT + b"x")
    fetch(server, tmp_path / "a.tgz", None, SHA256)
    assert (tmp_path / "a.tgz").read_bytes() == CONTENT


def test_a_part_that_lacks_nothing_is_finished(server: Server, tmp_path: Path) -> None:
    server.files["a.tgz"] = CONTENT
    (tmp_path / "a.tgz.part").write_bytes(CONTENT)
    fetch(server, tmp_path / "a.tgz", None, SHA256)
    assert names(tmp_path) == ["a.tgz"]
    assert [wanted for _, wanted in server.asked] == ["bytes=60000-"]


def test_a_server_that_resumes_at_the_wrong_place(server: Server, tmp_path: Path) -> None:
    server.files["a.tgz"], server.cuts, server.shift_bytes = CONTENT, [7_000], 100
    fetch(server, tmp_path / "a.tgz")
    assert (tmp_path / "a.tgz").read_bytes() == CONTENT
    assert [wanted for _, wanted in server.asked] == [None, "bytes=7000-", None]


def test_404_is_final_and_503_is_not(server: Server, tmp_path: Path) -> None:
    server.files["a.tgz"], server.statuses = CONTENT, [503, 429, 200]
    fetch(server, tmp_path / "a.tgz")
    assert (tmp_path / "a.tgz").read_bytes() == CONTENT
    server.asked.clear()
    with pytest.raises(DataError, match=r"/gone.tgz: the server answers 404 .*--from"):
        fetch(server, tmp_path / "gone.tgz")
    assert len(server.asked) == 1
    server.statuses = [503] * 20
    with pytest.raises(DataError, match="503"):
        fetch(server, tmp_path / "b.tgz")
    assert len(server.asked) == 1 + len(QUICK) + 1


def test_no_network_says_what_to_do_at_once(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    file = Upstream(f"http://127.0.0.1:{port}/a.tgz")
    with pytest.raises(DataError, match=r"cannot be reached \(Connection refused\); .*a.tgz another way.*--from"):
        download(file, file.url, tmp_path / "a.tgz", Told(), (600.0,))


def test_a_write_that_is_cut_short_is_continued_or_told(tmp_path: Path) -> None:
    path, before = tmp_path / "a", resource.getrlimit(resource.RLIMIT_FSIZE)
    with open(path, "wb", buffering=0) as file:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, before[1]))
        try:
            with pytest.raises(DataError, match=r"a: cannot be written \(File too large\)"):
                write_all(file, path, CONTENT[:1_500])  # the system takes 1,000, and then none
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert path.read_bytes() == CONTENT[:1_000]


def test_an_address_that_cannot_be(tmp_path: Path) -> None:
    for url in ("http://a b/x", "http:///x"):
        with pytest.raises(DataError, match="http:"):
            download(Upstream(url), url, tmp_path / "x", Told(), QUICK)
