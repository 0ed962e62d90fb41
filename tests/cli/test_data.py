"""`heed data` as a command: what it prints, and what stops it half-way."""

import json
import os
import pty
import random
import shutil
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Iterator
from fcntl import ioctl
from pathlib import Path

import pytest

from heed.datasets.catalogue import DATA_SETS
from tests.cli.conftest import COMMAND, ENVIRONMENT, heed, started
from tests.datasets.conftest import Server, packed, server, tar, zipped

__all__ = ["server"]

LINES = [f"line {n} {random.Random(n).randbytes(30).hex()}" for n in range(2_000)]
ENGLISH, GERMAN = (("\n".join(f"{line} {side}" for line in LINES) + "\n").encode() for side in ("en", "de"))
TATOEBA = zipped({"README": b"", "Tatoeba.de-en.de": GERMAN, "Tatoeba.de-en.en": ENGLISH})


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ENVIRONMENT, "no_proxy", "*")


@pytest.fixture
def tatoeba(server: Server) -> Server:  # noqa: F811
    server.files["de-en.txt.zip"] = TATOEBA
    return server


def test_list_names_every_data_set_with_its_licence() -> None:
    done = heed("data", "list")
    assert done.code == 0 and max(map(len, done.lines)) < 80
    for name, data in DATA_SETS.items():
        assert f"\n{name}  " in done.out and data.licence in done.out
    assert "wmt14-en-de     4.5 million   over 1.7 GB     5 of 5 files" in done.lines
    assert "tatoeba-en-de   not known     not known       0 of 1 file" in done.lines


def test_list_for_programs() -> None:
    found = {one["name"]: one for one in json.loads(heed("data", "list", "--json").out)["data_sets"]}
    assert found.keys() == DATA_SETS.keys()
    europarl = found["wmt14-en-de"]["files"][0]
    assert europarl["bytes"] == 657_632_379 and europarl["checksum"].startswith("sha256:0224c7c7")
    assert found["iwslt14-de-en"]["files"][0]["checksum"] is None


def test_from_a_server_that_cuts_the_connection(tatoeba: Server, tmp_path: Path) -> None:
    chance = random.Random(3)
    tatoeba.cuts = [chance.randrange(1, len(TATOEBA) // 8) for _ in range(4)]
    done = subprocess.run(
        [COMMAND, "data", "get", "tatoeba-en-de", "--out", "t", "--from", tatoeba.url],
        cwd=tmp_path,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "t" / "train.en").read_bytes() == ENGLISH
    assert (tmp_path / "t" / "train.de").read_bytes() == GERMAN
    assert len(tatoeba.asked) == 5
    shown = done.stdout.splitlines()
    assert "licence: CC BY 2.0 FR: name tatoeba.org" in shown and "        2,000  train.en train.de" in shown
    assert max(map(len, shown)) <= 80
    command = done.stdout.split("next:\n", 1)[1].replace("\\\n", " ").split()
    assert command == "heed split --source t/train.en --target t/train.de --out t/split".split()
    parts = ["--valid", "100", "--test", "100"]
    subprocess.run([COMMAND, *command[1:], *parts], cwd=tmp_path, env=ENVIRONMENT, check=True, capture_output=True)


def test_the_usual_split_of_iwslt14(tmp_path: Path) -> None:
    talk = "<url>x</url>\n<title>Title {0}</title>\n" + "".join(f"Line {n} {{0}}\n" for n in range(2, 47))
    segments = '<doc>\n<seg id="1"> {} {} </seg>\n</doc>\n'
    members = {f"de-en/train.tags.de-en.{side}": talk.format(side).encode() for side in ("de", "en")}
    for name in ("TED.tst2012", "TED.dev2010", "TEDX.dev2012", "TED.tst2011", "TED.tst2010"):
        for side in ("de", "en"):
            members[f"de-en/IWSLT14.{name}.de-en.{side}.xml"] = segments.format(name, side).encode()
    (tmp_path / "de-en.tgz").write_bytes(tar(members))
    done = heed("data", "get", "iwslt14-de-en", "--out", tmp_path / "out", "--from", tmp_path)
    assert done.code == 0, done.err
    text = {path.name: path.read_text().splitlines() for path in (tmp_path / "out").glob("*.*n")}
    assert text["valid.en"] == ["Line 23 en", "Line 46 en"]
    assert text["train.en"] == ["Title en", *(f"Line {n} en" for n in range(2, 47) if n not in (23, 46))]
    order = ["TED.dev2010", "TEDX.dev2012", "TED.tst2010", "TED.tst2011", "TED.tst2012"]
    assert text["test.en"] == [f"{name} en" for name in order]
    assert f"--source {tmp_path}/out/train.de" in done.out and "--preset small" in done.out


def test_json_and_a_second_call(tatoeba: Server, tmp_path: Path) -> None:
    arguments = ["data", "get", "tatoeba-en-de", "--out", tmp_path, "--from", tatoeba.url, "--json"]
    first, second = (json.loads(heed(*arguments).out) for _ in range(2))
    assert first["parts"]["train"] == {
        "pairs": 2_000,
        "published_pairs": None,
        "source": str(tmp_path / "train.en"),
        "target": str(tmp_path / "train.de"),
        "was_there": False,
    }
    assert second["parts"]["train"]["was_there"] and first["licence"] == "CC BY 2.0 FR: name tatoeba.org"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_stopped_and_continued(tatoeba: Server, tmp_path: Path, number: signal.Signals) -> None:
    arguments = ["data", "get", "tatoeba-en-de", "--out", tmp_path, "--from", tatoeba.url]
    tatoeba.block_seconds = 0.05
    part = tmp_path / "archives" / "de-en.txt.zip.part"
    with started(*arguments) as process:
        deadline = time.monotonic() + 60
        while not (part.exists() and part.stat().st_size):
            assert time.monotonic() < deadline and process.poll() is None
            time.sleep(0.01)
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
    if number == signal.SIGKILL:
        assert process.returncode == -number
    else:
        assert process.returncode == 130
        assert said.decode().startswith("heed data: stopped (what has arrived is kept; to continue: heed data get ")
    kept = part.stat().st_size
    assert 0 < kept < len(TATOEBA) and not (tmp_path / "train.en").exists()
    tatoeba.block_seconds = 0.0
    assert heed(*arguments).code == 0
    assert tatoeba.asked[-1][1] == f"bytes={kept}-"
    assert (tmp_path / "train.en").read_bytes() == ENGLISH


def test_altered_bytes_are_exit_1_and_what_was_good_stays(server: Server, tmp_path: Path) -> None:  # noqa: F811
    for name in ("train", "val", "test_2016_flickr"):
        for language in ("en", "de"):
            server.files[f"{name}.{language}.gz"] = packed(f"{name} {language}\n".encode())
    server.files["train.lc.norm.tok.en"] = b"x" * 1_837_696  # of the right size
    out = tmp_path / "multi30k"
    done = heed("data", "get", "multi30k", "--out", out, "--from", server.url)
    assert done.code == 1
    assert "train.lc.norm.tok.en" in done.err and "expected 08925f8e" in done.err and "sha256 is " in done.err
    assert (out / "val.de").read_text() == "val de\n"
    assert (out / "archives" / "train.en.gz").exists()


def test_complaints(tatoeba: Server, tmp_path: Path) -> None:
    unknown = heed("data", "get", "tatoeba", "--out", tmp_path / "x")
    assert unknown.code == 2 and 'did you mean "tatoeba-en-de"?' in unknown.err
    gone = heed("data", "get", "europarl-en-de", "--out", tmp_path / "y", "--from", tatoeba.url)
    assert gone.code == 1 and f"{tatoeba.url}/de-en.tgz: the server answers 404" in gone.err and "--from" in gone.err
    nowhere = heed("data", "get", "europarl-en-de", "--out", "/proc/x", "--from", tatoeba.url)
    assert nowhere.code == 1
    assert nowhere.err.endswith("/proc/x: cannot be written (No such file or directory); name another folder (--out)\n")
    absent = heed("data", "get", "multi30k", "--out", tmp_path / "z", "--from", tmp_path / "absent")
    assert absent.code == 2 and "no such folder" in absent.err
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "train.de").write_text("mine\n")
    taken = heed("data", "get", "tatoeba-en-de", "--out", tmp_path / "w", "--from", tatoeba.url)
    assert taken.code == 2 and "train.de: exists already" in taken.err
    assert (tmp_path / "w" / "train.de").read_text() == "mine\n"


def test_a_bar_on_a_terminal(tatoeba: Server, tmp_path: Path) -> None:
    tatoeba.block_seconds = 0.005
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 80, 0, 0))
    with started("data", "get", "tatoeba-en-de", "--out", tmp_path, "--from", tatoeba.url, stderr=theirs) as process:
        os.close(theirs)
        seen = b""
        try:
            while block := os.read(ours, 65536):
                seen += block
        except OSError:  # Linux says so when the other side is closed
            pass
        os.close(ours)
        assert process.wait(60) == 0
    assert b"de-en.txt.zip" in seen and b"kB" in seen and b"unpacking" in seen and b"writing train" in seen


