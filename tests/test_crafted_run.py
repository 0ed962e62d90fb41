"""Craft malicious run folders with correct checksums: each is refused by name, at once, without using memory."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

import heed
from heed.checkpoint import read_all_tensors, read_manifest, write_checkpoint
from heed.cli.main import main
from heed.config import Config
from heed.durable import MANIFEST, read_json, write_json, write_manifest
from heed.errors import CheckpointError, ConfigError, HeedError
from heed.export.shipped import write_shipped
from heed.model.size import count_parameters
from heed.run import RunFolder
from heed.settings import build_config, read_config, read_run_config
from heed.text.tokenizer import Tokenizer
from heed.training.learner import Learner
from heed.training.workers import Workers
from heed.vocabulary import Vocabulary

STEP = "checkpoints/step-00000005"
ESCAPE = "\x1b[31mred"
State = dict[str, dict[str, torch.Tensor]]


@pytest.fixture(scope="module")
def pieces() -> Tokenizer:
    return Tokenizer.learn(["a b c d e f g"] * 20, 300)


def make_learner(vocabulary: int) -> Learner:
    model = {"encoder_layers": 1, "decoder_layers": 1, "d_model": 8, "d_ff": 12, "h": 2, "max_length": 20}
    train = {"ema_decay": 0.9, "lanes": 1}
    config = build_config(Config(), ("test", {"model": model, "train": train}))
    learner = Learner(config, Vocabulary(vocabulary), Workers(0, 1, torch.device("cpu")))
    for weight in learner.model.parameters():
        weight.grad = torch.ones_like(weight)
    learner.apply_gradient(0.1, 1)
    return learner


@pytest.fixture(scope="module")
def learner(pieces: Tokenizer) -> Learner:
    return make_learner(len(pieces))


@pytest.fixture
def run(tmp_path: Path, learner: Learner, pieces: Tokenizer) -> Path:
    made = RunFolder.create(tmp_path / "run", learner.config, pieces)
    made.save_step(5, learner.state(), {"config": learner.config.to_dict()})
    made.set_best({"checkpoint": "step-00000005"})
    return made.path


def sign(folder: Path, **changes: Any) -> None:
    write_manifest(folder, {**read_json(folder / MANIFEST), **changes})


# --- tensors that do not fit -------------------------------------------------------------------------------

NAME = "encoder.0.self_attention.w_q.weight"
HARMS: dict[str, tuple[str, str, Callable[[dict[str, torch.Tensor], str], object]]] = {
    "shorter": ("optimizer", f"{NAME}/exp_avg", lambda group, key: group.update({key: group[key][:1].clone()})),
    "longer": ("optimizer", f"{NAME}/exp_avg_sq", lambda group, key: group.update({key: torch.zeros(1000, 1000)})),
    "turned": ("optimizer", "embedding.weight/exp_avg", lambda group, key: group.update({key: group[key].T.clone()})),
    "of another dtype": ("optimizer", f"{NAME}/exp_avg", lambda group, key: group.update({key: group[key].double()})),
    "no number": ("optimizer", f"{NAME}/step", lambda group, key: group.update({key: torch.ones(3)})),
    "missing": ("optimizer", f"{NAME}/exp_avg", lambda group, key: group.pop(key)),
    "one too many": ("optimizer", "more", lambda group, key: group.update({key: torch.ones(1)})),
    "a mean of another shape": ("mean", NAME, lambda group, key: group.update({key: torch.zeros(2)})),
    "a mean of another dtype": ("mean", NAME, lambda group, key: group.update({key: group[key].half()})),
    "a weight of another dtype": ("model", NAME, lambda group, key: group.update({key: group[key].double()})),
}


@pytest.mark.parametrize("harm", HARMS)
def test_no_tensor_of_another_kind_is_resumed_with(run: Path, pieces: Tokenizer, harm: str) -> None:
    """PyTorch's fused Adam does not check sizes, and would write out of bounds."""
    group, key, change = HARMS[harm]
    state = read_all_tensors(run / STEP)
    change(state[group], key)
    learner = make_learner(len(pieces))
    before = learner.state()
    with pytest.raises(CheckpointError, match="x/" + group) as caught:
        learner.load(state, "x")
    assert key in str(caught.value)
    for name, tensors in learner.state().items():
        assert all(torch.equal(tensor, before[name][one]) for one, tensor in tensors.items())  # nothing half-loaded


@pytest.mark.parametrize("group", ["model", "optimizer", "mean"])
def test_no_group_may_be_missing(run: Path, pieces: Tokenizer, group: str) -> None:
    state = read_all_tensors(run / STEP)
    del state[group]
    with pytest.raises(CheckpointError, match=f"x: {group}.safetensors is missing"):
        make_learner(len(pieces)).load(state, "x")


