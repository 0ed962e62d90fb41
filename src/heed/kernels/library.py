"""Load the compiled C files of this folder: the library installed with heed, or one compiled once for each machine."""

import ctypes
import functools
import os
import platform
import shutil
import stat
import tempfile
import warnings
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from heed.cache import cache_folder, is_private
from heed.durable import checksum, sync_folder
from heed.processor import instructions

if TYPE_CHECKING:
    from torch import Tensor

SOURCES = Path(__file__).parent
# Sums may be computed in any order, as in PyTorch's own kernels; NaN and infinity keep their meaning.
_FLAGS = ["-std=c11", "-O3", "-shared", "-fPIC", "-pthread", "-ffp-contract=fast", "-fno-math-errno"]
_FLAGS += ["-fno-trapping-math", "-fno-signed-zeros", "-fassociative-math"]
_NATIVE, _WIDE, _WITHOUT_TILES = "-march=native", "-mprefer-vector-width=512", "-DWITHOUT_TILES"
# Not every compiler knows every flag, and not every assembler the instructions of AMX.
_MACHINE_FLAGS = [[_NATIVE, _WIDE], [_NATIVE, _WIDE, _WITHOUT_TILES], [_NATIVE, _WITHOUT_TILES], ["-mcpu=native"], []]

_POINTER, _NUMBER, _FLOAT = ctypes.c_void_p, ctypes.c_long, ctypes.c_float
_MASK = [_POINTER, _NUMBER, _NUMBER, _FLOAT]  # seeds, site, dropped, scale
_ARGUMENTS = {  # as declared in the C files
    "heed_bf16_multiply": [_POINTER, _NUMBER, *[_POINTER] * 2, *[_NUMBER] * 4, _POINTER],
    "heed_bf16_pack": [_POINTER, *[_NUMBER] * 3, _POINTER],
    "heed_bf16_use": [_NUMBER],
    "heed_bf16_ways": [_POINTER],
    "heed_decode": [*[_POINTER] * 6, *[_NUMBER] * 5, *[_POINTER] * 4, _NUMBER],
    "heed_encode": [*[_POINTER] * 3, *[_NUMBER] * 2, *[_POINTER] * 4, _NUMBER],
    "heed_float32_linear": [*[_POINTER] * 4, *[_NUMBER] * 3],
    "heed_best_continuations": [*[_POINTER] * 2, *[_NUMBER] * 3, _POINTER, _NUMBER, _NUMBER, *[_POINTER] * 3],
    "heed_dropout_add": [*[_POINTER] * 3, *[_NUMBER] * 2, *_MASK],
    "heed_dropout_add_norm": [*[_POINTER] * 8, _NUMBER, _NUMBER, _FLOAT, *_MASK],
    "heed_dropout_add_norm_backward": [*[_POINTER] * 12, *[_NUMBER] * 2, *_MASK],
    "heed_int8_linear": [*[_POINTER] * 5, *[_NUMBER] * 3, _POINTER],
    "heed_relu": [*[_POINTER] * 2, *[_NUMBER] * 2],
    "heed_relu_backward": [*[_POINTER] * 4, *[_NUMBER] * 2],
    "heed_varlen": [*[_POINTER, *[_NUMBER] * 2] * 4, _POINTER, _POINTER, _NUMBER, _POINTER],
    "heed_varlen_backward": [*[_POINTER, *[_NUMBER] * 2] * 7, *[_POINTER] * 3],
    "heed_softmax_less_gold": [*[_POINTER] * 5, _NUMBER, _NUMBER, _FLOAT],
    "heed_two_views": [*[_POINTER] * 8, _NUMBER, _NUMBER, *[_FLOAT] * 3],
}


def kernels(*tensors: "Tensor") -> ctypes.CDLL | None:
    """Return the compiled kernels if there are any and these tensors are float32 on the CPU; otherwise None."""
    if all(tensor.is_cpu and tensor.is_floating_point() and tensor.itemsize == 4 for tensor in tensors):
        return library()
    return None


@functools.cache
def library() -> ctypes.CDLL | None:
    """Return the compiled kernels; None: there are none and no compiler that works, or HEED_KERNELS=off is set."""
    if os.environ.get("HEED_KERNELS") == "off":
        return None
    if (installed := _installed()) is not None:
        return installed
    compiler = _compiler()
    if compiler is None:
        return None
    try:
        return _loaded(compiler)
    except OSError as error:
        warnings.warn(f"heed's kernels cannot be used: {error}; {_without_kernels()}", stacklevel=2)
        return None


def _without_kernels() -> str:
    if find_spec("torch") is None:
        return "without them, heed needs PyTorch, which is not installed: pip install 'heed[train]'"
    return "PyTorch's slower kernels are used instead; set HEED_KERNELS=off to silence this warning"


def library_path() -> Path | None:
    """Return the file of the compiled kernels; None: there are none, or they are compiled at every start."""
    found = library()
    path = None if found is None else Path(found._name)
    return path if path is not None and path.exists() else None


def build(folder: Path) -> Path:
    """Compile the library that a wheel installs with heed, for the processor of this machine; return its file.

    Raises:
        OSError: it cannot be compiled or loaded, or this system does not say which instructions its processor has.
    """
    compiler = _compiler()
    if compiler is None:
        raise OSError("there is no C compiler")
    if not instructions():
        raise OSError("this system does not say which instructions its processor has")
    compiled = folder / "compiled.so"
    _compile(compiler, compiled)
    _opened(compiled)
    return compiled.rename(_path(folder, library_name(), compiled.read_bytes()))


