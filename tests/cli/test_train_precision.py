"""`heed train` in bfloat16, on a processor whose instructions may not do what they claim.

Some virtual machines claim AMX and do not describe it; PyTorch's oneDNN then builds code that dies of SIGILL. Here, a
library put before the C library plays that part: it raises SIGILL when oneDNN asks which instructions it may use, which
it does before its first product, in whatever process that is.

heed's own kernels are compiled by a compiler that adds a definition: tiles (AMX) that the processor seems to offer, and
that fault, or are emulated, rightly or wrongly.
"""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest
import torch

import heed.kernels
from tests.cli.conftest import COMMAND, ENVIRONMENT, Done, settings

KERNELS = Path(heed.kernels.__file__).parent
EMULATED = Path(__file__).parents[1] / "kernels" / "emulated_tiles.h"
BFLOAT16 = settings(train__precision="bfloat16", train__max_steps=4, train__save_every=2, train__validate_every=4)
VARIABLE = "ONEDNN_MAX_CPU_ISA"
SOURCE = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <string.h>

char *getenv(const char *name) {
    static char *(*in_libc)(const char *);
    if (!in_libc) in_libc = (char *(*)(const char *))dlsym(RTLD_NEXT, "getenv");
    char *value = in_libc(name);
    if (!strcmp(name, "ONEDNN_MAX_CPU_ISA") && (ALWAYS || !value || strcmp(value, "AVX512_CORE_BF16"))) raise(SIGILL);
    return value;
}
"""


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Simulate two processors: one whose AMX is broken, and one on which all bfloat16 is broken."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    has = torch.cpu.get_capabilities()
    if compiler is None or not (has.get("avx512_bf16") or has.get("amx_bf16")):
        pytest.skip("needs a C compiler, and a processor with bfloat16 products")
    folder = tmp_path_factory.mktemp("broken")
    (folder / "getenv.c").write_text(SOURCE)
    for name, always in (("amx", 0), ("all", 1)):
        options = ["-shared", "-fPIC", f"-DALWAYS={always}", folder / "getenv.c", "-o", folder / f"{name}.so", "-ldl"]
        subprocess.run([compiler, *options], check=True)
    return {name: str(folder / f"{name}.so") for name in ("amx", "all")}


def train(*arguments: object, preloaded: str | None = None) -> Done:
    """Run the command without heed's own kernels, so that the products are oneDNN's."""
    environment = {key: value for key, value in ENVIRONMENT.items() if key != VARIABLE} | {"HEED_KERNELS": "off"}
    if preloaded is not None:
        environment["LD_PRELOAD"] = preloaded
    done = subprocess.run([COMMAND, *map(str, arguments)], env=environment, capture_output=True, timeout=120)
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


TILES = {
    "faulting": """
#define tiles_offered really_offered
#include "tiles.h"
#undef tiles_offered
static int tiles_offered(void) { return really_offered() || 1; }
""",
    "emulated": f'#include "{EMULATED}"\n',
    "wrong": f"""
#define tile_zero right_zero
#include "{EMULATED}"
#undef tile_zero
static void tile_zero(int t) {{ right_zero(t), tile(t)->sums[3][5] = 1e4f; }}
""",
}


@pytest.fixture(scope="module")
def compilers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return compilers that build kernels for processors with these tiles."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or not torch.cpu.get_capabilities().get("avx512_bf16"):
        pytest.skip("needs a C compiler, and a processor with AVX512-BF16")
    if torch.cpu.get_capabilities().get("amx_bf16"):
        pytest.skip("needs a processor whose tiles fault")
    folder, found = tmp_path_factory.mktemp("compilers"), {}
    for name, header in TILES.items():
        (folder / f"{name}.h").write_text(header)
        found[name] = folder / name
        found[name].write_text(
            f"""#!/bin/sh\nexec {compiler} '-DTILES_HEADER="{folder}/{name}.h"' -I{KERNELS} "$@"\n"""
        )
        found[name].chmod(0o700)
    return found


def train_with(compiler: Path | None, cache: Path, *arguments: object) -> Done:
    environment = {**ENVIRONMENT, "XDG_CACHE_HOME": str(cache), "HEED_KERNELS": "on"}  # even if the suite is without
    if compiler is not None:
        environment["CC"] = str(compiler)
    done = subprocess.run([COMMAND, *map(str, arguments)], env=environment, capture_output=True, timeout=300)
    return Done(done.returncode, done.stdout.decode(), " ".join(done.stderr.decode().split()))


@pytest.mark.parametrize(("tiles", "fault"), [("faulting", "AMX died of SIGILL"), ("wrong", "AMX failed (Arithm")])
def test_tiles_that_do_not_work_are_not_used(
    train_arguments: list[object], compilers: dict[str, Path], tmp_path: Path, tiles: str, fault: str
) -> None:
    done = train_with(compilers[tiles], tmp_path / "cache", *train_arguments, *BFLOAT16, "--out", tmp_path / "run")
    assert done.code == 0, done.err
    assert done.err.count(f"bfloat16 products: {fault}") == 1
    assert done.err.count("on this CPU, so they use AVX512-BF16") == 1


def test_a_resume_with_other_instructions_is_announced(
    train_arguments: list[object], compilers: dict[str, Path], tmp_path: Path
) -> None:
    run = tmp_path / "run"
    done = train_with(compilers["emulated"], tmp_path / "cache", *train_arguments, *BFLOAT16, "--out", run)
    assert done.code == 0 and "so they use" not in done.err, done.err
    resumed = train_with(None, tmp_path / "cache", "train", "--resume", run, "--set", "train.max_steps=6")
    assert resumed.code == 0, resumed.err
    assert "environment changed (bfloat16 products AMX → AVX512-BF16)" in resumed.err


def content(folder: Path) -> dict[str, tuple[int, str]]:
    """Return the time and checksum of every file."""
    return {
        str(path.relative_to(folder)): (path.stat().st_mtime_ns, hashlib.sha256(path.read_bytes()).hexdigest())
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_broken_amx_is_disabled_with_a_message(
    train_arguments: list[object], broken: dict[str, str], tmp_path: Path
) -> None:
    done = train(*train_arguments, *BFLOAT16, "--out", tmp_path / "run", preloaded=broken["amx"])
    assert done.code == 0, done.err
    said = " ".join(done.err.split())
    assert said.count(f"so they are disabled ({VARIABLE}=AVX512_CORE_BF16)") == 1
    # On a machine without any working bfloat16, the run is refused and not changed.
    before = content(tmp_path / "run")
    refused = train("train", "--resume", tmp_path / "run", "--set", "train.max_steps=6", preloaded=broken["all"])
    assert refused.code == 2 and "died of SIGILL" in refused.err
    assert content(tmp_path / "run") == before


def test_broken_bfloat16_is_refused_before_a_folder_is_made(
    train_arguments: list[object], broken: dict[str, str], tmp_path: Path
) -> None:
    done = train(*train_arguments, *BFLOAT16, "--out", tmp_path / "run", preloaded=broken["all"])
    assert done.code == 2
    assert 'train.precision = "bfloat16" does not suit this device (cpu): a trial product died of SIGILL' in done.err
    assert f"with {VARIABLE}=AVX512_CORE_BF16; use float32" in done.err
    assert os.listdir(tmp_path) == []
