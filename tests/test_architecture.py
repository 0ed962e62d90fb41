"""Check the map of the code by its imports, read with `ast`.

errors | vocabulary | wording | bar | allocator | processor | threads < lock < durable | cache
       < config | kernels | options < settings | presets < text | model | evaluate | demo < parsing
       < data | datasets | decode | translation < doctor | confidence < checkpoint < run < export | native < engines
       < parser | retranslate < inside < translator < follow | training | distil < serve | paper | bench | lab < cli
"""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import heed

SOURCE = Path(heed.__file__).parent

# A package may import from earlier rows, never from its own.
ORDER = [
    ["errors", "vocabulary", "wording", "bar", "allocator", "processor", "threads"],
    ["lock"],
    ["durable", "cache"],
    ["config", "kernels", "options", "box"],
    ["settings", "presets"],
    ["text", "model", "evaluate", "demo"],
    ["parsing"],
    ["data", "datasets", "decode", "translation"],
    ["doctor", "confidence"],
    ["checkpoint"],
    ["run"],
    ["export", "native"],
    ["engines"],
    ["parser", "retranslate"],
    ["inside"],
    ["translator"],
    ["loading"],
    ["follow", "training", "distil"],
    ["serve", "paper", "bench", "lab"],
    ["cli"],
]
ROW = {name: row for row, names in enumerate(ORDER) for name in names}
TORCHLESS = [
    "errors",
    "vocabulary",
    "options",
    "wording",
    "bar",
    "allocator",
    "cache",
    "processor",
    "durable",
    "lock",
    "config",
    "presets",
    "box",
    "settings",
    "text",
    "evaluate",
    "demo",
    "parsing",
    "datasets",
    "translation",
    "confidence",
    "native",
]
# Other files without torch: a step of search is any function of arrays, and all engines but torch start without it.
TORCHLESS_FILES = [
    *("decode/search.py", "decode/beam.py", "decode/greedy.py", "decode/sampling.py", "decode/prefix.py"),
    *("decode/penalty.py", "decode/required.py", "decode/banks.py", "kernels/candidates.py", "kernels/matrix.py"),
    *("kernels/bf16_ways.py", "kernels/try_bf16.py"),
    *("kernels/structures.py", "engines/__init__.py", "engines/native.py", "engines/searching.py"),
    *("engines/threads.py", "data/batching.py"),
    *("paper/report.py", "paper/chart.py", "paper/fit.py", "paper/resumable.py", "paper/table4.py"),
]
FILES = sorted(SOURCE.rglob("*.py"))


def package_of(file: Path) -> str:
    return file.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported(file: Path) -> Iterator[tuple[str, int]]:
    """Yield every module that a file imports, wherever in the file, with its line."""
    inside = ["heed", *file.relative_to(SOURCE).parts[:-1]]
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = [] if node.level == 0 else inside[: len(inside) - node.level + 1]
            module = ".".join([*base, *([node.module] if node.module else [])])
            # `from heed import config` imports a module as `import heed.config` does.
            yield from ((f"{module}.{alias.name}" if module == "heed" else module, node.lineno) for alias in node.names)


def wrong_imports(package: str, file: Path) -> list[str]:
    found = []
    for module, line in imported(file):
        parts = module.split(".")
        other = parts[1] if parts[0] == "heed" and len(parts) > 1 else ""
        if other in ROW and other != package and ROW[other] >= ROW[package]:
            found.append(f"{file.relative_to(SOURCE)}:{line}: {package} imports heed.{other}")
    return found


def test_every_part_has_its_place() -> None:
    top = {package_of(file) for file in FILES} - {"__init__", "__main__"}
    assert top <= ROW.keys()
    assert {"errors", "config", "text", "model", "data", "decode", "checkpoint", "engines", "translator", "cli"} <= top


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(SOURCE)))
def test_imports_point_one_way(file: Path) -> None:
    package = package_of(file)
    if package in ("__init__", "__main__"):  # the front door
        return
    assert wrong_imports(package, file) == []


def test_the_rule_is_able_to_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "SOURCE", tmp_path)
    (tmp_path / "model").mkdir()
    file = tmp_path / "model" / "layers.py"
    for line in (
        "import heed.training.loop",
        "from heed.data.batch import Batch",
        "from heed import translator",
        "from ..text import tokenizer",
        "from .. import cli",
        "def f():\n    from heed.evaluate import score",
    ):
        file.write_text(line + "\n", encoding="utf-8")
        assert len(wrong_imports("model", file)) == 1, line
    file.write_text("import torch\nfrom heed.config import ModelConfig\nfrom heed.model.masks import causal\n")
    assert wrong_imports("model", file) == []


@pytest.mark.parametrize(
    "file",
    [*(file for file in FILES if package_of(file) in TORCHLESS), *(SOURCE / name for name in TORCHLESS_FILES)],
    ids=lambda file: str(file.relative_to(SOURCE)),
)
def test_no_torch_where_strings_are_handled(file: Path) -> None:
    for module, line in imported(file):
        assert module.split(".")[0] not in ("torch", "safetensors"), f"{file.relative_to(SOURCE)}:{line}"


