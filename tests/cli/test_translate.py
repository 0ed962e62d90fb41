import gzip
import json
import math
import os
import pty
import re
import select
import shutil
import signal
import stat
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Iterator
from fcntl import ioctl
from pathlib import Path

import pytest
import torch

from heed.checkpoint import read_all_tensors, read_manifest, write_checkpoint
from heed.cli.main import build_parser, main
from heed.loading import load
from heed.model.transformer import Transformer
from heed.translator import Translator
from tests.cli.conftest import ENVIRONMENT, Done, Trained, heed, letters, started, write_lines
from tests.conftest import EOS, PAD, UNK

ENGINES: list[list[str]] = [[], ["--engine", "torch"]]  # the default, which is native with a C compiler; and the other
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


@pytest.fixture(params=[1, 2], ids=["1 thread", "2 threads"])
def threads(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """With several threads, batches are translated in parallel, one per thread."""
    monkeypatch.setitem(ENVIRONMENT, "OMP_NUM_THREADS", str(request.param))
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield
    torch.set_num_threads(before)


def translated(tmp_path: Path, run: Path, source: Path, *options: object) -> list[str]:
    """Return what the command writes, run in this process."""
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


def test_a_line_is_translated_the_same_in_a_small_and_in_a_large_file(trained: Trained, tmp_path: Path) -> None:
    """The translation of a line does not depend on the amount of text."""
    lines = letters(9, 20)
    small = write_lines(tmp_path / "small", lines)
    large = write_lines(tmp_path / "large", [*lines, *letters(4, 1_300), *lines])
    alone, among = (heed("translate", "--model", trained.path, "--input", path) for path in (small, large))
    assert alone.code == among.code == 0, among.err
    assert len(among.lines) == 1_340
    assert alone.lines == among.lines[:20] == among.lines[-20:]
    assert len(set(alone.lines)) > 1


def test_no_input_is_no_output(trained: Trained) -> None:
    done = heed("translate", "--model", trained.path)
    assert (done.code, done.out, done.err) == (0, "", "")


@pytest.mark.usefixtures("threads")
def test_blank_lines_alone(trained: Trained, tmp_path: Path) -> None:
    done = heed("translate", "--model", trained.path, given="\n \n\n")
    assert (done.code, done.out, done.err) == (0, "\n\n\n", "")
    source = write_lines(tmp_path / "in", ["", "\u2028"])
    for options in (["--greedy"], ["--sample"]):
        assert translated(tmp_path, trained.path, source, *options) == ["", ""]
    found = translated(tmp_path, trained.path, source, "--n-best", 2)
    assert found == ["1\t0.0000\t", "2\t0.0000\t"]


@pytest.mark.usefixtures("threads")
def test_blank_lines_before_others(trained: Trained, source: Path, tmp_path: Path) -> None:
    """There are more blank lines than fit into a chunk."""
    write_lines(source, [*[""] * 2_100, "a b c d"])
    found = translated(tmp_path, trained.path, source, "--sample", "--json")
    assert [json.loads(line)["text"] for line in found[:-1]] == [""] * 2_100
    assert json.loads(found[-1])["line"] == 2_101


def answer(process: subprocess.Popen[bytes], seconds: float = 60) -> bytes:
    """Return the next line of standard output, if it arrives in time."""
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
    """Lines are streamed, and each chunk of lines reads only its own prefixes."""
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
    """As in `heed translate ... | head -1`, while the writer of the input is still running."""
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
        assert process.stderr.read() == b"heed translate: stopped after 1 line\n"
        process.stdin.close()


# --- options ----------------------------------------------------------------------------------------------


def test_files_instead_of_streams(trained: Trained, source: Path, tmp_path: Path) -> None:
    done = heed("translate", "--model", trained.path, given=source.read_bytes())
    assert translated(tmp_path, trained.path, source) == done.lines
    assert len(set(done.lines)) > 1  # the tiny model's translations differ


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
    scored = [line.split("\t") for line in translated(tmp_path, trained.path, source, "--scores")]
    assert [text for _, text in scored] == plain
    lines = source.read_text().splitlines()
    # The score is that of forced decoding, divided by ((5 + length) / 6)^0.6.
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
    write_lines(source, [lines[0]])  # alone or with other lines
    assert translated(tmp_path, trained.path, source, "--sample", "--seed", 3) == once[:1]
    write_lines(source, lines)
    top = translated(tmp_path, trained.path, source, "--sample", "--top-k", 1)
    assert top == translated(tmp_path, trained.path, source, "--greedy")


@pytest.mark.usefixtures("threads")
def test_several_samples_of_a_line(trained: Trained, source: Path, tmp_path: Path) -> None:
    done = heed("translate", "--model", trained.path, "--sample", "--n-best", 3, given=source.read_bytes())
    assert done.code == 0, done.err
    rows = [line.split("\t") for line in done.lines]
    assert [int(row[0]) for row in rows] == [number for number in range(1, 9) for _ in range(3)]
    for begin in range(0, len(rows), 3):
        scores = [float(row[1]) for row in rows[begin : begin + 3]]
        assert scores == sorted(scores, reverse=True)
    assert len({row[2] for row in rows}) > 12
    # A sample does not depend on its neighbours.
    write_lines(source, source.read_text().splitlines()[:1])
    assert translated(tmp_path, trained.path, source, "--sample", "--n-best", 3) == done.lines[:3]


def test_a_translation_cut_at_the_length_limit_is_reported(
    trained: Trained, source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_lines(source, letters(11, 40))
    found = [json.loads(line) for line in translated(tmp_path, trained.path, source, "--greedy", "--json")]
    without_end = [one["line"] for one in found if not one["finished"]]
    assert 0 < len(without_end) < 40
    said = [f"line {number}: the translation stopped at its length limit, unfinished" for number in without_end]
    assert capsys.readouterr().err.splitlines() == said


def search_without_early_stop(
    model: Transformer, source: list[int], beam: int, alpha: float, limit: int
) -> tuple[float, list[int]]:
    """Reference beam search by full passes: it ends only with `beam` finished hypotheses or at the limit."""
    live: list[tuple[float, list[int]]] = [(0.0, [])]
    done: list[tuple[float, list[int]]] = []
    src = torch.tensor([[*source, EOS]])
    for length in range(1, limit + 1):
        written = torch.tensor([[PAD, *ids] for _, ids in live])
        logprobs = model(src.expand(len(live), -1), written)[:, -1].log_softmax(-1)
        logprobs[:, [PAD, UNK]] = -math.inf
        totals = logprobs + torch.tensor([[total] for total, _ in live], dtype=torch.float64)
        best, places = totals.flatten().topk(2 * beam)
        rows = [divmod(place, logprobs.size(1)) for place in places.tolist()]
        several = [(total, live[row][1], symbol) for total, (row, symbol) in zip(best.tolist(), rows, strict=True)]
        done += [(total / ((5 + length) / 6) ** alpha, ids) for total, ids, symbol in several[:beam] if symbol == EOS]
        live = [(total, [*ids, symbol]) for total, ids, symbol in several if symbol != EOS][:beam]
        if len(done) >= beam:
            break
    return max(done) if done else (live[0][0] / ((5 + limit) / 6) ** alpha, live[0][1])


@pytest.mark.parametrize("alpha", [1.0, 3.0])
def test_search_ends_only_when_no_hypothesis_can_win(trained: Trained, alpha: float) -> None:
    """A large alpha lets a long hypothesis, now behind, overtake a short one."""
    translator = load(trained.path)
    model = translator.models[0].double()  # no near ties
    texts = letters(11, 30)
    for text, found in zip(texts, translator.translate(texts, beam=4, alpha=alpha), strict=True):
        source = translator.tokenizer.encode(text).ids
        with torch.no_grad():
            score, ids = search_without_early_stop(model, source, 4, alpha, len(source) + 5)
        assert found.score == pytest.approx(score, abs=1e-5)
        assert found.pieces == translator.tokenizer.pieces(ids)


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("options", [["--sample", "--json"], ["--n-best", 2], ["--prefixes"]])
def test_the_size_of_chunks_changes_nothing(
    trained: Trained, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[object]
) -> None:
    """Line numbers, random streams and prefixes continue from one chunk to the next."""
    if options == ["--prefixes"]:
        options = ["--prefixes", write_lines(tmp_path / "prefixes", [line[:3] for line in letters(8, 8)])]
    found = []
    for size in (1000, 3, 1):
        monkeypatch.setattr("heed.cli.translate._LINES_PER_CHUNK", size)
        found.append([re.sub(r"-?\d+\.\d+", "", line) for line in translated(tmp_path, trained.path, source, *options)])
    assert found[0] == found[1] == found[2]


def test_an_ensemble(trained: Trained, second: Trained, source: Path, tmp_path: Path) -> None:
    one, two = (translated(tmp_path, run.path, source, "--scores") for run in (trained, second))
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


@pytest.mark.parametrize(
    ("prefixes", "complaint"), [(["a"], "has 1 line, but the input has more"), (["a"] * 5, "has 5")]
)
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
    return Path(shutil.copytree(trained.path, tmp_path / "copy"))


@pytest.mark.parametrize("options", ENGINES, ids=["default", "torch"])
def test_a_damaged_run_folder(copy: Path, options: list[str]) -> None:
    best = json.loads((copy / "best.json").read_text())["checkpoint"]
    file = copy / "checkpoints" / best / "model.safetensors"
    content = bytearray(file.read_bytes())
    content[-7] ^= 1
    file.write_bytes(content)
    done = heed("translate", "--model", copy, *options)
    refused(done, f"{file}: damaged: its checksum differs from manifest.json")


@pytest.mark.parametrize("options", ENGINES, ids=["default", "torch"])
def test_the_vocabulary_of_another_run(copy: Path, options: list[str]) -> None:
    from heed.text.tokenizer import Tokenizer

    (copy / "tokenizer.model").write_bytes(Tokenizer.learn(["v w x y z"] * 9, 300).model)
    done = heed("translate", "--model", copy, *options)
    refused(done, "was trained with another vocabulary than", "tokenizer.model")


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        (["--checkpoint", "step-7"], 1, 'no checkpoint "step-7"; there are: best, last, average-00000040'),
        (["--n-best", "9"], 2, "--n-best 9 needs a beam of at least 9 (beam is 4)"),
        (["--greedy", "--n-best", "2"], 2, "--n-best 2 needs a beam of at least 2 (beam is 1)"),
        (["--n-best", "0"], 2, "--n-best must be from 1 to 1,000, not 0"),
        (["--beam", "0"], 2, "--beam must be from 1 to 1,000, not 0"),
        (["--beam", "1000000000000"], 2, "--beam must be from 1 to 1,000, not 1000000000000"),
        (["--alpha", "nan"], 2, "--alpha must be from 0 to 10, not nan"),
        (["--alpha", "inf"], 2, "--alpha must be from 0 to 10, not inf"),
        (["--alpha", "1e308"], 2, "--alpha must be from 0 to 10, not 1e+308"),
        (["--sample", "--temperature", "0"], 2, "--temperature must be from 0.001 to 1,000, not 0"),
        (["--sample", "--temperature", "1e-300"], 2, "--temperature must be from 0.001 to 1,000, not 1e-300"),
        (["--sample", "--top-k", "-1"], 2, "--top-k must be at least 1, or 0 for all, not -1"),
        (["--sample", "--top-p", "2"], 2, "--top-p must be above 0 and at most 1, not 2"),
        (["--temperature", "0.5"], 2, "--temperature needs --sample"),
        (["--top-k", "5"], 2, "--top-k needs --sample"),
        (["--top-p", "0.5"], 2, "--top-p needs --sample"),
        (["--seed", "5"], 2, "--seed needs --sample"),
        (["--sample", "--greedy"], 2, "--sample replaces the search that --greedy asks for"),
        (["--sample", "--beam", "4"], 2, "--sample replaces the search that --beam 4 asks for"),
        (["--output", "absent/folder/out"], 1, "absent/folder/out: the folder absent/folder does not exist"),
        (["--output", "."], 1, ".: is a folder"),
        (["--input", "absent"], 1, "absent: no such file"),
    ],
)
def test_invalid_options_are_refused(
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


def test_an_ensemble_needs_one_vocabulary(trained: Trained, copy: Path, source: Path) -> None:
    from heed.text.tokenizer import Tokenizer

    (copy / "tokenizer.model").write_bytes(Tokenizer.learn(["v w x y z"] * 9, 300).model)
    done = heed("translate", "--model", trained.path, "--model", copy, given=source.read_bytes())
    refused(done, f"{trained.path} and {copy} have different vocabularies and cannot be an ensemble")


def test_input_files_are_not_overwritten(trained: Trained, tmp_path: Path) -> None:
    text = tmp_path / "in.txt"
    text.write_text("a b\n", encoding="utf-8")
    done = heed("translate", "--model", trained.path, "--input", text, "--output", tmp_path / "." / "in.txt")
    assert done.code == 2
    assert "would overwrite an input file" in done.err
    done = heed("evaluate", "--model", trained.path, "--source", text, "--reference", text, "--output", text)
    assert done.code == 2
    assert text.read_text(encoding="utf-8") == "a b\n"


def test_evaluate_does_not_overwrite_its_input(
    trained: Trained, source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = ["--source", str(source), "--reference", str(source)]
    assert main(["evaluate", "--model", str(trained.path), *files, "--beam", "0"]) == 2
    assert capsys.readouterr().err == "heed evaluate: --beam must be from 1 to 1,000, not 0\n"


def test_a_prefix_longer_than_the_models_limit(trained: Trained, source: Path, tmp_path: Path) -> None:
    prefixes = write_lines(tmp_path / "prefixes", ["a", "", "a b " * 9_000, *[""] * 5])
    done = heed("translate", "--model", trained.path, "--input", source, "--prefixes", prefixes)
    refused(done, "the prefix of text 3 has 18,000 pieces, but the model's limit is 60; shorten it")


@pytest.mark.parametrize("method", ["--sample", "--beam=1", "--beam=4"])
@pytest.mark.parametrize("options", ENGINES, ids=["default", "torch"])
def test_weights_that_are_not_finite(
    copy: Path, source: Path, capsys: pytest.CaptureFixture[str], options: list[str], method: str
) -> None:
    best = copy / "checkpoints" / json.loads((copy / "best.json").read_text())["checkpoint"]
    tensors, info = read_all_tensors(best), read_manifest(best)
    tensors["model"]["embedding.weight"][5, 0] = math.nan
    shutil.rmtree(best)
    write_checkpoint(best, tensors, {key: value for key, value in info.items() if key not in ("sha256", "checksum")})
    code = main(["translate", "--model", str(copy), "--input", str(source), *options, method])
    (line,) = capsys.readouterr().err.splitlines()
    assert code == 1
    assert line.startswith(f"heed translate: no finite score: the weights of {best} are not finite")


# --- files to write ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [["--input", "absent"], ["--beam", "0"], ["--model", "absent"], ["--prefixes", "absent"], ["--input", "latin1"]],
    ids=str,
)
def test_a_failure_leaves_the_old_output(
    trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_lines(tmp_path / "in", ["a b c d"])
    (tmp_path / "latin1").write_bytes(b"gr\xfcn\n")
    (tmp_path / "keep").write_bytes(b"old\n")
    before = sorted(os.listdir())
    model = ["--model", str(trained.path)]
    assert main(["translate", *model, "--input", "in", "--output", "keep", *arguments]) in (1, 2)
    assert Path("keep").read_bytes() == b"old\n"
    assert sorted(os.listdir()) == before


def test_a_failure_leaves_the_translated_lines_in_a_part_file(
    trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("heed.cli.translate._LINES_PER_CHUNK", 1)
    (tmp_path / "in").write_bytes(b"a b c d\n\ngr\xfcn\na b\n")
    for name, opened in (("out", open), ("out.gz", gzip.open)):
        out = tmp_path / name
        out.write_bytes(b"old\n")
        files = ["--input", str(tmp_path / "in"), "--output", str(out)]
        assert main(["translate", "--model", str(trained.path), *files]) == 1
        said = capsys.readouterr().err.splitlines()
        assert said[0] == f"2 lines translated before the error are in {out}.part"
        assert said[1].startswith(f"heed translate: {tmp_path / 'in'}, line 3: not UTF-8")
        assert out.read_bytes() == b"old\n"
        with opened(f"{out}.part", "rt") as part:
            assert len(part.read().split("\n")) == 3


def test_a_new_output_replaces_the_old_one(trained: Trained, source: Path, tmp_path: Path) -> None:
    plain = translated(tmp_path, trained.path, source)
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_bytes(b"old\n" * 1000)
    real.chmod(0o640)
    link.symlink_to(real)
    command = ["translate", "--model", str(trained.path), "--input", str(source)]
    assert main([*command, "--output", str(link)]) == 0
    assert link.is_symlink() and real.read_text().split("\n")[:-1] == plain
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    write_lines(source, [])
    assert main([*command, "--output", str(real)]) == 0
    assert real.read_bytes() == b""  # no lines give an empty file
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "link", "out", "real"]


def test_compressed_by_its_name(trained: Trained, source: Path, tmp_path: Path) -> None:
    plain = translated(tmp_path, trained.path, source)
    command = ["translate", "--model", str(trained.path), "--input", str(source), "--output"]
    for name in ("a.gz", "b.gz"):
        assert main([*command, str(tmp_path / name)]) == 0
        with gzip.open(tmp_path / name, "rt") as file:
            assert file.read().split("\n")[:-1] == plain
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()


def test_devices_and_pipes_are_written_to_directly(trained: Trained, source: Path, tmp_path: Path) -> None:
    plain = translated(tmp_path, trained.path, source)
    command = ["translate", "--model", str(trained.path), "--input", str(source), "--output"]
    pipe, seen = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: seen.append(pipe.read_bytes()), daemon=True)
    reader.start()
    assert main([*command, str(pipe)]) == 0
    reader.join(timeout=30)
    assert seen and seen[0].decode().split("\n")[:-1] == plain
    assert main([*command, "/dev/null"]) == 0 and stat.S_ISCHR(os.stat("/dev/null").st_mode)
    # Standard output under another name: its earlier content stays.
    log = tmp_path / "log"
    log.write_bytes(b"old\n")
    for name in ("/dev/stdout", "-"):
        with open(log, "ab") as appended, started(*command, name, stdout=appended) as process:
            assert process.wait(timeout=60) == 0
    assert log.read_text().split("\n")[:-1] == ["old", *plain, *plain]


def test_input_files_are_not_overwritten_through_links(trained: Trained, tmp_path: Path) -> None:
    part = write_lines(tmp_path / "x.part", ["a b"])
    arguments = ["translate", "--model", trained.path, "--output", tmp_path / "x"]
    for streams, more in ((None, ["--input", part]), (part, [])):
        with open(streams or os.devnull, "rb") as given, started(*arguments, *more, stdin=given) as process:
            _, err = process.communicate(timeout=60)
        assert process.returncode == 2 and b"would overwrite an input file" in err
        assert part.read_text() == "a b\n"


def wait_for(path: Path, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not path.exists() or not path.stat().st_size:
        assert time.monotonic() < end, f"{path}: not written"
        time.sleep(0.02)


@pytest.mark.parametrize("by", ["file", "redirection", "pipe"])
def test_ctrl_c_reports_the_number_of_lines_and_the_part_file(trained: Trained, tmp_path: Path, by: str) -> None:
    out, part = tmp_path / "out", tmp_path / "out.part"
    out.write_bytes(b"old\n")
    lines = letters(7, 200_000 if by != "pipe" else 3)
    source = write_lines(tmp_path / "in", lines)
    command = ["translate", "--model", trained.path, "--output", out, *(["--input", source] if by == "file" else [])]
    with open(source, "rb") as given:
        stdin = subprocess.PIPE if by == "pipe" else given
        with started(*command, "--greedy", stdin=stdin) as process:
            try:
                if process.stdin is not None:
                    process.stdin.write(source.read_bytes())
                    process.stdin.flush()
                wait_for(part)
                process.send_signal(signal.SIGINT)
                assert process.wait(timeout=60) == 130
            finally:
                process.kill()
            assert process.stderr is not None
            err = process.stderr.read().decode()
    n = part.read_bytes().count(b"\n")
    assert 0 < n < 200_000 and out.read_bytes() == b"old\n"
    how_far = f"{n:,} of 200,000 lines" if by != "pipe" else "3 lines"
    assert err.splitlines()[-1] == f"heed translate: stopped after {how_far}, saved in {part}"


# --- on a terminal ----------------------------------------------------------------------------------------


class Terminal:
    """A terminal of 80 columns: give `theirs` to a process, then read what it shows."""

    def __init__(self) -> None:
        self.ours, self.theirs = pty.openpty()
        ioctl(self.theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 80, 0, 0))

    def shown(self) -> str:
        """Return everything shown until the process ends, without colours and cursor movements."""
        os.close(self.theirs)
        seen = b""
        while True:
            try:
                block = os.read(self.ours, 65536)
            except OSError:  # Linux says so when the other side is closed
                break
            if not block:
                break
            seen += block
        os.close(self.ours)
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen.decode())


