"""The recurrent and the convolutional model: their numbers, their search, training and resuming."""

import signal
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from heed.checkpoint import read_all_tensors
from heed.config import Config, DecodeConfig, ModelConfig, TextConfig
from heed.errors import ConfigError
from heed.loading import load
from heed.model.build import build_model, model_class
from heed.model.convolutional import Convolutional
from heed.model.dropout import pair_seeds
from heed.model.interface import SequenceModel
from heed.model.recurrent import Recurrent
from heed.presets import preset
from heed.run import RunFolder
from heed.settings import build_config
from heed.training.learner import Learner
from heed.training.loop import Outcome, resume, train
from heed.training.step import train_step
from heed.training.workers import Workers
from heed.vocabulary import Vocabulary
from tests.conftest import VOCABULARY, shapes_checked, small_batch
from tests.model.baselines import convolutional, recurrent
from tests.model.hypotheses import walk

_SIZES = {"encoder_layers": 3, "decoder_layers": 3, "d_model": 24, "dropout": 0.0, "max_length": 60}
CONFIGS = {
    "lstm": ModelConfig(**_SIZES, kind="recurrent"),
    "gru": ModelConfig(**_SIZES, kind="recurrent", cell="gru"),
    "convolutional": ModelConfig(**_SIZES, kind="convolutional"),
    "dilated": ModelConfig(**_SIZES, kind="convolutional", dilated=True, kernel_width=5),
}
SOURCES, TARGETS = [[3, 4, 5, 6, 7, 8, 9], [10], [11, 12, 4]], [[5, 6, 7, 8], [9, 10, 11, 12, 13, 14], [15]]


