"""The control messages between worker and keeper, and their encoding.

Worker → keeper: `LeaseCores`, `ReleaseCores`, `Abort`. Keeper → worker: `LeasedCores`, `Aborted`, `KeeperFailed`.

They need no more than the header of a frame and a short text. A keeper starts with these alone: importing the library
that encodes runs would take a quarter of its start, so it is loaded with the first settings.
"""

from __future__ import annotations

from typing import NamedTuple

from cagematch.workers.messages.frames import Frame, FrameError, Kind, framed


class LeaseCores(NamedTuple):
    """Lease one core per thread; the keeper waits until it has all of them."""

    threads: int


class ReleaseCores(NamedTuple):
    """Release the leased cores."""


class Abort(NamedTuple):
    """Cancel every pending run and kill the in-flight one."""


class LeasedCores(NamedTuple):
    """The numbers of the cores that were leased."""

    cores: list[int]


class Aborted(NamedTuple):
    """Every run was cancelled."""


class KeeperFailed(NamedTuple):
    """The keeper cannot continue and ends; ``reason`` is for people."""

    reason: str


Control = LeaseCores | ReleaseCores | Abort | LeasedCores | Aborted | KeeperFailed
EMPTY: dict[int, Control] = {Kind.RELEASE: ReleaseCores(), Kind.ABORT: Abort(), Kind.ABORTED: Aborted()}
KINDS: dict[type[Control], Kind] = {
    LeaseCores: Kind.LEASE,
    ReleaseCores: Kind.RELEASE,
    Abort: Kind.ABORT,
    LeasedCores: Kind.CORES,
    Aborted: Kind.ABORTED,
    KeeperFailed: Kind.FAILED,
}


def encode_control(message: Control) -> bytes:
    """Encode a control message as one frame. The number of threads is in the header, a list or a reason in the body."""
    number, body = 0, ""
    if isinstance(message, LeaseCores):
        number = message.threads
    elif isinstance(message, LeasedCores):
        body = ",".join(map(str, message.cores))
    elif isinstance(message, KeeperFailed):
        body = message.reason
    return framed(KINDS[type(message)], body.encode(errors="replace"), number)


def decode_control(frame: Frame) -> Control | None:
    """Decode a control message; None for a message of another kind.

    Raises
    ------
    FrameError
        The list of cores is invalid.
    """
    if frame.kind == Kind.LEASE:
        return LeaseCores(frame.number)
    if frame.kind == Kind.FAILED:
        return KeeperFailed(frame.body.decode(errors="replace"))
    if frame.kind == Kind.CORES:
        try:
            return LeasedCores([int(core) for core in frame.body.split(b",")])
        except ValueError as error:
            raise FrameError(f"expected core numbers, found {frame.body!r}") from error
    return EMPTY.get(frame.kind)
