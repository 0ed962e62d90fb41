import gzip
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from dataclasses import fields, is_dataclass
from fcntl import ioctl
from pathlib import Path
from typing import get_type_hints

import pytest
import safetensors.numpy
import torch

from heed.cli.main import main
from heed.config import Config
from tests.cli.conftest import Trained, TrainRun, heed, letters, settings, started, write_lines


def events_of(run: Path) -> list[dict[str, object]]:
    lines = (run / "events.jsonl").read_bytes().decode().split("\n")
    assert lines.pop() == ""
    return [json.loads(line) for line in lines]


def weights(run: Path, checkpoint: str, group: str = "model") -> bytes:
    return (run / "checkpoints" / checkpoint / f"{group}.safetensors").read_bytes()


# --- the run folder ---------------------------------------------------------------------------------------


def test_the_run_folder_is_as_documented(trained: Trained) -> None:
    files = {str(file.relative_to(trained.path)) for file in trained.path.rglob("*") if file.is_file()}
    files = {name for name in files if not name.startswith("export/")}  # written by a translation of another test
    steps = [f"checkpoints/step-{step:08d}" for step in (10, 20, 30, 40)]
    assert files == {
        "config.json",
        "tokenizer.model",
        "events.jsonl",
        "best.json",
        "lock",
        *(f"data/{side}.{what}" for side in ("source", "target") for what in ("ids", "lengths", "starts")),
        *(f"data/{name}" for name in ("lines", "blank_lines", "tokenizer.model", "manifest.json")),
        *(
            f"{step}/{name}"
            for step in steps
            for name in ("manifest.json", "model.safetensors", "optimizer.safetensors")
        ),
        "checkpoints/average-00000040/manifest.json",
        "checkpoints/average-00000040/model.safetensors",
    }
    config = json.loads((trained.path / "config.json").read_text())
    assert (config["preset"], config["model"]["d_model"], config["train"]["max_steps"]) == ("tiny", 16, 40)
    best = json.loads((trained.path / "best.json").read_text())
    assert (trained.path / "checkpoints" / best["checkpoint"]).is_dir()
    assert {"bleu", "perplexity"} <= best.keys()


def test_the_average_is_that_of_the_last_checkpoints(trained: Trained) -> None:
    states = [safetensors.numpy.load(weights(trained.path, f"step-{step:08d}")) for step in (10, 20, 30, 40)]
    mean = safetensors.numpy.load(weights(trained.path, "average-00000040"))
    for key, found in mean.items():
        expected = sum(state[key].astype("float64") for state in states) / 4
        assert abs(found - expected).max() < 1e-6


def test_there_is_one_event_a_line(trained: Trained) -> None:
    events = events_of(trained.path)
    kinds = [event["event"] for event in events]
    assert kinds[0] == "start" and kinds[-1] == "end"
    steps = [event for event in events if event["event"] == "step"]
    assert [event["step"] for event in steps] == [10, 20, 30, 40]
    assert all({"loss", "perplexity", "learning_rate", "tokens_per_second"} <= event.keys() for event in steps)
    # Equation (3) by hand: 0.3 * 16^-0.5 * min(step^-0.5, step * 20^-1.5)
    for event, rate in zip(steps, [0.00838525, 0.01677051, 0.01369306, 0.01185854], strict=True):
        assert event["learning_rate"] == pytest.approx(rate, rel=1e-6)
    validations = [event for event in events if event["event"] == "validation"]
    assert [event["step"] for event in validations] == [20, 40, 40]  # the last one is the average's
    assert all(len(event["samples"]) == 3 for event in validations)  # type: ignore[arg-type]
    assert kinds.count("checkpoint") == 4
    moments = [event["time"] for event in events]
    assert moments == sorted(moments)  # type: ignore[type-var]


def test_without_a_terminal_there_are_plain_lines(trained: Trained) -> None:
    done = trained.done
    assert done.out == ""
    assert "\x1b" not in done.err and "\r" not in done.err
    number = r"[\d,.]+"
    pattern = rf"^step (10|20|30|40)/40  loss {number}  perplexity {number}  lr \S+  {number} tokens/s  .+ left$"
    assert len(re.findall(pattern, done.err, re.MULTILINE)) == 4
    assert re.search(rf"^validation at step 20: perplexity {number}, BLEU {number}$", done.err, re.MULTILINE)
    assert done.err.count("    translation  ") == 9
    assert f"next: heed translate --model {trained.path}" in done.err
    assert "warning" not in done.err.lower()