def _compiler() -> str | None:
    return next(filter(None, map(shutil.which, (os.environ.get("CC", "cc"), "gcc", "clang"))), None)


def _installed() -> ctypes.CDLL | None:
    """Load the library in this folder; None: there is none, or it is damaged or was built for something else.

    Other users may own it: whoever can write here can change heed itself.
    """
    for path in SOURCES.glob("kernels-*.so"):
        with suppress(OSError):  # it is linked against another system's libraries
            if path == _path(SOURCES, library_name(), path.read_bytes()):
                return _opened(path)
    return None


def _loaded(compiler: str) -> ctypes.CDLL:
    """Load the cached library, or compile and cache one.

    Raises:
        OSError: it cannot be compiled or loaded.
    """
    name, folder = library_name(compiler), _private_folder()
    if folder is not None and (cached := _cached(folder, name)) is not None:
        try:
            return _opened(cached)
        except OSError:  # it lacks our functions, or is linked against another system's libraries
            with suppress(OSError):  # the cache can only be read
                cached.unlink()
    with tempfile.TemporaryDirectory(prefix="heed-") as temporary:
        compiled = Path(temporary) / f"{name}.so"
        _compile(compiler, compiled)
        if folder is not None and (cached := _store(compiled, folder, name)) is not None:
            try:
                return _opened(cached)
            except OSError:  # a file system mounted noexec
                pass
        return _opened(compiled)


def _opened(path: Path) -> ctypes.CDLL:
    """Load a library and declare the types of its functions.

    Raises:
        OSError: it cannot be loaded, or a function is missing.
    """
    found = ctypes.CDLL(str(path))
    for name, arguments in _ARGUMENTS.items():
        try:
            function = getattr(found, name)
        except AttributeError:
            raise OSError(f"{path} has no function {name}") from None
        function.argtypes, function.restype = arguments, None
    return found


def _compile(compiler: str, out: Path) -> None:
    import subprocess  # only here: most starts find the library in the cache

    sources = map(str, sorted(SOURCES.glob("*.c")))
    command = [compiler, *_FLAGS, *sources, "-o", str(out), "-lm"]
    for machine_flags in _MACHINE_FLAGS:
        done = subprocess.run([*command, *machine_flags], capture_output=True, text=True, errors="replace")
        if done.returncode == 0 and out.exists():
            return
    said = done.stderr.strip().splitlines() or [f"no error message, exit code {done.returncode}"]
    raise OSError(f"{compiler} cannot compile them: {said[0]}")


# --- the cache --------------------------------------------------------------------------------------------

# Loading a library runs its code. So the cache is private to the user, and each file's name ends with a checksum of its
# content: neither another user's file nor a damaged one is ever loaded.


def library_name(compiler: str = "", cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """Name a library by everything it depends on, including the processor: machines may share a wheel or a home.

    An installed library is named without its compiler: it is also for machines that have none.
    """
    made_from = [path.read_bytes() for path in sorted(SOURCES.glob("*.[ch]"))]
    processor = platform.machine(), instructions(cpuinfo) or platform.platform()
    made_from += [repr((compiler, _FLAGS, _MACHINE_FLAGS, *processor)).encode()]
    return f"kernels-{checksum(b'|'.join(made_from))[:16]}"


def _private_folder() -> Path | None:
    """Return the cache folder; None, with a warning, if there is none, or if other users can write to it."""
    folder = cache_folder()
    if folder is None:
        _warn_not_cached(
            "the cache folder, ~/.cache/heed, cannot be created", "set XDG_CACHE_HOME to a folder of yours"
        )
    elif not is_private(folder.stat()):
        _warn_not_cached(
            f"{folder}: belongs to another user or can be written to by others",
            "make it private (chown, chmod 700), or set XDG_CACHE_HOME to another folder",
        )
        return None
    return folder


def _warn_not_cached(why: str, remedy: str) -> None:
    what = "so heed's kernels are compiled at every start, which takes seconds"
    warnings.warn(f"{why}, {what}; {remedy}", stacklevel=2)


def _cached(folder: Path, name: str) -> Path | None:
    """Return a cached library that is intact and private to this user."""
    for path in sorted(folder.glob(f"{name}-*.so")):
        try:
            state = path.lstat()
            if stat.S_ISREG(state.st_mode) and is_private(state) and path == _path(folder, name, path.read_bytes()):
                return path
        except OSError:  # another process has just removed it
            continue
    return None


def _store(compiled: Path, folder: Path, name: str) -> Path | None:
    """Copy a library into the cache atomically and return its path; None, with a warning: it cannot be written."""
    content = compiled.read_bytes()
    path = _path(folder, name, content)
    try:
        descriptor, fresh = tempfile.mkstemp(prefix=f"{name}-", dir=folder)
        try:
            with open(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(fresh, path)
            sync_folder(folder)
        except BaseException:
            Path(fresh).unlink(missing_ok=True)
            raise
        for other in folder.glob(f"{name}-*"):  # damaged, or left behind by a killed process
            if other != path:
                other.unlink(missing_ok=True)
    except OSError as error:  # the disk is full, or another process was faster and has removed the fresh file
        if (cached := _cached(folder, name)) is None:
            remedy = "make it a folder that you can write to, or set XDG_CACHE_HOME to another folder"
            _warn_not_cached(f"{folder}: cannot be written ({error.strerror})", remedy)
        return cached
    return path


def _path(folder: Path, name: str, content: bytes) -> Path:
    return folder / f"{name}-{checksum(content)[:16]}.so"
