"""Penn brackets as values, and what is wrong with those that are none."""

import gzip
import random
import re
from pathlib import Path

import pytest

from heed.errors import DataError
from heed.parsing.trees import Bracket, Tree, cleaned, parse_tree, read_treebank, read_trees, without_function
from tests.parsing.conftest import data_folder, random_tree

CAT = "(S (NP (DT The) (NN cat)) (VP (VBZ sleeps)) (. .))"


def test_a_tree_has_words_tags_and_brackets() -> None:
    tree = parse_tree(CAT)
    assert tree.words() == ["The", "cat", "sleeps", "."]
    assert tree.tags() == ["DT", "NN", "VBZ", "."]
    assert tree.brackets() == [Bracket("S", 0, 4), Bracket("NP", 0, 2), Bracket("VP", 2, 3)]
    assert str(tree) == CAT and repr(tree) == f"Tree('{CAT}')"
    assert tree == Tree(
        "S",
        (
            Tree("NP", (Tree("DT", word="The"), Tree("NN", word="cat"))),
            Tree("VP", (Tree("VBZ", word="sleeps"),)),
            Tree(".", word="."),
        ),
    )
    assert tree != parse_tree(CAT.replace("NP", "VP")) and len({tree, parse_tree(CAT)}) == 1
    with pytest.raises(ValueError, match="either a word or children"):
        Tree("NP")


MRG = """
( (S
    (NP-SBJ-1 (PRP$ Its) (NN cat) )
    (VP (VBZ wants)
      (S
        (NP-SBJ (-NONE- *-1) )
        (VP (TO to)
          (VP (VB sleep) ))))
    (. .) ))

( (NP (-LRB- -LRB-) (NN b) (-RRB- -RRB-)) )
"""


@pytest.mark.parametrize("name", ["wsj.mrg", "wsj.mrg.gz", "windows.mrg"])
def test_trees_over_several_lines(tmp_path: Path, name: str) -> None:
    data = (MRG.replace("\n", "\r\n") if name == "windows.mrg" else MRG).encode()
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    raw = list(read_trees(tmp_path / name))
    assert [str(tree) for tree in raw] == [
        "( (S (NP-SBJ-1 (PRP$ Its) (NN cat)) (VP (VBZ wants) (S (NP-SBJ (-NONE- *-1)) (VP (TO to) (VP (VB sleep)))))"
        " (. .)))",
        "( (NP (-LRB- -LRB-) (NN b) (-RRB- -RRB-)))",
    ]
    assert [str(tree) for tree in read_treebank(tmp_path / name)] == [
        "(S (NP (PRP$ Its) (NN cat)) (VP (VBZ wants) (S (VP (TO to) (VP (VB sleep))))) (. .))",
        "(NP (-LRB- -LRB-) (NN b) (-RRB- -RRB-))",
    ]


def test_one_tree_a_line_or_several_or_none_between() -> None:
    text = "(NP (NN a)) (NP (NN b))\n\n(NP(NN c))(TOP(NP(NN d)))"
    from heed.parsing.trees import located_trees

    found = [(line, str(tree)) for line, tree in located_trees(text.split("\n"), "x")]
    assert found == [(1, "(NP (NN a))"), (1, "(NP (NN b))"), (3, "(NP (NN c))"), (3, "(TOP (NP (NN d)))")]


def test_a_word_may_have_spaces_in_it() -> None:
    tree = parse_tree("(NP (NN Xpd  TTD ) (NN mice))")
    assert tree.words() == ["Xpd TTD", "mice"] and str(tree) == "(NP (NN Xpd TTD) (NN mice))"


def test_what_is_cleaned_is_chosen() -> None:
    tree = parse_tree("(TOP (S-TPC-1=2 (NP-SBJ (-NONE- *)) (VP (VB go) (NP (-NONE- *T*)))))")
    assert str(cleaned(tree)) == "(S (VP (VB go)))"
    assert str(cleaned(tree, functions=False)) == "(S-TPC-1=2 (VP (VB go)))"
    assert str(cleaned(tree, traces=False)) == "(S (NP (-NONE- *)) (VP (VB go) (NP (-NONE- *T*))))"
    assert str(cleaned(tree, top=False)) == "(TOP (S (VP (VB go))))"
    assert cleaned(parse_tree("( (S (NP (-NONE- *))))")) is None
    for top in ("", "TOP", "ROOT", "S1"):
        assert str(cleaned(parse_tree(f"({top} (NP (NN a)))"))) == "(NP (NN a))"
        kept = cleaned(parse_tree(f"({top} (NP (NN a)) (. .))"))
        assert str(kept) == f"({top or 'TOP'} (NP (NN a)) (. .))"  # a bracket without a label could not be learnt
    assert str(cleaned(parse_tree("(TOP (NN a))"))) == "(NN a)"
    assert str(cleaned(parse_tree("(NP (NP (NP (NN a-b))))"))) == "(NP (NP (NP (NN a-b))))"  # unary chains are kept


