"""Read TensorBoard's files back, record by record, by the description of their format."""

import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tensorboardX.proto.event_pb2 import Event, SessionLog

from heed.training.tensorboard import TensorBoard

STEP = {"step": 20, "loss": 2.5, "perplexity": 7.25, "learning_rate": 0.001, "tokens_per_second": 1500}
SAMPLE = {"source": "a man", "translation": "ein | *Mann*", "reference": "ein Mann"}


def crc32c(content: bytes) -> int:
    """Compute Castagnoli's checksum bit by bit, masked as in TFRecord files."""
    crc = 0xFFFFFFFF
    for byte in content:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(path: Path) -> Iterator[Event]:
    """Read records of length, checksum of the length, content, checksum of the content; little endian."""
    content = path.read_bytes()
    while content:
        (length, length_crc), content = struct.unpack("<QI", content[:12]), content[12:]
        assert length_crc == crc32c(struct.pack("<Q", length))
        body, (body_crc,), content = content[:length], struct.unpack("<I", content[length:][:4]), content[length + 4 :]
        assert body_crc == crc32c(body)
        yield Event.FromString(body)


def written(run: Path) -> list[Event]:
    files = sorted((run / "tensorboard").iterdir())
    assert all(".tfevents." in file.name for file in files)  # what TensorBoard looks for
    return [event for file in files for event in records(file)]


def scalars(events: list[Event]) -> list[tuple[str, int, float]]:
    return [
        (value.tag, event.step, value.simple_value)
        for event in events
        for value in event.summary.value
        if value.HasField("simple_value")
    ]


def texts(events: list[Event]) -> list[tuple[str, int, str]]:
    return [
        (value.tag, event.step, value.tensor.string_val[0].decode())
        for event in events
        for value in event.summary.value
        if value.metadata.plugin_data.plugin_name == "text"
    ]


def test_checksum_is_the_published_one() -> None:
    """RFC 3720, B.4: the CRC32C of 32 zero bytes is aa 36 91 8a (least byte first)."""
    assert crc32c(bytes(32)) == ((0x8A9136AA >> 15 | 0x8A9136AA << 17) + 0xA282EAD8) & 0xFFFFFFFF


def test_steps_and_validations_become_scalars(tmp_path: Path) -> None:
    board = TensorBoard(tmp_path, None)
    board.event("start", {"step": 0, "parameters": 5})
    board.event("step", STEP)
    board.event("validation", {"step": 20, "of": "step 20", "perplexity": 9.5, "bleu": 12.25, "seconds": 1.5})
    board.close()
    assert scalars(written(tmp_path)) == [
        ("train/loss", 20, 2.5),
        ("train/perplexity", 20, 7.25),
        ("train/learning_rate", 20, pytest.approx(0.001)),  # of 32 bits
        ("train/tokens_per_second", 20, 1500.0),
        ("valid/perplexity", 20, 9.5),
        ("valid/bleu", 20, 12.25),
    ]


def test_the_metric_of_the_run_has_a_curve_and_what_is_not_finite_has_none(tmp_path: Path) -> None:
    board = TensorBoard(tmp_path, None)
    board.event("validation", {"step": 20, "of": "step 20", "perplexity": None, "bleu": 0.0, "cer": 12.5})
    board.event("validation", {"step": 20, "of": "the average of steps 10, 20", "perplexity": None, "bleu": 0.0})
    board.close()
    events = written(tmp_path)
    assert scalars(events) == [("valid/bleu", 20, 0.0), ("valid/cer", 20, 12.5)]
    assert texts(events) == [("valid/averaged/text_summary", 20, "the average of steps 10, 20: bleu 0")]


def test_samples_become_a_table_and_are_not_taken_for_markup(tmp_path: Path) -> None:
    board = TensorBoard(tmp_path, None)
    board.event("validation", {"step": 20, "of": "step 20", "perplexity": 9.5, "bleu": 12.0, "samples": [SAMPLE]})
    board.close()
    [(tag, step, text)] = texts(written(tmp_path))
    assert (tag, step) == ("valid/samples/text_summary", 20)
    assert text.split("\n") == [
        "| source | translation | reference |",
        "| --- | --- | --- |",
        r"| a man | ein \| \*Mann\* | ein Mann |",
    ]


def test_averaged_weights_are_no_point_of_the_curve(tmp_path: Path) -> None:
    board = TensorBoard(tmp_path, None)
    of = "the average of steps 10, 20"
    board.event("validation", {"step": 20, "of": of, "perplexity": 9.5, "bleu": 12.5, "samples": [SAMPLE]})
    board.close()
    events = written(tmp_path)
    assert scalars(events) == []
    assert texts(events) == [("valid/averaged/text_summary", 20, f"{of}: perplexity 9.5, bleu 12.5")]


def test_a_resumed_run_makes_tensorboard_forget_what_is_done_over(tmp_path: Path) -> None:
    first = TensorBoard(tmp_path, None)
    first.event("step", {**STEP, "step": 30})
    first.close()
    assert not any(event.HasField("session_log") for event in written(tmp_path))
    script = "import sys, pathlib, heed.training.tensorboard as t; t.TensorBoard(pathlib.Path(sys.argv[1]), 21).close()"
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=True)  # another process, as when resuming
    assert len(list((tmp_path / "tensorboard").iterdir())) == 2  # within the same second, too
    starts = [event.step for event in written(tmp_path) if event.session_log.status == SessionLog.START]
    assert starts == [21]


def test_without_the_package_it_says_what_to_install(tmp_path: Path) -> None:
    script = (
        "import sys, pathlib; sys.modules['tensorboardX'] = None\n"  # makes Python's import fail
        "from heed.errors import ConfigError; from heed.training.tensorboard import TensorBoard\n"
        "try: TensorBoard(pathlib.Path(sys.argv[1]), None)\n"
        "except ConfigError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=True)
    assert 'pip install "heed[tensorboard]"' in done.stdout
    assert list(tmp_path.iterdir()) == []
