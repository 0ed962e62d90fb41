"""Parsing with a model: every output is a tree over exactly the words, whatever the model and whatever the words."""

import random
from dataclasses import replace

import pytest
import torch

from heed.config import Config, DecodeConfig, ModelConfig, TextConfig
from heed.engines.pytorch import PyTorchEngine
from heed.errors import DataError, DecodeError, TokenizerError
from heed.model.build import build_model
from heed.options import SearchOptions
from heed.parser import Parse, parse_sentences, split_words
from heed.parsing.tokenizer import TreeTokenizer, linearisation, sentence_text
from heed.parsing.trees import Tree, parse_tree
from heed.presets import preset
from heed.text.tokenizer import Tokenizer
from heed.translator import Translator

TREES = [
    parse_tree(line)
    for line in (
        "(S (NP (DT The) (NN cat)) (VP (VBZ sleeps)) (. .))",
        "(S (NP (DT The) (JJ old) (NN cat)) (VP (VBZ sees) (NP (DT a) (NN dog))) (. .))",
        "(NP (NP (NN cat)) (PP (IN of) (NP (DT the) (NN house))))",
        "(S (S (VP (VBZ sleeps))) (CC and) (S (VP (VBZ sees))) (. .))",
    )
]
CONFIG = replace(
    preset("parsing"),
    model=ModelConfig(1, 1, 16, 32, 2, norm="pre", kind="follower"),
    text=TextConfig(vocab_size=360, character_coverage=1.0, trees="in-order"),
    decode=DecodeConfig(beam=3, alpha=0.0, extra_length=300),
)
WAYS = [("in-order", True, "follower"), ("in-order", False, "follower"), ("top-down", True, "follower")]
WAYS += [("brackets", False, "transformer")]


def untrained(trees: str = "in-order", tags: bool = True, kind: str = "follower", seed: int = 1) -> PyTorchEngine:
    text = replace(CONFIG.text, trees=trees, tags=tags)
    tokenizer = TreeTokenizer.learn_trees(TREES, linearisation(text), text)
    torch.manual_seed(seed)
    model = build_model(replace(CONFIG.model, kind=kind), tokenizer.vocabulary).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(3)  # a model that is sure of itself, and wrong
    return PyTorchEngine([model], tokenizer, CONFIG.decode)


HOSTILE = [
    *("(", ")", "((", "(S", ")NP", "(NN)", "XX", "-LRB-", "[", "\\", "``", "''", "</s>", "<unk>", "<pad>", "<0x0A>"),
    *("\u2581", "\u2581\u2581", "\u2585", "\x00", "\x1c", "\x85", "\u2028", "\u00a0", "\ufeff", "\ud800", "\U0001f600"),
    *(
        "e\u0301",
        "\u0301",
        "\u202e",
        "x" * 300,
        "T-cell",
        "don't",
        "U.S.",
        "...",
        "--",
        '"',
        "$",
        "5'",
        "ß",
        "漢字",
        "_",
    ),
]


def random_words(draw: random.Random) -> list[str]:
    def word() -> str:
        if draw.random() < 0.6:
            return draw.choice(HOSTILE)
        return "".join(
            chr(draw.choice((draw.randrange(33, 127), draw.randrange(0xA1, 0x3000))))
            for _ in range(draw.randrange(1, 6))
        )

    return [word() for _ in range(draw.randrange(1, 14))]


@pytest.mark.parametrize(("trees", "tags", "kind"), WAYS)
def test_1000_hostile_sentences_give_trees_over_exactly_their_words(trees: str, tags: bool, kind: str) -> None:
    draw, engine = random.Random(15), untrained(trees, tags, kind)
    sentences = [random_words(draw) for _ in range(1000 if trees == "in-order" and tags else 100)]
    found = parse_sentences(engine, sentences, SearchOptions(beam=2, alpha=0.0))
    for words, parse in zip(sentences, found, strict=True):
        written = tuple(word.replace("(", "-LRB-").replace(")", "-RRB-") for word in words)
        assert parse.words == written and parse.tree is not None and not parse.problem
        assert tuple(parse_tree(str(parse.tree)).words()) == written
        assert "\n" not in str(parse.tree)


