"""Compiling happens once and never stops anything else; only intact libraries of this user are loaded."""

import hashlib
import os
import shutil
import signal
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from heed.kernels.library import library_name

SHOW = "from heed.kernels.library import library; found = library(); print(found._name if found else None)"
NOBODY = 65534  # another user

COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")

needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no compiler")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make another user's files")


def run(*before: str, **environment: str | None) -> subprocess.CompletedProcess[str]:
    """Load the kernels in a new process. `before` is a command that starts Python; None unsets a variable."""
    wanted = {key: value for key, value in {**os.environ, **environment}.items() if value is not None}
    return subprocess.run([*before, sys.executable, "-c", SHOW], env=wanted, capture_output=True, text=True)


def show(*before: str, **environment: str | None) -> str:
    done = run(*before, **environment)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.strip()


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library, as the real compiler makes it."""
    if COMPILER is None:
        pytest.skip("no compiler")
    return Path(show(XDG_CACHE_HOME=str(tmp_path_factory.mktemp("built"))))


@pytest.fixture
def cache(tmp_path: Path, built: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, with a compiler that takes no time: it copies the real library, and logs each call."""
    compiler = tmp_path / "cc"
    compiler.write_text(
        f'#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\ncat "{built}" > "$2"\necho made >> "{tmp_path}/made"\n'
    )
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path / "cache" / "heed"


def times_made(cache: Path) -> int:
    return len((cache.parents[1] / "made").read_text().splitlines())


@needs_compiler
def test_it_is_compiled_once_and_cached(tmp_path):
    with ThreadPoolExecutor() as pool:  # several processes at once
        first = list(pool.map(lambda _: show(XDG_CACHE_HOME=str(tmp_path)), range(3)))
    assert len(set(first)) == 1
    assert [str(path) for path in (tmp_path / "heed").iterdir()] == first[:1]  # and nothing else is left behind
    made = Path(first[0]).stat().st_mtime_ns
    assert show(XDG_CACHE_HOME=str(tmp_path)) == first[0]
    assert Path(first[0]).stat().st_mtime_ns == made


def test_without_a_compiler_there_are_no_kernels(tmp_path):
    assert show(PATH=str(tmp_path), XDG_CACHE_HOME=str(tmp_path)) == "None"


def test_they_can_be_switched_off():
    assert show(HEED_KERNELS="off") == "None"


