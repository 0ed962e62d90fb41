"""The two sides of a parser as ids: words as sub-words, trees as the tokens of a linearisation.

Both are in one sentencepiece vocabulary. Trees are written with symbols, which come first, so the ids of the target
side are the first of the source side, and the softmax is small. A symbol has a bracket in it, which no word has:
(NP and )NP open and close a bracket, and (NN) stands for a word with that tag.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from heed.config import TextConfig
from heed.errors import DataError, TokenizerError
from heed.parsing.constraint import TreeTokens
from heed.parsing.linearise import Linearisation
from heed.parsing.tokenise import penn_word
from heed.parsing.trees import Tree
from heed.text.normalize import SPACE_MARK, normalize
from heed.text.tokenizer import Tokenizer


class TreeTokenizer(Tokenizer):
    """Converts sentences of words to source ids, and trees to target ids and back."""

    def __init__(self, model: bytes, how: Linearisation) -> None:
        """
        Raises:
            TokenizerError: the vocabulary was not made for trees that are written like this.
        """
        super().__init__(model)
        self.how = how
        self._id_of = dict(zip(symbols := sorted(self.symbols), self.ids(symbols), strict=True))
        self._symbol_of = {number: symbol for symbol, number in self._id_of.items()}
        self.labels = sorted(symbol[1:] for symbol in symbols if symbol[0] == "(" and symbol[-1] != ")")
        self.tags = sorted(symbol[1:-1] for symbol in symbols if symbol[0] == "(" and symbol[-1] == ")")
        size = 1 + max(self._special | self._symbol_of.keys())
        needed = {_symbol(token) for token in how.vocabulary(self.labels, self.tags)}
        if not (self.labels and self.tags) or needed != self._id_of.keys() or size != len(self._special) + len(symbols):
            raise TokenizerError("the vocabulary was not learnt for trees that are written like this")
        self.vocabulary = replace(
            self.vocabulary,
            size=size,
            source_size=len(self),
            begins_word=frozenset(
                number for number, piece in enumerate(self.pieces(range(len(self)))) if piece.startswith(SPACE_MARK)
            ),
            writes_word=frozenset(self._id_of[f"({tag})"] for tag in self.tags),
        )
        ids = {token: self._id_of[_symbol(token)] for token in how.vocabulary(self.labels, self.tags)}
        self.tree_tokens = TreeTokens(how, self.labels, self.tags, ids, self.vocabulary.end)

    @classmethod
    def learn_trees(cls, trees: Sequence[Tree], how: Linearisation, text: TextConfig) -> "TreeTokenizer":
        """Learn the sub-words of the trees' words; their labels and tags become symbols."""
        labels = {bracket.label for tree in trees for bracket in tree.brackets()}
        tags = {tag for tree in trees for tag in tree.tags()}
        learnt = Tokenizer.learn(
            (sentence_text(tree.words()) for tree in trees),
            text.vocab_size,
            text.character_coverage,
            text.unit,
            [_symbol(token) for token in how.vocabulary(labels, tags)],
        )
        return cls(learnt.model, how)

    def encode_tree(self, tree: Tree) -> list[int]:
        """Return the target ids of a tree.

        Raises:
            DataError: it has a label or a tag that no training tree has.
        """
        if unknown := self.unknown(tree):
            raise DataError(f"the {unknown[0]} is not in the vocabulary; it occurs in no tree that it was learnt from")
        return [self._id_of[_symbol(token)] for token in self.how.tokens(tree)]

    def unknown(self, tree: Tree) -> list[str]:
        """Name the labels and tags of a tree that the vocabulary lacks, each once: label "UCP", tag "FW"."""
        symbols = dict.fromkeys(map(_symbol, self.how.tokens(tree)))
        return [
            f'{"tag" if symbol[-1] == ")" else "label"} "{symbol.strip("()")}"'
            for symbol in symbols
            if symbol not in self._id_of and symbol[0] == "("
        ]

    def encode_pairs(self, trees: Iterable[Tree]) -> list[list[list[int]]]:
        """Return the source ids and the target ids of trees, without those that `encode_tree` refuses."""
        known = [tree for tree in trees if not self.unknown(tree)]
        sources = self.encode_ids([sentence_text(tree.words()) for tree in known])
        return [sources, [self.encode_tree(tree) for tree in known]]

    def restore(self, pieces: Iterable[str], words: Sequence[str]) -> Tree:
        """Return the tree that these symbols write over the words.

        Raises:
            DataError: they are not one tree over exactly these words.
        """
        tokens = [piece[1:-1] if piece[0] == "(" and piece[-1] == ")" else piece for piece in pieces]
        return self.how.restore(tokens, words)


def linearisation(text: TextConfig) -> Linearisation:
    """Return how the settings say that trees are written."""
    return Linearisation(text.trees == "in-order", text.trees != "top-down", text.tags)


def load_tokenizer(path: Path, text: TextConfig) -> Tokenizer:
    """Load the vocabulary of a run: one for trees if it is a parser's.

    Raises:
        TokenizerError: it cannot be read, or is of another kind.
    """
    tokenizer = Tokenizer.load(path)
    if text.trees == "none":
        return tokenizer
    try:
        return TreeTokenizer(tokenizer.model, linearisation(text))
    except TokenizerError as error:
        raise TokenizerError(f"{path}: {error}") from None


def sentence_text(words: Iterable[str]) -> str:
    """Return a sentence as the encoder reads it: words with one space between, and none in a word."""
    return " ".join(normalize(penn_word(word)).replace(" ", "_") or "_" for word in words)


def _symbol(token: str) -> str:
    """Return the piece of a linearisation's token; one that stands for a word gets brackets."""
    return token if token[0] in "()" else f"({token})"