def test_raw_text_keeps_the_place_of_each_word() -> None:
    draw, engine = random.Random(16), untrained()
    texts = [" ".join(random_words(draw)) for _ in range(100)]
    for text, parse in zip(texts, parse_sentences(engine, texts, SearchOptions(beam=1)), strict=True):
        assert parse.spans is not None and len(parse.spans) == len(parse.words)
        covered = "".join(text[start:end] for start, end in parse.spans)
        assert covered == "".join(text.split())
        assert parse.tree is None if not parse.words else tuple(parse_tree(str(parse.tree)).words()) == parse.words


def test_blank_sentences_have_no_tree_and_keep_their_place() -> None:
    found = parse_sentences(untrained(), ["", "cat", [], "  \t"], SearchOptions(beam=2))
    assert [one.tree is None for one in found] == [True, False, True, True]
    assert found[0].words == () and not found[0].problem


def test_a_sentence_of_300_words_has_a_tree() -> None:
    (parse,) = parse_sentences(untrained(), [["cat", "of"] * 150], SearchOptions(beam=1))
    assert parse.tree is not None and len(parse.tree.words()) == 300


@pytest.mark.parametrize("constrained", [True, False])
def test_a_sentence_beyond_learned_positions_is_refused_by_its_number(constrained: bool) -> None:
    tokenizer = untrained().tokenizer
    config = replace(CONFIG.model, positions="learned", max_length=50)
    engine = PyTorchEngine([build_model(config, tokenizer.vocabulary).eval()], tokenizer, CONFIG.decode)
    options = SearchOptions(beam=1, first_number=2000)
    assert len(tokenizer.encode_ids(["7" * 49])[0]) == 50  # the mark of its beginning, and a byte each
    assert len(parse_sentences(engine, ["7" * 49], options, constrained=constrained)) == 1
    with pytest.raises(DecodeError, match="sentence 2002 has 51 sub-words, but .* for 50"):
        parse_sentences(engine, ["cat", "7" * 50], options, constrained=constrained)
    if constrained:
        with pytest.raises(DecodeError, match="sentence 2002 has 49 words"):
            parse_sentences(engine, ["cat", ["cat"] * 49], options)


def test_n_best_trees_are_different_and_sorted() -> None:
    (parse,) = parse_sentences(untrained(), ["The cat sees a dog"], SearchOptions(beam=5, alpha=0.0, n_best=5))
    trees = [str(one.tree) for one in parse.alternatives]
    assert len(set(trees)) == len(trees) == 5 and trees[0] == str(parse.tree)
    scores = [one.score for one in parse.alternatives]
    assert scores == sorted(scores, reverse=True)


def test_a_batch_gives_the_trees_that_single_sentences_give() -> None:
    engine, sentences = untrained(), ["The cat", "The old cat sees the house of a dog .", "sleeps"]
    together = parse_sentences(engine, sentences, SearchOptions(beam=3))
    alone = [parse_sentences(engine, [one], SearchOptions(beam=3))[0] for one in sentences]
    assert [one.tree for one in together] == [one.tree for one in alone]


def test_without_the_constraint_what_is_no_tree_is_reported() -> None:
    found = parse_sentences(untrained(), ["The cat", "a dog sleeps"], SearchOptions(beam=1), constrained=False)
    assert all(one.tree is None and one.problem for one in found)


def test_hyphens_are_split_as_in_the_treebank() -> None:
    def words(engine: PyTorchEngine, split: bool | None) -> int:
        return len(parse_sentences(engine, ["T-cell"], SearchOptions(beam=1), split_hyphens=split)[0].words)

    assert [words(untrained(), split) for split in (None, True, False)] == [1, 3, 1]
    tree = parse_tree("(NP (NN T) (HYPH -) (NN cell))")
    tokenizer = TreeTokenizer.learn_trees([*TREES, tree], linearisation(CONFIG.text), CONFIG.text)
    engine = PyTorchEngine([build_model(CONFIG.model, tokenizer.vocabulary).eval()], tokenizer, CONFIG.decode)
    assert words(engine, None) == 3


