"""Draw a tree in a terminal.

          S
   ┌──────┴─┬─────┐
   NP       VP    │
 ┌─┴──┐     │     │
 DT   NN   VBZ    .
The  cat  sleeps  .

A tree that is too wide for that is drawn as a list, children below their parents and indented.
"""

from heed.parsing.layout import Layout, columns_of, width
from heed.parsing.trees import Tree

COLUMNS = 80


def draw(tree: Tree, columns: int = COLUMNS) -> str:
    """Return the drawing: the whole tree if it is no wider than `columns`, else the list."""
    layout = Layout(tree)
    return _drawn(layout) if layout.width <= columns else indented(tree, columns)


def indented(tree: Tree, columns: int = COLUMNS) -> str:
    """Return a drawing with a node per line; words follow their bracket on its line if they fit."""
    lines = []
    stack = [(tree, "", "")]
    while stack:
        node, before, below = stack.pop()
        children = node.children
        line = f"{before}{node.label}" + (f" {node.word}" if node.word is not None else "")
        if children and all(child.word is not None for child in children):
            beside = " ".join([line, *map(str, children)])
            if len(children) == 1 or width(beside) <= columns:
                line, children = beside, ()
        lines.append(line)
        last = len(children) - 1
        stack += [
            (child, below + ("└─" if i == last else "├─"), below + ("  " if i == last else "│ "))
            for i, child in reversed(list(enumerate(children)))
        ]
    return "\n".join(lines)


def _drawn(layout: Layout) -> str:
    """Return the whole tree: a row for each level of brackets and one for its lines, then tags, then words."""
    tag_row = 2 * layout.levels
    grid = [[" "] * layout.width for _ in range(tag_row + 2)]
    for number, node in enumerate(layout.nodes):
        left, size, middle = layout.lefts[number], layout.sizes[number], layout.middles[number]
        row = 2 * layout.depths[number]
        if node.word is not None:
            for above in range(row, tag_row):
                grid[above][middle] = "│"
            _put(grid[tag_row], node.label, left, size, middle)
            _put(grid[tag_row + 1], node.word, left, size, middle)
        else:
            _put(grid[row], node.label, left, size, middle)
            _connect(grid[row + 1], middle, [layout.middles[child] for child in layout.children[number]])
    return "\n".join("".join(row).rstrip() for row in grid)


def _put(row: list[str], text: str, left: int, size: int, middle: int) -> None:
    """Write a text around a column, within the columns of its node."""
    taken = max(1, width(text))
    place = max(left, min(middle - (taken - 1) // 2, left + size - taken))
    start, first = place, ""  # what takes no column of its own is part of the one before, or of the text's first
    for character in text:
        columns = columns_of(character)
        if columns == 0 and place == start:
            first += character
        elif columns == 0:
            row[place - 1] += character
        else:
            row[place : place + columns] = [first + character, *[""] * (columns - 1)]
            place, first = place + columns, ""
    if first:
        row[start] += first


def _connect(row: list[str], parent: int, children: list[int]) -> None:
    """Draw the lines from a parent down to its children."""
    if len(children) == 1:
        row[children[0]] = "│"
        return
    first, last = children[0], children[-1]
    row[first : last + 1] = ["─"] * (last + 1 - first)
    for child in children:
        row[child] = "┬"
    row[first], row[last] = "┌", "┐"
    row[parent] = "┼" if parent in children else "┴"
