"""Text as people type it: in capitals, with typos, without apostrophes or a final stop, two sentences in one line.

A model that has only seen clean text fails on these. Here clean pairs are disturbed while training, other ones in every
epoch. Capitals, stops and emoji change both sides; typos, lower case and missing apostrophes change the source alone,
so that the model learns to answer in clean text.
"""

from collections.abc import Callable, Iterator

from heed.text.draws import Draws

Pair = tuple[str, str]

_STOPS = ".!?"
_EMOJI = ["😀", "😂", "😍", "😊", "👍", "🙏", "🎉", "❤️", "😢", "🤔"]


def disturbed(pair: Pair, other: Callable[[], Pair], draws: Draws) -> Pair:
    """Return a pair as people might type it. `other` gives a second pair, for two sentences in one line."""
    for _ in range(_TRIES):
        made = _kind(draws)(pair, other, draws)
        if made != pair:
            return made
    return pair


def _kind(draws: Draws) -> Callable[[Pair, Callable[[], Pair], Draws], Pair]:
    chosen = draws.unit() * sum(_SHARES.values())
    for kind, share in _SHARES.items():
        chosen -= share
        if chosen < 0:
            return kind
    return _typos


def _capitals(pair: Pair, other: Callable[[], Pair], draws: Draws) -> Pair:
    return pair[0].upper(), pair[1].upper()


def _title(pair: Pair, other: Callable[[], Pair], draws: Draws) -> Pair:
    source, target = (" ".join(word[:1].upper() + word[1:] for word in text.split(" ")) for text in pair)
    return source, target


def _lower(pair: Pair, other: Callable[[], Pair], draws: Draws) -> Pair:
    return pair[0].lower(), pair[1]


def _no_apostrophe(pair: Pair, other: Callable[[], Pair], draws: Draws) -> Pair:
    source = pair[0].replace("'", "").replace("’", "")
    if not source.strip():
        return pair
    return source.lower() if draws.below(2) else source, pair[1]


def _no_stop(pair: Pair, other: Callable[[], Pair], draws: Draws) -> Pair:
    if all(len(text) > 1 and text[-1] in _STOPS and text[-2] not in _STOPS for text in pair):
        return pair[0][:-1].rstrip(), pair[1][:-1].rstrip()
    return pair


def _joined(pair: Pair, other: Callable[[], Pair], draws: Draws) -> Pair:
    # Without a stop between them they would be one sentence.
    if all(text[-1:] in _STOPS for text in pair):
        second = other()
        return f"{pair[0]} {second[0]}", f"{pair[1]} {second[1]}"
    return pair


def _emoji(pair: Pair, other: Callable[[], Pair], draws: Draws) -> Pair:
    found = _EMOJI[draws.below(len(_EMOJI))]
    return f"{pair[0]} {found}", f"{pair[1]} {found}"


def _typos(pair: Pair, other: Callable[[], Pair], draws: Draws) -> Pair:
    """Make a typo in about every 30 letters: a letter left out, doubled, or swapped with the next."""
    source = list(pair[0])
    letters = [i for i in range(len(source) - 1) if source[i].isalpha() and source[i + 1].isalpha()]
    for i in sorted(_some(letters, 1 + len(letters) // 30, draws), reverse=True):
        first, second = source[i : i + 2]
        source[i : i + 2] = ([second], [first, first, second], [second, first])[draws.below(3)]
    return "".join(source), pair[1]


def _some(items: list[int], n: int, draws: Draws) -> Iterator[int]:
    """Draw n different items."""
    left = list(items)
    for _ in range(min(n, len(left))):
        yield left.pop(draws.below(len(left)))


_TRIES = 8  # not every kind changes every pair: there must be an apostrophe, or a final stop
_SHARES = {_capitals: 5, _title: 3, _lower: 3, _no_apostrophe: 3, _no_stop: 4, _joined: 3, _emoji: 1, _typos: 4}
