"""The benchmark beside the neighbours: what needs none of them installed."""

import json
import sys
from pathlib import Path

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from heed.config import Config
from heed.model.transformer import Transformer
from heed.vocabulary import Vocabulary
from tests.conftest import VOCABULARY, small_batch, small_config

PEERS = Path(__file__).parents[2] / "bench" / "peers"


@pytest.fixture(autouse=True)
def peers_importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(PEERS))


def test_operations_are_what_torch_counts() -> None:
    from material import training_flops

    # Targets of the end symbol alone: torch counts pairs that the causal mask forbids, and here there are none.
    batch = small_batch([[3, 4, 5, 6], [7, 8, 9, 10]], [[], []])
    config = Config(model=small_config(d_k=None, d_v=None))
    model = (
        Transformer(config.model, Vocabulary(VOCABULARY)).double().eval()
    )  # for which there are no kernels of our own
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH), torch.no_grad():
        model(batch.src_BS, batch.tgt_in_BT)
    assert training_flops(config, VOCABULARY, [batch]) == [3 * counter.get_total_flops()]


def test_padding_is_no_work() -> None:
    from material import training_flops

    config = Config(model=small_config())
    pairs = [([3, 4, 5], [6]), ([3], [4, 5, 6, 7])]
    together = small_batch(*zip(*pairs, strict=True))
    alone = [small_batch([source], [target]) for source, target in pairs]
    assert sum(training_flops(config, VOCABULARY, alone)) == sum(training_flops(config, VOCABULARY, [together]))


def test_peers_take_turns_and_one_that_fails_is_out(tmp_path: Path) -> None:
    from driver import Peer, Running

    job = tmp_path / "job.json"
    job.write_text(json.dumps({}))
    peers = [Peer("product", "", "product.py"), Peer("broken", "", "train_torch.py")]
    with Running(peers, {}, job, tmp_path) as running:
        running.turn("warm", warm_up=True)
        running.turn("one")
        running.turn("two")
    assert [answer["flops"] for answer in running.of("product").answers[""]] == [2 * 2048**3] * 2
    assert running.of("product").answers[""][0]["memory"] > 1e8, "bytes, of a process that has torch loaded"
    assert not running.of("broken").answers
    assert "KeyError: 'updates'" in running.of("broken").failure
    assert all(process.popen.returncode is not None for process in running.processes)


def test_rounds_hold_so_many_updates_and_their_tokens(tmp_path: Path) -> None:
    from driver import Peer, Running

    script = tmp_path / "peer.py"
    script.write_text(
        f"import sys; sys.path.insert(0, {str(PEERS)!r})\n"
        "from turns import UpdateTurns\n"
        "turns, n = UpdateTurns(2), 0\n"
        "print('noise of the software')\n"
        "while True:\n"
        "    n += 1\n"
        "    turns.before_update(n)\n"
    )
    with Running([Peer("counting", "", str(script))], {}, tmp_path, tmp_path) as running:
        for _ in range(3):
            running.turn("round")
    assert [answer["tokens"] for answer in running.of("counting").answers[""]] == [1 + 2, 3 + 4, 5 + 6]
    assert sys.executable in map(str, running.of("counting").popen.args)
