import ast
import inspect
from pathlib import Path

import heed
from heed import errors

SOURCE = Path(heed.__file__).parent


def all_errors() -> list[type[Exception]]:
    return [one for one in vars(errors).values() if inspect.isclass(one) and issubclass(one, Exception)]


def test_one_tree() -> None:
    children = [one for one in all_errors() if one not in (errors.HeedError, errors.DamageError, errors.DivergedError)]
    assert {one.__name__ for one in children} == {
        "ConfigError",
        "DataError",
        "TokenizerError",
        "CheckpointError",
        "DecodeError",
        "TrainingError",
    }
    assert all(one.__bases__ == (errors.HeedError,) for one in children)
    assert errors.HeedError.__bases__ == (Exception,)
    assert errors.DamageError.__bases__ == (errors.CheckpointError,)
    assert errors.DivergedError.__bases__ == (errors.TrainingError,)


def test_every_error_is_explained_and_drawn() -> None:
    assert errors.__doc__ is not None
    for one in all_errors():
        assert one.__doc__, one
        assert one.__name__ in errors.__doc__


def test_every_error_is_raised_somewhere() -> None:
    raised = {
        node.exc.func.id
        for file in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and isinstance(node.exc.func, ast.Name)
    }
    assert {one.__name__ for one in all_errors()} - {"HeedError"} <= raised


def test_no_package_has_errors_of_its_own_tree() -> None:
    """Errors are defined in errors.py; other exceptions may be defined where they are used."""
    elsewhere = {
        f"{file.relative_to(SOURCE)}: {node.name}"
        for file in SOURCE.rglob("*.py")
        if file.name != "errors.py"
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef) and any("Error" in ast.unparse(base) for base in node.bases)
    }
    assert elsewhere == set()
