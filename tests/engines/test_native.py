"""The native engine against the torch engine: the same texts and scores, for every kind of model and search."""

import copy
import json
import math
import os
import pickle
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch.overrides import TorchFunctionMode

import heed
from heed.config import Config, DecodeConfig
from heed.engines.native import NativeEngine, open_native, reason_not_supported
from heed.engines.pytorch import PyTorchEngine, open_pytorch
from heed.errors import CheckpointError, ConfigError, DamageError, DecodeError
from heed.kernels import bf16_ways
from heed.kernels.library import library
from heed.model.stored import stored
from heed.native.step import log_softmax
from heed.options import Sampling, SearchOptions
from heed.run import RunFolder
from heed.text.tokenizer import Tokenizer
from tests.export.conftest import BUILDS, random_model
from tests.kernels.test_bf16 import rounded

pytestmark = pytest.mark.skipif(library() is None, reason="no compiler")

needs_bfloat16 = pytest.mark.skipif(
    bf16_ways.chosen() is None, reason="needs a C compiler and a processor with AVX512-BF16"
)
BFLOAT16 = pytest.param("bfloat16", marks=needs_bfloat16)
BFLOAT16_2 = pytest.param("bfloat16", 2, marks=needs_bfloat16)

# Of different lengths, so that batches are ragged.
TEXTS = [
    "the quick brown fox",
    "dog",
    "der faule Hund springt über 7 Füchse",
    "",
    "quick quick quick dog jumps the lazy",
]
ODD = {**BUILDS, "one head, 3+1 layers": {"encoder_layers": 3, "decoder_layers": 1, "h": 1, "d_ff": 65}}
SEARCHES = {
    "beam": SearchOptions(beam=4),
    "wide beam": SearchOptions(beam=9, n_best=9, alpha=0.0),
    "greedy": SearchOptions(beam=1),
    "n-best": SearchOptions(beam=5, n_best=3),
    "sampling": SearchOptions(n_best=3, sampling=Sampling(seed=7)),
    "top k and p": SearchOptions(sampling=Sampling(temperature=0.7, top_k=9, top_p=0.9)),
    "prefixes": SearchOptions(beam=3, prefixes=["der", "", "Fuchs springt", "7", "the"]),
    "required": SearchOptions(beam=3, required=[[["Hund"]], [["dog"]], [["Fuchs"], ["7"]], [["x"]], [["über"]]]),
    "trace": SearchOptions(beam=3, trace=True),
}


def make_run(folder: Path, tokenizer: Tokenizer, model, in_8_bits: bool = False) -> Path:
    """Write a model into a run folder, in float32 or as a shipped model is stored."""
    config = Config(model=model.config, decode=DecodeConfig(extra_length=8))
    run = RunFolder.create(folder, config, tokenizer)
    weights = model.state_dict()
    run.save_weights("step-00000001", stored(weights) if in_8_bits else weights, {"step": 1})
    return folder


def both(path: Path, *more: Path, int8: bool = False) -> tuple[NativeEngine, PyTorchEngine]:
    precision = "int8" if int8 else "float32"
    return open_native([path, *more], "last", precision), open_pytorch([path, *more], "last", int8)


def translated(engine, options: SearchOptions, texts=TEXTS):
    return engine.translate(texts, range(len(texts)), options, lambda done: None)


def flat(translations):
    return [one for found in translations for one in (found.alternatives or (found,))]


def assert_same(found, expected) -> None:
    assert [one.text for one in flat(found)] == [one.text for one in flat(expected)]
    for one, other in zip(flat(found), flat(expected), strict=True):
        assert one.pieces == other.pieces and one.finished == other.finished
        assert one.score == pytest.approx(other.score, abs=2e-4)
        np.testing.assert_allclose(one.log_probabilities, other.log_probabilities, atol=2e-4)


@pytest.fixture(scope="module", params=ODD)
def run(request, tokenizer, tmp_path_factory) -> Path:
    model = random_model(tokenizer, **ODD[request.param])
    return make_run(tmp_path_factory.mktemp("native") / "run", tokenizer, model)


def test_every_search_finds_what_torch_finds(run):
    native, reference = both(run)
    texts = set()
    for options in SEARCHES.values():
        found, expected = translated(native, options), translated(reference, options)
        assert_same(found, expected)
        texts |= {one.text for one in flat(found)}
        if options.trace:
            for one, other in zip(found, expected, strict=True):
                kept = [[(c.parent, c.piece, c.fate) for c in step] for step in one.trace.steps]
                assert kept == [[(c.parent, c.piece, c.fate) for c in step] for step in other.trace.steps]
    assert len(texts) > 20  # the model tells texts apart


