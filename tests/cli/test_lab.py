"""`heed lab`: how it starts, how it ends, and what it refuses. `tests/lab` has what it answers."""

import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from heed.box import FOLDER
from heed.cli import lab
from heed.errors import CheckpointError
from tests.cli.conftest import COMMAND, ENVIRONMENT, Trained, heed
from tests.processes import Started


def test_it_starts_on_a_free_port_and_ctrl_c_ends_it(trained: Trained) -> None:
    command = [COMMAND, "lab", "--model", str(trained.path), "--port", "0"]
    with Started(command, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline()
        assert address.startswith("http://127.0.0.1:") and address.endswith("/\n")
        port = int(address.rstrip("/\n").rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
            assert connection.recv(100).startswith(b"HTTP/1.1 200 OK")
        done = heed("lab", "--model", trained.path, "--port", port)  # a second one
        assert done.code == 2 and f"port {port} is in use" in done.err and "--port 0" in done.err
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130 and out == "" and err.endswith("heed lab: stopped\n") and "Traceback" not in err


def test_it_listens_on_this_machine_only(trained: Trained) -> None:
    command = [COMMAND, "lab", "--model", str(trained.path), "--port", "0"]
    with Started(command, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline().rstrip("/\n").rpartition(":")[2])
        listening = Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()
        own = [line.split()[1] for line in listening[1:] if line.split()[1].endswith(f":{port:04X}")]
        assert "0100007F" in {one.partition(":")[0] for one in own}  # 127.0.0.1, the bytes reversed
        assert "00000000" not in {one.partition(":")[0] for one in own}
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)


@pytest.mark.parametrize(
    "arguments, code, message",
    [
        (["--port", "70000"], 2, "--port must be from 0 to 65,535, not 70000"),
        (["--port", "x"], 2, "--port"),
        (["--model", "no/such/run"], 1, "no/such/run: no such run folder"),
        (["--model", "no-such-name"], 1, "no-such-name: no such run folder, and no model of that name is installed"),
    ],
)
def test_bad_input_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: int, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    done = heed("lab", "--port", "0", *arguments)
    assert done.code == code and message in done.err and "Traceback" not in done.err, done.err


@pytest.mark.parametrize("boxed", [[], ["en-de"]], ids=["empty box", "a model in the box"])
def test_without_a_name_it_takes_all_runs_and_the_model_in_the_box(
    trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, boxed: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(lab, "names", lambda: boxed)
    monkeypatch.setattr("heed.box.names", lambda: boxed)
    if boxed:
        assert lab._runs(None) == [FOLDER / "en-de"]
    else:
        with pytest.raises(CheckpointError, match="no model was named, .* name a run folder"):
            lab._runs(None)
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "one").symlink_to(trained.path)
    assert lab._runs(None) == [Path("runs/one"), *(FOLDER / name for name in boxed)]


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    done = heed("lab", "--model", tmp_path, "--port", "0")
    assert done.code == 1 and f"{tmp_path}: not a run folder" in done.err


@pytest.mark.parametrize("missing", ["starlette", "uvicorn"])
def test_what_is_not_installed_is_named(trained: Trained, missing: str) -> None:
    script = f"import sys; sys.modules[{missing!r}] = None; from heed.cli.main import main; "
    script += f"sys.exit(main(['lab', '--model', {str(trained.path)!r}]))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=ENVIRONMENT, timeout=120)
    assert done.returncode == 2 and f"the lab needs {missing}: pip install 'heed[lab]'" in done.stderr
