"""One experiment's result: as lines for the terminal, as JSON, and as part of one HTML report.

Every experiment saves its part as `NAME.json` in the report's folder, and `report.html` is made anew of all that are
there. So experiments can run in any order, days apart, and the report has what has been run so far.
"""

import json
import re
import textwrap
from dataclasses import asdict, dataclass, field, fields
from html import escape
from pathlib import Path
from typing import Any

from heed.durable import read_json, write_file, write_json
from heed.errors import DamageError

WIDTH = 80  # of a terminal
REPORT = "report.html"

# The parts in their order in the report; questions in that of docs/questions.md.
_QUESTIONS = (
    *("transduction", "state", "gates", "dependency", "resolution", "memory", "encoder", "output", "passes", "mask"),
    *("infinity", "softmax", "scaling", "values", "heads", "diversity", "feedforward", "embedding", "positions"),
    *("learned", "residual", "dropout", "cat", "restricted", "saturation", "bert"),
)
ORDER = (
    *("table1", "window", "table2", "table3", "table4", "table4-linearisations", "table4-sizes", "figures"),
    *("schedule", "cost", "averaging", "beam", "positions", "norm", "fidelity"),
    *(f"question-{name}" for name in _QUESTIONS),
)
_NUMBER = re.compile(r"^[-+~<>≤≥]?\s*[\d.,]+\s*([%×xkMG]|[a-zA-Z/]{1,3})?$|^$|^[–-]$")
_STYLE = """
:root { color-scheme: light dark }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.6rem } h2 { margin-top: 3rem; font-size: 1.3rem }
.scroll { overflow-x: auto }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums }
caption { text-align: left; font-weight: 600; padding-bottom: .3rem }
th, td { padding: .2rem .7rem; text-align: left; border-bottom: 1px solid #8885; vertical-align: top }
td.number, th.number { text-align: right; white-space: nowrap }
figure { margin: 1.5rem 0 }
"""


@dataclass(frozen=True)
class Table:
    """A table as it is printed: every cell is text."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    title: str = ""


@dataclass(frozen=True)
class Part:
    """What one experiment adds to the report."""

    name: str  # such as "table1": the file's name and the link's target
    title: str
    tables: tuple[Table, ...]
    notes: tuple[str, ...] = ()  # paragraphs: what differs from the paper, and whether the numbers may be compared
    charts: tuple[str, ...] = ()  # <svg> elements
    values: dict[str, Any] = field(default_factory=dict)  # the numbers, for programs


def lines(part: Part) -> list[str]:
    """Return a part for the terminal: its tables and notes, without the charts."""
    found = [part.title]
    for table in part.tables:
        found += ["", *_table_lines(table)]
    for note in part.notes:
        found += ["", *textwrap.wrap(note, WIDTH)]
    return found


def save(part: Part, folder: Path) -> Path:
    """Write a part as JSON, make the report anew, and return the report's path; the folder may have other files."""
    assert part.name in ORDER, f"{part.name} would not be on the page"
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / f"{part.name}.json", plain(part))
    parts = [_loaded(path) for name in ORDER if (path := folder / f"{name}.json").exists()]
    write_file(folder / REPORT, page(parts).encode())
    return folder / REPORT


def plain(part: Part) -> dict[str, Any]:
    """Return a part for JSON."""
    return asdict(part)


def to_json(part: Part) -> str:
    """Return a part as one line of JSON, without its charts."""
    return json.dumps({key: value for key, value in plain(part).items() if key != "charts"}, ensure_ascii=False)


def page(parts: list[Part]) -> str:
    """Return the report: one HTML page that needs no other file."""
    contents = "".join(f'<li><a href="#{escape(one.name)}">{escape(one.title)}</a></li>' for one in parts)
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>The paper's experiments</title><style>{_STYLE}</style>"
        "<h1>The experiments of “Attention Is All You Need”</h1>"
        f"<ul>{contents}</ul>{''.join(map(_section, parts))}</html>"
    )


def _section(part: Part) -> str:
    tables = "".join(_html_table(table) for table in part.tables)
    charts = "".join(f"<figure>{svg}</figure>" for svg in part.charts)
    notes = "".join(f"<p>{escape(note)}</p>" for note in part.notes)
    return f'<section id="{escape(part.name)}"><h2>{escape(part.title)}</h2>{tables}{charts}{notes}</section>'


def _html_table(table: Table) -> str:
    kinds = [' class="number"' if numeric else "" for numeric in _numeric(table)]
    head = "".join(f"<th{kind}>{escape(name)}</th>" for name, kind in zip(table.columns, kinds, strict=True))
    body = "".join(
        "<tr>" + "".join(f"<td{kind}>{escape(cell)}</td>" for cell, kind in zip(row, kinds, strict=True)) + "</tr>"
        for row in table.rows
    )
    caption = f"<caption>{escape(table.title)}</caption>" if table.title else ""
    return f'<div class="scroll"><table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _table_lines(table: Table) -> list[str]:
    columns = list(zip(table.columns, *table.rows, strict=True))
    aligned = [
        [f"{cell:>{width}}" if numeric else f"{cell:<{width}}" for cell in column]
        for column, numeric in zip(columns, _numeric(table), strict=True)
        for width in [max(map(len, column))]
    ]
    rows = ["  ".join(cells).rstrip() for cells in zip(*aligned, strict=True)]
    rule = "-" * max(map(len, rows))
    return [*([table.title] if table.title else []), rows[0], rule, *rows[1:]]


def _numeric(table: Table) -> list[bool]:
    """Return for each column whether it has numbers, which stand at its right edge."""
    return [
        all(_NUMBER.match(row[i]) for row in table.rows) and any(row[i] for row in table.rows)
        for i in range(len(table.columns))
    ]


def _loaded(path: Path) -> Part:
    advice = "delete it, and run its experiment again"
    found = read_json(path, advice)
    if not found.keys() >= {one.name for one in fields(Part)}:
        raise DamageError(f"{path}: is no part of the report; choose another --out, or {advice}")
    return Part(
        name=found["name"],
        title=found["title"],
        tables=tuple(
            Table(tuple(one["columns"]), tuple(tuple(row) for row in one["rows"]), one["title"])
            for one in found["tables"]
        ),
        notes=tuple(found["notes"]),
        charts=tuple(found["charts"]),
        values=found["values"],
    )
