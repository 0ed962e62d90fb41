"""What search returns about a translation and its words, as a few numbers that predict how good they are."""

import math

from heed.text.spelling import decoded, spelt, words
from heed.translation import Translation

# In this order in the lists of features. Log-probabilities are natural logarithms.
SENTENCE = ("mean log-probability", "least log-probability", "log length ratio", "its square", "log source length")
WORD = ("mean log-probability", "least log-probability", "next log-probability", "sentence mean", "log characters")


def sentence_features(translation: Translation) -> list[float]:
    """Return the features of a translation in one part, in the order of `SENTENCE`."""
    logprobs, n_source = translation.log_probabilities, len(translation.source_pieces) + 1
    ratio = math.log((len(translation.pieces) + 1) / n_source)
    return [sum(logprobs) / len(logprobs), min(logprobs), ratio, ratio**2, math.log(n_source)]


def word_features(translation: Translation) -> list[tuple[str, list[float]]]:
    """Return the words of a translation in one part, each with its features in the order of `WORD`.

    The next log-probability is that of the token after the word: a wrong word is often followed by surprises.
    """
    logprobs, pieces = translation.log_probabilities, translation.pieces
    sentence_mean = sum(logprobs) / len(logprobs)
    parts = [spelt(piece) for piece in pieces]
    found = []
    for members in words(pieces, *decoded(parts)):
        text = decoded([parts[i] for i in members])[0].strip(" ")
        if text:
            own = [logprobs[i] for i in members]
            following = logprobs[members[-1] + 1] if members[-1] + 1 < len(logprobs) else own[-1]
            found.append((text, [sum(own) / len(own), min(own), following, sentence_mean, math.log(len(text))]))
    return found