def test_on_a_terminal_there_is_a_bar(train_arguments: list[object], tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 80, 0, 0))
    process = started(*train_arguments, "--out", tmp_path / "run", *settings(train__max_steps=20), stderr=theirs)
    os.close(theirs)
    seen = b""
    while True:
        try:
            block = os.read(ours, 65536)
        except OSError:  # Linux says so when the other side is closed
            break
        if not block:
            break
        seen += block
    os.close(ours)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert out == b""
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen.decode())
    assert b"\x1b[" in seen
    assert "━" in text
    bars = re.findall(r"20/20 [^\r\n]*loss +[\d.]+ ppl +[\d.e+]+ +[\d,]+ tok/s [^\r\n]* left", text)
    assert bars and max(map(len, bars)) <= 80
    assert text.index("done after 20 steps") > text.rindex("tok/s")  # the last message is below the bar
    assert "tokens/s" not in text  # no plain lines in addition to the bar
    assert "validation at step 20: perplexity" in text
    assert re.search(r"20/20 [^\r\n]*validating \.\.\.", text)
    assert [event["step"] for event in events_of(tmp_path / "run") if event["event"] == "step"] == [10, 20]


def test_the_saved_config_repeats_the_run(trained: Trained, tmp_path: Path) -> None:
    done = heed("train", trained.path / "config.json", "--out", tmp_path / "again")
    assert done.code == 0, done.err
    assert (tmp_path / "again" / "config.json").read_bytes() == (trained.path / "config.json").read_bytes()
    for group in ("model", "optimizer"):
        assert weights(tmp_path / "again", "step-00000040", group) == weights(trained.path, "step-00000040", group)


def test_another_run_may_take_over_the_vocabulary(trained: Trained, second: Trained) -> None:
    assert (second.path / "tokenizer.model").read_bytes() == (trained.path / "tokenizer.model").read_bytes()
    assert "learning a joint vocabulary" not in second.done.err
    assert weights(second.path, "step-00000020") != weights(trained.path, "step-00000020")


# --- stopping and resuming --------------------------------------------------------------------------------


def lines_until(process: subprocess.Popen[bytes], word: bytes, seconds: float = 60) -> bytes:
    """Read standard error up to a line with this word."""
    assert process.stderr is not None
    seen, end = b"", time.monotonic() + seconds
    while word not in seen:
        assert time.monotonic() < end, seen
        if select.select([process.stderr], [], [], 1)[0]:
            block = os.read(process.stderr.fileno(), 4096)
            assert block, seen
            seen += block
    return seen


def test_ctrl_c_saves_and_resuming_ends_as_if_nothing_had_happened(
    train_run: TrainRun, train_arguments: list[object], corpus: Path, tmp_path: Path
) -> None:
    changes = {"train__max_steps": 150, "train__log_every": 1, "train__validate_every": 75, "train__save_every": 50}
    whole = train_run(**changes)
    # The interrupted run reads its settings from a file.
    names = ("train_source", "train.src"), ("train_target", "train.tgt")
    names += ("valid_source", "valid.src"), ("valid_target", "valid.tgt")
    toml = 'preset = "tiny"\n[data]\n' + "".join(f'{key} = "{corpus / name}"\n' for key, name in names)
    (tmp_path / "run.toml").write_text(toml + "[train]\nmax_steps = 7\nadam_epsilon = 1e-9\n", encoding="utf-8")
    with started("train", tmp_path / "run.toml", "--out", tmp_path / "run", *settings(**changes)) as process:
        seen = lines_until(process, b"step 3/150")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    said = (seen + err).decode()
    assert process.returncode == 130, said
    assert out == b""
    stopped = re.search(r"^stopped and saved at step (\d+)$", said, re.MULTILINE)
    assert stopped is not None and 3 <= int(stopped[1]) < 150, said
    assert said.endswith(f"to resume: heed train --resume {tmp_path / 'run'}\n")
    assert "Traceback" not in said
    assert events_of(tmp_path / "run")[-1]["event"] == "interrupted"

    done = heed("train", "--resume", tmp_path / "run")
    assert done.code == 0, done.err
    assert f"resuming at step {stopped[1]}\n" in done.err
    for checkpoint, group in [
        ("step-00000150", "model"),
        ("step-00000150", "optimizer"),
        ("step-00000100", "model"),
        ("average-00000150", "model"),
    ]:
        assert weights(tmp_path / "run", checkpoint, group) == weights(whole.path, checkpoint, group), checkpoint
    assert (tmp_path / "run" / "best.json").read_bytes() == (whole.path / "best.json").read_bytes()
    logged = [event["step"] for event in events_of(tmp_path / "run") if event["event"] == "step"]
    assert logged == list(range(1, 151))


