"""`heed translate --glossary` and `--no-copy`, with a model that never saw such text."""

import json
from pathlib import Path

import pytest

from heed.cli.main import main
from heed.cli.translate import _warn
from heed.translation import Translation
from tests.cli.conftest import heed, write_lines

RUN = Path(__file__).parent.parent / "old_run" / "run"
LINES = ["a fox b", "b c", "d FOX, {name} c", ""]


@pytest.fixture
def terms(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "terms.tsv", ["# animals", "", "fox\tder Fuchs", "bird\tder Vogel"])


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "in.txt", LINES)


def test_terms_and_copies_are_in_the_output_and_reported(terms: Path, source: Path) -> None:
    done = heed("translate", "--model", RUN, "--glossary", terms, "--json", "--input", source)
    assert done.code == 0, done.err
    found = [json.loads(line) for line in done.lines]
    fox = [{"source": "fox", "target": "der Fuchs"}]
    assert [one["terms"] for one in found] == [fox, [], fox, []]
    assert [sorted(one["forced"]) for one in found] == [["der Fuchs"], [], ["der Fuchs", "{name}"], []]
    assert [one["missing"] for one in found] == [[]] * 4
    assert "der Fuchs" in found[0]["text"]
    assert "der Fuchs" in found[2]["text"] and "{name}" in found[2]["text"]


@pytest.mark.parametrize("search", [["--greedy"], ["--n-best", "3"], ["--beam", "2", "--scores"]], ids=str)
def test_every_kind_of_search_has_the_terms(terms: Path, source: Path, search: list[str]) -> None:
    done = heed("translate", "--model", RUN, "--glossary", terms, "--input", source, *search)
    assert done.code == 0, done.err
    n = 3 if "--n-best" in search else 1
    with_terms = [*done.lines[:n], *done.lines[2 * n : 3 * n]]
    assert len(with_terms) == 2 * n
    assert all("der Fuchs" in line for line in with_terms)
    assert "der Fuchs" not in done.lines[n]


def test_asking_for_what_happens_anyway_changes_nothing(source: Path) -> None:
    for options, more in ((["--json"], ["--scores"]), (["--sample"], ["--no-copy"])):
        plain, both = (heed("translate", "--model", RUN, "--input", source, *options, *also) for also in ([], more))
        assert (both.code, both.out) == (0, plain.out)


def test_no_copy_switches_copying_off(source: Path) -> None:
    with_copies, without = (
        heed("translate", "--model", RUN, "--input", source, *options).lines for options in ([], ["--no-copy"])
    )
    assert "{name}" in with_copies[2] and "{name}" not in without[2]
    assert with_copies[:2] == without[:2]


@pytest.mark.parametrize("content", ["", "# fox\tFuchs\n\n"])
def test_a_glossary_without_entries_is_noticed(tmp_path: Path, source: Path, content: str) -> None:
    terms = tmp_path / "terms.tsv"
    terms.write_text(content)
    plain, done = (
        heed("translate", "--model", RUN, "--input", source, *options) for options in ([], ["--glossary", terms])
    )
    assert (done.code, done.out) == (0, plain.out)
    assert done.err == f"{terms}: has no entries, so no term is forced; write one per line\n{plain.err}"


@pytest.mark.parametrize(
    ("n_pieces", "forced", "is_noticed"), [(25, ("Mai",), True), (24, ("Mai",), False), (25, (), False)]
)
def test_a_forced_translation_that_is_much_longer_than_its_source_is_noticed(
    capsys: pytest.CaptureFixture[str], n_pieces: int, forced: tuple[str, ...], is_noticed: bool
) -> None:
    """More than three times 7 pieces, and 3 letters of "Mai"."""
    _warn(5, Translation("", 0.0, 0.0, ["x"] * n_pieces, ["y"] * 7, forced=forced))
    note = (
        "line 5: with Mai forced, the translation is more than 3 times as long as its source, and may repeat itself; "
        "change the glossary, or use --no-copy for copied text\n"
    )
    assert capsys.readouterr().err == (note if is_noticed else "")


def test_a_pipe_can_be_the_glossary(tmp_path: Path, source: Path) -> None:
    """As with bash's <(...), which can be read only once."""
    import os
    import threading

    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_text("fox\tder Fuchs\n"), daemon=True)
    writer.start()
    done = heed("translate", "--model", RUN, "--glossary", pipe, "--input", source)
    writer.join(timeout=20)
    assert done.code == 0, done.err
    assert "der Fuchs" in done.lines[0]


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("fox\tFuchs\nbird\t\n", "terms.tsv, line 2: the target term is empty"),
        ("fox\tFuchs\nfox\tder Fuchs\n", 'terms.tsv, line 2: "fox" is "der Fuchs" here, but "Fuchs" in'),
        ("fox Fuchs\n", 'terms.tsv, line 1: has no tab: "fox Fuchs"'),
        (f"{'x' * 101}\tFuchs\n", "terms.tsv, line 1: the source term has 101 characters, at most 100"),
        ("fox\tF\udce4chs\n", "terms.tsv, line 1: not UTF-8"),
    ],
)
def test_a_bad_glossary_is_refused_before_anything_is_translated(
    tmp_path: Path, source: Path, capsys: pytest.CaptureFixture[str], content: str, complaint: str
) -> None:
    terms = tmp_path / "terms.tsv"
    terms.write_bytes(content.encode("utf-8", "surrogateescape"))
    assert (
        main(["translate", "--model", str(tmp_path / "no-run"), "--glossary", str(terms), "--input", str(source)]) == 1
    )
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("heed translate: ") and complaint in err


@pytest.mark.parametrize(
    ("options", "code", "complaint"),
    [
        (["--glossary", "absent.tsv"], 1, "absent.tsv: no such file"),
        (["--glossary", "-"], 2, "--glossary cannot be standard input; name a file"),
        (
            ["--glossary", "terms.tsv", "--sample"],
            2,
            "--sample draws at random and cannot force the terms of --glossary",
        ),
        (["--glossary", "terms.tsv", "--prefixes", "in.txt"], 2, "--prefixes cannot be combined with --glossary"),
        (["--glossary", "terms.tsv", "--output", "terms.tsv"], 2, "terms.tsv would overwrite an input file"),
    ],
)
def test_what_cannot_be_combined_is_refused(
    terms: Path,
    source: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    code: int,
    complaint: str,
) -> None:
    monkeypatch.chdir(terms.parent)
    assert main(["translate", "--model", str(RUN), "--input", "in.txt", *options]) == code
    assert complaint in capsys.readouterr().err