@pytest.mark.parametrize(
    "label, bare",
    [("NP-SBJ-1", "NP"), ("NP=2", "NP"), ("S-TPC=3", "S"), ("-LRB-", "-LRB-"), ("-NONE-", "-NONE-")]
    + [("PRP$", "PRP$"), ("ADVP|PRT", "ADVP|PRT"), ("-", "-"), ("=", "="), ("", ""), ("--", "--"), ("NP-", "NP")],
)
def test_function_tags(label: str, bare: str) -> None:
    assert without_function(label) == bare


@pytest.mark.parametrize(
    "text, line, column, problem",
    [
        ("(S (NN a)\n", 1, 1, 'is never closed (1 missing ")")'),
        ("(S (NN a))\n  (S (NP (NN a)\n\n", 2, 3, 'is never closed (2 missing ")")'),
        ("(S (NN a)))", 1, 11, 'a ")" that closes nothing'),
        ("(S\n (NN a)) b", 2, 10, '"b" is outside all brackets'),
        (
            "(S (NN a) b)",
            1,
            11,
            '"b" after a bracket; every word needs its own bracket with its tag, as in (NN b)',
        ),
        ("(S (NN a (NN b)))", 1, 10, 'a bracket after the word "a"'),
        ("(S (NP) (NN b))", 1, 7, 'the bracket "(NP" opened at line 1, column 4 holds nothing'),
        ("()", 1, 2, 'the bracket "(" opened at line 1, column 1 holds nothing'),
        ("(S ((NP (NN a))))", 1, 5, "the bracket around it (line 1, column 4) has no label"),
        ("( (S (NN a))\n( (S (NN a)) )", 2, 3, "perhaps the tree that begins at line 1, column 1 is not closed"),
    ],
)
def test_what_is_no_tree_is_named(tmp_path: Path, text: str, line: int, column: int, problem: str) -> None:
    (tmp_path / "bad.mrg").write_text(text, encoding="utf-8")
    with pytest.raises(DataError) as caught:
        list(read_trees(tmp_path / "bad.mrg"))
    assert str(caught.value).startswith(f"{tmp_path / 'bad.mrg'}, line {line}, column {column}: ")
    assert problem in str(caught.value)


def test_files_that_hold_no_trees_for_a_parser(tmp_path: Path) -> None:
    (tmp_path / "traces.mrg").write_text(f"{CAT}\n( (S (-NONE- *)) )\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"traces.mrg, line 2: a tree that holds traces \(-NONE-\) only"):
        list(read_treebank(tmp_path / "traces.mrg"))
    with pytest.raises(DataError, match="the text: holds 2 trees, not one"):
        parse_tree(CAT + CAT)


def test_a_large_file_is_read_tree_by_tree(tmp_path: Path) -> None:
    """The first trees come before the end is looked at: here the end is wrong."""
    (tmp_path / "long.trees").write_text(f"{CAT}\n" * 1000 + ")", encoding="utf-8")
    trees = read_trees(tmp_path / "long.trees")
    assert [str(next(trees)) for _ in range(1000)] == [CAT] * 1000
    with pytest.raises(DataError, match="line 1001, column 1"):
        next(trees)


def test_very_deep_trees() -> None:
    deep = parse_tree("(S " * 20_000 + "(NN a)" + ")" * 20_000)
    assert parse_tree(str(deep)) == deep == cleaned(deep) and hash(deep) == hash(cleaned(deep))
    assert len(deep.brackets()) == 20_000 and deep.words() == ["a"]


def test_writing_and_reading_is_the_identity_on_random_trees() -> None:
    draw = random.Random(5)
    for _ in range(300):
        tree = random_tree(draw, draw.randint(1, 20), unary=draw.choice([0, 3, 8]))
        assert parse_tree(str(tree)) == tree


@pytest.mark.parametrize("part, n_trees", [pytest.param("train", 18_951, marks=pytest.mark.slow), ("dev", 2_780)])
def test_all_of_craft_reads(part: str, n_trees: int) -> None:
    path = data_folder("craft") / f"{part}.trees.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        lines = list(file)
    bare = re.compile(r" +$|(?<=[()]) +| +(?=[()])")
    count = 0
    for line, tree in zip(lines, read_trees(path), strict=True):
        count += 1
        assert bare.sub("", str(tree)) == bare.sub("", line.strip())  # nothing is lost
        assert str(parse_tree(str(tree))) == str(tree)
    assert count == n_trees
