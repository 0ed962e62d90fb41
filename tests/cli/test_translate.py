import json
import math
import os
import re
import select
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from heed.cli.main import main
from heed.translator import Translator, load
from tests.cli.conftest import Done, Trained, heed, letters, started, write_lines

HARD = [
    "a b c d",
    "",
    "   ",
    "nul \x00 byte a b",
    "line\u2028separator\u0085next\u2029paragraph",
    "form\x0cfeed \x0b \x1c carriage\rreturn",
    "👩‍👩‍👧‍👦 🏳️‍🌈",
    "שלום עולם مرحبا",
    "e\u0301 \u0301",
    "a b " * 25_000,
    "\x00",
    "d c b a",
    "ab" * 200,
    "last, without a line end",
]


@pytest.fixture(scope="module")
def translator(trained: Trained) -> Translator:
    return load(trained.path)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "in", letters(9, 8))


def translated(tmp_path: Path, run: Path, source: Path, *options: object) -> list[str]:
    """What the command writes, without a process of its own."""
    out = tmp_path / "out"
    assert main(["translate", "--model", *map(str, (run, "--input", source, "--output", out, *options))]) == 0
    return out.read_bytes().decode().split("\n")[:-1]


# --- one line in, one line out ----------------------------------------------------------------------------


def test_hard_lines_keep_count_and_order(trained: Trained, translator: Translator) -> None:
    done = heed("translate", "--model", trained.path, "--greedy", given="\n".join(HARD))
    assert done.code == 0, done.err
    assert len(done.lines) == len(HARD)
    expected = [one.text for one in translator.translate(HARD, beam=1)]
    assert done.lines == expected
    assert [done.lines[i] for i in (1, 2, 10)] == ["", "", ""]  # blank lines stay blank
    assert len(done.lines[9]) > 10_000  # nothing was cut off
    assert "line 10: longer than the model's limit, translated in" in done.err
    assert "(cut at: space)" in done.err
    assert "line 13: longer than the model's limit, translated in" in done.err
    assert "(cut at: anywhere)" in done.err
    assert not any(f"line {number}: longer" in done.err for number in (1, 4, 7, 12, 14))


def test_many_lines_come_back_in_order(trained: Trained, translator: Translator) -> None:
    lines = letters(4, 1_300)
    lines[1_100] = ""
    done = heed("translate", "--model", trained.path, "--greedy", given="".join(f"{line}\n" for line in lines))
    assert (done.code, len(done.lines)) == (0, 1_300)
    backwards = translator.translate(lines[::-1], beam=1)
    assert done.lines == [one.text for one in reversed(backwards)]


def test_no_input_is_no_output(trained: Trained) -> None:
    done = heed("translate", "--model", trained.path)
    assert (done.code, done.out, done.err) == (0, "", "")


def answer(process: subprocess.Popen[bytes], seconds: float = 60) -> bytes:
    """The next line of standard output, if it comes in time."""
    assert process.stdout is not None
    line, end = b"", time.monotonic() + seconds
    while not line.endswith(b"\n"):
        assert select.select([process.stdout], [], [], max(0, end - time.monotonic()))[0], "no answer"
        block = os.read(process.stdout.fileno(), 1)
        assert block, line
        line += block
    return line


def send(process: subprocess.Popen[bytes], line: str) -> None:
    assert process.stdin is not None
    process.stdin.write(f"{line}\n".encode())
    process.stdin.flush()


def test_a_line_is_answered_before_the_next_is_written_and_keeps_its_prefix(trained: Trained, tmp_path: Path) -> None:
    """Streaming; and each portion of lines takes its own prefixes, no more."""
    prefixes = write_lines(tmp_path / "prefixes", ["d", "c c", "b", ""])
    with started("translate", "--model", trained.path, "--prefixes", prefixes) as process:
        for line, prefix in (("a b c d", b"d"), ("b b b b", b"c c"), ("a a a a", b"b")):
            send(process, line)
            assert answer(process).startswith(prefix)
        send(process, "")
        assert answer(process) == b"\n"
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (0, b"")
    assert b"Traceback" not in err


def test_a_closed_pipe_is_quiet(trained: Trained) -> None:
    """As in `heed translate ... | head -1`, while whoever writes the input has not done yet."""
    with started("translate", "--model", trained.path, "--greedy") as process:
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        send(process, "")
        answer(process)
        process.stdout.close()
        send(process, "")
        assert process.wait(timeout=60) == 0
        assert process.stderr.read() == b""
        process.stdin.close()


def test_ctrl_c_while_waiting_is_130(trained: Trained) -> None:
    with started("translate", "--model", trained.path, "--greedy") as process:
        assert process.stdin is not None and process.stderr is not None
        send(process, "")
        answer(process)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 130
        assert process.stderr.read() == b"heed translate: stopped\n"
        process.stdin.close()


# --- options ----------------------------------------------------------------------------------------------


def test_files_instead_of_streams(trained: Trained, source: Path, tmp_path: Path) -> None:
    done = heed("translate", "--model", trained.path, given=source.read_bytes())
    assert translated(tmp_path, trained.path, source) == done.lines
    assert len(set(done.lines)) > 1  # the minute model says different things


