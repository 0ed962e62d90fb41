"""Compile the C files beside this one, once for each machine, and load them."""

import ctypes
import functools
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

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
        found = _loaded(compiler)
    except OSError as error:
        hint = "PyTorch's own loops do the work, slower; HEED_KERNELS=off to do without this message"
        warnings.warn(f"heed's kernels cannot be used: {error}; {hint}", stacklevel=2)
        return None
    for name, arguments in _ARGUMENTS.items():
        getattr(found, name).argtypes = arguments
        getattr(found, name).restype = None
    return found


def _loaded(compiler: str) -> ctypes.CDLL:
    """The shared library of an earlier time, if nothing it was made from has changed; or a new one.

    Raises:
        OSError: it cannot be made.
    """
    made_from = [path.read_bytes() for path in sorted(SOURCES.glob("*.[ch]"))]
    made_from += [repr((compiler, _FLAGS, _FOR_THIS_MACHINE, _processor())).encode()]
    name = f"kernels-{hashlib.sha256(b'|'.join(made_from)).hexdigest()[:16]}.so"
    kept = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "heed" / name
    try:
        return ctypes.CDLL(str(kept))
    except OSError:  # not there yet, or damaged
        pass
    with tempfile.TemporaryDirectory(prefix="heed-") as own:
        made = Path(own) / name
        _compile(compiler, made)
        try:
            kept.parent.mkdir(parents=True, exist_ok=True)
            copied = kept.with_suffix(f".{os.getpid()}")
            shutil.copyfile(made, copied)
            os.replace(copied, kept)  # whole or not at all, whoever else is making it
        except OSError:  # no home, or one that cannot be written to: it is made again the next time
            return ctypes.CDLL(str(made))
        return ctypes.CDLL(str(kept))


def _compile(compiler: str, out: Path) -> None:
    sources = map(str, sorted(SOURCES.glob("*.c")))
    command = [compiler, *_FLAGS, *sources, "-o", str(out), "-lm"]
    for machine in _FOR_THIS_MACHINE:  # not every compiler knows every option
        done = subprocess.run([*command, *machine], capture_output=True, text=True, errors="replace")
        if done.returncode == 0:
            return
    raise OSError(f"{compiler} cannot compile them: {(done.stderr.strip().splitlines() or ['no word why'])[0]}")


def _processor() -> str:
    """What was made for one processor may not run on another that shares the home folder."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.platform() + platform.processor()
    return platform.machine() + next((line for line in lines if line.startswith(("flags", "Features"))), "")
