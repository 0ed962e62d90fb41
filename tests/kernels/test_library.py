"""Compiling: once, for everybody, and never in the way of anything."""

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

SHOW = "from heed.kernels.library import library; found = library(); print(found._name if found else None)"


def show(**environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", SHOW], env={**os.environ, **environment}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


needs_compiler = pytest.mark.skipif(not (shutil.which("cc") or shutil.which("gcc")), reason="no compiler")


@needs_compiler
def test_it_is_compiled_once_and_kept(tmp_path):
    with ThreadPoolExecutor() as pool:  # several at the same time
        first = list(pool.map(lambda _: show(XDG_CACHE_HOME=str(tmp_path)), range(3)))
    assert len(set(first)) == 1
    assert [str(path) for path in (tmp_path / "heed").iterdir()] == first[:1]  # and nothing else is left
    made = Path(first[0]).stat().st_mtime_ns
    assert show(XDG_CACHE_HOME=str(tmp_path)) == first[0]
    assert Path(first[0]).stat().st_mtime_ns == made


def test_without_a_compiler_there_are_no_kernels(tmp_path):
    assert show(PATH=str(tmp_path), XDG_CACHE_HOME=str(tmp_path)) == "None"


def test_they_can_be_switched_off():
    assert show(HEED_KERNELS="off") == "None"


def test_a_compiler_that_cannot_is_like_none_and_that_is_said(tmp_path):
    broken = tmp_path / "cc"
    broken.write_text("#!/bin/sh\necho no room left >&2\nexit 1\n")
    broken.chmod(0o755)
    environment = {**os.environ, "CC": str(broken), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = subprocess.run([sys.executable, "-c", SHOW], env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, "None")
    assert "heed's kernels cannot be used" in done.stderr and "no room left" in done.stderr


@needs_compiler
def test_a_home_that_cannot_be_written_to_is_no_obstacle(tmp_path):
    (tmp_path / "file").touch()
    found = show(XDG_CACHE_HOME=str(tmp_path / "file"), TMPDIR=str(tmp_path))
    assert found.startswith(str(tmp_path)) and found.endswith(".so")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]  # nothing is left behind


@needs_compiler
def test_a_damaged_library_is_made_again(tmp_path):
    path = Path(show(XDG_CACHE_HOME=str(tmp_path)))
    whole = path.read_bytes()
    path.write_bytes(b"damaged")
    assert show(XDG_CACHE_HOME=str(tmp_path)) == str(path)
    assert path.read_bytes()[:4] == whole[:4]