@pytest.fixture(params=CONFIGS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def model(name: str) -> SequenceModel:
    """Return a random model in float64, so that "equal" can mean equal to many digits."""
    torch.manual_seed(3)
    made = build_model(CONFIGS[name], Vocabulary(VOCABULARY)).double().eval()
    for weight in made.parameters():  # biases, which are 0 at first, too
        weight.data += 0.2 * torch.randn_like(weight)
    return made


# --- numbers ------------------------------------------------------------------------------------------------


def test_loops_over_arrays_give_the_same_numbers(model: SequenceModel) -> None:
    weights = {name: weight.numpy() for name, weight in model.state_dict().items()}
    batch = small_batch(SOURCES, TARGETS)
    with torch.inference_mode(), shapes_checked("heed.model") as seen:
        logits_BTV = model(batch.src_BS, batch.tgt_in_BT)
        layers = model.cross_attention(batch.src_BS, batch.tgt_in_BT)
    assert f"{type(model).__name__}.decode" in seen
    for b, (source, target) in enumerate(zip(SOURCES, TARGETS, strict=True)):
        reference = recurrent if isinstance(model, Recurrent) else convolutional
        logits, attended = reference([*source, 1], [0, *target], weights, model.config)
        np.testing.assert_allclose(logits_BTV[b, : len(logits)].numpy(), logits, atol=1e-10)
        ours = torch.stack([one[b, 0, : len(logits), : len(source) + 1] for one in layers])
        np.testing.assert_allclose(ours.numpy().reshape(attended.shape), attended, atol=1e-10)


def test_batch_mates_padding_and_packing_do_not_matter(model: SequenceModel) -> None:
    batch = small_batch(SOURCES, TARGETS)
    real_BT = batch.tgt_out_BT.ne(0)
    with torch.inference_mode():
        logits_BTV = model(batch.src_BS, batch.tgt_in_BT)
        wider = [torch.nn.functional.pad(ids, (0, 4)) for ids in (batch.src_BS, batch.tgt_in_BT)]
        torch.testing.assert_close(model(*wider)[:, : logits_BTV.size(1)][real_BT], logits_BTV[real_BT])
        for b, (source, target) in enumerate(zip(SOURCES, TARGETS, strict=True)):
            alone = small_batch([source], [target])
            single_TV = model(alone.src_BS, alone.tgt_in_BT)[0]
            torch.testing.assert_close(single_TV, logits_BTV[b, : len(single_TV)], atol=1e-10, rtol=0)
        # In float32 the C kernels take part, and the convolutional model packs its sentences.
        hidden_ND = model.float().hidden(batch.src_BS, batch.tgt_in_BT, real_BT)
        expected = logits_BTV[real_BT].float()
        torch.testing.assert_close(hidden_ND @ model.output_weight.T, expected, atol=1e-3, rtol=1e-3)


def test_later_tokens_do_not_change_earlier_logits(model: SequenceModel) -> None:
    batch = small_batch(SOURCES, TARGETS)
    changed = batch.tgt_in_BT.clone()
    changed[:, 3:] = 20
    with torch.inference_mode():
        before, after = model(batch.src_BS, batch.tgt_in_BT), model(batch.src_BS, changed)
    torch.testing.assert_close(before[:, :3], after[:, :3], atol=1e-12, rtol=0)
    assert not torch.allclose(before[:, 3:], after[:, 3:])


def test_search_step_by_step_equals_the_whole_pass(model: SequenceModel) -> None:
    """Hypotheses branch and merge, and a sentence leaves; each has the logits of its own past."""
    src_BS = small_batch(SOURCES, TARGETS).src_BS
    with torch.inference_mode():
        for found_V, source_1S, past_1T in walk(model, src_BS, VOCABULARY):  # type: ignore[arg-type]
            torch.testing.assert_close(found_V, model(source_1S, past_1T)[0, -1], atol=1e-10, rtol=0)


def test_a_state_can_be_used_twice(model: SequenceModel) -> None:
    src_BS, ids_BW = small_batch(SOURCES, TARGETS).src_BS, torch.tensor([[4], [5], [6]])
    with torch.inference_mode():
        _, state = model.step(torch.zeros(3, 1, dtype=torch.long), model.start(src_BS))
        first, _ = model.step(ids_BW, state)
        model.step(torch.full((3, 1), 9), state)
        assert torch.equal(model.step(ids_BW, state)[0], first)


def test_a_dilated_stack_reaches_farther() -> None:
    """Three layers of width 3 read 3 positions to each side, dilated 1 + 2 + 4."""
    batch = small_batch([[3] * 20], [[4]])
    for dilated, reach in ((False, 3), (True, 7)):
        config = replace(CONFIGS["convolutional"], dilated=dilated)
        model = build_model(config, Vocabulary(VOCABULARY)).double().eval()
        assert isinstance(model, Convolutional)
        changed = batch.src_BS.clone()
        changed[0, 10] = 5
        keys, other = (model.encode(model._padded(ids)).keys_values[0][0] for ids in (batch.src_BS, changed))
        differs = (keys - other).abs().amax((0, 1, 3)) > 0
        assert torch.nonzero(differs).flatten().tolist() == list(range(10 - reach, 10 + reach + 1))


# --- sizes, by hand -----------------------------------------------------------------------------------------

# V = 1000, d = 8, 2 encoder and 3 decoder layers, max_length 10.
# LSTM: embeddings 8,000; both directions 2 (4·4·(8 + 4) + 2·4·4); encoder layer 4·8·16 + 2·4·8; first of the decoder
# the same; two with context 4·8·24 + 64; queries 64; output 128.
# ConvS2S, width 3: positions 2·11·8; convolutions 5 (24·16 + 16); 3 times two projections 2 (64 + 8); output 72.
BY_HAND = {
    "lstm": 8_000 + 2 * (192 + 32) + 576 + 576 + 2 * 832 + 64 + 128,
    "gru": 8_000 + 2 * (144 + 24) + 432 + 432 + 2 * 624 + 64 + 128,
    "convolutional": 8_000 + 176 + 5 * 400 + 3 * 144 + 72,
    "dilated": 8_000 + 176 + 5 * (40 * 16 + 16) + 3 * 144 + 72,
}


def test_parameters_by_hand(name: str) -> None:
    config = replace(CONFIGS[name], d_model=8, encoder_layers=2, max_length=10)
    model = build_model(config, Vocabulary(1_000))
    assert sum(weight.numel() for weight in model.parameters()) == BY_HAND[name]
    assert model.count_parameters(config, Vocabulary(1_000)) == BY_HAND[name]
    both = Vocabulary(1_000, 300)
    assert model.count_parameters(config, both) == BY_HAND[name] + 300 * 8
    assert sum(weight.numel() for weight in build_model(config, both).parameters()) == BY_HAND[name] + 300 * 8


def test_operations_are_those_that_pytorch_counts(name: str) -> None:
    """PyTorch counts all products of a convolutional model's forward pass; a recurrent one's are counted by hand."""
    config = CONFIGS[name]
    model = build_model(config, Vocabulary(VOCABULARY)).eval()
    batch = small_batch([[3] * 6], [[4] * 4])  # 7 and 5 with their ends
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model.cross_attention(batch.src_BS, batch.tgt_in_BT)  # by the formula: it does not count fused attention
    counted = counter.get_total_flops() + 2 * 5 * 24 * VOCABULARY
    if isinstance(model, Recurrent):
        gates = 4 if config.cell == "lstm" else 3
        both, layer, later = 2 * gates * 12 * (24 + 12), gates * 24 * 48, gates * 24 * 72
        cells = 2 * (7 * (both + 2 * layer) + 5 * (layer + 2 * later))
        counted = 2 * (5 * (24 * 24 + 48 * 24 + 24 * VOCABULARY) + 2 * 24 * 7 * 5) + cells
    found = model.update_operations(config, model.vocabulary, np.array([7]), np.array([5]))
    assert found == 3 * counted


def test_the_memory_foretold_is_nearly_what_is_kept(name: str) -> None:
    """Count the floats that autograd saves; the prediction may be a third more, but not much less."""
    config = replace(CONFIGS[name], d_model=64, dropout=0.3)
    model = build_model(config, Vocabulary(VOCABULARY)).train()
    ids_BL = torch.full((10, 30), 3)
    saved: dict[int, torch.UntypedStorage] = {}

    def keep(tensor: Tensor) -> Tensor:
        saved[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        hidden_ND = model.hidden(ids_BL, ids_BL, torch.ones_like(ids_BL, dtype=torch.bool))
    assert len(hidden_ND) == 300
    weights = {weight.untyped_storage().data_ptr() for weight in model.parameters()}
    floats = sum(one.nbytes() for where, one in saved.items() if where not in weights) / 4 / 300
    assert 0.65 * model.kept_floats(config, 30) < floats < 1.1 * model.kept_floats(config, 30)


@pytest.mark.parametrize("given", ["gnmt-tiny", "gru-tiny", "convs2s-tiny", "bytenet-tiny"])
def test_presets_have_the_size_of_tiny(given: str) -> None:
    tiny, config = preset("tiny"), preset(given)
    assert build_config(config) == config and config.preset == given
    sizes = [model_class(one.model).count_parameters(one.model, Vocabulary(8_000)) for one in (tiny, config)]
    assert sizes[1] == pytest.approx(sizes[0], rel=0.03)
    assert replace(config.train, learning_rate_factor=2.5) == tiny.train and config.text == tiny.text


# --- settings -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "settings", "message"),
    [
        ("gnmt-tiny", {"model": {"h": 4}}, "model.h = 4: a recurrent model has no such setting"),
        ("gnmt-tiny", {"model": {"positions": "learned"}}, "model.positions = 'learned': a recurrent model has no"),
        ("bytenet-tiny", {"model": {"positions": "learned"}}, "model.positions = 'learned': a convolutional model"),
        ("gnmt-tiny", {"model": {"kernel_width": 5}}, "model.kernel_width = 5: a recurrent model has no"),
        ("gnmt-tiny", {"model": {"attention_window": 9}}, "model.attention_window = 9: a recurrent model has no"),
        ("gnmt-tiny", {"model": {"d_model": 127}}, "model.d_model = 127: the first layer .* an even number"),
        (
            "gnmt-tiny",
            {"train": {"head_diversity": 1.0}},
            'model.kind = "recurrent" has no attention heads; set it to 0',
        ),
        ("convs2s-tiny", {"train": {"head_diversity": 1.0}}, 'model.kind = "convolutional" has no attention heads'),
        ("gnmt-tiny", {"train": {"compile": True}}, "train.compile: torch.compile does not compile recurrent"),
        ("gnmt-tiny", {"train": {"precision": "bfloat16"}}, 'train.precision = "bfloat16": the cells of a recurrent'),
        ("convs2s-tiny", {"model": {"cell": "gru"}}, "model.cell = 'gru': a convolutional model has no"),
        ("convs2s-tiny", {"model": {"norm": "pre"}}, "model.norm = 'pre': a convolutional model has no"),
        ("convs2s-tiny", {"model": {"kernel_width": 4}}, "model.kernel_width = 4: .* odd number"),
        ("tiny", {"model": {"dilated": True}}, "model.dilated = True: a transformer model has no such setting"),
        ("tiny", {"model": {"kind": "recurrent"}}, "model.d_ff = 256: a recurrent model has no such setting"),
    ],
)
def test_a_setting_is_never_ignored(given: str, settings: dict[str, dict[str, object]], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        build_config(preset(given), ("test", settings))


def test_a_width_that_no_heads_divide() -> None:
    build_config(preset("gnmt-tiny"), ("test", {"model": {"d_model": 130}}))


# --- training -----------------------------------------------------------------------------------------------

PAIRS = [([3 + i % 7] * (1 + i % 5), [9 + i % 4] * (2 + i % 6)) for i in range(12)]


def gradients(name: str, bounds: list[int], lanes: int = 1) -> dict[str, Tensor | None]:
    base = Config(model=replace(CONFIGS[name], dropout=0.3))
    learner = Learner(
        replace(base, train=replace(base.train, lanes=lanes)),
        Vocabulary(VOCABULARY),
        Workers(0, 1, torch.device("cpu")),
    )
    learner.model.train()
    batches = [
        small_batch(*zip(*PAIRS[begin:end], strict=True), first_pair=begin)
        for begin, end in zip(bounds, bounds[1:], strict=False)
    ]
    train_step(learner, batches, sum(batch.n_tokens for batch in batches), 1)
    return {name: weight.grad for name, weight in learner.model.named_parameters()}


@pytest.mark.parametrize(("cuts", "lanes"), [([0, 5, 12], 1), ([0, 2, 3, 12], 1), ([0, 12], 2), ([0, 7, 12], 3)])
def test_micro_batches_and_lanes_do_not_matter(name: str, cuts: list[int], lanes: int) -> None:
    whole, parts = gradients(name, [0, len(PAIRS)]), gradients(name, cuts, lanes)
    for weight, gradient in whole.items():
        assert gradient is not None and gradient.abs().sum() > 0, weight
        torch.testing.assert_close(parts[weight], gradient, atol=1e-6, rtol=1e-4, msg=weight)


def test_dropout_is_drawn_anew_for_each_step_and_pair(name: str) -> None:
    model = build_model(replace(CONFIGS[name], dropout=0.3), Vocabulary(VOCABULARY)).train()
    batch = small_batch([SOURCES[0]] * 2, [TARGETS[0]] * 2)
    real_BT = batch.tgt_out_BT.ne(0)

    def hidden(step: int) -> Tensor:
        return model.hidden(batch.src_BS, batch.tgt_in_BT, real_BT, pair_seeds(1, step, batch.pair_B)).view(2, 5, -1)

    assert torch.equal(hidden(1), hidden(1))
    assert not torch.allclose(hidden(1), hidden(2))
    assert not torch.allclose(hidden(1)[0], hidden(1)[1])


STEPS = 12


@pytest.fixture
def config(name: str, tmp_path: Path) -> Config:
    """A task of reversing a few letters, trained in two lanes."""
    random = np.random.default_rng(0)
    words = [" ".join(random.choice(list("abcdef"), random.integers(1, 6))) for _ in range(300)]
    for file, part in (("train", words), ("valid", words[:20])):
        (tmp_path / f"{file}.tsv").write_text("".join(f"{w}\t{w[::-1]}\n" for w in part), encoding="utf-8")
    settings = {
        "data": {"train_source": str(tmp_path / "train.tsv"), "valid_source": str(tmp_path / "valid.tsv")},
        "train": {
            **{"max_steps": STEPS, "batch_tokens": 400, "micro_batch_tokens": 100, "warmup_steps": 4, "lanes": 2},
            **{"validate_every": 6, "save_every": 3, "log_every": 2, "keep_checkpoints": 3, "average_last": 3},
            "metric": "perplexity",
        },
    }
    model = replace(CONFIGS[name], encoder_layers=1, decoder_layers=2, dropout=0.2, max_length=30)
    base = Config(model=model, text=TextConfig(vocab_size=280), decode=DecodeConfig(beam=3, extra_length=5))
    return build_config(base, ("test", settings))


def test_resumed_equals_uninterrupted_and_search_equals_forced_decoding(config: Config, tmp_path: Path) -> None:
    assert train(config, tmp_path / "whole", quiet=True).reason == "finished"

    def interrupt(step: int, result: object) -> None:
        if step == 5:
            signal.raise_signal(signal.SIGINT)

    outcome: Outcome = train(config, tmp_path / "parts", on_step=interrupt, quiet=True)
    assert (outcome.reason, outcome.step) == ("interrupted", 5)
    outcome = resume(tmp_path / "parts", quiet=True)
    assert (outcome.reason, outcome.step) == ("finished", STEPS)
    run, parts = RunFolder.open(tmp_path / "whole"), RunFolder.open(tmp_path / "parts")
    assert parts.best() == run.best()
    for folder in ("step-00000012", "average-00000012"):
        whole, resumed = (read_all_tensors(one.path / "checkpoints" / folder) for one in (run, parts))
        assert whole.keys() == resumed.keys()
        for group, tensors in whole.items():
            assert all(torch.equal(tensor, resumed[group][key]) for key, tensor in tensors.items()), group
    translator, model = load(run.path), run.load_model()
    id_of = {piece: i for i, piece in enumerate(run.tokenizer.pieces(range(len(run.tokenizer))))}
    texts = ["a b c", "f", "d e f a b", "c c"]
    for text, best in zip(texts, translator.translate(texts, beam=4, n_best=4, attention=True), strict=True):
        assert len(best.alternatives) == 4
        for one in best.alternatives:
            batch = small_batch(run.tokenizer.encode_ids([text]), [[id_of[piece] for piece in one.pieces]])
            with torch.inference_mode():
                logprobs_TV = model(batch.src_BS, batch.tgt_in_BT)[0].log_softmax(-1)
            forced = logprobs_TV.gather(1, batch.tgt_out_BT.T).flatten().tolist()
            assert one.log_probabilities == pytest.approx(forced[: len(one.pieces) + one.finished], abs=1e-4)
            assert one.attention is not None
            n_layers = 1 if config.model.kind == "recurrent" else 2
            assert one.attention.cross.shape == (n_layers, 1, batch.n_tokens, batch.src_BS.size(1))
            assert len(one.attention.encoder) == len(one.attention.decoder) == 0