def test_before_the_first_update_there_are_no_moments(pieces: Tokenizer, learner: Learner) -> None:
    """A run whose first steps were all skipped is saved, too, and can be resumed."""
    fresh = Learner(learner.config, Vocabulary(len(pieces)), learner.workers)
    state = fresh.state()
    assert state["optimizer"] == {}
    fresh.load(state, "x")
    assert fresh.state()["optimizer"] == {}


def test_names_of_tensors_do_not_command_the_terminal(run: Path, capfd: pytest.CaptureFixture[str]) -> None:
    manifest = read_manifest(run / STEP)
    state = read_all_tensors(run / STEP)
    state["model"][ESCAPE] = state["model"].pop("embedding.weight")
    write_checkpoint(run / STEP, {"model": state["model"]}, manifest)
    assert main(["translate", "--engine", "torch", "--model", str(run)]) == 1
    said = capfd.readouterr().err
    assert "\x1b" not in said and r"\x1b[31mred" in said


# --- a config of another size ------------------------------------------------------------------------------


def tell_of(run: Path, change: dict[str, Any]) -> None:
    """Change config.json and manifest to another model, but not the weights."""
    settings = read_json(run / "config.json")
    settings["model"] |= change
    settings["train"] |= {"batch_tokens": 10**9, "micro_batch_tokens": 10**9}
    write_json(run / "config.json", settings)
    sign(run / STEP, model=settings["model"], config=settings)


@pytest.mark.parametrize(
    "change",
    [
        {"h": 1_024, "d_k": 65_536, "d_v": 65_536},
        {"d_ff": 1_048_576},
        {"d_model": 65_536},
        {"encoder_layers": 1_000},
        {"d_model": 65_536, "d_ff": 1_048_576, "decoder_layers": 1_000},
        {"positions": "learned", "max_length": 100_000, "d_model": 65_536},
    ],
    ids=str,
)
@pytest.mark.timeout(60)
def test_a_large_config_takes_no_memory(run: Path, change: dict[str, Any]) -> None:
    """These are the largest allowed values: some models would take petabytes."""
    tell_of(run, change)
    opened = RunFolder.open(run)
    for refuse in (opened.load_model, opened.check_newest):
        with pytest.raises(CheckpointError, match=r"does not fit .*config\.json: it has [\d,]+ weights"):
            refuse()


@pytest.mark.parametrize(
    "change",
    [
        {"h": 10**6, "d_k": 8, "d_v": 8},
        {"d_ff": 10**12},
        {"d_model": 10**12},
        {"encoder_layers": 10**7},
        {"decoder_layers": 10**12},
        {"positions": "learned", "max_length": 10**12},
        {"max_length": 10**11},
    ],
    ids=str,
)
@pytest.mark.timeout(60)
def test_a_larger_config_is_refused_by_name(run: Path, change: dict[str, Any]) -> None:
    tell_of(run, change)
    (name,) = change.keys() - {"d_k", "d_v", "positions"}
    with pytest.raises(ConfigError, match=f"model.{name} = {change[name]}: must be at most"):
        RunFolder.open(run)


@pytest.mark.timeout(60)
def test_a_header_that_claims_more_weights_than_the_file_has_takes_no_memory(run: Path) -> None:
    """The header of a safetensors file is read before its checksum is verified."""
    tell_of(run, {"d_ff": 1_048_576})
    opened = RunFolder.open(run)
    n_weights = count_parameters(opened.config.model, opened.tokenizer.vocabulary)
    header = json.dumps({"w": {"dtype": "F32", "shape": [n_weights], "data_offsets": [0, 4 * n_weights]}}).encode()
    (run / STEP / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header)
    with pytest.raises(CheckpointError, match=r"model\.safetensors: damaged \(its header claims [\d,]+ weights in "):
        opened.load_model()


def test_a_huge_limit_takes_no_memory(run: Path) -> None:
    """Sines are computed only as far as needed."""
    tell_of(run, {"max_length": 100_000})
    model = RunFolder.open(run).load_model()
    assert model.source_positions.table(5000).shape == (5000, 8)


# --- not the files they should be --------------------------------------------------------------------------

FILES = ["config.json", "tokenizer.model", "best.json", f"{STEP}/{MANIFEST}", f"{STEP}/model.safetensors"]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("kind", ["fifo", "device", "folder"])
@pytest.mark.timeout(60)
def test_what_is_no_file_is_not_read(run: Path, name: str, kind: str) -> None:
    """Reading a FIFO or /dev/zero would never end."""
    path = run / name
    path.unlink()
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        path.mkdir()
    with pytest.raises(HeedError, match=str(path)):
        RunFolder.open(run).load_model()


