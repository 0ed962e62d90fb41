"""Run the commands of docs/questions.md, and put their tables into the page: python docs/answers.py [NAME ...]."""

import re
import sys
from pathlib import Path

from heed.paper.questions import MINUTES, QUESTIONS
from heed.paper.questions.asked import Asked
from heed.paper.report import Part, lines

PAGE = Path(__file__).parent / "questions.md"


def block(name: str, part: Part) -> str:
    """Return a command and its tables as a block; the page's own text says what its notes say."""
    tables = lines(Part(part.name, part.title, part.tables))[2:]
    return "\n".join(["```", f"$ heed paper questions {name}", *tables, "```"])


if __name__ == "__main__":
    asked = Asked()
    for name in sys.argv[1:] or [name for name in QUESTIONS if name not in MINUTES]:
        made = block(name, QUESTIONS[name].answer(asked))
        old = rf"^```\n\$ heed paper questions {name}\n.*?^```$"
        text = PAGE.read_text(encoding="utf-8")
        text = re.sub(old, lambda found, made=made: made, text, flags=re.MULTILINE | re.DOTALL)
        PAGE.write_text(text, encoding="utf-8")
