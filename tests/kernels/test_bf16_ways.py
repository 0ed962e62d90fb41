"""Check how the instructions for bfloat16 are chosen: tried in a separate process first, and remembered."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from heed.kernels import bf16_ways
from heed.kernels.bf16_ways import fault_of

needs_bfloat16 = pytest.mark.skipif(not bf16_ways.ways(), reason="needs a C compiler and a processor with AVX512-BF16")


@pytest.fixture
def untried(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Forget what was found on this machine."""
    monkeypatch.setattr(bf16_ways, "library_path", lambda: Path("installed/kernels-1-2.so"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for function in (bf16_ways._trials, bf16_ways.chosen):
        function.cache_clear()
    yield
    for function in (bf16_ways._trials, bf16_ways.chosen):
        function.cache_clear()


def test_trials_are_remembered_on_this_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, untried: None) -> None:
    tried: list[str] = []
    outcomes = iter(["died of SIGILL", *[None] * 5])
    monkeypatch.setattr(bf16_ways, "fault_of", lambda program, way: tried.append(way) or next(outcomes))
    monkeypatch.setattr(bf16_ways, "ways", lambda: ("AMX", "AVX512-BF16"))
    trials = bf16_ways._trials.__wrapped__
    expected = {"AMX": "died of SIGILL", "AVX512-BF16": None}
    assert [trials(), trials()] == [expected, expected] and tried == ["AMX", "AVX512-BF16"]
    (note,) = (tmp_path / "heed").iterdir()
    assert note.name == "kernels-1-2.bf16.json"
    note.write_text("{")  # damaged: tried again
    assert [trials(), trials()] == [{"AMX": None}, {"AMX": None}] and len(tried) == 3
    monkeypatch.setattr(bf16_ways.platform, "node", lambda: "another machine")
    assert trials() == {"AMX": None} and len(tried) == 4
    note.parent.chmod(0o777)  # another user may have written the note
    assert trials() == trials() and len(tried) == 6


@pytest.mark.parametrize("fault", [f"took more than {bf16_ways._TRIAL_SECONDS} seconds", "died of SIGKILL"])
def test_a_trial_on_a_busy_machine_is_made_again(monkeypatch: pytest.MonkeyPatch, untried: None, fault: str) -> None:
    outcomes = iter([fault, None, None])
    monkeypatch.setattr(bf16_ways, "fault_of", lambda program, way: next(outcomes))
    monkeypatch.setattr(bf16_ways, "ways", lambda: ("AMX", "AVX512-BF16"))
    trials = bf16_ways._trials.__wrapped__
    assert trials() == {"AMX": fault, "AVX512-BF16": None}
    assert [trials(), trials()] == [{"AMX": None}, {"AMX": None}]


@pytest.mark.parametrize(
    ("faults", "way", "reason"),
    [
        ([None], "AMX", None),
        (["died of SIGILL", None], "AVX512-BF16", None),
        (["died of SIGILL", "failed (x)"], None, "on this processor, AMX died of SIGILL, AVX512-BF16 failed (x)"),
    ],
)
def test_the_fastest_instructions_that_work_are_used(
    monkeypatch: pytest.MonkeyPatch, untried: None, faults: list[str | None], way: str | None, reason: str | None
) -> None:
    used, outcomes = list[str](), iter(faults)
    monkeypatch.setattr(bf16_ways, "fault_of", lambda program, way: next(outcomes))
    monkeypatch.setattr(bf16_ways, "ways", lambda: ("AMX", "AVX512-BF16"))
    monkeypatch.setattr(bf16_ways, "use", used.append)
    assert bf16_ways.chosen() == way and used == ([] if way is None else [way])
    assert bf16_ways.reason_not_here() == reason


def test_a_processor_without_such_instructions(monkeypatch: pytest.MonkeyPatch, untried: None) -> None:
    monkeypatch.setattr(bf16_ways, "ways", tuple)
    monkeypatch.setattr(bf16_ways, "fault_of", lambda program, way: pytest.fail("tried"))
    assert bf16_ways.reason_not_here() == "on this processor, there are no instructions for it: AMX or AVX512-BF16"


@needs_bfloat16
def test_a_trial_with_a_wrong_result_fails(tmp_path: Path) -> None:
    """In the new process, every product has one wrong number."""
    assert fault_of(bf16_ways._TRIAL, "AVX512-BF16") is None
    (tmp_path / "sitecustomize.py").write_text(
        "import ctypes\n"
        "from heed.kernels.library import library\n"
        "right = library().heed_bf16_multiply\n"
        "def wrong(*arguments):\n"
        "    right(*arguments)\n"
        "    ctypes.c_float.from_address(arguments[3]).value += 40\n"
        "library().heed_bf16_multiply = wrong\n"
    )
    fault = fault_of(bf16_ways._TRIAL, "AVX512-BF16", environment={**os.environ, "PYTHONPATH": str(tmp_path)})
    assert fault is not None and fault.startswith(
        "failed (ArithmeticError: a product of 1 x 64 x 64 in bfloat16 is off"
    )


@needs_bfloat16
def test_a_trial_does_not_need_torch(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise ImportError('torch is imported')")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    assert fault_of(bf16_ways._TRIAL, "AVX512-BF16", environment=environment) is None


def test_a_trial_that_dies(tmp_path: Path) -> None:
    program = tmp_path / "dies.py"
    program.write_text("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n")
    assert fault_of(program) == "died of SIGKILL"
