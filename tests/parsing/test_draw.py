"""Drawings of trees: some compared with what they should look like, all with what must hold of them."""

import random
from xml.etree import ElementTree

import pytest

from heed.parsing.draw import draw, indented
from heed.parsing.layout import width
from heed.parsing.svg import svg
from heed.parsing.trees import Tree, cleaned, parse_tree
from tests.parsing.conftest import random_tree

CAT = parse_tree("(S (NP (DT The) (NN cat)) (VP (VBZ sleeps)) (. .))")


def picture(text: str) -> str:
    return "\n".join(line.removeprefix("|") for line in text.strip("\n").split("\n"))


@pytest.mark.parametrize(
    "tree, expected",
    [
        (
            "(S (NP (DT The) (NN cat)) (VP (VBZ sleeps)) (. .))",
            """
|          S
|   ┌──────┴─┬─────┐
|   NP       VP    │
| ┌─┴──┐     │     │
| DT   NN   VBZ    .
|The  cat  sleeps  .
""",
        ),
        (
            "(CAPTION (NP (NN a) (NN b) (NN c)))",
            """
| CAPTION
|    │
|    NP
|┌───┼───┐
|NN  NN  NN
|a   b   c
""",
        ),
        (
            "(CAPTION (NN a))",
            """
|CAPTION
|  │
|  NN
|  a
""",
        ),
        (
            "(S (NP (NN 日本)) (VB é))",
            """
|   S
| ┌─┴──┐
| NP   │
| │    │
| NN   VB
|日本  é
""",
        ),
        (
            "(S (NP (NN ab)) (CAPTION (NN b)))",
            """
|   S
|┌──┴──┐
|NP  CAPTION
|│     │
|NN    NN
|ab    b
""",
        ),
        ("(NN cat)", "| NN\n|cat"),
    ],
)
def test_a_whole_tree(tree: str, expected: str) -> None:
    assert draw(parse_tree(tree)) == picture(expected)


def test_characters_without_a_column_of_their_own_stay_with_their_word() -> None:
    words = ["\u0301a", "e\u0301", "\u200b\u200bb", "\u200b", "日\u0301本"]
    tree = Tree("S", tuple(Tree("NN", word=word) for word in words))
    assert draw(tree).split("\n")[-1].split() == words
    assert draw(Tree("N", word="\u200b")).split() == ["N", "\u200b"]  # in a column that only the tag has


def test_a_tree_that_is_too_wide_is_a_list() -> None:
    assert width(draw(CAT).split("\n")[-1]) == 19
    assert draw(CAT, columns=19) != indented(CAT, 18)
    assert draw(CAT, columns=18) == indented(CAT, 18)
    assert indented(CAT) == picture(
        """
|S
|├─NP (DT The) (NN cat)
|├─VP (VBZ sleeps)
|└─. .
"""
    )
    assert indented(CAT, 22) == indented(CAT) != indented(CAT, 21)
    assert indented(CAT, 18) == picture(
        """
|S
|├─NP
|│ ├─DT The
|│ └─NN cat
|├─VP (VBZ sleeps)
|└─. .
"""
    )


def test_every_drawing_fits_and_has_every_word_in_order() -> None:
    draw_number = random.Random(4)
    for _ in range(300):
        tree = random_tree(draw_number, draw_number.randint(1, 18))
        lines = draw(tree).split("\n")
        assert max(map(width, lines)) <= 80
        if not any("└─" in line for line in lines):
            assert lines[-1].split() == tree.words() and lines[-2].split() == tree.tags()
            names = [name for line in lines[:-2] for name in line.split() if not set(name) & set("─│┌┐┬┴┼")]
            assert sorted(names) == sorted(bracket.label for bracket in tree.brackets())


def test_real_trees_fit_into_a_terminal(craft_trees: list[Tree]) -> None:
    wide = []
    for tree in craft_trees[::3]:
        clean = cleaned(tree)
        assert clean is not None
        wide += [line for line in draw(clean).split("\n") if width(line) > 80]
    assert wide == []


def test_deep_trees_are_drawn() -> None:
    deep = parse_tree("(S " * 2000 + "(NN a)" + ")" * 2000)
    assert len(draw(deep).split("\n")) == 4002
    assert svg(deep).count("<text") == 2002


def test_svg_has_every_word_label_and_line() -> None:
    draw_number = random.Random(9)
    for tree in [CAT, parse_tree("(X (NN <&>\x07) (NN b\"'))"), *(random_tree(draw_number, 9) for _ in range(50))]:
        root = ElementTree.fromstring(svg(tree))
        space = "{http://www.w3.org/2000/svg}"
        texts = {
            kind: [e for e in root.iter(f"{space}text") if e.get("class") == kind] for kind in ("label", "tag", None)
        }
        words = sorted(texts[None], key=lambda e: float(e.attrib["x"]))
        assert [e.text for e in words] == [word.replace("\x07", "\ufffd") for word in tree.words()]
        assert len({e.attrib["y"] for e in words}) == 1  # in one row
        assert sorted(str(e.text) for e in texts["label"]) == sorted(bracket.label for bracket in tree.brackets())
        assert [e.text for e in sorted(texts["tag"], key=lambda e: float(e.attrib["x"]))] == tree.tags()
        n_nodes = len(tree.brackets()) + len(tree.words())
        assert len(list(root.iter(f"{space}path"))) == n_nodes - 1  # each node but the root hangs on a line
        for e in root.iter(f"{space}text"):
            assert 0 < float(e.attrib["x"]) < float(root.attrib["width"])
            assert 0 < float(e.attrib["y"]) < float(root.attrib["height"])
