import ast
import dataclasses
import inspect
import subprocess
import sys
import typing
from importlib.metadata import version
from pathlib import Path

import pytest

import heed

PUBLIC = {
    "Attention",
    "Config",
    "HeedError",
    "Sampling",
    "Tokenizer",
    "Transformer",
    "Translation",
    "Translator",
    "__version__",
    "load",
    "preset",
    "resume",
    "train",
}
SOURCE = Path(heed.__file__).parent


def fresh(name: str) -> typing.Any:
    """What `heed.<name>` is to somebody who has imported nothing else: other tests import submodules."""
    return heed.__getattr__(name)


def methods(cls: type) -> dict[str, typing.Any]:
    return {
        name: value
        for name, value in vars(cls).items()
        if not name.startswith("_") and (inspect.isfunction(value) or isinstance(value, (classmethod, staticmethod)))
    }


def test_the_public_names_are_these() -> None:
    """To add one, add it here, to the documentation and to the changelog; to take one away is a breaking change."""
    assert set(heed.__all__) == PUBLIC
    assert len(heed.__all__) == len(PUBLIC)
    assert set(dir(heed)) == PUBLIC


def test_every_name_can_be_imported_by_itself() -> None:
    script = "\n".join(f"from heed import {name}" for name in sorted(PUBLIC)) + "\nfrom heed import *"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_no_submodule_hides_a_name() -> None:
    """Importing `heed.x` makes `x` an attribute of heed, whatever `x` was before."""
    assert not PUBLIC & {path.stem for path in SOURCE.iterdir() if path.stem not in ("__init__", "__main__")}


@pytest.mark.parametrize("name", sorted(PUBLIC - {"__version__"}))
def test_every_name_is_explained(name: str) -> None:
    thing = fresh(name)
    assert inspect.isclass(thing) or inspect.isfunction(thing)
    doc = thing.__doc__
    assert doc and not doc.startswith(f"{name}("), name  # a dataclass without words documents itself like that
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
    for name in ("Translation", "Attention", "Config", "Sampling"):
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