def test_n_best(trained: Trained, source: Path, tmp_path: Path, translator: Translator) -> None:
    write_lines(source, ["a b c d", "", "d d c c"])
    rows = [line.split("\t") for line in translated(tmp_path, trained.path, source, "--n-best", 3)]
    assert [row[0] for row in rows] == ["1", "1", "1", "2", "3", "3", "3"]
    for number, text in (("1", "a b c d"), ("3", "d d c c")):
        ours = [(float(score), out) for n, score, out in rows if n == number]
        assert [score for score, _ in ours] == sorted((score for score, _ in ours), reverse=True)
        assert len(set(ours)) == 3
        (expected,) = translator.translate([text], n_best=3)
        assert [out for _, out in ours] == [one.text for one in expected.alternatives]
    assert rows[3][2] == ""


def test_scores(trained: Trained, source: Path, tmp_path: Path, translator: Translator) -> None:
    plain = translated(tmp_path, trained.path, source)
    # CTranslate2's scores are a little higher: it rules PAD and UNK out before the softmax.
    scored = [line.split("\t") for line in translated(tmp_path, trained.path, source, "--scores", "--engine", "torch")]
    assert [text for _, text in scored] == plain
    lines = source.read_text().splitlines()
    # The score is what forced decoding finds, divided by ((5 + length) / 6)^0.6.
    found = translator.translate(lines)
    compared = 0
    for (shown, text), pair, one in zip(scored, translator.score(lines, plain), found, strict=True):
        if one.finished and translator.tokenizer.encode(text).pieces == one.pieces:
            compared += 1
            penalty = ((5 + pair.n_tokens) / 6) ** 0.6
            assert float(shown) == pytest.approx(pair.log_probability / penalty, abs=2e-4)
    assert compared >= 3


def test_json(trained: Trained, source: Path, tmp_path: Path) -> None:
    write_lines(source, ["a b c d", "", 'quote " \\ \x00 \u2028'])
    plain = translated(tmp_path, trained.path, source)
    found = [json.loads(line) for line in translated(tmp_path, trained.path, source, "--json")]
    assert [one["text"] for one in found] == plain
    assert [one["line"] for one in found] == [1, 2, 3]
    assert [one["source"] for one in found] == source.read_bytes().decode().split("\n")[:-1]
    assert all(math.isfinite(one["score"]) and isinstance(one["finished"], bool) for one in found)
    assert "".join(found[0]["source_pieces"]) == "▁a▁b▁c▁d"
    (several,) = [json.loads(line) for line in translated(tmp_path, trained.path, source, "--json", "--n-best", 4)][:1]
    assert several["text"] == plain[0]
    assert len(several["alternatives"]) == 3


def test_greedy_is_a_beam_of_one(trained: Trained, source: Path, tmp_path: Path) -> None:
    greedy, one = (
        translated(tmp_path, trained.path, source, "--scores", *more) for more in (["--greedy"], ["--beam", 1])
    )
    assert greedy == one
    assert greedy != translated(tmp_path, trained.path, source, "--scores", "--beam", 4)
    done = heed("translate", "--model", trained.path, "--greedy", "--beam", 4)
    assert done.code == 2
    assert "--greedy and --beam 4 contradict each other" in done.err


def test_the_length_penalty_matters(trained: Trained, source: Path, tmp_path: Path) -> None:
    short, long = (translated(tmp_path, trained.path, source, "--alpha", alpha) for alpha in (0, 3))
    assert sum(map(len, short)) < sum(map(len, long))


def test_samples_are_reproducible(trained: Trained, source: Path, tmp_path: Path) -> None:
    once, again, other = (translated(tmp_path, trained.path, source, "--sample", "--seed", seed) for seed in (3, 3, 4))
    assert once == again
    assert once != other
    lines = source.read_text().splitlines()
    write_lines(source, [lines[0]])  # alone or in company
    assert translated(tmp_path, trained.path, source, "--sample", "--seed", 3) == once[:1]
    write_lines(source, lines)
    top = translated(tmp_path, trained.path, source, "--sample", "--top-k", 1)
    assert top == translated(tmp_path, trained.path, source, "--greedy")


@pytest.mark.parametrize("options", [["--sample", "--json"], ["--n-best", 2], ["--prefixes"]])
def test_portions_change_nothing(
    trained: Trained, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[object]
) -> None:
    """Line numbers, random streams and prefixes go on from one portion to the next."""
    if options == ["--prefixes"]:
        options = ["--prefixes", write_lines(tmp_path / "prefixes", [line[:3] for line in letters(8, 8)])]
    found = []
    for size in (1000, 3, 1):
        monkeypatch.setattr("heed.cli.translate._AT_ONCE", size)
        found.append([re.sub(r"-?\d+\.\d+", "", line) for line in translated(tmp_path, trained.path, source, *options)])
    assert found[0] == found[1] == found[2]