def test_attention_is_that_of_torch(run):
    native, reference = both(run)
    source, target = native.tokenizer.encode_ids(["der faule Hund springt", "quick brown"])
    found, expected = native.attention(source, target), reference.attention(source, target)
    for name in ("encoder", "decoder", "cross"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), atol=1e-5)
    assert (found.source_pieces, found.target_pieces) == (expected.source_pieces, expected.target_pieces)


@pytest.mark.parametrize("n_models", [1, 2])
@pytest.mark.parametrize("int8", [False, True])
def test_scores_of_given_translations(run, tokenizer, n_models, int8):
    """With whole weights, even if the search is in 8 bits."""
    sources, targets = [*TEXTS[:3], "a"], ["der Hund", "the quick brown fox jumps", "", "7"]
    engines = ("native", "torch")
    native, reference = (heed.load(*[run] * n_models, checkpoint="last", int8=int8, engine=one) for one in engines)
    found, expected = native.score(sources, targets), reference.score(sources, targets)
    assert [one.n_tokens for one in found] == [one.n_tokens for one in expected]
    np.testing.assert_allclose(
        [one.log_probability for one in found], [one.log_probability for one in expected], atol=1e-3
    )
    assert native.score([], []) == []


def test_a_text_alone_and_in_a_batch(run):
    native, _ = both(run)
    together = translated(native, SEARCHES["beam"])
    for text, one in zip(TEXTS, together, strict=True):
        assert_same(translated(native, SEARCHES["beam"], [text]), [one])


