"""Turn published files into lines: archives, gzip, the segments of test sets, the tags of TED talks, tab-separated.

Nothing is extracted under a name that an archive chose: only the members asked for are read, each into a file of ours.
"""

import re
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO

from heed.datasets.disk import write_all, writing
from heed.errors import DataError
from heed.text.lines import reading

_DAMAGED = (tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError)
_SEGMENT = re.compile(rb"<seg\b[^>]*>(.*?)</seg>", re.DOTALL | re.IGNORECASE)
_TALK_DETAILS = re.compile(rb"\s*</?(url|talkid|keywords|speaker|reviewer|translator|doc)\b")
_TALK_MARKS = re.compile(rb"</?(?:title|description)>")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def extract(archive: Path, members: Sequence[str], folder: Path, report: Callable[[int], None]) -> list[Path]:
    """Copy members of an archive (.zip, .tar, .tgz) into a folder, and return their places.

    Raises:
        DataError: the archive is damaged, or a member is missing or no plain file.
    """
    places = {member: folder / f"{number}-{member.rsplit('/', 1)[-1]}" for number, member in enumerate(members)}
    missing = set(members)
    try:
        with open(archive, "rb") as raw:
            for member, stream in _members(raw, archive, missing):
                with writing(places[member]):
                    out = open(places[member], "wb", buffering=0)
                with out:
                    while block := stream.read(1 << 20):
                        write_all(out, places[member], block)
                        report(raw.tell())
                missing.remove(member)
                if not missing:
                    break
    except _DAMAGED as error:
        raise DataError(f"{archive}: not a whole archive ({error}); delete it, and get it again") from None
    if missing:
        raise DataError(f"{archive}: has no file {sorted(missing)[0]} in it; it is not the archive that heed knows")
    return [places[member] for member in members]


def _members(raw: IO[bytes], archive: Path, wanted: set[str]) -> Iterator[tuple[str, IO[bytes]]]:
    if zipfile.is_zipfile(raw):
        with zipfile.ZipFile(raw) as packed:
            for name in packed.namelist():
                if name.removeprefix("./") in wanted:
                    with packed.open(name) as stream:
                        yield name.removeprefix("./"), stream
        return
    raw.seek(0)
    with tarfile.open(fileobj=raw, mode="r|*") as tape:  # one pass: seeking in a .tgz unpacks it again
        for member in tape:
            name = member.name.removeprefix("./")
            if name not in wanted:
                continue
            if not member.isreg():
                raise DataError(f"{archive}: {name} is a link or a device, not a text; do not trust this archive")
            found = tape.extractfile(member)
            assert found is not None
            yield name, found


def lines(path: Path, column: int | None = None) -> Iterator[bytes]:
    """Yield the lines of a published text, plain or gzip, without line ends; `column` is one of a tab-separated file.

    How to read it follows from its name: `.sgm` and `.xml` hold segments, `train.tags` the talks of IWSLT.
    """
    with reading(path) as stream:
        if path.name.endswith((".sgm", ".xml")):
            yield from (b" ".join(found[1].split()) for found in _SEGMENT.finditer(stream.read()))
        elif "train.tags." in path.name:
            yield from (_TALK_MARKS.sub(b"", line).strip() for line in _plain(stream) if not _TALK_DETAILS.match(line))
        elif column is not None:
            yield from _column(stream, path, column)
        else:
            yield from _plain(stream)


def _plain(stream: IO[bytes]) -> Iterator[bytes]:
    for number, line in enumerate(stream):
        if not number:
            line = line.removeprefix(_BYTE_ORDER_MARK)
        yield line.removesuffix(b"\n").removesuffix(b"\r")


def _column(stream: IO[bytes], path: Path, column: int) -> Iterator[bytes]:
    for number, line in enumerate(_plain(stream), 1):
        columns = line.split(b"\t")
        if len(columns) < 2:
            raise DataError(f"{path}, line {number}: no tab; expected source, tab, translation")
        yield columns[column]


def chosen(texts: Iterator[bytes], every: int) -> Iterator[bytes]:
    """Yield every n-th line; for -n all lines but those; for 0 all."""
    for number, line in enumerate(texts, 1):
        if not every or (number % abs(every) == 0) == (every > 0):
            yield line
