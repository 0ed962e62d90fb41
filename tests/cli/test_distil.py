"""`heed distil`: the pairs it writes, and that a kill loses nothing that was done."""

import gzip
import io
import json
import os
import signal
import time
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from heed.cli.main import main
from tests.cli.conftest import Done, Trained, heed, letters, started, write_lines

GREEDY = ["--beam", 1]


def read(folder: Path) -> tuple[list[str], list[str]]:
    source, target = ((folder / name).read_text(encoding="utf-8").split("\n")[:-1] for name in ("source", "target"))
    return source, target


def here(*arguments: object) -> Done:
    """Run the command in this process, which has torch imported."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main([str(word) for word in arguments])
    return Done(code, out.getvalue(), err.getvalue())


def distil(trained: Trained, text: Path, out: Path, *options: object) -> Done:
    done = here("distil", "--model", trained.path, "--input", text, "--out", out, *options)
    assert done.code == 0, done.err
    return done


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    lines = letters(3, 30)
    return write_lines(tmp_path_factory.mktemp("text") / "mono.src", [*lines[:10], "", *lines[10:], " \t"])


@pytest.fixture(scope="module")
def expected(trained: Trained, text: Path) -> list[dict[str, object]]:
    """What `heed translate` makes of the text, with the three best translations."""
    done = heed("translate", "--model", trained.path, "--input", text, "--n-best", 3, "--json")
    return [json.loads(line) for line in done.lines]


def test_pairs_are_those_of_translate(
    trained: Trained, text: Path, expected: list[dict[str, object]], tmp_path: Path
) -> None:
    done = distil(trained, text, tmp_path / "out", "--json")
    spoken = [one for one in expected if str(one["source"]).strip()]
    good = [one for one in spoken if one["finished"] and one["text"]]
    bad = [f"{one['line']}\t{'empty' if one['finished'] else 'unfinished'}" for one in spoken if one not in good]
    assert read(tmp_path / "out") == ([one["source"] for one in good], [one["text"] for one in good])
    assert (tmp_path / "out" / "left_out.tsv").read_text().splitlines() == bad
    found = json.loads(done.out)
    assert (found["lines"], found["blank"], found["pairs"]) == (32, 2, len(good))
    assert found["unfinished"] + found["empty"] == len(bad) > 0
    assert found["source"] == str(tmp_path / "out" / "source")
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        *("source", "target", "left_out.tsv", "progress.json", "lock")
    }


def test_reverse_and_tag(trained: Trained, text: Path, tmp_path: Path) -> None:
    distil(trained, text, tmp_path / "plain")
    packed = tmp_path / "mono.gz"
    packed.write_bytes(gzip.compress(text.read_bytes()))
    distil(trained, packed, tmp_path / "back", "--reverse", "--tag", "<bt>")
    source, target = read(tmp_path / "plain")
    assert read(tmp_path / "back") == ([f"<bt> {line}" for line in target], source)


def test_several_translations_of_a_line(
    trained: Trained, text: Path, expected: list[dict[str, object]], tmp_path: Path
) -> None:
    done = distil(trained, text, tmp_path / "out", "--n-best", 3, "--json")
    pairs = list(zip(*read(tmp_path / "out"), strict=True))
    found = json.loads(done.out)
    assert found["pairs"] + found["unfinished"] + found["empty"] + found["repeated"] == 3 * 30
    assert len(set(pairs)) == len(pairs) == found["pairs"] > 30
    possible = {
        (one["source"], text["text"])
        for one in expected
        for text in [one, *one.get("alternatives", [])]  # type: ignore[misc]
    }
    assert set(pairs) <= possible


def test_a_kill_loses_at_most_a_chunk(trained: Trained, tmp_path: Path) -> None:
    text = write_lines(tmp_path / "mono.src", letters(4, 2_500))
    options = ["distil", "--model", trained.path, "--input", text, *GREEDY]
    process = started(*options, "--out", tmp_path / "killed")
    try:
        deadline = time.monotonic() + 60
        while not (tmp_path / "killed" / "progress.json").exists():
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGKILL)
    finally:
        process.kill()
        process.communicate()
    before = json.loads((tmp_path / "killed" / "progress.json").read_text())["counts"]["lines"]
    assert before >= 1_000 and not (tmp_path / "killed" / "source").exists()
    with open(tmp_path / "killed" / "source.part", "a") as cut_short:
        cut_short.write("half a li")
    refused = here(*options, "--out", tmp_path / "killed", "--reverse")
    assert refused.code == 1 and "--reverse has been added since this folder was begun; restore it" in refused.err
    # In processes of their own, because sums on another number of threads may round differently.
    assert heed(*options, "--out", tmp_path / "killed").code == 0
    assert heed(*options, "--out", tmp_path / "whole").code == 0
    for name in ("source", "target", "left_out.tsv"):
        assert (tmp_path / "killed" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    again = here(*options, "--out", tmp_path / "killed", "--json")
    assert again.code == 0 and json.loads(again.out)["lines"] == 2_500
    (tmp_path / "killed" / "source").write_bytes(b"")
    damaged = here(*options, "--out", tmp_path / "killed")
    assert damaged.code == 1 and "source: damaged (0 bytes instead of" in damaged.err


def test_what_goes_on_must_be_the_same(trained: Trained, second: Trained, text: Path, tmp_path: Path) -> None:
    plain = ["--model", trained.path, "--input", text]
    other_text = write_lines(tmp_path / "x", ["a b"])
    sampled = [*plain, "--sample", "--top-k", 3]
    for begun, changes, complaint in [
        (plain, [*plain, "--beam", 2], "--beam has changed from 4 to 2 since this folder was begun; restore it"),
        (plain, [*plain, "--tag", "<bt>"], "--tag has been added since"),
        (plain, ["--model", second.path, "--input", text], "the weights of --model have changed since"),
        (plain, ["--model", trained.path, "--input", other_text], f"--input {other_text} has changed since"),
        (plain, [*plain, "--alpha", 1, "--reverse"], "from 0.6 to 1.0 and --reverse has been added since this folder"),
        (sampled, [*sampled, "--top-k", 4], "out/sampled: --top-k has changed from 3 to 4 since"),
        (sampled, plain, "--sample has been dropped since"),
    ]:
        out = tmp_path / "out" / ("sampled" if begun is sampled else "plain")
        assert out.exists() or here("distil", *begun, "--out", out).code == 0
        done = here("distil", *changes, "--out", out)
        assert done.code == 1 and complaint in done.err and done.err.endswith(", or name a new folder\n")


@pytest.mark.parametrize(
    ("options", "code", "complaint"),
    [
        (["--tag", "a b"], 2, "--tag 'a b' must be one word"),
        (["--tag", ""], 2, "--tag '' is empty; give a word, or leave --tag out"),
        (["--n-best", 5, "--beam", 4], 2, "--n-best"),
        (["--input", "-"], 1, "a pipe can be read only once"),
        (["--input", "none.src"], 1, "none.src: no such file"),
    ],
)
def test_wrong_use(
    trained: Trained, text: Path, tmp_path: Path, options: list[object], code: int, complaint: str
) -> None:
    done = here("distil", "--model", trained.path, "--input", text, "--out", tmp_path / "out", *options)
    assert done.code == code and complaint in done.err
    assert not (tmp_path / "out").exists()


def test_a_folder_with_other_files_is_left_alone(trained: Trained, text: Path, tmp_path: Path) -> None:
    (tmp_path / "source").write_bytes(b"precious")
    done = here("distil", "--model", trained.path, "--input", text, "--out", tmp_path)
    assert done.code == 1 and "already exists, and `heed distil` did not make it" in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["source"]
