"""Builds the files that a power loss may leave, from recorded writes: everything that was synced, and any part of the rest.

Unsynced writes survive in sectors of 512 bytes, each one or not, in any order, or leave garbage. A file that was created or removed
exists, or not, until its folder is synced. (SQLite's own crash tests use the same model. The sector of a write shorter than a
sector is old or new, never garbage.)
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from support.faulty_vfs import ACKNOWLEDGE, CREATE, DELETE, RENAME, SYNC, SYNC_FOLDER, TRUNCATE, WRITE, Step

SECTOR = 512
_OF_FOLDER = {CREATE, RENAME, DELETE}
SURVIVALS = ("none", "all", "prefix", "some", "garbage")


class Crash(NamedTuple):
    """A power loss: what is certainly on disk, what may be, and the last revision acknowledged before it."""

    number: int
    durable: dict[str, bytes]  # by inode
    entries: dict[str, str]  # the inode of each name
    pending: tuple[Step, ...]
    acknowledged: int


def simulate_crashes(before: dict[str, bytes], steps: Sequence[Step], *, every: int = 1) -> Iterator[Crash]:
    """Yields a power loss before each sync takes effect, and one at the end."""
    durable = {_inode(name, 0): bytearray(content) for name, content in before.items()}
    entries = {name: _inode(name, 0) for name in before}
    pending: list[Step] = []
    acknowledged = number = 0
    for step in _by_inode([*steps, Step(SYNC_FOLDER)]):
        if step.kind in {SYNC, SYNC_FOLDER}:
            if number % every == 0:
                frozen = {inode: bytes(content) for inode, content in durable.items()}
                yield Crash(number, frozen, dict(entries), tuple(pending), acknowledged)
            number += 1
            _settle(durable, entries, pending, sync=step)
        elif step.kind == ACKNOWLEDGE:
            acknowledged = step.revision
        else:
            pending.append(step)


def _inode(name: str, life: int) -> str:
    return f"{name}#{life}"


def _by_inode(steps: Sequence[Step]) -> Iterator[Step]:
    """Yields the steps with inodes instead of names: a name that is removed and created again leads to another inode."""
    inodes: dict[str, str] = {}
    for life, step in enumerate(steps, 1):
        if step.kind == CREATE:
            inodes[step.file] = _inode(step.file, life)
        inode = inodes.get(step.file, _inode(step.file, 0))
        if step.kind == RENAME:
            inodes[step.to] = inode
        name = step.file.encode() if step.kind in _OF_FOLDER else step.data
        yield step._replace(file=inode, data=name) if step.file else step


def _settle(durable: dict[str, bytearray], entries: dict[str, str], pending: list[Step], *, sync: Step) -> None:
    """Makes durable what a sync covers: the writes to its file, or all operations on the folder."""
    if sync.kind == SYNC_FOLDER:
        done = [step for step in pending if step.kind in _OF_FOLDER]
    else:
        done = [step for step in pending if step.kind not in _OF_FOLDER and step.file == sync.file]
    for step in done:
        _apply_step(step, durable, entries)
    pending[:] = [step for step in pending if step not in done]


def _apply_step(step: Step, content: dict[str, bytearray], entries: dict[str, str]) -> None:
    name = step.data.decode() if step.kind in _OF_FOLDER else ""
    if step.kind == CREATE:
        entries[name] = step.file
    elif step.kind == RENAME:
        entries[step.to] = step.file
        if entries.get(name) == step.file:
            del entries[name]
    elif step.kind == DELETE:
        if entries.get(name) == step.file:
            del entries[name]
    else:
        _apply_write(content.setdefault(step.file, bytearray()), step)


def _apply_write(content: bytearray, step: Step) -> None:
    if step.kind == TRUNCATE:
        del content[step.offset :]
        return
    if len(content) < step.offset:
        content.extend(bytes(step.offset - len(content)))
    content[step.offset : step.offset + len(step.data)] = step.data


def write_files(crash: Crash, folder: Path, survival: str, *, rng: random.Random) -> None:
    """Writes the files as the power loss may have left them."""
    content = {inode: bytearray(data) for inode, data in crash.durable.items()}
    entries = dict(crash.entries)
    for step in _surviving(crash.pending, survival, rng):
        _apply_step(step, content, entries)
    for name, inode in entries.items():
        (folder / name).write_bytes(content.get(inode, b""))


def _surviving(pending: Sequence[Step], survival: str, rng: random.Random) -> list[Step]:
    if survival == "none":
        return []
    if survival == "all":
        return list(pending)
    pieces = [piece for step in pending for piece in _sectors(step)]
    if survival == "prefix":
        return pieces[: rng.randint(0, len(pieces))]
    survivors = [piece for piece in pieces if rng.random() < 0.5]
    return survivors if survival == "some" else [_spoil(piece, rng) for piece in survivors]


def _sectors(step: Step) -> list[Step]:
    if step.kind != WRITE:
        return [step]
    ends = [*range(step.offset - step.offset % SECTOR + SECTOR, step.offset + len(step.data), SECTOR), step.offset + len(step.data)]
    starts = [step.offset, *ends[:-1]]
    return [
        Step(WRITE, step.file, start, step.data[start - step.offset : end - step.offset])
        for start, end in zip(starts, ends, strict=True)
    ]


def _spoil(piece: Step, rng: random.Random) -> Step:
    is_whole_sector = "-watermark" in piece.file
    if piece.kind != WRITE or is_whole_sector or rng.random() < 0.5:
        return piece
    return piece._replace(data=rng.randbytes(len(piece.data)))
