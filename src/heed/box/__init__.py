"""The models in the box: shipped models that are installed with heed and known by name. Without torch.

Each folder beside this file, such as `en-de`, is a shipped model (`heed export --to heed`) with a model card. CARD.md
begins with facts as `key: value` lines between two lines of `---`; the rest is for people.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heed.durable import read_file, read_json
from heed.errors import CheckpointError, DamageError
from heed.wording import did_you_mean

FOLDER = Path(__file__).parent
DEFAULT = "en-de"  # the model that is used if none is named
CARD = "CARD.md"
_FENCE = "---"


@dataclass(frozen=True)
class BoxedModel:
    """A model in the box."""

    name: str
    path: Path
    facts: dict[str, str]  # of its card, such as source, target, bleu, licence
    parameters: int | None
    size: int  # bytes of all files


def names() -> list[str]:
    """Return the names of the models in the box. A folder with a card alone is no model."""
    return sorted(found.parent.name for found in FOLDER.glob("*/config.json"))


def models() -> list[BoxedModel]:
    """Return the models in the box, by name.

    Raises:
        DamageError: a model's best.json is damaged.
    """
    return [_model(FOLDER / name) for name in names()]


def default_model() -> Path:
    """Return the folder of the model that is used if none is named.

    Raises:
        CheckpointError: it is not installed.
    """
    if DEFAULT not in names():
        raise CheckpointError(
            f"no model was named, and the one that would be used, {DEFAULT}, is not installed: {FOLDER / DEFAULT} has "
            "no model; name a run folder, such as one that heed train makes"
        )
    return FOLDER / DEFAULT


def is_name(given: str | Path) -> bool:
    """Return whether this names a model in the box, and not an existing folder."""
    return not Path(given).exists() and str(given) in names()


def find_model(given: str | Path) -> Path:
    """Return the folder of a model, given as a folder or by its name in the box. An existing folder comes first.

    Raises:
        CheckpointError: it is neither an existing folder nor a name in the box.
    """
    path = Path(given)
    if is_name(given):
        return FOLDER / path
    if path.exists():
        return path
    if str(given) != path.name:
        raise CheckpointError(f"{given}: no such run folder; check the name, or create one with `heed train`")
    there = ", ".join(names()) or "none"
    raise CheckpointError(
        f"{given}: no such run folder, and no model of that name is installed (installed: {there}); "
        f"check the name, or create a run folder with `heed train`{did_you_mean(str(given), names())}"
    )


def read_card(folder: Path) -> dict[str, str]:
    """Return the facts of a model card, by key; none if there is no card, or none that begins with facts."""
    try:
        lines = read_file(folder / CARD).decode("utf-8", "replace").splitlines()
    except OSError:
        return {}
    if lines[:1] != [_FENCE] or _FENCE not in lines[1:]:
        return {}
    facts = [line.partition(":") for line in lines[1 : lines.index(_FENCE, 1)]]
    return {key.strip(): value.strip() for key, colon, value in facts if colon}


def _model(path: Path) -> BoxedModel:
    parameters: Any = read_json(path / "best.json").get("parameters")
    if not isinstance(parameters, int | None):
        raise DamageError(f"{path / 'best.json'}: damaged (parameters is not a number)")
    size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    return BoxedModel(path.name, path, read_card(path), parameters, size)