@pytest.mark.parametrize("by", ["file", "redirection"])
def test_a_bar_for_files(trained: Trained, tmp_path: Path, by: str) -> None:
    source = write_lines(tmp_path / "in", letters(7, 2_500))
    named = ["--input", source, "--output", tmp_path / "out"] if by == "file" else []
    terminal = Terminal()
    with open(source, "rb") as given:
        process = started("translate", "--model", trained.path, *named, "--greedy", stdin=given, stderr=terminal.theirs)
        text = terminal.shown()
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "translating" in text and "/2500" in text and re.search(r"\d:\d\d:\d\d", text)
    assert (tmp_path / "out").read_bytes().count(b"\n") == 2_500 if by == "file" else out.count(b"\n") == 2_500


def test_no_bar_among_the_translations(trained: Trained, source: Path) -> None:
    """There is no bar if both streams are the same terminal, or if the number of lines is unknown."""
    terminal = Terminal()
    with open(source, "rb") as given:
        command = ["translate", "--model", trained.path]
        process = started(*command, stdin=given, stdout=terminal.theirs, stderr=terminal.theirs)
        text = terminal.shown()
        process.communicate(timeout=60)
    assert process.returncode == 0
    assert "translating" not in text
    assert len([line for line in text.splitlines() if "length limit" not in line]) == 8
    terminal = Terminal()
    process = started(*command, stderr=terminal.theirs)
    out, _ = process.communicate(source.read_bytes(), timeout=60)
    assert "translating" not in terminal.shown() and len(out.splitlines()) == 8


def test_a_prompt_on_a_terminal(trained: Trained) -> None:
    terminal = Terminal()
    process = started("translate", "--model", trained.path, stdin=terminal.theirs)
    os.write(terminal.ours, b"a b c\n\x04")  # Ctrl-D
    out, err = process.communicate(timeout=60)
    terminal.shown()
    assert (process.returncode, len(out.splitlines())) == (0, 1)
    assert err == b"type a sentence per line; Ctrl-D ends\n"


def test_the_help_fits_eighty_columns(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        build_parser().parse_args(["translate", "--help"])
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    groups = ["model, input and output:", "search:", "output format:", "engine:", "sampling:", "examples:"]
    places = [out.index(f"\n{group}\n") for group in groups]
    assert places == sorted(places)
