"""What search returns about a translation and its words, as a few numbers that predict how good they are."""

import math

from heed.text.spelling import decoded, spelt, words
from heed.translation import Translation

# In this order in the lists of features. Probabilities are of tokens; "next" is the token after a word, since a wrong
# word is often followed by surprises. Some are there both as they are and as logarithms: where log-probabilities fall
# further and further, the chance of being good levels off.
SENTENCE = (
    *("mean log-probability", "least log-probability", "least probability"),
    *("log length ratio", "its square", "log source length"),
)
WORD = ("least log-probability", "least probability", "next log-probability", "next probability", "sentence mean")


def sentence_features(translation: Translation) -> list[float]:
    """Return the features of a translation in one part, in the order of `SENTENCE`."""
    logprobs, n_source = translation.log_probabilities, len(translation.source_pieces) + 1
    mean, least = sum(logprobs) / len(logprobs), min(logprobs)
    ratio = math.log((len(translation.pieces) + 1) / n_source)
    return [mean, least, math.exp(least), ratio, ratio**2, math.log(n_source)]


def word_features(translation: Translation) -> list[tuple[str, list[float]]]:
    """Return the words of a translation in one part, each with its features in the order of `WORD`."""
    logprobs, pieces = translation.log_probabilities, translation.pieces
    sentence_mean = sum(logprobs) / len(logprobs)
    parts = [spelt(piece) for piece in pieces]
    found = []
    for members in words(pieces, *decoded(parts)):
        text = decoded([parts[i] for i in members])[0].strip(" ")
        if text:
            least, after = min(logprobs[i] for i in members), members[-1] + 1
            following = logprobs[after] if after < len(logprobs) else logprobs[members[-1]]
            found.append((text, [least, math.exp(least), following, math.exp(following), sentence_mean]))
    return found
