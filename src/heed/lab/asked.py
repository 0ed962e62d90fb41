"""What the page asks for, checked: JSON in, values out."""

import re
from dataclasses import dataclass
from typing import Any

from heed.errors import DecodeError
from heed.inside.observe import KINDS, NOTHING_OFF, Kind, Switches
from heed.options import Sampling

MAX_CHARACTERS = 4000
MAX_PIECES = 128  # of a text: attention grows with the square, and the page is drawn while you type
_MAX_BEAM = 16
_MAX_SWITCHES = 4096
_CLIENT = re.compile(r"[a-z0-9]{1,32}$")
_PARTS = ("measures", "walk")


@dataclass(frozen=True)
class Asked:
    """A look at one sentence: of which model, with what switched off, how searched, and which parts of the page."""

    client: str  # a browser tab
    model: int
    checkpoint: str
    text: str
    switches: Switches
    prefix: str | tuple[int, ...]  # what the translation begins with: text, or ids of pieces
    beam: int | None
    alpha: float | None
    sampling: Sampling | None
    parts: frozenset[str]


@dataclass(frozen=True)
class AskedWhy:
    """Why the translation has one word and not another, after the same beginning. Words are ids of pieces."""

    before: tuple[int, ...]
    this: tuple[int, ...]
    that: str | tuple[int, ...]


def asked(given: object) -> Asked:
    """Check what the page asks for.

    Raises:
        DecodeError: a field is missing, of another type, or out of range; the message names it.
    """
    fields = _Fields(given)
    return Asked(
        client=fields.client(),
        model=fields.whole("model", 0, 10_000, 0),
        checkpoint=fields.text("checkpoint", "best", 200),
        text=fields.text("text", "", MAX_CHARACTERS),
        switches=_switches(fields.get("switches", {})),
        prefix=fields.text_or_ids("prefix"),
        beam=None if fields.get("beam") is None else fields.whole("beam", 1, _MAX_BEAM),
        alpha=None if fields.get("alpha") is None else fields.number("alpha", 0.0, 10.0),
        sampling=_sampling(fields),
        parts=fields.choices("parts", _PARTS),
    )


def asked_why(given: object) -> AskedWhy:
    """Check the rest of a question why; `asked` checks the sentence.

    Raises:
        DecodeError: as for `asked`.
    """
    fields = _Fields(given)
    why = AskedWhy(fields.ids("before"), fields.ids("this"), fields.text_or_ids("that"))
    if not why.this or not why.that:
        raise DecodeError("why: name the word of the translation (this) and another one (that)")
    return why


class _Fields:
    """The fields of a JSON object."""

    def __init__(self, given: object, name: str = "the request") -> None:
        if not isinstance(given, dict):
            raise DecodeError(f"{name} must be a JSON object, not {_kind(given)}")
        self._given = given

    def get(self, name: str, default: Any = None) -> Any:
        return self._given.get(name, default)

    def client(self) -> str:
        value = self.get("client")
        if not isinstance(value, str) or not _CLIENT.match(value):
            raise DecodeError("client must be up to 32 letters a-z and digits that name the browser tab")
        return value

    def text(self, name: str, default: str, most: int) -> str:
        value = self.get(name, default)
        if not isinstance(value, str):
            raise DecodeError(f"{name} must be a text, not {_kind(value)}")
        if len(value) > most:
            raise DecodeError(f"{name} has {len(value):,} characters, the lab takes at most {most:,}; shorten it")
        return value

    def whole(self, name: str, least: int, most: int, default: int | None = None) -> int:
        value = self.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int):
            raise DecodeError(f"{name} must be a whole number, not {_kind(value)}")
        if not least <= value <= most:
            raise DecodeError(f"{name} must be from {least} to {most:,}, not {value}")
        return value

    def number(self, name: str, least: float, most: float) -> float:
        value = self.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise DecodeError(f"{name} must be a number, not {_kind(value)}")
        if not least <= value <= most:
            raise DecodeError(f"{name} must be from {least:g} to {most:g}, not {value:g}")
        return float(value)

    def flag(self, name: str) -> bool:
        value = self.get(name, True)
        if not isinstance(value, bool):
            raise DecodeError(f"{name} must be true or false, not {_kind(value)}")
        return value

    def ids(self, name: str) -> tuple[int, ...]:
        value = self.get(name, [])
        if not isinstance(value, list) or len(value) > 10 * MAX_PIECES:
            raise DecodeError(f"{name} must be a list of at most {10 * MAX_PIECES:,} ids")
        if not all(isinstance(one, int) and not isinstance(one, bool) and one >= 0 for one in value):
            raise DecodeError(f"{name} must be a list of ids of pieces")
        return tuple(value)

    def text_or_ids(self, name: str) -> str | tuple[int, ...]:
        return self.ids(name) if isinstance(self.get(name), list) else self.text(name, "", MAX_CHARACTERS)

    def choices(self, name: str, known: tuple[str, ...]) -> frozenset[str]:
        value = self.get(name, [])
        if not isinstance(value, list) or not all(one in known for one in value):
            raise DecodeError(f"{name} must be a list of {' and '.join(known)}")
        return frozenset(value)


def _sampling(fields: _Fields) -> Sampling | None:
    if fields.get("temperature") is None:
        return None
    if fields.get("beam") is not None:
        raise DecodeError("beam is for beam search, temperature for drawing at random; give only one of them")
    temperature = fields.number("temperature", 0.001, 1000.0)
    return Sampling(temperature=temperature, seed=fields.whole("seed", 0, 2**31, 1))


def _switches(given: object) -> Switches:
    fields = _Fields(given, "switches")
    heads, layers = (fields.get(name, []) for name in ("heads", "layers"))
    for name, value in (("heads", heads), ("layers", layers)):
        if not isinstance(value, list) or len(value) > _MAX_SWITCHES:
            raise DecodeError(f"switches.{name} must be a list such as {_EXAMPLES[name]}")
    switches = Switches(
        frozenset(map(_head, heads)), frozenset(map(_layer, layers)), fields.flag("causal"), fields.flag("positions")
    )
    return NOTHING_OFF if switches == NOTHING_OFF else switches


_EXAMPLES = {"heads": '["cross.0.3"]: kind, layer and head, from 0', "layers": '["encoder.1"]: stack and layer, from 0'}


def _head(value: object) -> tuple[Kind, int, int]:
    found = re.fullmatch(r"(encoder|decoder|cross)\.(\d{1,4})\.(\d{1,4})", value) if isinstance(value, str) else None
    if found is None:
        raise DecodeError(f"switches.heads must be a list such as {_EXAMPLES['heads']}")
    kind = next(one for one in KINDS if one == found[1])
    return kind, int(found[2]), int(found[3])


def _layer(value: object) -> tuple[str, int]:
    found = re.fullmatch(r"(encoder|decoder)\.(\d{1,4})", value) if isinstance(value, str) else None
    if found is None:
        raise DecodeError(f"switches.layers must be a list such as {_EXAMPLES['layers']}")
    return found[1], int(found[2])


def _kind(value: object) -> str:
    return "nothing" if value is None else type(value).__name__
