"""Constituency trees: the paper's second task (section 6.3). Never torch.

trees (Penn brackets as values), linearise (a tree as a sequence of tokens, and back), constraint (search that can write
well-formed trees only), evalb and parameters (how right trees are), draw and svg (for people to look at), tokenise
(raw text to Penn words).
"""