@pytest.mark.parametrize(
    ("compiler", "words"),
    [
        pytest.param("echo no room left >&2\nexit 1\n", "no room left", id="refuses"),
        pytest.param("kill -9 $$\n", "no error message, exit code -9", id="is killed"),
        pytest.param("exit 0\n", "no error message, exit code 0", id="makes nothing"),
        pytest.param(
            'while [ "$1" != -o ]; do shift; done\nprintf "\\177ELF" > "$2"\n', "file too short", id="writes a part"
        ),
        pytest.param(
            'while [ "$1" != -o ]; do shift; done\nprintf "\\177ELF" > "$2"\necho disk full >&2\nexit 1\n',
            "disk full",
            id="fails half-way",
        ),
        pytest.param(
            f'while [ "$1" != -o ]; do shift; done\n{COMPILER} -shared -x c /dev/null -o "$2"\n',
            "has no function heed_",
            id="makes something else",
            marks=needs_compiler,
        ),
    ],
)
def test_a_broken_compiler_is_like_none_with_a_warning(tmp_path, compiler, words):
    broken = tmp_path / "cc"
    broken.write_text(f"#!/bin/sh\n{compiler}")
    broken.chmod(0o755)
    done = run(CC=str(broken), XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert (done.returncode, done.stdout.strip()) == (0, "None")
    assert "heed's kernels cannot be used" in done.stderr and words in done.stderr


def test_a_home_that_cannot_be_written_to_does_no_harm(cache, tmp_path):
    (tmp_path / "file").touch()
    done = run(XDG_CACHE_HOME=str(tmp_path / "file"))
    assert done.stdout.startswith(f"{tmp_path}/heed-") and done.stdout.endswith(".so\n")
    assert list(tmp_path.glob("heed-*")) == []  # nothing is left behind
    said = "cannot be created, so heed's kernels are compiled at every start, which takes seconds; set XDG_CACHE_HOME"
    assert done.stderr.count("heed's kernels") == 1 and said in done.stderr


def test_a_cache_that_cannot_be_written_to_is_said_once(cache, tmp_path):
    """/proc/self is a folder in which nobody, not even root, can create a file."""
    cache.parent.mkdir()
    cache.symlink_to("/proc/self")
    done = run(XDG_CACHE_HOME=str(cache.parent))
    assert done.stdout.startswith(f"{tmp_path}/heed-") and list(tmp_path.glob("heed-*")) == []
    assert done.stderr.count("heed's kernels") == 1
    assert f"{cache}: cannot be written (" in done.stderr and "or set XDG_CACHE_HOME to another folder" in done.stderr


def test_a_relative_cache_folder_is_ignored(cache, tmp_path, monkeypatch):
    """The XDG Base Directory Specification asks for that; ~/.cache is used."""
    monkeypatch.chdir(tmp_path)
    found = show(XDG_CACHE_HOME="here", HOME=str(tmp_path / "home"))
    assert Path(found).parent == tmp_path / "home" / ".cache" / "heed"
    assert not (tmp_path / "here").exists()


def test_a_user_without_home_and_name_does_no_harm(cache, tmp_path):
    stranger = ["unshare", "--user", "--map-user=54321"]
    try:
        subprocess.run([*stranger, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no unshare, or user namespaces are not allowed here")
    done = run(*stranger, HOME=None, XDG_CACHE_HOME=None)
    assert done.stdout.startswith(f"{tmp_path}/heed-") and done.stdout.endswith(".so\n")
    assert "heed's kernels are compiled at every start" in done.stderr
    assert list(tmp_path.glob("heed-*")) == []


def cut(size: int):
    return lambda path: os.truncate(path, size)


def zeros_from(begin: int):
    def damage(path: Path) -> None:
        content = path.read_bytes()
        path.write_bytes(content[:begin] + bytes(len(content) - begin))

    return damage


def one_bit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize(
    "damage",
    [cut(0), cut(4096), cut(16384), cut(40960), cut(65536), zeros_from(4096), zeros_from(32768), one_bit],
    ids=["empty", "4 kB", "16 kB", "40 kB", "64 kB", "zeros from 4 kB", "zeros from 32 kB", "one bit"],
)
def test_a_damaged_library_is_made_again(cache, damage):
    path = Path(show())
    whole = path.read_bytes()
    assert len(whole) > 65536 and path.parent == cache
    damage(path)
    assert path.read_bytes() != whole
    assert show() == str(path)
    assert path.read_bytes() == whole
    assert times_made(cache) == 2
    assert list(cache.iterdir()) == [path]


def for_another_processor(path: Path) -> None:
    """Put an intact library with the right checksum in place of one: that of an ARM processor."""
    content = bytearray(path.read_bytes())
    content[18:20] = (183).to_bytes(2, "little")  # e_machine: EM_AARCH64
    digest = hashlib.sha256(content).hexdigest()[:16]
    path.unlink()
    path.with_name(f"{path.name.rsplit('-', 1)[0]}-{digest}.so").write_bytes(content)


def without_our_functions(path: Path) -> None:
    subprocess.run([COMPILER, "-shared", "-x", "c", "/dev/null", "-o", path], check=True)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    path.rename(path.with_name(f"{path.name.rsplit('-', 1)[0]}-{digest}.so"))


@pytest.mark.parametrize("replace", [without_our_functions, for_another_processor])
def test_another_library_is_made_again(cache, replace):
    """Its checksum is right: it is intact, but another library."""
    path = Path(show())
    replace(path)
    assert not path.exists() and len(list(cache.iterdir())) == 1
    assert show() == str(path)
    assert list(cache.iterdir()) == [path]


def test_another_library_in_a_cache_that_can_only_be_read(cache, tmp_path):
    for_another_processor(Path(show()))
    read_only = f'mount --bind "{cache}" "{cache}" && mount -o remount,bind,ro "{cache}"'
    try:
        subprocess.run(["unshare", "--mount", "sh", "-c", read_only], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no unshare, or mounting is not allowed here")
    found = show("unshare", "--mount", "sh", "-c", f'{read_only} && exec "$0" "$@"')
    assert found.startswith(f"{tmp_path}/heed-") and found.endswith(".so")


def test_the_folder_is_private(cache):
    before = os.umask(0)
    try:
        path = Path(show())
    finally:
        os.umask(before)
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700
    assert stat.S_IMODE(path.stat().st_mode) & 0o022 == 0


@pytest.fixture
def planted(cache, tmp_path) -> Path:
    """A library in place of ours, with a valid name, that leaves a mark when it is loaded."""
    path = Path(show())
    mark, source = tmp_path / "mark", tmp_path / "planted.c"
    source.write_text(
        f'#include <fcntl.h>\n__attribute__((constructor)) static void run(void) {{ open("{mark}", O_CREAT, 0600); }}\n'
    )
    made = tmp_path / "planted.so"
    subprocess.run([COMPILER, "-shared", "-fPIC", source, "-o", made], check=True)
    digest = subprocess.run(["sha256sum", made], check=True, capture_output=True, text=True).stdout[:16]
    path.unlink()
    place = cache / f"{path.name.rsplit('-', 1)[0]}-{digest}.so"
    shutil.copy(made, place)
    return place


def test_a_planted_library_of_our_own_leaves_its_mark(planted, tmp_path):
    """So that the tests below can fail."""
    show()
    assert (tmp_path / "mark").exists()


def others_file(path: Path) -> None:
    os.chown(path, NOBODY, NOBODY)


def others_folder(path: Path) -> None:
    os.chown(path, NOBODY, NOBODY)
    os.chown(path.parent, NOBODY, NOBODY)


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(others_file, marks=needs_root, id="another user's file"),
        pytest.param(others_folder, marks=needs_root, id="another user's folder"),
        pytest.param(lambda path: path.chmod(0o666), id="a file for all to write"),
        pytest.param(lambda path: path.parent.chmod(0o777), id="a folder for all to write"),
        pytest.param(lambda path: path.parent.chmod(0o770), id="a folder for the group to write"),
        pytest.param(lambda path: path.symlink_to(path.rename(path.with_name("moved"))), id="a symlink"),
    ],
)
def test_a_library_that_others_can_write_is_never_loaded(planted, tmp_path, make):
    make(planted)
    refused = planted.parent.stat().st_uid != os.geteuid() or planted.parent.stat().st_mode & 0o022
    done = run()
    assert done.returncode == 0 and done.stdout.strip().endswith(".so")
    assert not (tmp_path / "mark").exists()
    if refused:  # compiled for this process alone; the folder is not touched
        assert done.stdout.startswith(f"{tmp_path}/heed-") and list(tmp_path.glob("heed-*")) == []
        assert planted.exists() and len(list(planted.parent.iterdir())) == 1
        assert f"{planted.parent}: belongs to another user or can be written to by others" in done.stderr
        assert "chmod 700" in done.stderr
    else:
        assert (Path(done.stdout.strip()).parent, done.stderr) == (planted.parent, "")
        assert not planted.exists()


def test_killed_while_caching(cache, tmp_path):
    """strace kills the process at its first fsync: the file is written, but not yet in its place."""
    if shutil.which("strace") is None:
        pytest.skip("needs strace")
    tracing = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=fsync", "-e", "inject=fsync:signal=SIGKILL"]
    assert run(*tracing).returncode in (-signal.SIGKILL, 128 + signal.SIGKILL)
    (leftover,) = cache.iterdir()
    assert leftover.suffix != ".so"
    path = Path(show())
    assert list(cache.iterdir()) == [path]


def test_it_is_flushed_before_it_is_renamed(cache, tmp_path):
    if shutil.which("strace") is None:
        pytest.skip("needs strace")
    notes = tmp_path / "notes"
    show("strace", "-f", "-y", "-qq", "-o", str(notes), "-e", "trace=fsync,rename,renameat,renameat2")
    lines = [line for line in notes.read_text().splitlines() if str(cache) in line]
    kinds = [line.split(None, 1)[1].split("(")[0] for line in lines]
    assert [kind.rstrip("at2") for kind in kinds] == ["fsync", "rename", "fsync"]
    assert f"<{cache}>" in lines[2]  # the folder


def test_another_processor_gets_another_library(tmp_path):
    """A library compiled for one may not run on another, and both may share a home folder."""
    machines = {
        "one": "processor\t: 0\ncpu MHz\t: 2400.000\nflags\t: fpu sse avx2\n",
        "one later": "processor\t: 0\ncpu MHz\t: 3100.000\nflags\t: fpu sse avx2\n",
        "other": "processor\t: 0\ncpu MHz\t: 2400.000\nflags\t: fpu sse avx2 avx512f\n",
        "newer": "processor\t: 0\ncpu family\t: 6\nmodel\t\t: 198\nmodel name\t: Intel\nflags\t: fpu sse avx2\n",
        "newest": "processor\t: 0\ncpu family\t: 6\nmodel\t\t: 204\nmodel name\t: Intel\nflags\t: fpu sse avx2\n",
        "arm": "processor\t: 0\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n",
        "another arm": "processor\t: 0\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\nCPU part\t: 0xd40\n",
    }
    names = {}
    for machine, text in machines.items():
        (tmp_path / machine).write_text(text)
        names[machine] = library_name("cc", tmp_path / machine)
    assert names["one"] == names["one later"]
    assert len(set(names.values())) == 6
    assert len({library_name("cc"), library_name("clang"), library_name()}) == 3