def test_resuming_takes_no_other_settings(trained: Trained) -> None:
    for more in (["--set", "train.seed=5"], ["--set", "model.h=4"], ["--preset", "base"], ["--out", "x"]):
        done = heed("train", "--resume", trained.path, *more)
        assert done.code == 2
        assert "--resume keeps the run's own settings; --set can change only train.max_steps" in done.err


# --- bad input --------------------------------------------------------------------------------------------


def refused(done: object, code: int, *words: str) -> None:
    assert done.code == code, done.err  # type: ignore[attr-defined]
    assert done.out == ""  # type: ignore[attr-defined]
    err = done.err  # type: ignore[attr-defined]
    assert "Traceback" not in err
    assert err.splitlines()[-1].startswith("heed train: ") or len(words) > 1
    for word in words:
        assert word in err


@pytest.fixture
def files(tmp_path: Path) -> Path:
    write_lines(tmp_path / "three", ["a", "b", "c"])
    write_lines(tmp_path / "two", ["a", "b"])
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "latin1").write_bytes("a\ngrün\nc\n".encode("latin1"))
    return tmp_path


@pytest.mark.parametrize(
    ("source", "target", "complaint"),
    [
        ("three", "two", "three has 3 lines, but {folder}/two has 2; line n of one must be the translation"),
        ("three", "empty", "{folder}/empty: is empty; a corpus needs at least one line"),
        ("three", "latin1", "{folder}/latin1, line 2: not UTF-8 (byte 0xfc at position 3)"),
        ("absent", "two", "{folder}/absent: no such file"),
    ],
)
def test_files_that_cannot_be_trained_on(files: Path, source: str, target: str, complaint: str) -> None:
    done = heed("train", "--source", files / source, "--target", files / target, "--out", files / "run", *settings())
    refused(done, 1, complaint.format(folder=files))
    assert not (files / "run").exists()


def test_validation_files_are_checked_before_training_begins(files: Path, corpus: Path) -> None:
    sides = ["--source", corpus / "train.src", "--target", corpus / "train.tgt"]
    valid = ["--valid-source", files / "three", "--valid-target", files / "two"]
    refused(heed("train", *sides, *valid, "--out", files / "run", *settings()), 1, "three has 3 lines, but ")
    assert not (files / "run").exists()


