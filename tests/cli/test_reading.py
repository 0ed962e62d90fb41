"""Every command reads text in the same way: gzip under any name, and only UTF-8."""

import gzip
import json
from pathlib import Path

import pytest

from heed.cli.main import main
from tests.cli.conftest import Trained, heed, letters, write_lines


@pytest.fixture
def sides(tmp_path: Path) -> tuple[Path, Path]:
    lines = letters(3, 60)
    return write_lines(tmp_path / "a.en", lines), write_lines(tmp_path / "a.de", [line[::-1] for line in lines])


def commands(source: Path, target: Path, folder: Path) -> list[list[str]]:
    both = ["--source", str(source), "--target", str(target)]
    return [
        ["train", *both, "--preset", "tiny", "--out", str(folder / "run")],
        ["prepare", *both, "--vocab-size", "300", "--out", str(folder / "data")],
        ["doctor", *both],
        ["score", "--hypotheses", str(source), "--reference", str(target)],
    ]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32"])
def test_wide_encodings_are_refused_alike(
    sides: tuple[Path, Path], tmp_path: Path, encoding: str, capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = sides
    target.write_bytes(target.read_text(encoding="utf-8").encode(encoding))
    for command in commands(source, target, tmp_path):
        assert main(command) == 1
        said = capsys.readouterr().err.splitlines()[-1]
        name = encoding.replace("-le", "le")
        assert said == (
            f"heed {command[0]}: {target}: is {name.upper()}, not UTF-8; "
            f"convert it first: iconv -f {name} -t utf-8 {target} > {target}.utf8"
        )
    assert not (tmp_path / "run").exists() and not (tmp_path / "data").exists()


def test_gzip_is_read_whatever_its_name(
    sides: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = sides
    source.write_bytes(gzip.compress(source.read_bytes()))
    prepare, doctor = commands(source, target, tmp_path)[1:3]
    assert main([*prepare, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["pairs"] == 60
    main([*doctor, "--json"])
    assert json.loads(capsys.readouterr().out)["source_lines"] == 60


def test_gzip_on_standard_input(trained: Trained) -> None:
    text = "a b c\n\nd d\n"
    translate = ["translate", "--model", trained.path]
    plain, packed = heed(*translate, given=text), heed(*translate, given=gzip.compress(text.encode()))
    assert (packed.code, packed.out) == (0, plain.out)
    assert len(plain.lines) == 3
    done = heed(*translate, given=text.encode("utf-16-be"))
    assert (done.code, done.out) == (1, "")
    assert done.err == (
        "heed translate: standard input: is UTF-16BE, not UTF-8; convert it first: iconv -f utf-16be -t utf-8\n"
    )


def test_unequal_files_name_the_command_that_finds_where(
    sides: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = sides
    longer = write_lines(tmp_path / "long er.en", [*letters(3, 60), "a"])
    train, prepare, *_ = commands(longer, target, tmp_path)
    for command in (train, prepare):
        assert main(command) == 1
        assert f"heed doctor --source '{longer}' --target {target}\n" in capsys.readouterr().err