@pytest.mark.parametrize("name", ["config.json", "best.json", f"{STEP}/{MANIFEST}"])
@pytest.mark.parametrize("depth", [500, 100_000])
def test_deep_json_is_an_error(run: Path, name: str, depth: int) -> None:
    (run / name).write_text('{"a": ' + "[" * depth + "]" * depth + "}", encoding="utf-8")
    with pytest.raises(HeedError, match=str((run / name).parent)):
        RunFolder.open(run).load_model()


def test_deep_settings_are_an_error(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "config.json").write_text("[" * 100_000 + "]" * 100_000, encoding="utf-8")
    assert main(["train", str(tmp_path / "config.json"), "--out", str(tmp_path / "run")]) == 2
    assert f"{tmp_path}/config.json: cannot be read" in capfd.readouterr().err


@pytest.mark.parametrize("where", ["../../elsewhere", "..", ".", "", "step-00000005/", "/etc", "a\0b", 5, None])
def test_the_best_checkpoint_is_in_the_run(run: Path, where: object) -> None:
    shutil.copytree(run / STEP, run.parent / "elsewhere")
    write_json(run / "best.json", {"checkpoint": where})
    with pytest.raises(CheckpointError, match=str(run)):
        RunFolder.open(run).load_model()


@pytest.mark.parametrize("where", ["../../elsewhere", "..", ""])
def test_no_name_leads_out_of_the_run(run: Path, where: str) -> None:
    shutil.copytree(run / STEP, run.parent / "elsewhere")
    with pytest.raises(CheckpointError, match="no checkpoint"):
        heed.load(run, checkpoint=where)


@pytest.mark.parametrize(
    "changes",
    [{"sha256": 5}, {"sha256": {"../../config.json": "x"}}, {"sha256": {}}, {"model": 5}, {"tokenizer": []}],
    ids=str,
)
def test_a_manifest_of_nonsense(run: Path, changes: dict[str, Any]) -> None:
    sign(run / STEP, **changes)
    with pytest.raises(CheckpointError, match=str(run / STEP)):
        RunFolder.open(run).load_model()


# --- checksums ---------------------------------------------------------------------------------------------


def test_another_digit_in_best_json_is_noticed(run: Path, learner: Learner, pieces: Tokenizer) -> None:
    RunFolder(run, learner.config, pieces).save_step(6, learner.state(), {})
    (run / "best.json").write_text((run / "best.json").read_text().replace("00005", "00006"))
    with pytest.raises(CheckpointError, match=r"best\.json: damaged or edited: its checksum is wrong"):
        RunFolder.open(run).load_model()


def test_every_flipped_bit_of_both_is_noticed(run: Path) -> None:
    """Unless it changes white space only."""
    for name, read in (("best.json", RunFolder.best), ("config.json", lambda run: RunFolder.open(run.path).config)):
        path, meant = run / name, read(RunFolder.open(run))
        content = path.read_bytes()
        for position in range(0, len(content), 3):
            damaged = bytearray(content)
            damaged[position] ^= 1 << position % 8
            path.write_bytes(damaged)
            try:
                found = read(RunFolder.open(run))
            except (CheckpointError, ConfigError):
                continue
            finally:
                path.write_bytes(content)
            # A flipped bit in the key "checksum" makes it an unknown key, and the file one without a checksum.
            assert found == meant or (name == "best.json" and {**found, **meant} == found), position


def test_a_change_of_the_config_is_refused_until_it_is_meant(run: Path) -> None:
    path = run / "config.json"
    path.write_text(path.read_text().replace('"alpha": 0.6', '"alpha": 0.2'))
    with pytest.raises(CheckpointError, match='restore .* if the edit is intended, delete its "checksum" line'):
        heed.load(run)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if '"checksum"' not in line))  # as the message says
    assert heed.load(run).decode.alpha == 0.2


def test_a_config_with_its_checksum_last_loads_as_before(run: Path) -> None:
    """As runs have it that were trained before it came first."""
    path = run / "config.json"
    config = RunFolder.open(run).config
    settings = json.loads(path.read_text())
    checksum = settings.pop("checksum")
    path.write_text(json.dumps({**settings, "checksum": checksum}, indent=2))
    assert RunFolder.open(run).config == config
    path.write_text(path.read_text().replace('"alpha": 0.6', '"alpha": 0.2'))
    with pytest.raises(CheckpointError, match="its checksum is wrong"):
        RunFolder.open(run)


@pytest.mark.parametrize("read", [read_run_config, lambda run: read_config(run / "config.json")], ids=["run", "file"])
def test_a_comma_too_many_is_shown_with_its_line(run: Path, read: Callable[[Path], object]) -> None:
    (run / "config.json").write_text('{\n  "preset": "tiny",\n  "decode": {"beam": 2},\n}\n')
    with pytest.raises(
        HeedError, match=r"config\.json: .*line 4 is not JSON .* or a comma at the end of the line before"
    ):
        read(run)