# --- disks ------------------------------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "disk"
    path.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", path], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"may not mount a tmpfs here: {done.stderr.strip()}")
    yield path
    subprocess.run(["umount", path], check=True)


def test_a_full_disk(tatoeba: Server, small_disk: Path) -> None:
    arguments = ["data", "get", "tatoeba-en-de", "--out", small_disk / "t", "--from", tatoeba.url]
    full = heed(*arguments)
    assert full.code == 1 and "cannot be written (No space left on device); make room" in full.err
    assert "Traceback" not in full.err
    subprocess.run(["mount", "-o", "remount,size=4m", small_disk], check=True)
    assert heed(*arguments).code == 0
    assert tatoeba.asked[-1][1] is not None  # resumed
    assert (small_disk / "t" / "train.de").read_bytes() == GERMAN


def test_text_that_does_not_fit_is_not_left_in_halves(tatoeba: Server, small_disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,size=400k", small_disk], check=True)
    full = heed("data", "get", "tatoeba-en-de", "--out", small_disk / "t", "--from", tatoeba.url)
    assert full.code == 1 and "No space left on device" in full.err
    assert {path.name for path in (small_disk / "t").iterdir()} == {"archives", "lock"}
    assert (small_disk / "t" / "archives" / "de-en.txt.zip").read_bytes() == TATOEBA


def test_a_folder_that_may_not_be_written_to(tatoeba: Server, tmp_path: Path) -> None:
    rights = "-dac_override,-dac_read_search,-fowner"
    plain = ["setpriv", f"--inh-caps={rights}", f"--bounding-set={rights}"] if os.geteuid() == 0 else []
    if plain and (shutil.which("setpriv") is None or subprocess.run([*plain, "true"], capture_output=True).returncode):
        pytest.skip("root cannot give up its rights here (no setpriv)")
    (tmp_path / "closed").mkdir(mode=0o555)
    out = tmp_path / "closed" / "t"
    arguments = [COMMAND, "data", "get", "tatoeba-en-de", "--out", out, "--from", tatoeba.url]
    done = subprocess.run([*plain, *arguments], env=ENVIRONMENT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1 and f"heed data: {out}: cannot be written (Permission denied)" in done.stderr
