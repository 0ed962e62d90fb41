"""Parse sentences: words in, trees over exactly these words out, in the same order."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from heed.decode.search import Constraint
from heed.engines.pytorch import PyTorchEngine
from heed.errors import DataError, DecodeError
from heed.options import SearchOptions
from heed.parsing.constraint import shortest, tree_constraint
from heed.parsing.tokenise import tokenise
from heed.parsing.tokenizer import TreeTokenizer, sentence_text
from heed.parsing.trees import Tree
from heed.translation import Translation

Sentence = str | Sequence[str]  # raw text, or its words

_HYPHEN = "HYPH"  # the tag of hyphens in treebanks that split words at them
_BLANKS = re.compile("[ \t\r\n\f\v]+")  # what separates words in a treebank


@dataclass(frozen=True)
class Parse:
    """The tree of one sentence."""

    words: tuple[str, ...]  # as they stand in the tree
    tree: Tree | None  # None: there are no words or, without the constraint, the output is no tree
    score: float = 0.0  # log-probability divided by the length penalty
    log_probability: float = field(default=0.0, repr=False)
    spans: tuple[tuple[int, int], ...] | None = field(default=None, repr=False)  # of each word in the raw text
    problem: str = ""  # why there is no tree
    # The n best, starting with this one, if more than one was asked for.
    alternatives: tuple["Parse", ...] = field(default=(), repr=False)


def tree_tokenizer(engine: PyTorchEngine, what: str) -> TreeTokenizer:
    """Return the engine's tokenizer.

    Raises:
        DecodeError: the model does not parse; `what` was asked of it.
    """
    if not isinstance(engine.tokenizer, TreeTokenizer):
        raise DecodeError(
            f"{what}: this model translates and cannot parse; translate with it, or train a parser: "
            "heed train --preset parsing --trees FILE --out FOLDER"
        )
    return engine.tokenizer


def parse_sentences(
    engine: PyTorchEngine,
    sentences: Sequence[Sentence],
    options: SearchOptions,
    *,
    split_hyphens: bool | None = None,
    constrained: bool = True,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[Parse]:
    """Return the tree of each sentence; a blank one has none.

    Raw text is split into words; `split_hyphens` is for that, and if None, the treebank's tags decide (HYPH). With
    `constrained`, every output is a tree over exactly the words. Without, the model may write anything.

    Raises:
        DataError: a word is blank, or has white space that would end it in a treebank.
        DecodeError: a sentence does not fit the model's positions, or the weights are not finite.
    """
    tokenizer = tree_tokenizer(engine, "parse")
    parses = sentences_of(tokenizer, sentences, split_hyphens)
    rows = [row for row, one in enumerate(parses) if one.words]
    texts = [sentence_text(parses[row].words) for row in rows]
    if engine.is_hard_limit:
        _refuse_long(engine, texts, [options.first_number + row for row in rows])
    if constrained:
        n_words = {options.first_number + row: len(parses[row].words) for row in rows}
        options = replace(options, constraint=constraint_of(engine, tokenizer, texts, n_words))
    n_done = len(parses) - len(rows)

    def on_done(numbers: list[int]) -> None:
        nonlocal n_done
        n_done += len(numbers)
        progress(n_done, len(parses))

    found = engine.translate(texts, range(len(texts)), replace(options, first_number=0), on_done)
    for row, translation in zip(rows, found, strict=True):
        alternatives = tuple(_parse(parses[row], one, tokenizer) for one in translation.alternatives)
        parses[row] = replace(_parse(parses[row], translation, tokenizer), alternatives=alternatives)
    return parses


def sentences_of(
    tokenizer: TreeTokenizer, sentences: Sequence[Sentence], split_hyphens: bool | None = None
) -> list[Parse]:
    """Return the words of sentences, without trees.

    Raises:
        DataError: a word is blank.
    """
    if split_hyphens is None:
        split_hyphens = _HYPHEN in tokenizer.tags
    return [_words(sentence, number, split_hyphens) for number, sentence in enumerate(sentences, 1)]


def constraint_of(
    engine: PyTorchEngine, tokenizer: TreeTokenizer, texts: Sequence[str], n_words: dict[int, int]
) -> Constraint:
    """Return a constraint to trees over these texts, given how many words each row has.

    Raises:
        DecodeError: no tree over a sentence fits into the output limit.
    """
    limits = [engine.output_limit(len(ids)) for ids in tokenizer.encode_ids(texts)]
    for (row, length), limit in zip(n_words.items(), limits, strict=True):
        if limit < shortest(length):
            raise DecodeError(
                f"sentence {row + 1} has {length:,} words; a tree over them has at least {shortest(length):,} tokens, "
                f"but the limit is {limit:,} (decode.extra_length, model.max_length); shorten it"
            )
    return tree_constraint(tokenizer.tree_tokens, list(n_words.values()), limits)


def _refuse_long(engine: PyTorchEngine, texts: Sequence[str], numbers: Sequence[int]) -> None:
    """
    Raises:
        DecodeError: the model has no positions for the end of a sentence.
    """
    for number, ids in zip(numbers, engine.tokenizer.encode_ids(texts), strict=True):
        if len(ids) > engine.limit:
            raise DecodeError(
                f"sentence {number + 1} has {len(ids):,} sub-words, but this model has learned positions for "
                f"{engine.limit:,} (model.max_length); shorten it"
            )


def split_words(line: str) -> list[str]:
    """Return the words of a line in which blanks separate them, as treebanks count blanks."""
    return [word for word in _BLANKS.split(line) if word]


def _words(sentence: Sentence, number: int, split_hyphens: bool) -> Parse:
    """Return the words of a sentence, without a tree."""
    if isinstance(sentence, str):
        tokens = tokenise(sentence, split_hyphens)
        return Parse(tuple(one.word for one in tokens), None, spans=tuple((t.start, t.end) for t in tokens))
    words = tuple(word.replace("(", "-LRB-").replace(")", "-RRB-") for word in sentence)
    for place, word in enumerate(words, 1):
        if not word or _BLANKS.sub(" ", word).strip(" ") != word:
            raise DataError(
                f"sentence {number}, word {place} is {word!r}; a word cannot be blank, begin or end with a blank, "
                "or have a line break, a tab or two blanks in it"
            )
    return Parse(words, None)


def _parse(sentence: Parse, translation: Translation, tokenizer: TreeTokenizer) -> Parse:
    tree, problem = None, "" if translation.finished else "the output is too long"
    try:
        tree = None if problem else tokenizer.restore(translation.pieces, sentence.words)
    except DataError as error:
        problem = str(error)
    return replace(
        sentence, tree=tree, problem=problem, score=translation.score, log_probability=translation.log_probability
    )