def test_the_grammar_imports_the_standard_library_only() -> None:
    for file in FILES:
        if package_of(file) == "demo":
            for module, line in imported(file):
                known = module.split(".")[0] in sys.stdlib_module_names or module.startswith("heed.demo.grammar")
                assert known, f"{file.relative_to(SOURCE)}:{line}: {module}"


def exits(file: Path) -> list[str]:
    found = []
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("sys.exit", "exit", "quit", "os._exit"):
            found.append(f"{file.relative_to(SOURCE)}:{node.lineno}")
        elif isinstance(node, ast.Raise) and node.exc is not None and "SystemExit" in ast.unparse(node.exc):
            found.append(f"{file.relative_to(SOURCE)}:{node.lineno}")
    return found


def test_only_the_command_exits() -> None:
    allowed = {SOURCE / "cli" / "main.py", SOURCE / "__main__.py"}
    assert [place for file in FILES if file not in allowed for place in exits(file)] == []
    assert exits(SOURCE / "__main__.py")  # able to find one


# The front door exports it; other software takes nothing else; and it alone has attention to show.
KNOW_THE_TRANSFORMER = {"__init__.py", "export/ctranslate2.py", "export/huggingface.py", "engines/pytorch.py"}
KNOW_THE_TRANSFORMER |= {f"inside/{name}.py" for name in ("document", "forced", "heads", "inspection", "lens")}
KNOW_THE_TRANSFORMER |= {f"inside/{name}.py" for name in ("alignment", "roles", "switched", "walk")}
KNOW_THE_TRANSFORMER |= {"cli/align.py", "export/exportable.py"}
KNOW_THE_TRANSFORMER |= {f"paper/questions/{name}.py" for name in ("asked", "residual", "tiny")}


def mentions(file: Path, name: str, called: bool) -> list[int]:
    """Return the lines of a file that use a name, or only those that call it."""
    found = []
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and not called and name in [alias.name for alias in node.names]:
            found.append(node.lineno)
        if isinstance(node, ast.Call) == called:
            named = node.func if isinstance(node, ast.Call) else node
            if (named.id if isinstance(named, ast.Name) else getattr(named, "attr", "")) == name:
                found.append(node.lineno)
    return found


def test_one_place_builds_models() -> None:
    """All other code uses `model/interface.py`, so that a new kind of model is one file and one line."""
    for file in FILES:
        place = file.relative_to(SOURCE).as_posix()
        if place != "model/build.py":
            assert mentions(file, "Transformer", called=True) == [], place
        if package_of(file) != "model" and place not in KNOW_THE_TRANSFORMER:
            assert mentions(file, "Transformer", called=False) == [], place
    assert all(mentions(SOURCE / place, "Transformer", called=False) for place in KNOW_THE_TRANSFORMER)


def test_building_a_model_elsewhere_is_found(tmp_path: Path) -> None:
    file = tmp_path / "loop.py"
    for line in (
        "model = Transformer(config, Vocabulary(9))",
        "x = f(transformer.Transformer(config, Vocabulary(9)).eval())",
    ):
        file.write_text(line + "\n", encoding="utf-8")
        assert mentions(file, "Transformer", called=True) == [1], line
    file.write_text("from heed.model.transformer import Transformer as T\n", encoding="utf-8")
    assert mentions(file, "Transformer", called=False) == [1]


def test_no_drawer_for_odds_and_ends() -> None:
    odd = {"utils", "util", "helpers", "helper", "misc", "common"}
    assert [file for file in FILES if file.stem in odd or file.parent.name in odd] == []


def test_weights_are_never_unpickled() -> None:
    for file in FILES:
        text = file.read_text(encoding="utf-8")
        names = {module.split(".")[0] for module, _ in imported(file)}
        assert not names & {"pickle", "dill", "joblib", "shelve", "marshal"}, file
        assert "torch.load" not in text and "torch.save" not in text, file


HEAVY = {"torch", "numpy", "sentencepiece", "sacrebleu", "safetensors", "rich"}


@pytest.mark.parametrize(
    "script",
    [
        "import heed",
        "import heed; dir(heed); heed.__all__; heed.__version__; heed.HeedError; heed.Config; heed.preset",
        "from heed.cli.main import main\ntry: main(['--help'])\nexcept SystemExit: pass",
        "from heed.cli.main import main\ntry: main(['train', '--help'])\nexcept SystemExit: pass",
        "from heed.cli.main import main\ntry: main(['--version'])\nexcept SystemExit: pass",
        "from heed.cli.main import main\ntry: main(['nonsense'])\nexcept SystemExit: pass",
    ],
    ids=["import", "light names", "help", "train help", "version", "usage"],
)
def test_nothing_heavy_is_loaded_before_it_is_needed(script: str) -> None:
    script += "\nimport sys, json\nprint('loaded', json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = set(ast.literal_eval(done.stdout.rsplit("loaded ", 1)[1]))
    assert "heed" in loaded
    assert not loaded & HEAVY


@pytest.mark.parametrize(
    "package",
    ["heed.text.tokenizer", "heed.translation", "heed.evaluate", "heed.demo.grammar"]
    + ["heed.loading", "heed.decode.beam", "heed.decode.sampling"]
    + ["heed.run", "heed.engines.native"],
)
def test_torch_is_not_loaded_by_way_of_others_either(package: str) -> None:
    script = f"import {package}, sys; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True)
