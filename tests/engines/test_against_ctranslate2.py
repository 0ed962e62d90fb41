"""heed's own search finds what CTranslate2's search finds with the same weights.

Both keep the same hypotheses: 2 x `beam` candidates per step; those that end among the best `beam` are finished; `beam`
finished ones are enough. `Judge` makes the rest equal. Two differences remain: CTranslate2 excludes padding and the
unknown token before the softmax instead of after it, so the other tokens share their probability; and it rounds sums
differently, which may decide between near ties.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import ctranslate2
import pytest
import torch

from heed.export.ctranslate2 import write_ctranslate2
from heed.kernels.library import library
from heed.loading import load
from heed.model.interface import SequenceModel
from heed.run import RunFolder
from heed.translation import Translation
from heed.translator import Translator
from tests.cli.conftest import TrainRun, letters
from tests.conftest import EOS, PAD, UNK

NO_PENALTY = 1e-9  # with 0, CTranslate2 stops at the first finished hypothesis


class Hypothesis(NamedTuple):
    pieces: list[str]
    log_probability: float
    score: float
    finished: bool


class Judge:
    """A run, exported for CTranslate2."""

    def __init__(self, run: RunFolder, folder: Path) -> None:
        self.model: SequenceModel = run.load_model()
        write_ctranslate2(folder, self.model, run.tokenizer, run.config.decode)
        self.run, self.translator = run, ctranslate2.Translator(str(folder), intra_threads=1)

    def translate(self, text: str, beam: int, alpha: float, n_best: int = 1) -> list[Hypothesis]:
        """Return the n best by heed's length penalty; unfinished hypotheses count only if finished ones are too few.

        CTranslate2 ranks by log P / length^e, and e is almost zero here. It returns the first `beam`; if more have
        finished by the last step, it drops some. So it searches again up to that step, and keeps all: fewer than `beam`
        finish before it, and at most `beam` at it.
        """
        (ids,) = self.run.tokenizer.encode_ids([text])
        source, config = self.run.tokenizer.pieces(ids), self.run.config
        limit = len(source) + config.decode.extra_length
        if config.model.positions == "learned":
            limit = min(limit, config.model.max_length + 1)
        found = self._search(source, limit, beam, alpha, patience=1)
        if beam > 1:
            found = self._search(source, max(len(one.pieces) + one.finished for one in found), beam, alpha, patience=2)
        best = sorted(found, key=lambda one: (not one.finished, -one.score))[:n_best]
        return sorted(best, key=lambda one: -one.score)

    def _search(self, source: list[str], limit: int, beam: int, alpha: float, patience: int) -> list[Hypothesis]:
        (result,) = self.translator.translate_batch(
            [source],
            beam_size=beam,
            patience=patience,
            num_hypotheses=beam * patience,
            length_penalty=NO_PENALTY,
            min_decoding_length=0,
            max_decoding_length=limit,
            max_input_length=0,
            return_scores=True,
            return_end_token=True,
            disable_unk=True,
            suppress_sequences=[["<pad>"]],
        )
        found = []
        for pieces, log_probability in zip(result.hypotheses, result.scores, strict=True):
            score = log_probability / ((5 + len(pieces)) / 6) ** alpha
            finished = pieces[-1] == "</s>"
            found.append(Hypothesis(pieces[:-1] if finished else pieces, log_probability, score, finished))
        return found

    @torch.inference_mode()
    def without_pad_and_unk(self, one: Translation) -> float:
        """Return a translation's log-probability by one pass of the model, with PAD and UNK excluded as above."""
        source, target = (self.run.tokenizer.ids(side) for side in (one.source_pieces, one.pieces))
        gold = [*target, EOS] if one.finished else target
        logits = self.model(torch.tensor([[*source, EOS]]), torch.tensor([[PAD, *gold[:-1]]]))[0]
        logits[:, [PAD, UNK]] = -torch.inf
        return float(logits.double().log_softmax(-1)[range(len(gold)), gold].sum())