class Rounding(TorchFunctionMode):
    """Linear layers whose operands are rounded by their bits, and whose sums have 64."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func is not F.linear:
            return func(*args, **(kwargs or {}))
        x, weight, *bias = args
        y = torch.from_numpy(rounded(x.detach()) @ rounded(weight.detach()).T).float()
        return y + bias[0] if bias and bias[0] is not None else y


@needs_bfloat16
def test_bfloat16_rounds_what_products_multiply_and_nothing_else(run):
    """Compare with the torch model with rounded weights and layers that round their inputs."""
    exact, reference = both(run)
    native, model = open_native([run], "last", "bfloat16"), reference.models[0]
    source, target = [5, 9, 3, 14, 7, 1], [0, 8, 4, 4, 17, 30, 6]

    def scores(engine):
        found, state = [], engine.models[0].start([source])
        for token in target:
            logits_BWV, state = engine.models[0].step(np.array([[token]]), state)
            found.append(log_softmax(logits_BWV)[0, 0])
        return np.array(found)

    with torch.no_grad():
        model.embedding.weight.copy_(torch.from_numpy(rounded(model.embedding.weight.detach())))
        with Rounding():
            expected = model(torch.tensor([source]), torch.tensor([target])).log_softmax(-1)[0].numpy()
    found, unrounded = scores(native), scores(exact)
    # Sums in another order may, rarely, round a number to its neighbour.
    np.testing.assert_allclose(found, expected, atol=2e-3)
    assert np.abs(unrounded - expected).max() > 2e-2


@needs_bfloat16
@pytest.mark.parametrize("search", ["beam", "n-best", "sampling"])
def test_in_bfloat16_a_text_alone_and_in_a_batch_are_the_same(run, search):
    native = open_native([run], "last", "bfloat16")
    options = SEARCHES[search]
    together = translated(native, options)
    for number, (text, expected) in enumerate(zip(TEXTS, together, strict=True)):
        (alone,) = native.translate([text], [number], options, lambda done: None)
        assert [(one.text, one.score) for one in flat([alone])] == [(one.text, one.score) for one in flat([expected])]


@needs_bfloat16
def test_a_translator_in_bfloat16(run):
    rounded_ones, whole = (heed.load(run, checkpoint="last", bfloat16=one) for one in (True, False))
    assert repr(rounded_ones) == f"{repr(whole)[:-1]}, bfloat16>"
    forced = SearchOptions(beam=1, prefixes=["the lazy dog jumps"] * len(TEXTS), whole=True)
    scores = [[one.log_probability for one in translated(each.engine, forced)] for each in (rounded_ones, whole)]
    difference = np.abs(np.subtract(*scores))
    assert 0 < difference.max() < 0.05 * np.abs(scores[1]).max()
    given = TEXTS[:2], TEXTS[1:3]
    found, expected = rounded_ones.score(*given), whole.score(*given)  # with whole weights
    assert [one.log_probability for one in found] == pytest.approx([one.log_probability for one in expected], abs=1e-3)


@needs_bfloat16
def test_in_bfloat16_a_copy_chooses_the_instructions_again(run, monkeypatch):
    native = open_native([run], "last", "bfloat16")
    expected = translated(native, SEARCHES["beam"])
    chosen = list[str]()
    monkeypatch.setattr(bf16_ways, "chosen", lambda: chosen.append("way") or "AVX512-BF16")
    (copied,) = pickle.loads(pickle.dumps(native.models))
    assert chosen  # in another process, nothing would have been chosen yet
    native.models = [copied]
    assert_same(translated(native, SEARCHES["beam"]), expected)
    monkeypatch.setattr(bf16_ways, "chosen", lambda: None)
    with pytest.raises(ConfigError, match="bfloat16 weights .* cannot be used"):
        pickle.loads(pickle.dumps(native.models))


def test_bfloat16_is_refused_where_it_cannot_be_had(tokenizer, tmp_path, monkeypatch):
    path = make_run(tmp_path / "run", tokenizer, random_model(tokenizer))
    weights = r"bfloat16 weights \(--bfloat16, bfloat16=True\) "

    def refused(reason, **options):
        with pytest.raises(ConfigError, match=weights + reason):
            heed.load(path, checkpoint="last", bfloat16=True, **options)

    refused(r"and 8-bit weights \(--int8, int8=True\) exclude each other; leave out one of the two$", int8=True)
    refused("need the engine native, not torch; leave out the one or the other$", engine="torch")
    with monkeypatch.context() as changed:
        changed.setattr(bf16_ways, "chosen", lambda: None)
        changed.setattr(bf16_ways, "failed_trials", lambda: "")
        no_instructions = "cannot be used: on this processor, there are no instructions for it: AMX or AVX512-BF16; "
        refused(f"{no_instructions}leave them out, or use 8-bit weights", engine="native")
    monkeypatch.setattr("heed.kernels.implemented._CONFIG", {})
    for options in ({}, {"engine": "native"}):
        refused("need the engine native, but model.encoder_layers = 2 is implemented only with torch; leave", **options)


def test_8_bits_differ_from_torch_only_by_rounding(run):
    """Sums in another order may round a number to the neighbouring code; a translation may then differ, its weights
    do not."""
    native, reference = both(run, int8=True)
    whole, _ = both(run)
    forced = SearchOptions(beam=1, prefixes=["the lazy dog jumps"] * len(TEXTS), whole=True)
    found, expected, exact = (translated(engine, forced) for engine in (native, reference, whole))
    scores = np.array([[one.log_probability for one in each] for each in (found, expected, exact)])
    assert np.abs(scores[0] - scores[1]).max() < 0.1 * np.abs(scores[1]).max()
    assert np.abs(scores[0] - scores[2]).max() > 0  # it does compute in 8 bits


@pytest.mark.parametrize("build", ["post-norm", "learned positions"])
def test_weights_stored_in_8_bits(tokenizer, tmp_path, build):
    path = make_run(tmp_path / "run", tokenizer, random_model(tokenizer, **BUILDS[build]), in_8_bits=True)
    native, reference = both(path)
    assert_same(translated(native, SEARCHES["beam"]), translated(reference, SEARCHES["beam"]))
    eighth, eighth_reference = both(path, int8=True)
    # The codes are those of the file, whichever engine reads them; and no embedding is in float32.
    ids = np.arange(40)
    np.testing.assert_array_equal(
        eighth.models[0].weights.target_rows(ids), eighth_reference.models[0].embedding.weight.detach().numpy()[:40]
    )
    arrays = [one for one in pickled_arrays(eighth) if one.dtype == np.float32 and one.ndim == 2]
    assert [one.shape for one in arrays if len(one) == len(tokenizer)] == []


def pickled_arrays(engine: NativeEngine) -> list[np.ndarray]:
    """Return every array that an engine keeps."""
    found: list[np.ndarray] = []

    def walk(value, seen):
        if id(value) in seen:
            return
        seen.add(id(value))
        if isinstance(value, np.ndarray):
            found.append(value)
        elif isinstance(value, list | tuple):
            for one in value:
                walk(one, seen)
        elif isinstance(value, dict):
            for one in value.values():
                walk(one, seen)
        elif type(value).__module__.startswith("heed"):
            walk(vars(value), seen)

    walk(engine.models, set())
    return found


@pytest.mark.parametrize(("precision", "size"), [("float32", 4), BFLOAT16_2, ("int8", 1)])
def test_each_weight_is_in_memory_once(tokenizer, tmp_path, precision, size):
    model = random_model(tokenizer, d_model=64, d_ff=128, d_k=32, d_v=32)  # nothing is padded but the vocabulary
    native = open_native([make_run(tmp_path / "run", tokenizer, model, precision == "int8")], "last", precision)
    arrays = pickled_arrays(native)
    n_weights = sum(one.numel() for one in model.parameters())
    assert sum(one.nbytes for one in arrays) < 1.15 * n_weights * size + 40_000
    if precision == "bfloat16":
        assert not any(one.size and one.ndim > 1 and one.dtype == np.float32 for one in arrays)


def test_an_ensemble(tokenizer, tmp_path):
    first = make_run(tmp_path / "one", tokenizer, random_model(tokenizer))
    other = random_model(tokenizer, norm="pre", d_model=20)
    native, reference = both(first, make_run(tmp_path / "two", tokenizer, other))
    for name in ("beam", "greedy", "sampling", "prefixes"):
        assert_same(translated(native, SEARCHES[name]), translated(reference, SEARCHES[name]))
    alone = translated(open_native([first], "last"), SEARCHES["beam"])
    assert [one.score for one in alone] != [one.score for one in translated(native, SEARCHES["beam"])]


class OnlyEvenTokens:
    """A constraint, as the parser has one."""

    def __init__(self, n_tokens: int) -> None:
        self._even = np.arange(0, n_tokens, 2)

    def start(self, sentence):
        return 0

    def allowed(self, state):
        return np.append(self._even, 1) if state % 3 else None

    def advance(self, state, token):
        return state + 1


def test_a_constraint(run, tokenizer):
    options = SearchOptions(beam=4, n_best=2, constraint=OnlyEvenTokens(len(tokenizer)))
    native, reference = both(run)
    assert_same(translated(native, options), translated(reference, options))


@pytest.mark.parametrize(
    "name", ["embedding.weight", "encoder.0.feed_forward.w_1.weight", "decoder.1.cross_attention.w_k.weight"]
)
@pytest.mark.parametrize("precision", ["float32", BFLOAT16, "int8"])
def test_weights_that_are_not_finite_are_refused(tokenizer, tmp_path, name, precision):
    model = random_model(tokenizer)
    model.state_dict()[name].fill_(math.nan)
    native = open_native([make_run(tmp_path / "run", tokenizer, model)], "last", precision)
    for options in (SEARCHES["beam"], SEARCHES["greedy"], SEARCHES["sampling"], SEARCHES["prefixes"]):
        with pytest.raises(DecodeError, match="no finite score: the weights of .*step-00000001"):
            translated(native, options)


def test_threads_do_not_change_a_translation(run, monkeypatch):
    native, _ = both(run)
    texts = [f"{text} {i}" for i in range(6) for text in TEXTS]
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    alone = translated(native, SEARCHES["beam"], texts)
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert_same(translated(native, SEARCHES["beam"], texts), alone)


@pytest.fixture(scope="module")
def wide_run(tokenizer, tmp_path_factory) -> Path:
    """A model whose products are large enough to share."""
    model = random_model(tokenizer, d_model=256, d_ff=4096, h=4, d_k=64, d_v=64)
    return make_run(tmp_path_factory.mktemp("wide") / "run", tokenizer, model)


@pytest.mark.parametrize("precision", ["float32", "int8"])
@pytest.mark.parametrize("search", ["beam", "greedy", "sampling", "prefixes"])
def test_threads_that_share_a_lone_text_do_not_change_a_bit(wide_run, monkeypatch, precision, search):
    native, options = open_native([wide_run], "last", precision), SEARCHES[search]
    if options.prefixes is not None:
        options = replace(options, prefixes=options.prefixes[:1])
    found = []
    for n_threads in ("1", "2", "3"):
        monkeypatch.setenv("OMP_NUM_THREADS", n_threads)
        found.append([translated(native, options, [text]) for text in TEXTS])
    for other in found[1:]:
        assert other == found[0]


def test_two_threads_that_translate_at_once(wide_run, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    native = open_native([wide_run], "last")
    expected = [translated(native, SEARCHES["beam"], [text]) for text in TEXTS]
    with ThreadPoolExecutor(3) as pool:
        work = [pool.submit(translated, native, SEARCHES["beam"], [text]) for _ in range(6) for text in TEXTS]
        assert [one.result() for one in work] == expected * 6


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="no list of threads")
def test_threads_start_only_for_a_lone_text_and_survive_a_fork(wide_run):
    script = """
