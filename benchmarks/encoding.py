"""Encodings of the messages between worker, keeper and sandbox: ``python -m benchmarks.encoding``.

The messages are those of a 9×9 Sudoku. Each encoding takes a request and an answer through one encode and one decode,
in turns, in one process.
"""

from __future__ import annotations

import json
import pickle
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import msgspec

from cagematch.problems.outcome import Answer, Stop
from cagematch.workers.messages.protocol import RunAnswer, RunRequest

ROUNDS, LOOPS = 15, 2_000  # rounds in turns, and messages per round
TEXT = "4.....8.5.3..........7......2.....6.....8.4......1.......6.3.7.5..2.....1.4......"
REQUEST = RunRequest(1234, "sudoku", TEXT, 7)
ANSWER = RunAnswer(
    number=1234,
    answer=Answer.SOLUTION,
    stop=Stop.FINISHED,
    wall_s=0.004321,
    assignment=[1 + i % 9 for i in range(81)],
    build_s=0.0012,
    solve_s=0.0031,
    counters={"branches": 71, "failures": 12, "solutions": 1},
    cpu_s=0.0043,
    reference_s=0.0031,
    baseline_mib=101.25,
    peak_mib=101.5,
    size='{"variables": {"integer": 81}, "constraints": {"AllDifferent row": 9, "AllDifferent column": 9}}',
)
Pair = tuple[Any, Any]


@dataclass(frozen=True)
class Request:
    """`RunRequest` as a dataclass of the standard library."""

    number: int
    kind: str
    text: str
    seed: int


@dataclass(frozen=True)
class Outcome:
    """`RunAnswer` as a dataclass of the standard library."""

    number: int
    answer: str
    stop: str
    wall_s: float
    detail: str = ""
    assignment: list[int] | None = None
    more: list[list[int]] = field(default_factory=list)
    count: int | None = None
    complete: bool | None = None
    build_s: float | None = None
    solve_s: float | None = None
    counters: dict[str, int] = field(default_factory=dict)
    cpu_s: float | None = None
    reference_s: float | None = None
    baseline_mib: float | None = None
    peak_mib: float | None = None
    size: str | None = None
    signal: int | None = None


STRUCTS: Pair = (REQUEST, ANSWER)
DICTS: Pair = (msgspec.structs.asdict(REQUEST), msgspec.structs.asdict(ANSWER))
DATACLASSES: Pair = (Request(**DICTS[0]), Outcome(**DICTS[1]))
Codec = tuple[Pair, Callable[[Any], bytes], Callable[[bytes], Any], Callable[[bytes], Any]]


def codecs() -> dict[str, Codec]:
    """Each encoding: the messages, how to encode one, and how to decode a request and an answer."""
    text, binary = msgspec.json.Encoder(), msgspec.msgpack.Encoder()
    return {
        "json, dictionaries (not typed)": (DICTS, lambda m: json.dumps(m).encode(), json.loads, json.loads),
        "json, dataclasses": (
            DATACLASSES,
            lambda m: json.dumps(asdict(m)).encode(),
            lambda data: Request(**json.loads(data)),
            lambda data: Outcome(**json.loads(data)),
        ),
        "pickle, dataclasses (not validated)": (DATACLASSES, pickle.dumps, pickle.loads, pickle.loads),
        "msgspec JSON, structs": (
            STRUCTS,
            text.encode,
            msgspec.json.Decoder(RunRequest).decode,
            msgspec.json.Decoder(RunAnswer).decode,
        ),
        "msgspec MessagePack, structs (used)": (
            STRUCTS,
            binary.encode,
            msgspec.msgpack.Decoder(RunRequest).decode,
            msgspec.msgpack.Decoder(RunAnswer).decode,
        ),
    }


def microseconds(codec: Codec) -> float:
    """One request and one answer, encoded and decoded once each."""
    (request, answer), encode, decode_request, decode_answer = codec
    started = time.perf_counter()
    for _ in range(LOOPS):
        decode_request(encode(request))
        decode_answer(encode(answer))
    return (time.perf_counter() - started) / LOOPS * 1e6


def main() -> None:
    """Print the median of the rounds, the ratio to the first encoding, and the bytes of an answer."""
    found = codecs()
    rounds = [{name: microseconds(codec) for name, codec in found.items()} for _ in range(ROUNDS)]
    first = next(iter(found))
    print(f"{'encoding':38} {'µs':>7} {'ratio':>7} {'bytes':>7}")
    for name, (messages, encode, *_) in found.items():
        median = statistics.median(each[name] for each in rounds)
        ratio = statistics.median(each[name] / each[first] for each in rounds)
        print(f"{name:38} {median:7.1f} {ratio:6.2f}× {len(encode(messages[1])):7}")


if __name__ == "__main__":
    main()
