import os

import pytest

from heed.errors import ConfigError
from heed.evaluate import Bleu, compare, score
from heed.evaluate.resampling import sacrebleu_seed

TEXT = ["ein Haus am See"], ["ein Haus am Meer"]


@pytest.mark.parametrize("before", [None, "99", "none"])
def test_environment_is_left_as_it_was(before: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if before is None:
        monkeypatch.delenv("SACREBLEU_SEED", raising=False)
    else:
        monkeypatch.setenv("SACREBLEU_SEED", before)
    assert "|seed:5|" in score(Bleu(), *TEXT, resamples=100, seed=5).signature
    assert "|seed:5|" in compare(Bleu(), TEXT[0], *TEXT, resamples=100, seed=5).signature
    assert os.environ.get("SACREBLEU_SEED") == before


def test_environment_is_left_as_it_was_after_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SACREBLEU_SEED", raising=False)
    with pytest.raises(RuntimeError), sacrebleu_seed(5):
        assert os.environ["SACREBLEU_SEED"] == "5"
        raise RuntimeError
    assert "SACREBLEU_SEED" not in os.environ
    with sacrebleu_seed(6):  # the lock has been released
        assert os.environ["SACREBLEU_SEED"] == "6"


@pytest.mark.parametrize("seed", [0, -1])
def test_seed_that_sacrebleu_would_not_keep(seed: int) -> None:
    with pytest.raises(ConfigError, match=f"must be at least 1, not {seed}"):
        score(Bleu(), *TEXT, seed=seed)
