"""What a power loss may leave of files whose writes were recorded: all that was synced, and of the rest whatever the disk likes.

Writes that were not synced survive by sectors of 512 bytes, each or none, in any order, or leave garbage. A file that was made or
removed is there, or not, until its folder is synced. (As SQLite's own crash tests have it. The sector that a write shorter than one
goes to is old or new, never garbage.)
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
    """A moment at which the power fails: what is on disk for certain, what may be, and the last revision acknowledged by then."""

    number: int
    durable: dict[str, bytes]  # by inode
    entries: dict[str, str]  # the inodes that names lead to
    pending: tuple[Step, ...]
    acknowledged: int


def crashes(before: dict[str, bytes], steps: Sequence[Step], *, every: int = 1) -> Iterator[Crash]:
    """One before each sync takes effect, and one at the end."""
    durable = {_inode(name, 0): bytearray(content) for name, content in before.items()}
    entries = {name: _inode(name, 0) for name in before}
    pending: list[Step] = []
    acknowledged = number = 0
    for step in _by_inode([*steps, Step(SYNC_FOLDER)]):
        if step.what in {SYNC, SYNC_FOLDER}:
            if number % every == 0:
                frozen = {inode: bytes(content) for inode, content in durable.items()}
                yield Crash(number, frozen, dict(entries), tuple(pending), acknowledged)
            number += 1
            _settle(durable, entries, pending, step)
        elif step.what == ACKNOWLEDGE:
            acknowledged = step.revision
        else:
            pending.append(step)


def _inode(name: str, life: int) -> str:
    return f"{name}#{life}"


def _by_inode(steps: Sequence[Step]) -> Iterator[Step]:
    """The same steps. A name that is removed and made anew leads to another file each time."""
    inodes: dict[str, str] = {}
    for life, step in enumerate(steps, 1):
        if step.what == CREATE:
            inodes[step.file] = _inode(step.file, life)
        inode = inodes.get(step.file, _inode(step.file, 0))
        if step.what == RENAME:
            inodes[step.to] = inode
        name = step.file.encode() if step.what in _OF_FOLDER else step.data
        yield step._replace(file=inode, data=name) if step.file else step


def _settle(durable: dict[str, bytearray], entries: dict[str, str], pending: list[Step], sync: Step) -> None:
    """The sync has taken effect: so have the writes to its file, or all that was done to the folder."""
    if sync.what == SYNC_FOLDER:
        done = [step for step in pending if step.what in _OF_FOLDER]
    else:
        done = [step for step in pending if step.what not in _OF_FOLDER and step.file == sync.file]
    for step in done:
        _carry_out(step, durable, entries)
    pending[:] = [step for step in pending if step not in done]


def _carry_out(step: Step, content: dict[str, bytearray], entries: dict[str, str]) -> None:
    name = step.data.decode() if step.what in _OF_FOLDER else ""
    if step.what == CREATE:
        entries[name] = step.file
    elif step.what == RENAME:
        entries[step.to] = step.file
        if entries.get(name) == step.file:
            del entries[name]
    elif step.what == DELETE:
        if entries.get(name) == step.file:
            del entries[name]
    else:
        _apply(content.setdefault(step.file, bytearray()), step)


def _apply(content: bytearray, step: Step) -> None:
    if step.what == TRUNCATE:
        del content[step.offset :]
        return
    if len(content) < step.offset:
        content.extend(bytes(step.offset - len(content)))
    content[step.offset : step.offset + len(step.data)] = step.data


def lay_out(crash: Crash, folder: Path, survival: str, dice: random.Random) -> None:
    """Write the files as the power loss may have left them."""
    content = {inode: bytearray(kept) for inode, kept in crash.durable.items()}
    entries = dict(crash.entries)
    for step in _surviving(crash.pending, survival, dice):
        _carry_out(step, content, entries)
    for name, inode in entries.items():
        (folder / name).write_bytes(content.get(inode, b""))


def _surviving(pending: Sequence[Step], survival: str, dice: random.Random) -> list[Step]:
    if survival == "none":
        return []
    if survival == "all":
        return list(pending)
    pieces = [piece for step in pending for piece in _sectors(step)]
    if survival == "prefix":
        return pieces[: dice.randint(0, len(pieces))]
    kept = [piece for piece in pieces if dice.random() < 0.5]
    return kept if survival == "some" else [_spoiled(piece, dice) for piece in kept]


def _sectors(step: Step) -> list[Step]:
    if step.what != WRITE:
        return [step]
    ends = [*range(step.offset - step.offset % SECTOR + SECTOR, step.offset + len(step.data), SECTOR), step.offset + len(step.data)]
    starts = [step.offset, *ends[:-1]]
    return [
        Step(WRITE, step.file, start, step.data[start - step.offset : end - step.offset])
        for start, end in zip(starts, ends, strict=True)
    ]


def _spoiled(piece: Step, dice: random.Random) -> Step:
    is_whole_sector = "-watermark" in piece.file
    if piece.what != WRITE or is_whole_sector or dice.random() < 0.5:
        return piece
    return piece._replace(data=dice.randbytes(len(piece.data)))
