"""Compile the C files beside this one, once for each machine, and load them."""

import ctypes
import functools
import os
import platform
import shutil
import stat
import subprocess
import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from heed.cache import cache_folder, is_private
from heed.durable import checksum, sync_folder

if TYPE_CHECKING:
    from torch import Tensor

SOURCES = Path(__file__).parent
# Sums may be made in any order, as in PyTorch's own kernels; what is not a number stays what it is.
_FLAGS = ["-std=c11", "-O3", "-shared", "-fPIC", "-ffp-contract=fast", "-fno-math-errno", "-fno-trapping-math"]
_FLAGS += ["-fno-signed-zeros", "-fassociative-math"]
_FOR_THIS_MACHINE = [["-march=native", "-mprefer-vector-width=512"], ["-march=native"], ["-mcpu=native"], []]

_POINTER, _NUMBER, _FLOAT = ctypes.c_void_p, ctypes.c_long, ctypes.c_float
_MASK = [_POINTER, _NUMBER, _NUMBER, _FLOAT]  # seeds, site, dropped, scale
_ARGUMENTS = {  # as the C files have them
    "heed_decode": [*[_POINTER] * 5, *[_NUMBER] * 5, *[_POINTER] * 2],
    "heed_best_continuations": [*[_POINTER] * 2, *[_NUMBER] * 3, _POINTER, _NUMBER, _NUMBER, *[_POINTER] * 3],
    "heed_dropout_add": [*[_POINTER] * 3, *[_NUMBER] * 2, *_MASK],
    "heed_dropout_add_norm": [*[_POINTER] * 8, _NUMBER, _NUMBER, _FLOAT, *_MASK],
    "heed_dropout_add_norm_back": [*[_POINTER] * 12, *[_NUMBER] * 2, *_MASK],
    "heed_int8_product": [*[_POINTER] * 4, *[_NUMBER] * 3, _POINTER],
    "heed_relu": [*[_POINTER] * 2, *[_NUMBER] * 2],
    "heed_relu_back": [*[_POINTER] * 4, *[_NUMBER] * 2],
    "heed_varlen": [*[_POINTER, *[_NUMBER] * 2] * 4, _POINTER, _POINTER, _NUMBER, _POINTER],
    "heed_varlen_backward": [*[_POINTER, *[_NUMBER] * 2] * 7, *[_POINTER] * 3],
    "heed_softmax_less_gold": [*[_POINTER] * 5, _NUMBER, _NUMBER, _FLOAT],
}


def kernels(*tensors: "Tensor") -> ctypes.CDLL | None:
    """The compiled kernels, if they are there and these tensors are of the kind they are for."""
    if all(tensor.is_cpu and tensor.is_floating_point() and tensor.itemsize == 4 for tensor in tensors):
        return library()
    return None


@functools.cache
def library() -> ctypes.CDLL | None:
    """The compiled kernels; None where there is no compiler, or where HEED_KERNELS=off says to do without."""
    if os.environ.get("HEED_KERNELS") == "off":
        return None
    compiler = next(filter(None, map(shutil.which, (os.environ.get("CC", "cc"), "gcc", "clang"))), None)
    if compiler is None:
        return None
    try:
        return _loaded(compiler)
    except OSError as error:
        hint = "PyTorch's own loops do the work, slower; HEED_KERNELS=off to do without this message"
        warnings.warn(f"heed's kernels cannot be used: {error}; {hint}", stacklevel=2)
        return None


def _loaded(compiler: str) -> ctypes.CDLL:
    """Load the library that an earlier process has cached, or compile it and cache it.

    Raises:
        OSError: it cannot be compiled or loaded.
    """
    name, folder = cache_name(compiler), _own_folder()
    if folder is not None and (cached := _cached(folder, name)) is not None:
        try:
            return _opened(cached)
        except OSError:  # without our functions, or linked against another system's libraries
            cached.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(prefix="heed-") as own:
        made = Path(own) / f"{name}.so"
        _compile(compiler, made)
        if folder is not None and (cached := _keep(made, folder, name)) is not None:
            try:
                return _opened(cached)
            except OSError:  # a file system that nothing may be run from
                pass
        return _opened(made)


def _opened(path: Path) -> ctypes.CDLL:
    found = ctypes.CDLL(str(path))
    for name, arguments in _ARGUMENTS.items():
        try:
            function = getattr(found, name)
        except AttributeError:
            raise OSError(f"{path} has no function {name}") from None
        function.argtypes, function.restype = arguments, None
    return found


def _compile(compiler: str, out: Path) -> None:
    sources = map(str, sorted(SOURCES.glob("*.c")))
    command = [compiler, *_FLAGS, *sources, "-o", str(out), "-lm"]
    for machine in _FOR_THIS_MACHINE:  # not every compiler knows every option
        done = subprocess.run([*command, *machine], capture_output=True, text=True, errors="replace")
        if done.returncode == 0:
            return
    raise OSError(f"{compiler} cannot compile them: {(done.stderr.strip().splitlines() or ['no word why'])[0]}")


# --- the cache --------------------------------------------------------------------------------------------

# Loading a library runs its code, so the cache is one user's own, and each file's name ends with a checksum of its
# content: neither a file that somebody else put there nor a damaged one is ever loaded.


def cache_name(compiler: str, cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """Name a library by all that it is made from, the processor included: machines may share a home folder."""
    made_from = [path.read_bytes() for path in sorted(SOURCES.glob("*.[ch]"))]
    made_from += [repr((compiler, _FLAGS, _FOR_THIS_MACHINE, _processor(cpuinfo))).encode()]
    return f"kernels-{checksum(b'|'.join(made_from))[:16]}"


def _processor(cpuinfo: Path) -> str:
    try:
        lines = cpuinfo.read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.platform() + platform.processor()
    return platform.machine() + next((line for line in lines if line.startswith(("flags", "Features"))), "")


def _own_folder() -> Path | None:
    """Return the cache folder; None where there is none that can be trusted with code."""
    folder = cache_folder()
    if folder is None or is_private(folder.stat()):
        return folder
    warnings.warn(
        f"{folder}: belongs to another user or can be written to by others, so heed's kernels are compiled at every "
        "start; make it your own (chmod 700), or name another folder with XDG_CACHE_HOME",
        stacklevel=2,
    )
    return None


def _cached(folder: Path, name: str) -> Path | None:
    """Find a cached library that is whole and this user's own."""
    for path in sorted(folder.glob(f"{name}-*.so")):
        try:
            state = path.lstat()
            if stat.S_ISREG(state.st_mode) and is_private(state) and path == _place(folder, name, path.read_bytes()):
                return path
        except OSError:  # another process has just removed it
            continue
    return None


def _keep(made: Path, folder: Path, name: str) -> Path | None:
    """Copy a library into the cache, whole or not at all; None where that cannot be done."""
    content = made.read_bytes()
    place = _place(folder, name, content)
    try:
        descriptor, fresh = tempfile.mkstemp(prefix=f"{name}-", dir=folder)
        try:
            with open(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(fresh, place)
            sync_folder(folder)
        except BaseException:
            Path(fresh).unlink(missing_ok=True)
            raise
        for other in folder.glob(f"{name}-*"):  # damaged, or left behind by a process that was killed here
            if other != place:
                other.unlink(missing_ok=True)
    except OSError:  # a full disk; or another process was first, and has removed the fresh file
        return _cached(folder, name)
    return place


def _place(folder: Path, name: str, content: bytes) -> Path:
    return folder / f"{name}-{checksum(content)[:16]}.so"
