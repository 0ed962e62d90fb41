"""A wheel has the library of the machine that built it, which others do not load; without a compiler it has none."""

import os
import runpy
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from heed.kernels import library as code
from heed.kernels.library import library_name
from heed.processor import instructions

ROOT = Path(__file__).parents[2]
COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
SHOW = "from heed.kernels.library import library; found = library(); print(found._name if found else None)"

pytestmark = pytest.mark.skipif(not instructions(), reason="needs a system that names its processor's instructions")


def make(target: str, folder: Path, **environment: str) -> tuple[Path, str]:
    """Build a wheel or an sdist without a network; return it, and what was said."""
    command = [sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", str(folder)]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (path,) = folder.iterdir()
    return path, done.stdout + done.stderr


def libraries(wheel: Path) -> list[str]:
    return [name for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".so")]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if COMPILER is None:
        pytest.skip("no compiler")
    return make("wheel", tmp_path_factory.mktemp("wheel"))[0]


@pytest.fixture
def installed(wheel: Path, tmp_path: Path) -> Path:
    """The library of the wheel, installed with the code that loads it."""
    site = tmp_path / "site"
    with zipfile.ZipFile(wheel) as content:
        content.extractall(site, [name for name in content.namelist() if name.count("/") == 1 or "/kernels/" in name])
    (path,) = (site / "heed" / "kernels").glob("*.so")
    return path


def loaded(installed: Path, **environment: str) -> str:
    """Load the kernels from there with an empty cache and no compiler; `environment` may name one."""
    home = installed.parents[3]
    environment = {"PATH": "", "CC": "none", "XDG_CACHE_HOME": str(home / "cache"), **environment}
    done = subprocess.run(
        [sys.executable, "-c", SHOW],
        cwd=home,
        env={**os.environ, "PYTHONPATH": str(installed.parents[2]), **environment},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.strip()


def test_a_wheel_with_the_library_is_for_one_platform_and_any_python_3(wheel):
    assert wheel.name.startswith("heed-") and wheel.stem.split("-")[2:4] == ["py3", "none"]
    assert wheel.stem.split("-")[4].startswith("linux_")
    (name,) = libraries(wheel)
    assert name.startswith(f"heed/kernels/{library_name()}-")
    (about,) = [name for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".dist-info/WHEEL")]
    assert "Root-Is-Purelib: false" in zipfile.ZipFile(wheel).read(about).decode()


def test_it_is_used_without_a_compiler(installed, tmp_path):
    assert loaded(installed) == str(installed)
    assert list(tmp_path.glob("cache/heed/*")) == []


def test_it_is_used_rather_than_compiled(installed, tmp_path):
    assert loaded(installed, CC=str(COMPILER)) == str(installed)
    assert list(tmp_path.glob("cache/heed/*")) == []


def test_it_may_belong_to_another_user(installed):
    """In site-packages it often does, as heed's code does."""
    installed.chmod(0o666)
    if os.geteuid() == 0:
        os.chown(installed, 65534, 65534)
    assert loaded(installed) == str(installed)


def test_it_can_be_switched_off(installed):
    assert loaded(installed, HEED_KERNELS="off") == "None"


def renamed(path: Path, name: str) -> None:
    """Give the intact library another name before its checksum."""
    path.rename(path.with_name(f"{name}-{path.stem.rsplit('-', 1)[1]}.so"))


def for_another_processor(path: Path) -> None:
    cpuinfo = path.with_name("cpuinfo")
    cpuinfo.write_text("flags\t: fpu avx1024\n")
    renamed(path, library_name(cpuinfo=cpuinfo))


def of_the_cache(path: Path) -> None:
    renamed(path, library_name(str(COMPILER)))


def of_other_sources(path: Path) -> None:
    with path.with_name("relu.c").open("a") as file:
        file.write("/* changed */\n")


def cut(path: Path) -> None:
    os.truncate(path, 4096)


def one_bit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 1
    path.write_bytes(content)


def without_our_functions(path: Path) -> None:
    subprocess.run([str(COMPILER), "-shared", "-x", "c", "/dev/null", "-o", path], check=True)
    path.rename(code._path(path.parent, library_name(), path.read_bytes()))


@pytest.mark.parametrize(
    "spoil", [for_another_processor, of_the_cache, of_other_sources, cut, one_bit, without_our_functions]
)
def test_another_or_a_damaged_one_is_not_used(installed: Path, spoil: Callable[[Path], None], tmp_path: Path) -> None:
    compiler = tmp_path / "cc"  # one that takes no time
    shutil.copy(installed, tmp_path / "compiled")
    compiler.write_text(f'#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\n/bin/cat "{tmp_path}/compiled" > "$2"\n')
    compiler.chmod(0o755)
    spoil(installed)
    assert loaded(installed) == "None"
    assert Path(loaded(installed, CC=str(compiler))).parent == tmp_path / "cache" / "heed"


@pytest.mark.parametrize(
    ("compiler", "reason"),
    [
        pytest.param(None, "there is no C compiler", id="none"),
        pytest.param("echo no room left >&2\nexit 1\n", "cannot compile them: no room left", id="refuses"),
        pytest.param(
            'while [ "$1" != -o ]; do shift; done\nprintf "\\177ELF" > "$2"\n', "file too short", id="writes a part"
        ),
    ],
)
def test_without_a_compiler_that_works_there_is_a_wheel_for_any_platform(tmp_path, compiler, reason):
    broken = tmp_path / "cc"
    if compiler is not None:
        broken.write_text(f"#!/bin/sh\n{compiler}")
        broken.chmod(0o755)
    wheel, said = make("wheel", tmp_path / "wheel", CC=str(broken), PATH="")
    assert wheel.name.endswith("-py3-none-any.whl") and libraries(wheel) == []
    (line,) = [line for line in said.splitlines() if "no compiled kernels" in line]
    assert reason in line


def test_an_editable_install_has_no_library(tmp_path):
    hook = runpy.run_path(str(ROOT / "hatch_build.py"))["KernelsHook"](
        str(ROOT), {}, None, None, str(tmp_path), "wheel"
    )
    build_data = {"force_include": {}}
    hook.initialize("editable", build_data)
    hook.finalize("editable", build_data, str(tmp_path / "some.whl"))
    assert build_data == {"force_include": {}}


def test_where_the_processor_is_unknown_nothing_is_compiled_for_it(tmp_path, monkeypatch):
    """Such a library could have the same name on a machine that cannot run it."""
    monkeypatch.setattr(code, "instructions", lambda: "")
    monkeypatch.setattr(code, "_compiler", lambda: "cc")
    with pytest.raises(OSError, match="does not say which instructions"):
        code.build(tmp_path)


def test_the_sources_that_a_wheel_is_built_from_have_the_hook(tmp_path):
    with tarfile.open(make("sdist", tmp_path)[0]) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    assert {"hatch_build.py", "src/heed/kernels/library.py", "src/heed/kernels/relu.c"} <= names
