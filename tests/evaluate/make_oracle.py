"""Writes oracle.json: texts, and what sacreBLEU's own command line says of them.

    python -m tests.evaluate.make_oracle

The scores in it were made with sacrebleu 2.6.0. Nothing of heed's scoring is used here; only the sentences come from
heed's grammar, made worse at random, with some written by hand for their punctuation.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
from itertools import islice
from pathlib import Path

from heed.demo.grammar import sentences

ORACLE = Path(__file__).with_name("oracle.json")

BY_HAND = [  # reference, another reference, system, baseline
    ("„Das“, sagte sie, „kostet 1.234,50 €!“", "Sie sagte: „Das kostet 1.234,50 Euro.“")
    + ('"Das", sagte sie, "kostet 1.234,5 €!"', "Das kostet 1234,50 sagte sie"),
    ("Die E-Mail-Adresse steht auf S. 3 (unten).", "Auf Seite 3 unten steht die Mailadresse.")
    + ("Die E-Mail Adresse steht auf S. 3 (unten).", "Die Adresse ist auf S. 3"),
    ("Wer hat's gesehen? – Niemand …", "Hat es jemand gesehen? Niemand.")
    + ("Wer hat es gesehen? - Niemand ...", "Wer sah es? – Keiner …"),
    ("今天天气很好，我们去公园吧。", "今天天气不错，我们到公园去。") + ("今天天气很好，我们去公园。", "天气好去公园吧"),
    ("ÜBERMUT TUT SELTEN GUT", "Übermut tut selten gut") + ("Übermut tut selten gut", "übermut ist selten gut"),
    ("Ja.", "Jawohl.") + ("Ja.", "Nein."),
    ("3:2 & 5 < 7 <b>fett</b>", "3 zu 2 und 5 < 7") + ("3:2 & 5 < 7 fett", "3 : 2 und 5 &lt; 7"),
    ("Ein leerer Vorschlag ist auch einer.", "Auch nichts ist ein Vorschlag.") + ("", "Auch ein leerer Vorschlag."),
]


def texts() -> dict[str, list[str]]:
    draw = random.Random(20261117)
    targets = [pair.target for pair in islice(sentences(11), 40)]

    def worse(line: str, chance: float) -> str:
        words = [word for word in line.split() if draw.random() >= chance / 2]
        for i in range(len(words) - 1):
            if draw.random() < chance / 2:
                words[i], words[i + 1] = words[i + 1], words[i]
        return " ".join(draw.choice(targets).split()[0] if draw.random() < chance / 2 else word for word in words)

    columns = [
        targets,
        [worse(line, 0.1) for line in targets],
        [worse(line, 0.3) for line in targets],
        [worse(line, 0.35) for line in targets],
    ]
    by_hand = zip(*BY_HAND, strict=True)
    names = ("reference", "second", "system", "baseline")
    return {name: [*a, *b] for name, a, b in zip(names, columns, by_hand, strict=True)}


COMMANDS = {
    **{f"bleu-{t}": f"reference -i system -m bleu -tok {t} -w 12" for t in ("13a", "intl", "zh", "char", "none")},
    "bleu-lowercase": "reference -i system -m bleu -lc -w 12",
    "bleu-two-references": "reference second -i system -m bleu -w 12",
    "bleu-interval": "reference -i system -m bleu --confidence -w 12",
    "chrf": "reference -i system -m chrf -w 12",
    "chrf++": "reference -i system -m chrf --chrf-word-order 2 -w 12",
    "chrf-two-references": "reference second -i system -m chrf -w 12",
    "chrf-interval": "reference -i system -m chrf --confidence -w 12",
    # As text: sacreBLEU 2.6.0 fails to write this one as JSON.
    "paired": "reference -i baseline system -m bleu chrf --paired-bs -w 12 -f text",
}


def main() -> None:
    found = {"texts": texts(), "commands": {}}
    environment = {**os.environ, "SACREBLEU_SEED": "12345"}
    with tempfile.TemporaryDirectory() as folder:
        for name, lines in found["texts"].items():
            Path(folder, name).write_text("".join(f"{line}\n" for line in lines), "utf-8")
        for name, arguments in COMMANDS.items():
            command = [sys.executable, "-m", "sacrebleu", *arguments.split()]
            done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=True)
            out = done.stdout.decode()
            said = (
                out.split("\n\n")[0] if "-f text" in arguments else json.loads(out)
            )  # the table without its explanation
            found["commands"][name] = {"command": f"sacrebleu {arguments}", "said": said}
    ORACLE.write_text(json.dumps(found, ensure_ascii=False, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
