"""The ids of the special tokens of every vocabulary, defined only here.

There is no start token: decoding starts from PAD, whose embedding is the zero vector, as in the authors' code. UNK
exists because sentencepiece requires it; with byte fallback, nothing is ever unknown.
"""

PAD, EOS, UNK = 0, 1, 2
N_SPECIAL = 3