def test_invalid_settings_are_refused(files: Path) -> None:
    """All errors are reported together, each with a correction."""
    (files / "x.toml").write_text('[train]\nwarmup_step = 5\n[model]\nd_model = "wide"\n', encoding="utf-8")
    done = heed("train", files / "x.toml", "--out", files / "run", "--set", "decode.beams=2")
    refused(
        done,
        2,
        f'{files}/x.toml: unknown key "train.warmup_step"; did you mean "train.warmup_steps"?\n',
        f"{files}/x.toml: model.d_model = 'wide': must be a whole number\n",
        '--set: unknown key "decode.beams"; did you mean "decode.beam"?\n',
    )


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--preset", "tinny", "--out", "x"], 'unknown preset "tinny"; did you mean "tiny"?'),
        (["--source", "a", "--target", "b"], "--out is missing; name a new run folder"),
        (["absent.toml", "--out", "x"], "absent.toml: no such file"),
        (["--set", "max_steps=5", "--out", "x"], "write it as section.key=value"),
        (["--source", "a", "--valid-target", "b", "--out", "x"], "data.valid_source, is missing"),
    ],
)
def test_invalid_usage_is_refused(arguments: list[str], complaint: str) -> None:
    refused(heed("train", *arguments), 2, complaint)


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("a.en", "A man rides.\n", "a.en: not TOML; pass text with --source"),
        ("x.toml", "preset = tiny\n", 'x.toml: line 1: text needs quotes; write preset = "tiny"'),
        ("x.toml", "[train]\nlearning_rate_factor = inf\n", "train.learning_rate_factor = inf: must be finite"),
        ("x.toml", "[text]\ncharacter_coverage = 0.9\n", "text.character_coverage = 0.9: must be at least 0.98"),
    ],
)
def test_invalid_config_files_are_refused(
    tmp_path: Path, name: str, content: str, complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    assert main(["train", str(tmp_path / name), "--out", str(tmp_path / "run")]) == 2
    assert complaint in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_a_training_without_a_preset_names_smaller_ones(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    absent = ["train", "--source", str(tmp_path / "a"), "--target", str(tmp_path / "b"), "--out", str(tmp_path / "run")]
    assert main(absent) == 1
    said = capsys.readouterr().err
    assert ("no --preset: training the paper's base model" in said) == (not torch.cuda.is_available())
    assert all(len(line) < 80 for line in said.splitlines()[:-1])
    assert main([*absent, "--preset", "base"]) == 1
    assert "no --preset" not in capsys.readouterr().err


# --- settings ---------------------------------------------------------------------------------------------


def test_every_setting_is_shown_with_its_value_and_meaning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.toml").write_text('preset = "tiny"\n[model]\nnorm = "pre"\n', encoding="utf-8")
    command = ["train", str(tmp_path / "x.toml"), "--set", "train.seed=7", "--settings"]
    assert main(command) == 0
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) < 80
    for line in ("* model.d_model = 128 ", '* model.norm = "pre" ', "* train.seed = 7 ", "  decode.beam = 4 "):
        assert f"\n{line}" in text
    assert main([*command, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["preset"] == "tiny"
    made = {f"{section}.{key}" for section, kind in get_type_hints(Config).items() for key in vars_of(kind)}
    assert found["settings"].keys() == made
    assert (found["settings"]["train.seed"]["value"], found["settings"]["train.seed"]["default"]) == (7, 1)
    for key, setting in found["settings"].items():
        assert setting["meaning"], key
        assert f" {key} = " in text
        assert setting["meaning"] in re.sub(r"\s+", " ", text)


def vars_of(kind: type) -> list[str]:
    return [field.name for field in fields(kind)] if is_dataclass(kind) else []


def test_json_is_for_settings_only(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "--json", "--out", "x"]) == 2
    assert "--json needs --settings" in capsys.readouterr().err


def test_nothing_to_train_on(tmp_path: Path) -> None:
    refused(heed("train", "--out", tmp_path / "run"), 2, "nothing to train on: give --source and --target")


def test_a_run_folder_that_exists_is_refused_with_the_two_ways_on(
    trained: Trained, train_arguments: list[object]
) -> None:
    before = {file: file.read_bytes() for file in trained.path.rglob("*") if file.is_file()}
    done = heed(*train_arguments, "--out", trained.path, *settings())
    refused(
        done, 1, f"{trained.path}: already exists", f"heed train --resume {trained.path}", "another folder to --out"
    )
    assert {file: file.read_bytes() for file in trained.path.rglob("*") if file.is_file()} == before


def test_resuming_a_missing_run_is_refused(tmp_path: Path) -> None:
    refused(heed("train", "--resume", tmp_path / "absent"), 1, f"{tmp_path}/absent: no such run folder")


def test_left_out_pairs_are_reported(tmp_path: Path) -> None:
    """Blank lines, over-long sentences and validation pairs in the training text are reported, for .tsv.gz files."""
    train = letters(5, 100)
    pairs = [f"{line}\t{line[::-1]}" for line in train]
    pairs[3] = ""
    pairs[7] = "a b\t"
    pairs[11] = "a b c d " * 40 + "\td"
    (tmp_path / "train.tsv.gz").write_bytes(gzip.compress("".join(f"{pair}\n" for pair in pairs).encode()))
    valid = [*train[20:25], "c c c a b d d d a a", "", "d " * 100]
    write_lines(tmp_path / "valid.src", valid)
    write_lines(tmp_path / "valid.tgt", [line[::-1] for line in valid])
    done = heed(
        *("train", "--source", tmp_path / "train.tsv.gz", "--preset", "tiny", "--out", tmp_path / "run"),
        *("--valid-source", tmp_path / "valid.src", "--valid-target", tmp_path / "valid.tgt"),
        *settings(train__max_steps=2),
    )
    assert done.code == 0, done.err
    assert (
        "warning: not trained on: 2 pairs with a blank side (lines 4, 8); "
        "1 pair longer than 60 tokens (model.max_length) (line 12)\n"
    ) in done.err
    assert "warning: not validated on: 1 pair longer than 60 tokens\n" in done.err
    assert "warning: 5 of 6 validation pairs are also in the training text" in done.err
    assert len([event for event in events_of(tmp_path / "run") if event["event"] == "warning"]) == 3
