"""The command itself: what it prints, its exit codes, its folders."""

import gzip
import json
import subprocess
from pathlib import Path

import pytest

import heed.demo.grammar
from tests.cli.conftest import COMMAND, ENVIRONMENT, write_lines
from tests.cli.conftest import heed as run

N = 1500


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = heed.demo.grammar.corpus(train=N, valid=0, test=100, seed=3)
    for name, pairs in (("train", made.train), ("test", made.test)):
        write_lines(tmp_path / f"{name}.en", [pair.source for pair in pairs])
        write_lines(tmp_path / f"{name}.de", [pair.target for pair in pairs])
    return tmp_path


def corpus(folder: Path, name: str = "train") -> list[object]:
    return ["doctor", "--source", folder / f"{name}.en", "--target", folder / f"{name}.de"]


def held_out(folder: Path) -> list[object]:
    return ["--test-source", folder / "test.en", "--test-target", folder / "test.de"]


def lines_of(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split("\n")[:-1]


def change(path: Path, **lines: str) -> None:
    """Replace lines of a file: `change(path, line12="...")`."""
    text = lines_of(path)
    for name, line in lines.items():
        text[int(name.removeprefix("line")) - 1] = line
    write_lines(path, text)


@pytest.fixture
def spoilt(folder: Path) -> Path:
    """A duplicate (7 again at 107), mojibake (9), a copy (11), a blank side (13), a control character (15)."""
    source, target = lines_of(folder / "train.en"), lines_of(folder / "train.de")
    text = "we all know what that means for you."
    change(folder / "train.en", line9="It rains.", line11=text, line107=source[6], line15=source[14] + "\x1b[31m")
    torn = "Es regnet über der Brücke.".encode().decode("cp1252")
    change(folder / "train.de", line9=torn, line11=text, line13="", line107=target[6])
    return folder


def test_healthy(folder: Path) -> None:
    done = run(*corpus(folder), *held_out(folder))
    assert (done.code, done.err) == (0, "")
    assert done.lines[0].endswith("1,500 pairs")
    assert "healthy. Next:" in done.lines
    assert command_named(done.out) == (
        f"heed split --source {folder / 'train.en'} --target {folder / 'train.de'} --test 0 --out data"
    )


def command_named(out: str) -> str:
    """Return the command after "Next:", with its lines joined."""
    return " ".join(out.rsplit("Next:\n", 1)[1].replace("\\\n", " ").split())


def test_the_next_command_fits_80_columns_and_can_be_run(folder: Path) -> None:
    names = [folder / f"everyday-sentences.{language}" for language in ("en", "de")]
    for name, language in zip(names, ("en", "de"), strict=True):
        (folder / f"train.{language}").rename(name)
    process = subprocess.run(
        [COMMAND, "doctor", "--source", names[0].name, "--target", names[1].name, "--fix", "clean-copy-of-the-corpus"],
        cwd=folder,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
    )
    assert process.returncode == 0, process.stderr
    assert max(map(len, process.stdout.splitlines())) <= 80
    command = process.stdout.rsplit("Next:\n", 1)[1]
    assert command.split()[:2] == ["heed", "split"] and len(command.splitlines()) > 1
    environment = {**ENVIRONMENT, "PATH": f"{Path(COMMAND).parent}:{ENVIRONMENT['PATH']}"}
    command = command.replace("--out data", "--out data --valid 20 --test 20")
    split = subprocess.run(command, shell=True, cwd=folder, env=environment, capture_output=True, text=True)
    assert split.returncode == 0, split.stderr
    assert len(lines_of(folder / "data" / "train.de")) == N - 40


def test_pairs_that_are_compared_are_both_shown(folder: Path) -> None:
    change(folder / "train.en", line3="Save Tom.", line100="Save Tom.", line5="Here I am.", line200="here I am")
    change(
        folder / "train.de", line3="Rette Tom!", line100="Rettet Tom!", line5="Hier bin ich.", line200="Hier bin ich"
    )
    done = run(*corpus(folder))
    assert done.code == 0, done.out
    near = "  line 200:\n    here I am\n    Hier bin ich\n  compare line 5:\n    Here I am.\n    Hier bin ich.\n"
    one, other = ("line 3:\n    Save Tom.\n    Rette Tom!\n", "line 100:\n    Save Tom.\n    Rettet Tom!\n")
    assert near in done.out
    assert f"  {one}  compare {other}  {other}  compare {one}" in done.out
    findings = {one["kind"]: one["examples"] for one in json.loads(run(*corpus(folder), "--json").out)["findings"]}
    places = {kind: [(one["line"], one["other"]["line"]) for one in findings[kind]] for kind in COMPARED}
    assert places == {"near-duplicate": [(200, 5)], "several-targets": [(3, 100), (100, 3)]}


COMPARED = ("near-duplicate", "several-targets")


@pytest.mark.parametrize("n", [1, 50])
def test_too_little_text_to_judge_languages_is_not_called_one_language(folder: Path, n: int) -> None:
    for language in ("en", "de"):
        write_lines(folder / f"train.{language}", lines_of(folder / f"train.{language}")[:n])
    done = run(*corpus(folder))
    assert done.code == 0
    assert "too little text to tell" in done.out and "look like the same" not in done.out
    assert "\n\n\n" not in done.out


def test_faults(spoilt: Path) -> None:
    done = run(*corpus(spoilt))
    assert (done.code, done.err) == (1, "")
    table = done.out.split("\n\n")[1]
    for title, share, fix in (
        ("UTF-8 read as Latin-1 (Ã¼, â€™)", "0.07 %", "repaired"),
        ("duplicate pair", "0.07 %", "dropped"),
    ):
        row = next(line for line in table.splitlines() if line.startswith(title))
        assert row.removeprefix(title).split() == ["1", *share.split(), fix]
    assert f"{spoilt / 'train.de'}, line 9:\n    Es regnet Ã¼ber der BrÃ¼cke.\n" in done.out
    assert f"{spoilt / 'train.en'}, line 15:\n" in done.out
    assert "\x1b" not in done.out and "\\x1b[31m" in done.out
    assert "  line 107:\n" in done.out
    assert "5 of 1,500 pairs are faulty (mojibake, control, blank, copy, duplicate)." in done.lines
    assert command_named(done.out) == (
        f"heed doctor --source {spoilt / 'train.en'} --target {spoilt / 'train.de'} --fix clean"
    )
    assert all(len(line) <= 80 for line in done.lines if str(spoilt) not in line)


def test_the_command_it_names_does_what_it_says(spoilt: Path) -> None:
    done = run(*corpus(spoilt), *held_out(spoilt), "--keep", "copy", "--fix", spoilt / "clean")
    assert (done.code, done.err) == (0, "")
    assert f"dropped: 2 pairs (lines and reasons in {spoilt / 'clean' / 'dropped.tsv'})" in done.lines
    assert lines_of(spoilt / "clean" / "dropped.tsv") == ["line\treasons", "13\tblank", "107\tduplicate"]
    assert lines_of(spoilt / "clean" / "repaired.tsv") == ["line\treasons", "9\tmojibake", "15\tcontrol"]
    assert sorted(path.name for path in (spoilt / "clean").iterdir()) == [
        "dropped.tsv",
        "repaired.tsv",
        "train.de",
        "train.en",
    ]
    before, after = lines_of(spoilt / "train.de"), lines_of(spoilt / "clean" / "train.de")
    before[8] = "Es regnet über der Brücke."
    assert after == [line for number, line in enumerate(before, 1) if number not in (13, 107)]
    assert "1,498 pairs left, examined again: healthy. Next:" in done.lines
    again = run(*corpus(spoilt / "clean"), "--keep", "copy")
    assert again.code == 0
    assert run(*corpus(spoilt / "clean"), "--fix", spoilt / "clean").code == 2  # the folder is not empty


def test_json(spoilt: Path) -> None:
    done = run(*corpus(spoilt), "--json", "--fix", spoilt / "clean")
    assert done.code == 0
    said = json.loads(done.out)
    assert said["source_lines"] == said["target_lines"] == N
    assert not said["healthy"] and said["faulty_pairs"] == 5
    faults = {finding["kind"]: finding for finding in said["findings"] if finding["fault"]}
    assert {kind: fault["lines"] for kind, fault in faults.items()} == {
        "mojibake": [9],
        "control": [15],
        "blank": [13],
        "copy": [11],
        "duplicate": [107],
    }
    assert faults["mojibake"]["examples"] == [
        {"line": 9, "side": "target", "source": "It rains.", "target": "Es regnet Ã¼ber der BrÃ¼cke.", "other": None}
    ]
    assert said["fixed"]["dropped"] == {"blank": 1, "copy": 1, "duplicate": 1}
    assert said["fixed"]["repaired"] == {"mojibake": 1, "control": 1}
    assert run(*corpus(spoilt), "--json").code == 1


def test_files_of_different_length(folder: Path) -> None:
    write_lines(folder / "train.de", lines_of(folder / "train.de")[:700] + lines_of(folder / "train.de")[701:])
    done = run(*corpus(folder))
    assert done.code == 1
    assert "the source has 1,500 lines, the target 1,499" in done.out
    assert "from about line 70" in done.out
    assert done.lines[-1].startswith("cannot be trained on as it is (line-count)")
    done = run(*corpus(folder), "--fix", folder / "clean")
    assert done.code == 1
    assert "files of different length, which --fix cannot repair" in done.err
    assert not (folder / "clean").exists() or not any((folder / "clean").iterdir())


def test_overlap_with_the_test_text(folder: Path) -> None:
    change(folder / "train.en", line40=lines_of(folder / "test.en")[3])
    change(folder / "train.de", line40=lines_of(folder / "test.de")[3])
    done = run(*corpus(folder), *held_out(folder))
    assert done.code == 1
    assert "1 of 100 test sentences are in the training text" in done.out
    assert run(*corpus(folder)).code == 0  # without the test text, nothing is wrong


def test_compressed_tsv(folder: Path) -> None:
    rows = [
        "\t".join(pair) for pair in zip(*(lines_of(folder / f"train.{side}") for side in ("en", "de")), strict=True)
    ]
    (folder / "pairs.tsv.gz").write_bytes(gzip.compress("\n".join([*rows, rows[3]]).encode()))
    done = run("doctor", "--source", folder / "pairs.tsv.gz", "--fix", folder / "clean")
    assert done.code == 0
    assert gzip.decompress((folder / "clean" / "pairs.tsv.gz").read_bytes()).decode() == "\n".join([*rows, ""])


@pytest.mark.parametrize(
    ("more", "code", "message"),
    [
        (["--keep", "dublicate"], 2, "--keep dublicate: no such finding; choose from line-count, "),
        (["--keep", "line-count"], 2, "cannot be trained on"),
        (["--test-source", "x.en"], 2, "1 --test-source but 0 --test-target"),
        (["--test-source", "x.en", "--test-target", "x.de"], 1, "x.en: no such file"),
        (["--fix", "."], 2, "is not empty"),
    ],
)
def test_wrong_usage(more: list[str], code: int, message: str, folder: Path) -> None:
    done = run(*corpus(folder), *more)
    assert done.code == code
    assert message in done.err and "Traceback" not in done.err


def test_a_source_without_a_target_is_refused(folder: Path) -> None:
    done = run("doctor", "--source", folder / "train.en")
    assert done.code == 2 and "has no translation" in done.err
    assert run("doctor", "--source", "-", "--target", folder / "train.de").code == 1