@pytest.mark.parametrize("word", ["", " ", "a\nb", " a", "a  b", "\t"])
def test_a_word_that_no_tree_can_hold_is_refused(word: str) -> None:
    with pytest.raises(DataError, match="sentence 2, word 3"):
        parse_sentences(untrained(), ["fine", ["The", "cat", word]], SearchOptions(beam=1))


def test_a_translation_model_cannot_parse_and_a_parser_cannot_translate() -> None:
    tokenizer = Tokenizer.learn(["The cat sleeps."], 300)
    model = build_model(ModelConfig(1, 1, 16, 32, 2), tokenizer.vocabulary).eval()
    with pytest.raises(DecodeError, match="translates and cannot parse"):
        Translator(PyTorchEngine([model], tokenizer, DecodeConfig())).parse(["The cat sleeps."])
    parser = Translator(untrained())
    for call in (parser.translate, lambda texts: parser.score(texts, texts)):
        with pytest.raises(DecodeError, match="parses and cannot translate"):
            call(["The cat sleeps."])
    (parse,) = parser.parse(["The cat sleeps."])
    assert isinstance(parse, Parse) and isinstance(parse.tree, Tree)
    with pytest.raises(TypeError, match="not a text"):
        parser.parse("The cat sleeps.")
    with pytest.raises(TypeError, match=r"sentences\[1\]"):
        parser.parse(["The cat", 3])  # type: ignore[list-item]
    once = iter([iter(["a", "cat"]), "It"])  # can be read only once
    assert [one.words for one in parser.parse(once)] == [("a", "cat"), ("It",)]  # type: ignore[arg-type]


def test_words_and_trees_become_ids_and_back() -> None:
    engine = untrained()
    tokenizer = engine.tokenizer
    assert isinstance(tokenizer, TreeTokenizer)
    vocabulary = tokenizer.vocabulary
    for tree in TREES:
        ids = tokenizer.encode_tree(tree)
        assert max(ids) < vocabulary.size and not set(ids) & {vocabulary.pad, vocabulary.end, vocabulary.unknown}
        assert sum(token in vocabulary.writes_word for token in ids) == len(tree.words())
        assert tokenizer.restore(tokenizer.pieces(ids), tree.words()) == tree
    with pytest.raises(DataError, match='label "SINV"'):
        tokenizer.encode_tree(parse_tree("(SINV (NN cat) (. .))"))
    with pytest.raises(DataError, match='tag "FW"'):
        tokenizer.encode_tree(parse_tree("(NP (FW cat))"))
    with pytest.raises(TokenizerError, match="not learnt for trees"):
        TreeTokenizer(Tokenizer.learn(["The cat sleeps."], 300).model, tokenizer.how)
    with pytest.raises(TokenizerError, match="not learnt for trees"):
        TreeTokenizer(tokenizer.model, linearisation(replace(CONFIG.text, trees="top-down")))


def test_the_encoder_sees_as_many_words_as_the_tree_has() -> None:
    draw, tokenizer = random.Random(17), untrained().tokenizer
    for _ in range(300):
        words = random_words(draw)
        (ids,) = tokenizer.encode_ids([sentence_text(words)])
        assert sum(token in tokenizer.vocabulary.begins_word for token in ids) == len(words)
        assert max(ids, default=0) < len(tokenizer)
        assert not any(2 < token < tokenizer.vocabulary.size for token in ids), "a symbol of trees among the words"


def test_blanks_separate_words_as_treebanks_count_blanks() -> None:
    assert split_words(" a\u00a0b \t c\r") == ["a\u00a0b", "c"]


def test_presets() -> None:
    paper = preset("parsing-paper")
    assert isinstance(paper, Config)
    model, decode = paper.model, paper.decode  # section 6.3
    assert (model.encoder_layers, model.decoder_layers, model.d_model, model.d_ff, model.h) == (4, 4, 1024, 2048, 8)
    assert (paper.text.vocab_size, decode.beam, decode.alpha, decode.extra_length) == (16_000, 21, 0.3, 300)
    assert model.kind == "transformer" and paper.text.trees == "brackets" and not paper.text.tags
