"""Detect in a validation that the model has collapsed: its output no longer depends on the source."""

from collections.abc import Sequence

from heed.config import UNUSED_SETTINGS, Config
from heed.training.schedule import learning_rate

_MAX_REPEATING_SHARE = 0.5  # of the translations may be one repeated word
_MIN_REPEATED_WORDS = 3  # "no no" may be a translation
_SHOWN_CHARACTERS = 40


def signs_of_collapse(
    perplexity: float, vocab_size: int, references: Sequence[str], translations: Sequence[str]
) -> list[str]:
    """Return a sentence for each sign of collapse in these translations.

    The perplexity of a model that gives every token the same probability is the vocabulary size.
    """
    signs = []
    if perplexity > vocab_size:
        signs.append(
            f"validation perplexity {perplexity:.5g} is above the vocabulary size, {vocab_size}: worse than guessing"
        )
    if len(set(references)) > 1 and len(set(translations)) == 1:
        signs.append(f"all {len(translations):,} validation translations are the same: {_quoted(translations[0])}")
    elif repeated := [text for text in translations if _is_one_word(text)]:
        if len(repeated) > _MAX_REPEATING_SHARE * len(translations):
            signs.append(
                f"{len(repeated):,} of {len(translations):,} validation translations repeat one word: "
                f"{_quoted(repeated[0])}"
            )
    return signs


def collapse_advice(config: Config) -> str:
    """Return advice on a collapsed model, with the settings that matter, in lines of 80 columns."""
    train = config.train
    peak = learning_rate(train.warmup_steps, config.model.d_model, train.warmup_steps, train.learning_rate_factor)
    has_choice = config.model.norm != "pre" and "norm" not in UNUSED_SETTINGS.get(config.model.kind, ())
    other = ', or set model.norm = "pre"' if has_choice else ""
    return (
        "Unless training has only just begun, the model has collapsed, most likely\n"
        f"because the learning rate is too high: it peaks at {peak:.2g} here.\n"
        f"Start again with train.learning_rate_factor below {train.learning_rate_factor:g}{other}\n"
        "(docs/learning.md)."
    )


def _is_one_word(text: str) -> bool:
    words = text.split()
    return len(words) >= _MIN_REPEATED_WORDS and len(set(words)) == 1


def _quoted(text: str) -> str:
    return f'"{text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 3] + "..."}"'
