"""Constituency trees: the paper's second task (section 6.3).

trees (Penn bracketings as values), linearise (a tree as a sequence of tokens and back), constraint (search that can only
write well-formed trees), evalb and parameters (how right trees are), draw and svg (for people), tokenise (raw text to
Penn words). Never torch.
"""
