"""The special symbols of every vocabulary, defined here and nowhere else.

There is no start symbol: decoding starts from PAD, which embeds to the zero vector, as in the authors' code. UNK
exists because sentencepiece insists on one; with bytes to fall back on, nothing is ever unknown.
"""

PAD, EOS, UNK = 0, 1, 2
N_SPECIAL = 3
