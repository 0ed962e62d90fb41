import contextlib
import os
import pty
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import heed
from heed.cli.main import COMMANDS, GROUPS, build_parser, main, module_of
from tests.cli.conftest import COMMAND, ENVIRONMENT
from tests.cli.conftest import heed as run_heed

PAGES = [[], *([command] for command in COMMANDS), *(["bench", kind] for kind in ("train", "translate", "prepare"))]
PAGES += [["data", kind] for kind in ("list", "get")]
OPERATORS = {"|", "<", ">", ">>"}


def help_of(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    with pytest.raises(SystemExit) as caught:
        main([*words, "--help"])
    assert caught.value.code == 0
    return capsys.readouterr().out


def examples_in(text: str) -> list[str]:
    """Return the commands below "examples:", with continued lines joined."""
    below = text.split("\nexamples:\n", 1)[1].split("\n\n")[0].replace("\\\n", " ")
    return [line.strip() for line in below.splitlines()]


@pytest.mark.parametrize("page", PAGES, ids=" ".join)
def test_every_help_fits_a_terminal_of_80_columns(
    page: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert [line for line in help_of(capsys, *page).splitlines() if len(line) >= 80] == []


@pytest.mark.parametrize("page", PAGES, ids=" ".join)
def test_every_help_ends_in_examples_that_would_run(page: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    examples = examples_in(help_of(capsys, *page))
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
        used += [parser.parse_args(arguments).command for arguments in ours]
    assert not page or page[0] in used


def test_the_help_names_every_command_once_in_groups(capsys: pytest.CaptureFixture[str]) -> None:
    text = help_of(capsys)
    assert re.findall(r"^(\w[\w ]+):$", text, re.MULTILINE) == [*GROUPS, "other options", "examples"]
    for command in COMMANDS:
        assert len(re.findall(rf"^  {command}  +{re.escape(module_of(command).HELP[:20])}", text, re.MULTILINE)) == 1


@pytest.mark.parametrize("page", [[], ["train"], ["bench", "train"]], ids=" ".join)
def test_help_is_a_command_too(page: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["help", *page])
    assert caught.value.code == 0
    assert capsys.readouterr().out == help_of(capsys, *page)


def test_every_command_has_its_file() -> None:
    folder = Path(heed.__file__).parent / "cli"
    assert {file.stem for file in folder.glob("*.py")} == {
        *(name.replace("-", "_") for name in COMMANDS),
        *("__init__", "main", "output", "progress", "score_trees", "search", "startup", "terminal", "usage"),
    }


def test_the_command_and_the_module_are_the_same() -> None:
    assert run_heed("--version").out == f"heed {heed.__version__}\n"
    done = subprocess.run([sys.executable, "-m", "heed", "--version"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, f"heed {heed.__version__}\n")


@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        ("train --sorce a.en --target b.de", "heed train: unknown option --sorce; did you mean --source?"),
        ("train --sorce=a.en", "heed train: unknown option --sorce; did you mean --source?"),
        ("train --valid_source a", "heed train: unknown option --valid_source; did you mean --valid-source?"),
        ("train --max-steps 5", "heed train: unknown option --max-steps; it is a setting: --set train.max_steps=5"),
        ("train --max_steps=5", "heed train: unknown option --max_steps; it is a setting: --set train.max_steps=5"),
        ("train --seed --out x", "heed train: unknown option --seed; it is a setting: --set train.seed=..."),
        (
            "train --batch-token 9",
            "heed train: unknown option --batch-token; did you mean --set train.batch_tokens=...?",
        ),
        ("train --qqq 9", "heed train: unknown option --qqq"),
        ("check-resume --beam 2", "heed check-resume: unknown option --beam; it is a setting: --set decode.beam=2"),
        ("bench train --roundz 2", "heed bench train: unknown option --roundz; did you mean --rounds?"),
        ("export --max-steps 5", "heed export: unknown option --max-steps"),
        ("translate --model M in.txt", "heed translate: in.txt: unexpected argument; use --input in.txt"),
        (
            "translate Hello!",
            "heed translate: Hello!: unexpected argument; text is read from standard input: "
            "echo 'Hello!' | heed translate",
        ),
        ("doctor --source a.en a.de", "heed doctor: a.de: unexpected argument; use --target a.de"),
        ("demo x", "heed demo: x: unexpected argument; it belongs to no option"),
        ("train a.toml b.toml", "heed train: b.toml: unexpected argument; only config is given without an option"),
        ("trian", 'heed: unknown command "trian"; did you mean train?'),
        ("trian --source x", 'heed: unknown command "trian"; did you mean train?'),
        ("help trian", 'heed: unknown command "trian"; did you mean train?'),
        ("bench trian", 'heed bench: unknown command "trian"; did you mean train?'),
        ("frobnicate", f'heed: unknown command "frobnicate"; choose from {", ".join(COMMANDS)}'),
        ("--foo", "heed: unknown option --foo"),
        ("evaluate", "heed evaluate: the following arguments are required: --model, --reference"),
        ("translate --model x --beam y", "heed translate: argument --beam: invalid int value: 'y'"),
    ],
)
def test_wrong_usage_names_the_command_and_a_correction(
    command: str, complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command.split()) == 2
    shown = capsys.readouterr()
    assert shown.err.splitlines()[0] == complaint
    assert shown.err.splitlines()[1] == f"see {complaint.split(':')[0]} --help"
    assert shown.out == ""


@pytest.mark.parametrize("arguments", [[], ["translat"], ["train", "--sauce", "x"], ["train", "--set", "x"]])
def test_wrong_usage_is_2(arguments: list[str]) -> None:
    done = run_heed(*arguments)
    assert (done.code, done.out) == (2, "")
    assert done.err and "Traceback" not in done.err


def test_values_that_look_like_options_are_values() -> None:
    args = build_parser().parse_args(["translate", "--model", "x", "--alpha", "-1", "--input", "-"])
    assert (args.alpha, args.input) == (-1.0, "-")
    assert build_parser().parse_args(["train", "--sour", "a", "--", "--strange.toml"]).config == Path("--strange.toml")


# --- errors on a terminal ---------------------------------------------------------------------------------


def on_a_terminal(*arguments: str, **environment: str) -> str:
    """Return what the command shows on a terminal."""
    ours, theirs = pty.openpty()
    with open(ours, "rb", buffering=0) as screen:
        process = subprocess.Popen([COMMAND, *arguments], stderr=theirs, env={**ENVIRONMENT, **environment})
        os.close(theirs)
        seen = b""
        with contextlib.suppress(OSError):  # Linux says so when the other side is closed
            while block := screen.read(65536):
                seen += block
        assert process.wait(60) == 2
    return seen.decode()


def test_errors_are_red_where_colours_are_shown() -> None:
    wrong = ("export", "--model", "m\x1b[5m", "--to", "huggingface", "--out", "/tmp")
    said = "heed export: --out /tmp: exists already; name a new folder"
    assert on_a_terminal(*wrong) == f"\x1b[31m{said}\x1b[0m\r\n"
    assert on_a_terminal(*wrong, NO_COLOR="1") == on_a_terminal(*wrong, TERM="dumb") == f"{said}\r\n"
    assert run_heed(*wrong).err == f"{said}\n"


def test_control_characters_are_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--source", "a\x1b[5m\x9b\x07", "--target", "b"]) == 1
    assert capsys.readouterr().err.startswith("heed doctor: a\\x1b[5m\\x9b\\x07: no such file")


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
    monkeypatch.setattr(module_of("score"), "run", lambda args: open(tmp_path / "absent" / "out", "w"))
    assert main(["score", "--reference", "x"]) == 1
    assert capsys.readouterr().err == f"heed score: {tmp_path / 'absent' / 'out'}: No such file or directory\n"


def test_characters_the_terminal_lacks_are_escaped(tmp_path: Path) -> None:
    for name in ("a.en", "a.de"):
        (tmp_path / name).write_text("über\n" * 5, encoding="utf-8")
    done = subprocess.run(
        [COMMAND, "doctor", "--source", tmp_path / "a.en", "--target", tmp_path / "a.de"],
        env={**ENVIRONMENT, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        capture_output=True,
        timeout=120,
    )
    assert b"Traceback" not in done.stderr, done.stderr
    assert done.returncode in (0, 1) and b"\\xfcber" in done.stdout
