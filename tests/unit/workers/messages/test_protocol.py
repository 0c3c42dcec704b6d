"""Messages: each one survives encoding and decoding, and other data is an error."""

from __future__ import annotations

import msgspec
import pytest

from cagematch.problems.outcome import Answer, Stop, Task
from cagematch.workers.messages.frames import FrameReader, Kind, framed
from cagematch.workers.messages.protocol import (
    BatchLimits,
    BatchSettings,
    Message,
    MessageError,
    RunAnswer,
    RunRequest,
    decode,
    decode_as,
    encode,
)

ANSWER = RunAnswer(
    number=2**40,
    answer=Answer.SOLUTION,
    stop=Stop.FINISHED,
    wall_s=0.30000000000000004,
    detail="\N{GREEK SMALL LETTER PI} \0",
    assignment=[1, 2, -3],
    more=[[1, 2, 4]],
    count=2,
    complete=True,
    build_s=0.1,
    solve_s=1e-7,
    counters={"branches": 12345678901},
    cpu_s=0.2,
    reference_s=0.003,
    baseline_mib=50.25,
    peak_mib=51.5,
    size="{}",
    signal=11,
)
MESSAGES = [
    BatchSettings("ortools", "cp-sat:workers=1", BatchLimits(3.0, 2048, 0.2), Task.COUNT, 20, in_turns=True),
    RunRequest(3, "sudoku", "12..", 2**31),
    ANSWER,
    RunAnswer(1, Answer.UNKNOWN, Stop.TIMEOUT, 3.5),
]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_a_message_survives_encoding_and_decoding(message: Message) -> None:
    (frame,) = FrameReader().feed(encode(message))

    assert decode(frame) == message
    assert decode_as(type(message), frame) == message
    assert frame.number == getattr(message, "number", 0)


def test_every_kind_of_message_is_covered() -> None:
    assert {type(message) for message in MESSAGES} == set(Message.__subclasses__()) - {BatchLimits}
    assert {FrameReader().feed(encode(message))[0].kind for message in MESSAGES} == {
        Kind.SETTINGS,
        Kind.RUN,
        Kind.ANSWER,
    }


def test_messages_are_frozen() -> None:
    with pytest.raises(AttributeError):
        ANSWER.wall_s = 0.0  # type: ignore[misc]


@pytest.mark.parametrize(
    "body",
    [b"", b"\xc1", msgspec.msgpack.encode([1]), msgspec.msgpack.encode(["1", "sudoku", "12..", 1]), encode(ANSWER)],
)
def test_an_invalid_body_is_an_error(body: bytes) -> None:
    (frame,) = FrameReader().feed(framed(Kind.RUN, body))

    with pytest.raises(MessageError, match="invalid RUN message"):
        decode(frame)


def test_an_unexpected_message_is_an_error() -> None:
    (frame,) = FrameReader().feed(encode(ANSWER))

    with pytest.raises(MessageError, match="expected RunRequest, found RunAnswer"):
        decode_as(RunRequest, frame)
