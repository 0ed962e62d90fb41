"""Encode a treebank into a `PairStore`: words as source, trees as target."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

from heed.data.encode import LENGTH_DTYPE, id_type
from heed.data.store import NUMBER_DTYPE, PairStore, StoreWriter, TextFile
from heed.durable import new_locked_folder, open_file
from heed.errors import DataError
from heed.lock import NAME as LOCK
from heed.parsing.tokenizer import TreeTokenizer, sentence_text
from heed.parsing.trees import Tree, located_treebank

_TREES_PER_BLOCK = 1_000


def read_located(path: str) -> list[tuple[int, Tree]]:
    """Return the trees of a treebank as a parser should output them, each with its line.

    Raises:
        DataError: the file cannot be read, its brackets are not trees, or there are none.
    """
    if path == "-" or Path(path).is_fifo():
        raise DataError(
            f"{path}: a pipe can be read only once, but a treebank is read several times; save it to a file"
        )
    found = list(located_treebank(path))
    if not found:
        raise DataError(f"{path}: has no trees; a treebank needs at least one, such as (S (NP (PRP It)) (VP (VBZ is)))")
    return found


def prepare_trees(
    path: str, tokenizer: TreeTokenizer, folder: Path, progress: Callable[[int], None] = lambda n_done: None
) -> PairStore:
    """Encode a treebank into a new folder, which replaces an existing one.

    Raises:
        DataError: as `read_located`, or a label or tag is not in the vocabulary (file and line are named).
    """
    trees, kind = read_located(path), id_type(len(tokenizer))
    with new_locked_folder(folder, replacing=True) as (new, lock), StoreWriter(new, tokenizer) as writer:
        for begin in range(0, len(trees), _TREES_PER_BLOCK):
            block = trees[begin : begin + _TREES_PER_BLOCK]
            sources = tokenizer.encode_ids([sentence_text(tree.words()) for _, tree in block])
            targets = [_target(tokenizer, path, line, tree) for line, tree in block]
            sides = []
            for ids in (sources, targets):
                ended = [[*one, tokenizer.vocabulary.end] for one in ids]
                flat = np.array([number for one in ended for number in one], dtype=kind)
                sides.append((flat.tobytes(), np.array(list(map(len, ended)), dtype=LENGTH_DTYPE).tobytes()))
            writer.add(sides[0], sides[1], np.array([line for line, _ in block], dtype=NUMBER_DTYPE).tobytes(), b"")
            progress(begin + len(block))
        writer.end_part([_as_read(path)])
        writer.finish({})
        (new / LOCK).unlink()
    lock.release()
    return PairStore.open(folder)


def _target(tokenizer: TreeTokenizer, path: str, line: int, tree: Tree) -> list[int]:
    try:
        return tokenizer.encode_tree(tree)
    except DataError as error:
        raise DataError(f"{path}, line {line}: {error}") from None


def _as_read(path: str) -> TextFile:
    with open_file(Path(path)) as file:
        stat = os.fstat(file.fileno())
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    name = os.fsencode(path).decode("utf-8", "backslashreplace")  # JSON must be UTF-8
    return TextFile(name, stat.st_size, stat.st_mtime_ns, sha256)