def test_an_ensemble(trained: Trained, second: Trained, source: Path, tmp_path: Path) -> None:
    one, two = (translated(tmp_path, run.path, source, "--scores", "--engine", "torch") for run in (trained, second))
    both = translated(tmp_path, trained.path, source, "--model", second.path, "--scores")
    swapped = translated(tmp_path, second.path, source, "--model", trained.path, "--scores")
    assert both == swapped
    assert both not in (one, two)
    assert translated(tmp_path, trained.path, source, "--model", trained.path, "--scores") == one


def test_a_checkpoint_by_name(trained: Trained, source: Path, tmp_path: Path) -> None:
    first, last, named = (
        translated(tmp_path, trained.path, source, "--scores", "--checkpoint", name)
        for name in ("step-00000010", "last", "step-00000040")
    )
    assert last == named
    assert first != last


# --- bad input --------------------------------------------------------------------------------------------


def refused(done: Done, *words: str, code: int = 1) -> None:
    assert done.code == code, done.err
    assert done.err.splitlines()[-1].startswith("heed translate: ")
    assert "Traceback" not in done.err
    for word in words:
        assert word in done.err


@pytest.mark.parametrize(("prefixes", "complaint"), [(["a"], "has 1 lines, the input has more"), (["a"] * 5, "has 5")])
def test_as_many_prefixes_as_lines(
    trained: Trained, tmp_path: Path, capsys: pytest.CaptureFixture[str], prefixes: list[str], complaint: str
) -> None:
    write_lines(tmp_path / "in", ["a b c d"] * 3)
    write_lines(tmp_path / "prefixes", prefixes)
    files = ["--input", str(tmp_path / "in"), "--prefixes", str(tmp_path / "prefixes")]
    assert main(["translate", "--model", str(trained.path), *files]) == 1
    assert f"{tmp_path / 'prefixes'}: {complaint}" in capsys.readouterr().err


def test_a_line_that_is_not_utf8_is_named_and_those_before_it_are_not_lost(trained: Trained) -> None:
    done = heed("translate", "--model", trained.path, "--greedy", given=b"a b c d\n\ngr\xfcn\na b\n")
    refused(done, "standard input, line 3: not UTF-8 (byte 0xfc at position 3)")
    assert len(done.lines) == 2


def test_a_missing_run_folder(tmp_path: Path) -> None:
    refused(heed("translate", "--model", tmp_path / "absent"), f"{tmp_path / 'absent'}: no such run folder")


@pytest.fixture
def copy(trained: Trained, tmp_path: Path) -> Path:
    shutil.copytree(trained.path, tmp_path / "copy", ignore=shutil.ignore_patterns("export"))
    return tmp_path / "copy"


def test_a_damaged_run_folder(copy: Path) -> None:
    best = json.loads((copy / "best.json").read_text())["checkpoint"]
    file = copy / "checkpoints" / best / "model.safetensors"
    content = bytearray(file.read_bytes())
    content[-7] ^= 1
    file.write_bytes(content)
    refused(heed("translate", "--model", copy), f"{file}: damaged: its checksum is not the one in manifest.json")


def test_the_vocabulary_of_another_run(copy: Path, tmp_path: Path) -> None:
    from heed.text.tokenizer import Tokenizer

    (copy / "tokenizer.model").write_bytes(Tokenizer.learn(["v w x y z"] * 9, 300).model)
    refused(heed("translate", "--model", copy), "was trained with another vocabulary than", "tokenizer.model")


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        (["--checkpoint", "step-7"], 1, 'no checkpoint "step-7"; there are: best, last, average-00000040'),
        (["--n-best", "9"], 1, "the 9 best of a beam of 4 cannot be had"),
        (["--sample", "--temperature", "0"], 2, "temperature"),
        (["--output", "absent/folder/out"], 1, "absent/folder/out: No such file or directory"),
        (["--input", "absent"], 1, "absent: no such file"),
    ],
)
def test_requests_that_cannot_be_carried_out(
    trained: Trained,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    code: int,
    complaint: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    write_lines(tmp_path / "in", ["a b c d"])
    given = [] if "--input" in arguments else ["--input", "in"]
    assert main(["translate", "--model", str(trained.path), *given, *arguments]) == code
    err = capsys.readouterr().err
    assert err.startswith("heed translate: ") and complaint in err


def test_different_vocabularies_cannot_vote(trained: Trained, copy: Path, source: Path) -> None:
    from heed.text.tokenizer import Tokenizer

    (copy / "tokenizer.model").write_bytes(Tokenizer.learn(["v w x y z"] * 9, 300).model)
    done = heed("translate", "--model", trained.path, "--model", copy, given=source.read_bytes())
    refused(done, f"{trained.path} and {copy} have different vocabularies and cannot vote together")


def test_what_is_read_is_not_written_over(trained: Trained, tmp_path: Path) -> None:
    text = tmp_path / "in.txt"
    text.write_text("a b\n", encoding="utf-8")
    done = heed("translate", "--model", trained.path, "--input", text, "--output", tmp_path / "." / "in.txt")
    assert done.code == 2
    assert "is a file that is being read" in done.err
    done = heed("evaluate", "--model", trained.path, "--source", text, "--reference", text, "--output", text)
    assert done.code == 2
    assert text.read_text(encoding="utf-8") == "a b\n"