import os, sys
from pathlib import Path
from heed.engines.native import open_native
from heed.options import SearchOptions

native = open_native([Path(sys.argv[1])], "last")
def translated(texts):
    return native.translate(texts, range(len(texts)), SearchOptions(beam=2), lambda done: None)
def started():
    return len(os.listdir("/proc/self/task"))
before = started()
os.environ["OMP_NUM_THREADS"] = "1"
expected = translated(["a b c"])
print(started() - before)
os.environ["OMP_NUM_THREADS"] = "3"
assert translated(["a b c"]) == expected
print(started() - before)
child = os.fork()
if child == 0:
    alone = started()
    os._exit(0 if translated(["a b c"]) == expected and started() - alone == 2 else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
assert translated(["a b c"]) == expected
"""
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", script, str(wide_run)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=root, timeout=60)
    assert (done.stdout.split(), done.returncode) == (["0", "2", "0"], 0), done.stderr


@needs_bfloat16
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="no list of threads")
def test_no_threads_start_for_products_in_bfloat16(wide_run):
    """They would have nothing to share."""
    script = """
import os, sys
from pathlib import Path
from heed.engines.native import open_native
from heed.options import SearchOptions

native = open_native([Path(sys.argv[1])], "last", "bfloat16")
before = len(os.listdir("/proc/self/task"))
native.translate(["a b c"], [0], SearchOptions(beam=2), lambda done: None)
print(len(os.listdir("/proc/self/task")) - before)
"""
    command = [sys.executable, "-c", script, str(wide_run)]
    environment = {**os.environ, "OMP_NUM_THREADS": "3"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60)
    assert (done.stdout, done.returncode) == ("0\n", 0), done.stderr


@pytest.mark.parametrize(
    ("n_texts", "n_threads", "sizes"),
    [
        (96, "2", [24] * 4),
        (96, "1", [32] * 3),
        (64, "2", [32] * 2),
        (40, "2", [20] * 2),
        (3, "2", [2, 1]),
        (2, "3", [1, 1]),
        (1, "2", [1]),
        (130, "4", [17] * 7 + [11]),
    ],
)
def test_batches_keep_all_threads_busy(tokenizer, tmp_path, monkeypatch, n_texts, n_threads, sizes):
    native = open_native([make_run(tmp_path / "run", tokenizer, random_model(tokenizer))], "last")
    monkeypatch.setenv("OMP_NUM_THREADS", n_threads)
    found, start = list[int](), native._start

    def counted(step, sources):
        found.append(len(sources))
        return start(step, sources)

    monkeypatch.setattr(native, "_start", counted)
    translated(native, SEARCHES["beam"], ["a b"] * n_texts)
    assert sorted(found, reverse=True) == sizes


@pytest.mark.parametrize("search", ["beam", "greedy"])
def test_a_batch_has_at_most_128_hypotheses(tokenizer, tmp_path, monkeypatch, search):
    native = open_native([make_run(tmp_path / "run", tokenizer, random_model(tokenizer))], "last")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    sizes, start = list[int](), native._start

    def counted(step, sources):
        sizes.append(len(sources))
        return start(step, sources)

    monkeypatch.setattr(native, "_start", counted)
    options = SEARCHES[search]
    translated(native, options, ["a b"] * 260)
    assert sum(sizes) == 260 and max(sizes) == 128 // options.beam


def test_a_copy_translates_the_same(run):
    native, _ = both(run)
    expected = translated(native, SEARCHES["beam"])
    for other in (copy.copy(native), copy.deepcopy(native), pickle.loads(pickle.dumps(native))):
        assert [one.score for one in translated(other, SEARCHES["beam"])] == [one.score for one in expected]


# --- what it loads ----------------------------------------------------------------------------------------


def test_damage_is_found(tokenizer, tmp_path):
    path = make_run(tmp_path / "run", tokenizer, random_model(tokenizer))
    file = path / "checkpoints/step-00000001/model.safetensors"
    content = file.read_bytes()
    for damaged in (
        content[:-9] + bytes(9),
        content[:-1],
        content + b"\0",
        content[:4],
        b"",
        content[:8] + b"[" + content[9:],
    ):
        file.write_bytes(damaged)
        with pytest.raises(DamageError, match="damaged"):
            open_native([path], "last")
    file.unlink()
    with pytest.raises(DamageError, match="missing"):
        open_native([path], "last")


@pytest.mark.parametrize("change", ["missing", "another shape", "another type", "codes without scale"])
def test_weights_that_do_not_fit_are_refused_as_torch_does(tokenizer, tmp_path, change):
    model = random_model(tokenizer)
    path = make_run(tmp_path / "run", tokenizer, model)
    weights = {**model.state_dict()}
    first = weights["encoder.0.feed_forward.w_1.bias"]
    if change == "missing":
        weights["surplus"] = weights.pop("encoder.0.feed_forward.w_1.bias")
    elif change == "another shape":
        weights["encoder.0.feed_forward.w_1.bias"] = first.reshape(-1, 1)
    elif change == "another type":
        weights["encoder.0.feed_forward.w_1.bias"] = first.double()
    else:
        weights = stored(weights)
        del weights["encoder.0.feed_forward.w_1.weight/scale"]
    RunFolder.open(path).save_weights("step-00000001", weights, {"step": 1})
    messages = []
    for load in (open_native, partial(open_pytorch, int8=False)):
        with pytest.raises(CheckpointError) as refused:
            load([path], "last")
        messages.append(str(refused.value))
    assert messages[0] == messages[1]


def test_what_c_does_not_implement_is_left_to_torch(tokenizer, tmp_path, monkeypatch):
    path = make_run(tmp_path / "run", tokenizer, random_model(tokenizer))
    assert reason_not_supported([path]) is None
    assert isinstance(heed.load(path, checkpoint="last").engine, NativeEngine)
    monkeypatch.setattr("heed.kernels.implemented._CONFIG", {})
    assert reason_not_supported([path]) == "model.encoder_layers = 2 is implemented only with torch"
    assert isinstance(heed.load(path, checkpoint="last").engine, PyTorchEngine)
    with pytest.raises(ConfigError, match="engine native: model.encoder_layers = 2 is implemented only with torch"):
        heed.load(path, checkpoint="last", engine="native")


def test_without_kernels_torch_takes_over(tokenizer, tmp_path, monkeypatch):
    path = make_run(tmp_path / "run", tokenizer, random_model(tokenizer))
    monkeypatch.setattr("heed.native.weights.library", lambda: None)
    assert isinstance(heed.load(path, checkpoint="last").engine, PyTorchEngine)


# --- the translator ---------------------------------------------------------------------------------------


def test_what_only_torch_can_do(tokenizer, tmp_path):
    path = make_run(tmp_path / "run", tokenizer, random_model(tokenizer))
    translator = heed.load(path, checkpoint="last")
    assert isinstance(translator.engine, NativeEngine)
    assert translator.device == torch.device("cpu")
    assert isinstance(translator.engine, NativeEngine)  # it still translates natively
    before = translator.translate(["dog"])[0].score
    with torch.no_grad():
        translator.models[0].embedding.weight.mul_(0.5)
    assert translator.translate(["dog"])[0].score != before  # models that are changed take effect


def test_a_glossary(tokenizer, tmp_path):
    path = make_run(tmp_path / "run", tokenizer, random_model(tokenizer))
    translator, reference = (heed.load(path, checkpoint="last", engine=engine) for engine in ("native", "torch"))
    glossary = {"fox": "Fuchs", "dog": "Hund"}
    texts = ["the quick fox", "dog and fox 77"]
    found, expected = (one.translate(texts, glossary=glossary, copy=True) for one in (translator, reference))
    assert_same(found, expected)
    assert all("Fuchs" in one.text for one in found)


# --- without torch ----------------------------------------------------------------------------------------


@pytest.fixture
def without_torch(tmp_path) -> dict[str, str]:
    """An environment in which torch cannot be imported."""
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden" / "torch.py").write_text("raise ImportError('torch is not here')\n")
    source = str(Path(heed.__file__).parents[1])
    return {**os.environ, "PYTHONPATH": f"{tmp_path / 'hidden'}{os.pathsep}{source}", "OMP_NUM_THREADS": "1"}


@pytest.mark.parametrize("bfloat16", [False, pytest.param(True, marks=needs_bfloat16)])
def test_translating_without_torch(tokenizer, tmp_path, without_torch, bfloat16):
    path = make_run(tmp_path / "run", tokenizer, random_model(tokenizer))
    engine = "native" if bfloat16 else "torch"
    expected = heed.load(path, checkpoint="last", bfloat16=bfloat16, engine=engine).translate(TEXTS, n_best=2)
    command = [sys.executable, "-m", "heed", "translate", "--model", path, "--checkpoint", "last", "--n-best", "2"]
    command += ["--bfloat16"] if bfloat16 else []
    done = subprocess.run(
        [*map(str, command), "--json"],
        input="\n".join(TEXTS) + "\n",
        env=without_torch,
        capture_output=True,
        text=True,
        check=True,
    )
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one["text"] for one in found] == [one.text for one in expected]
    for one, other in zip(found, expected, strict=True):
        assert one["score"] == pytest.approx(other.score, abs=2e-4)


def test_python_without_torch(tmp_path, without_torch):
    script = """
import sys, heed
translator = heed.load()
(found,) = translator.translate(["Good morning!"], attention=True)
(forced,) = translator.translate(["The cat sleeps."], glossary={"cat": "Kater"})
print(found.text, found.attention.cross.shape[0], "Kater" in forced.text, "torch" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", script], env=without_torch, capture_output=True, text=True, check=True)
    assert done.stdout == "Guten Morgen! 2 True False\n"


def test_what_needs_torch_says_what_to_install(tokenizer, tmp_path, without_torch):
    # As if it were not installed: the stub above is a torch that fails.
    (tmp_path / "hidden" / "torch.py").write_text(
        "raise ModuleNotFoundError(\"No module named 'torch'\", name='torch')\n"
    )
    path = make_run(tmp_path / "run", tokenizer, random_model(tokenizer))
    for command in (
        ["train", "--preset", "tiny", "--source", "x", "--target", "y", "--out", tmp_path / "new"],
        ["translate", "--model", path, "--engine", "torch"],
        ["inspect", "--model", path, "dog", "--json"],
    ):
        done = subprocess.run(
            [sys.executable, "-m", "heed", *map(str, command)], env=without_torch, capture_output=True, text=True
        )
        assert done.returncode == 2 and "PyTorch is not installed: pip install 'heed[train]'" in done.stderr, (
            done.stderr
        )


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"HEED_KERNELS": "off"}, "the C kernels are not available"),
        (
            {"CC": "false"},
            "cannot compile them: no error message, exit code 1; without them",
        ),
        ({"PATH": "", "CC": "none"}, "no C compiler that works"),
    ],
    ids=["switched off", "a compiler that fails", "no compiler"],
)
def test_neither_kernels_nor_torch(tmp_path, change, reason):
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['torch'] = None  # as if not installed\n")
    source = str(Path(heed.__file__).parents[1])
    ours = {"PYTHONPATH": f"{tmp_path}{os.pathsep}{source}", "XDG_CACHE_HOME": str(tmp_path / "cache")}
    environment = {**os.environ, **ours, **change}
    done = subprocess.run(
        [sys.executable, "-m", "heed", "translate"],
        input="",
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2 and reason in done.stderr, done.stderr
    assert "so this needs PyTorch, which is not installed: pip install 'heed[train]'" in done.stderr
    assert "slower kernels" not in done.stderr


def test_torch_is_an_extra_that_developers_get():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = {key: [one.split(">")[0] for one in some] for key, some in project["optional-dependencies"].items()}
    assert "torch" not in [one.split(">")[0] for one in project["dependencies"]]
    assert names["train"] == ["torch"] and "torch" in names["dev"]


def test_options_are_refused_as_torch_does(tokenizer, tmp_path):
    native, reference = both(make_run(tmp_path / "run", tokenizer, random_model(tokenizer)))
    for options in (
        SearchOptions(attention=True),
        SearchOptions(copy=True, sampling=Sampling()),
        replace(SearchOptions(), glossary=heed.Glossary({"a": "b"}), prefixes=["x"]),
    ):
        assert native.supports(options) == reference.supports(options)