@pytest.mark.parametrize("engine", ["native", "torch"])
def test_a_damaged_checkpoint_comes_with_what_to_do(run: Path, engine: str) -> None:
    weights = run / STEP / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"!")
    with pytest.raises(CheckpointError, match=rf"its checksum .*; restore {run / STEP} from a copy$"):
        heed.load(run, engine=engine)
    shutil.copytree(run / STEP, run / STEP.replace("5", "4"))
    with pytest.raises(CheckpointError, match=r"or use another checkpoint: --checkpoint step-00000004$"):
        heed.load(run, engine=engine)


def test_content_after_the_end_comes_with_advice(run: Path) -> None:
    path = run / "config.json"
    path.write_text(path.read_text() + "{}")
    with pytest.raises(
        CheckpointError, match=r"is not JSON \(Extra data\); correct that line.*restore the old content"
    ):
        RunFolder.open(run)


# --- shipped models, with weights in 8 bits ----------------------------------------------------------------

Tensors = dict[str, torch.Tensor]
NO_SCALE = f"{NAME} is stored in 8 bits, but without a scale for each of its rows"
SHIPPED_HARMS: dict[str, tuple[str, Callable[[Tensors], object]]] = {
    "no scale": (NO_SCALE, lambda group: group.pop(f"{NAME}/scale")),
    "a scale too few": (NO_SCALE, lambda group: group.update({f"{NAME}/scale": group[f"{NAME}/scale"][1:].clone()})),
    "one scale for all": (NO_SCALE, lambda group: group.update({f"{NAME}/scale": torch.ones(1)})),
    "scales for columns": (NO_SCALE, lambda group: group.update({f"{NAME}/scale": torch.ones(1, 8)})),
    "no rows": (NO_SCALE, lambda group: group.update({NAME: group[NAME].flatten()})),
    "a number": (
        r"it has [\d,]+ weights",
        lambda group: group.update({NAME: torch.ones((), dtype=torch.int8)}),
    ),
    "wide scales": ("scale has dtype", lambda group: group.update({f"{NAME}/scale": group[f"{NAME}/scale"].double()})),
    "a scale of nothing": ("more/scale", lambda group: group.update({"more/scale": torch.ones(3)})),
    "a scale of float32": (
        "tensors missing or unknown",
        lambda group: group.update({NAME: group[NAME].float()}),
    ),
    "other rows": (
        r"it has [\d,]+ weights",
        lambda group: group.update(
            {NAME: group[NAME][1:].clone(), f"{NAME}/scale": group[f"{NAME}/scale"][1:].clone()}
        ),
    ),
}


@pytest.fixture
def shipped(run: Path, tmp_path: Path) -> Path:
    opened, out = RunFolder.open(run), tmp_path / "shipped"
    write_shipped(out, opened, opened.checkpoint_path(), opened.load_model(), opened.config.decode)
    return out


@pytest.mark.parametrize("harm", SHIPPED_HARMS)
def test_codes_and_scales_that_do_not_fit_are_refused(shipped: Path, harm: str) -> None:
    message, change = SHIPPED_HARMS[harm]
    folder = shipped / "checkpoints" / "shipped"
    manifest = read_manifest(folder)
    tensors = load_file(folder / "model.safetensors")
    change(tensors)
    write_checkpoint(folder, {"model": tensors}, manifest)
    with pytest.raises(CheckpointError, match=message) as caught:
        heed.load(shipped)
    assert str(folder) in str(caught.value)


@pytest.mark.timeout(60)
def test_a_large_config_of_a_shipped_model_takes_no_memory(shipped: Path) -> None:
    settings = read_json(shipped / "config.json")
    settings["model"] |= {"d_model": 65_536, "d_ff": 1_048_576, "decoder_layers": 1_000}
    write_json(shipped / "config.json", settings)
    sign(shipped / "checkpoints" / "shipped", model=settings["model"])
    with pytest.raises((CheckpointError, ConfigError), match=r"does not fit .*config\.json: it has [\d,]+ weights"):
        heed.load(shipped)


def test_every_flipped_bit_of_a_shipped_model_is_noticed(shipped: Path) -> None:
    path = shipped / "checkpoints" / "shipped" / "model.safetensors"
    content = path.read_bytes()
    for position in range(0, len(content), len(content) // 50):
        damaged = bytearray(content)
        damaged[position] ^= 1 << position % 8
        path.write_bytes(damaged)
        with pytest.raises(CheckpointError, match="damaged|does not fit"):
            heed.load(shipped)
