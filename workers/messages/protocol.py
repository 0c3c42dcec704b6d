"""The run protocol between worker, keeper and sandbox, and its encoding (MessagePack, by msgspec).

Worker → keeper → sandbox: `BatchSettings`, `RunRequest`. Sandbox → keeper → worker: `RunAnswer`. The messages that
control a keeper are in `workers.messages.control`.

Settings apply to all runs that follow them, until the next settings. Decoding validates every field.
Times are seconds of wall time unless the name says otherwise, memory is in MiB.
"""

from __future__ import annotations

from typing import TypeVar

from msgspec import MsgspecError, Struct
from msgspec.msgpack import Decoder, Encoder

from cagematch.problems.terms import Answer, Stop, Task
from cagematch.workers.messages.frames import Frame, Kind, framed

GRACE_S = 0.5
RETIRED = 75  # exit code of a sandbox that requests its replacement; no run caused it


class MessageError(Exception):
    """A frame does not hold the message that its header names."""


class Message(Struct, frozen=True, array_like=True):
    """The base of all messages."""


class BatchLimits(Message, frozen=True):
    """What one run may use.

    Attributes
    ----------
    time_s
        Wall time, build and solve together.
    memory_mib
        Resident memory of the sandbox and all its descendants.
    grace_s
        Time past ``time_s`` before the keeper kills the run.
    """

    time_s: float
    memory_mib: int
    grace_s: float = GRACE_S


class BatchSettings(Message, frozen=True):
    """What the runs of a shard share.

    Attributes
    ----------
    family
        The solver library; selects the sandbox.
    configuration
        The backend with its parameters, as users type it.
    limits
        Time and memory of each run.
    task, bound
        The task, and for `Task.COUNT` the largest number of solutions to search for.
    in_turns
        Deliver answers only when every pending run has one, because worker and solver share their cores.
    warm_up
        Set by the keeper for a sandbox: do an untimed solve before the first run.
    """

    family: str
    configuration: str
    limits: BatchLimits
    task: Task = Task.SOLVE
    bound: int = 2
    in_turns: bool = False
    warm_up: bool = False


class RunRequest(Message, frozen=True):
    """One run.

    Attributes
    ----------
    number
        Unique in the life of a keeper; starts at 1.
    kind, text
        The puzzle: its kind and canonical text.
    seed
        The seed of this repeat, for solvers that take one.
    """

    number: int
    kind: str
    text: str
    seed: int


class RunAnswer(Message, frozen=True):
    """The outcome and the measurements of one run.

    Attributes
    ----------
    number
        The number of the request.
    answer, stop
        What the solver found, and why the run ended.
    wall_s
        Build and solve together; the time until the kill for a run that was killed.
    detail
        Text for people: a status, a traceback, a log.
    assignment
        One value per variable of the problem; None without a solution.
    more
        Further solutions of an enumeration, for verification.
    count, complete
        The number of solutions found, and whether the solver claims that these are all.
    build_s, solve_s
        The two parts of ``wall_s``; None where the part was not reached.
    counters
        The solver's own counters: branches, conflicts, nodes, ….
    cpu_s
        CPU time, user and system, descendants included.
    reference_s
        The slower of the core speed probes before and after the run.
    baseline_mib, peak_mib
        Resident memory before the run, and its peak during the run.
    size
        Variables and constraints of the model by type and role, as JSON.
    signal
        The number of the signal that ended the sandbox; 0 where it exited.
    """

    number: int
    answer: Answer
    stop: Stop
    wall_s: float
    detail: str = ""
    assignment: list[int] | None = None
    more: list[list[int]] = []
    count: int | None = None
    complete: bool | None = None
    build_s: float | None = None
    solve_s: float | None = None
    counters: dict[str, int] = {}
    cpu_s: float | None = None
    reference_s: float | None = None
    baseline_mib: float | None = None
    peak_mib: float | None = None
    size: str | None = None
    signal: int | None = None


_KINDS: dict[type[Message], Kind] = {
    BatchSettings: Kind.SETTINGS,
    RunRequest: Kind.RUN,
    RunAnswer: Kind.ANSWER,
}
_DECODERS: dict[int, Decoder[Message]] = {kind: Decoder(message) for message, kind in _KINDS.items()}
_ENCODER = Encoder()
M = TypeVar("M", bound=Message)


def encode(message: Message) -> bytes:
    """Encode a message as one frame.

    Raises
    ------
    OverflowError, TypeError
        A field holds a value that MessagePack has no form for.
    """
    number = message.number if isinstance(message, (RunRequest, RunAnswer)) else 0
    return framed(_KINDS[type(message)], _ENCODER.encode(message), number)


def decode(frame: Frame) -> Message:
    """Decode a frame.

    Raises
    ------
    MessageError
        The body is not a valid message of the kind that the header names.
    """
    try:
        return _DECODERS[frame.kind].decode(frame.body)
    except MsgspecError as error:
        raise MessageError(f"invalid {Kind(frame.kind).name} message: {error}") from error


def decode_as(expected: type[M], frame: Frame) -> M:
    """Decode a frame that must hold a message of one type.

    Raises
    ------
    MessageError
        It holds another message, or an invalid one.
    """
    message = decode(frame)
    if not isinstance(message, expected):
        raise MessageError(f"expected {expected.__name__}, found {type(message).__name__}")
    return message
