import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import heed
from heed.cli.main import VERBS, build_parser, main
from tests.cli.conftest import heed as run_heed

OPERATORS = {"|", "<", ">", ">>"}


def help_of(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    with pytest.raises(SystemExit) as caught:
        main([*words, "--help"])
    assert caught.value.code == 0
    return capsys.readouterr().out


def examples_in(text: str) -> list[str]:
    """The commands below "examples:", continued lines joined."""
    below = text.split("\nexamples:\n", 1)[1].split("\n\n")[0].replace("\\\n", " ")
    return [line.strip() for line in below.splitlines()]


@pytest.mark.parametrize("verb", ["", *VERBS])
def test_every_help_ends_in_examples_that_would_run(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    examples = examples_in(help_of(capsys, *([verb] if verb else [])))
    assert len(examples) >= 2
    parser = build_parser()
    used = []
    for example in examples:
        words = shlex.split(example)
        commands: list[list[str]] = [[]]
        for word in words:
            commands = [*commands, []] if word in OPERATORS else [*commands[:-1], [*commands[-1], word]]
        ours = [command[1:] for command in commands if command[:1] == ["heed"]]
        assert ours, example
        used += [parser.parse_args(arguments).verb for arguments in ours]
    assert not verb or verb in used


def test_the_help_names_every_verb(capsys: pytest.CaptureFixture[str]) -> None:
    text = help_of(capsys)
    for verb, module in VERBS.items():
        assert re.search(rf"^    {verb}\s+{re.escape(module.HELP[:20])}", text, re.MULTILINE)


def test_every_verb_has_its_file() -> None:
    folder = Path(heed.__file__).parent / "cli"
    assert {file.stem for file in folder.glob("*.py")} == {
        *(name.replace("-", "_") for name in VERBS),
        *("__init__", "main", "output", "progress", "startup", "terminal"),
    }


def test_the_command_and_the_module_are_one() -> None:
    assert run_heed("--version").out == f"heed {heed.__version__}\n"
    done = subprocess.run([sys.executable, "-m", "heed", "--version"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, f"heed {heed.__version__}\n")


@pytest.mark.parametrize(
    "arguments",
    [[], ["translat"], ["train", "--sauce", "x"], ["translate"], ["translate", "--model", "x", "--beam", "y"]],
)
def test_wrong_usage_is_2(arguments: list[str]) -> None:
    done = run_heed(*arguments)
    assert done.code == 2
    assert done.err.startswith("usage: heed")
    assert done.out == ""
    assert "Traceback" not in done.err


def test_debug_shows_where_an_error_came_from() -> None:
    plain, traced = (run_heed("train", "--preset", "tinny", *more) for more in ([], ["--debug"]))
    assert plain.code == 2
    assert plain.err.startswith('heed train: unknown preset "tinny"')
    assert "Traceback" not in plain.err
    assert "Traceback" in traced.err and "ConfigError: unknown preset" in traced.err
    assert traced.code != 0


def test_a_file_that_cannot_be_written_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(VERBS["score"], "run", lambda args: open(tmp_path / "absent" / "out", "w"))
    assert main(["score", "--reference", "x"]) == 1
    assert capsys.readouterr().err == f"heed score: {tmp_path / 'absent' / 'out'}: No such file or directory\n"