def engines() -> list[str]:
    return ["torch"] if library() is None else ["native", "torch"]


@pytest.fixture(scope="module")
def judge(learnt: Path, tmp_path_factory: pytest.TempPathFactory) -> Judge:
    return Judge(RunFolder.open(learnt), tmp_path_factory.mktemp("exported"))


@pytest.fixture(scope="module", params=engines())
def translator(request: pytest.FixtureRequest, learnt: Path) -> Translator:
    return load(learnt, engine=request.param)


@pytest.mark.parametrize(("beam", "alpha"), [(1, 0.6), (4, 0.6), (4, 0.0), (4, 2.0), (7, 0.6)])
def test_the_best(judge: Judge, translator: Translator, beam: int, alpha: float) -> None:
    texts = letters(11, 150)
    found = translator.translate(texts, beam=beam, alpha=alpha)
    assert len({one.text for one in found}) > 50
    for text, one in zip(texts, found, strict=True):
        (theirs,) = judge.translate(text, beam, alpha)
        assert (one.pieces, one.finished) == (theirs.pieces, theirs.finished)
        assert theirs.log_probability == pytest.approx(judge.without_pad_and_unk(one), abs=1e-5)


def n_best_of(translations: Sequence[Translation]) -> list[list[tuple[list[str], bool]]]:
    return [[(each.pieces, each.finished) for each in one.alternatives] for one in translations]


def n_best_by(judge: Judge, texts: list[str], beam: int, alpha: float, n: int) -> list[list[tuple[list[str], bool]]]:
    return [[(each.pieces, each.finished) for each in judge.translate(text, beam, alpha, n)] for text in texts]


@pytest.mark.parametrize(("beam", "n_best", "alpha"), [(4, 3, 0.6), (4, 4, 0.6), (4, 2, 2.0), (3, 3, 0.0), (6, 6, 0.6)])
def test_the_n_best(judge: Judge, translator: Translator, beam: int, n_best: int, alpha: float) -> None:
    texts = letters(12, 200)
    found = n_best_of(translator.translate(texts, beam=beam, n_best=n_best, alpha=alpha))
    expected = n_best_by(judge, texts, beam, alpha, n_best)
    assert all(len(one) == n_best for one in found)
    same = [one == other for one, other in zip(found, expected, strict=True)]
    # Not all, because of near ties: in such a small model, PAD and UNK have a noticeable probability.
    assert sum(same) >= 0.95 * len(same)


@pytest.mark.parametrize("extra_length", [0, 1])
def test_at_the_length_limit(train_run: TrainRun, tmp_path: Path, extra_length: int) -> None:
    """A barely trained model reaches the limit often: finished hypotheses come before unfinished ones."""
    path = train_run(train__max_steps=30, decode__extra_length=extra_length).path
    texts = letters(13, 60)
    expected = n_best_by(Judge(RunFolder.open(path), tmp_path), texts, beam=4, alpha=0.6, n=3)
    assert {one[0][1] for one in expected} == {True, False}
    assert any(len({finished for _, finished in one}) == 2 for one in expected)
    for engine in engines():
        assert n_best_of(load(path, engine=engine).translate(texts, n_best=3)) == expected


def test_learned_positions_bound_the_output(train_run: TrainRun, tmp_path: Path) -> None:
    """A barely trained model continues until there is no position left."""
    changes = {"model__positions": "learned", "model__max_length": 6, "decode__extra_length": 50}
    path = train_run(train__max_steps=3, train__save_every=3, train__validate_every=3, **changes).path
    (expected,) = Judge(RunFolder.open(path), tmp_path).translate("a b c d a b", beam=4, alpha=0.6)
    assert len(expected.pieces) == 7 and not expected.finished
    for engine in engines():
        (found,) = load(path, engine=engine).translate(["a b c d a b"])
        assert (found.pieces, found.finished) == (expected.pieces, False)
