import ast
import dataclasses
import functools
import inspect
import re
import subprocess
import sys
import typing
from importlib.metadata import version
from pathlib import Path

import pytest

import heed
from heed.text.tokenizer import Encoding
from heed.training.loop import Outcome
from heed.training.step import StepResult
from heed.translation import PairScore, SearchTrace, TracedCandidate

ERRORS = {
    "CheckpointError",
    "ConfigError",
    "DamageError",
    "DataError",
    "DecodeError",
    "HeedError",
    "TokenizerError",
    "TrainingError",
}
PUBLIC = ERRORS | {
    "Attention",
    "Config",
    "Glossary",
    "Parse",
    "Sampling",
    "Tokenizer",
    "Transformer",
    "Translation",
    "Translator",
    "Tree",
    "Vocabulary",
    "__version__",
    "load",
    "preset",
    "resume",
    "train",
}
SOURCE = Path(heed.__file__).parent
PAGE = (Path(__file__).parents[1] / "docs" / "python.md").read_text(encoding="utf-8")


def fresh(name: str) -> typing.Any:
    """Check `heed.<name>` after `import heed` alone: other tests import submodules."""
    return heed.__getattr__(name)


def methods(cls: type) -> dict[str, typing.Any]:
    return {
        name: value
        for name, value in vars(cls).items()
        if not name.startswith("_") and (inspect.isfunction(value) or isinstance(value, (classmethod, staticmethod)))
    }


def test_the_public_names_are_these() -> None:
    """A new name goes here, into the documentation and into the changelog; removing one is a breaking change."""
    assert set(heed.__all__) == PUBLIC
    assert len(heed.__all__) == len(PUBLIC)
    assert set(dir(heed)) == PUBLIC


def test_every_name_can_be_imported_by_itself() -> None:
    script = "\n".join(f"from heed import {name}" for name in sorted(PUBLIC)) + "\nfrom heed import *"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_no_submodule_hides_a_name() -> None:
    """Importing the module `heed.x` overwrites the attribute `x` of heed."""
    assert not PUBLIC & {path.stem for path in SOURCE.iterdir() if path.stem not in ("__init__", "__main__")}


@pytest.mark.parametrize("name", sorted(PUBLIC - {"__version__"}))
def test_every_name_is_explained(name: str) -> None:
    thing = fresh(name)
    assert inspect.isclass(thing) or inspect.isfunction(thing)
    doc = thing.__doc__
    assert doc and not doc.startswith(f"{name}("), name  # the generated docstring of a dataclass without one
    assert doc.strip().split("\n")[0].rstrip().endswith((".", ":")), doc


@pytest.mark.parametrize("name", sorted(PUBLIC - {"__version__"}))
def test_every_name_is_typed(name: str) -> None:
    thing = fresh(name)
    functions = [thing] if inspect.isfunction(thing) else [getattr(thing, method) for method in methods(thing)]
    for function in functions:
        signature = inspect.signature(function)
        assert signature.return_annotation is not inspect.Signature.empty, function
        for parameter in signature.parameters.values():
            if parameter.name not in ("self", "cls"):
                assert parameter.annotation is not inspect.Parameter.empty, (function, parameter)
    if dataclasses.is_dataclass(thing):
        assert typing.get_type_hints(thing).keys() >= {field.name for field in dataclasses.fields(thing)}


def test_results_are_frozen() -> None:
    for name in ("Translation", "Parse", "Tree", "Attention", "Config", "Sampling", "Vocabulary"):
        assert fresh(name).__dataclass_params__.frozen, name


def test_type_checkers_see_what_there_is() -> None:
    assert (SOURCE / "py.typed").exists()
    tree = ast.parse((SOURCE / "__init__.py").read_text(encoding="utf-8"))
    (guarded,) = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    seen = {
        alias.asname: node.module for node in guarded.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    assert seen.keys() == PUBLIC - {"__version__"}
    for name, module in seen.items():
        assert fresh(name).__module__ == module


def test_the_version_is_the_installed_one() -> None:
    assert heed.__version__ == version("heed")


def test_a_name_that_is_not_there() -> None:
    with pytest.raises(AttributeError, match="module 'heed' has no attribute 'tranlate'"):
        heed.tranlate  # noqa: B018
    assert not hasattr(heed, "__path_of_nothing__")


# --- the documentation ------------------------------------------------------------------------------------


CREATED = ("Sampling", "Transformer", "Vocabulary")  # users do not create the others


def signatures() -> dict[str, typing.Any]:
    """Return every public function, by its name in the documentation."""
    found = {}
    for name in sorted(PUBLIC - ERRORS - {"__version__"}):
        thing = fresh(name)
        if inspect.isfunction(thing) or name in CREATED:
            found[f"heed.{name}"] = inspect.signature(thing)
        if inspect.isclass(thing):
            found |= {f"{name}.{method}": inspect.signature(getattr(thing, method)) for method in methods(thing)}
    return found


def parameters(signature: inspect.Signature) -> list[tuple[str, object, object]]:
    return [(one.name, one.kind, one.default) for one in signature.parameters.values() if one.name != "self"]


@pytest.mark.parametrize("name", signatures())
def test_every_parameter_is_documented(name: str) -> None:
    """The page shows the signature: all parameters in order, with their defaults."""
    call = re.search(rf"`{re.escape(name)}\(([^`]*)\)`", PAGE)
    assert call is not None, f"docs/python.md does not have `{name}{signatures()[name]}`"
    namespace: dict[str, typing.Any] = {}
    exec(f"def written({call[1]}): pass", namespace)
    assert parameters(inspect.signature(namespace["written"])) == parameters(signatures()[name])


@pytest.mark.parametrize("name", ["heed.load", "Translator.translate", "heed.train", "heed.resume"])
def test_every_parameter_is_explained(name: str) -> None:
    for parameter, _, _ in parameters(signatures()[name]):
        assert re.search(rf"^\|[^|]*`{parameter}`[^|]*\| \S", PAGE, re.MULTILINE), parameter


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_every_name_is_documented(name: str) -> None:
    assert re.search(rf"`heed\.{name}[`(]", PAGE), name


@pytest.mark.parametrize(
    "thing",
    [
        heed.Translation,
        heed.Parse,
        heed.Tree,
        heed.Attention,
        heed.Sampling,
        heed.Config,
        heed.Translator,
        heed.Tokenizer,
        heed.Transformer,
        heed.Vocabulary,
    ]
    + [PairScore, SearchTrace, TracedCandidate, Encoding, Outcome, StepResult],
    ids=lambda thing: thing.__name__,
)
def test_every_attribute_is_documented(thing: type) -> None:
    fields = {field.name for field in dataclasses.fields(thing)} if dataclasses.is_dataclass(thing) else set()
    computed = {
        name
        for name, value in vars(thing).items()
        if not name.startswith("_") and isinstance(value, property | functools.cached_property)
    }
    for name in fields | computed:
        assert f"`{name}`" in PAGE, name
