"""A worker drops invalid messages, logs each of them, and continues."""

from __future__ import annotations

import base64
import json
import pickle
import signal
import uuid
from typing import Any

import pytest
import redis
from commanding import make_scheduler, until

QUEUE = "mip"
TASK = "cagematch.solve_shard"


def envelope(body: bytes, *, kind: str = "application/json", task: str = TASK, **headers: Any) -> bytes:
    """A message as Celery's client writes it to Redis."""
    number = uuid.uuid4().hex
    return json.dumps(
        {
            "body": base64.b64encode(body).decode(),
            "content-encoding": "utf-8" if kind == "application/json" else "binary",
            "content-type": kind,
            "headers": {"lang": "py", "task": task, "id": number, "root_id": number, **headers},
            "properties": {
                "correlation_id": number,
                "delivery_mode": 2,
                "delivery_info": {"exchange": "", "routing_key": QUEUE},
                "priority": 0,
                "body_encoding": "base64",
                "delivery_tag": number,
            },
        }
    ).encode()


def call(*arguments: Any, **named: Any) -> bytes:
    return envelope(json.dumps([arguments, named, {}]).encode())


def altered(**parts: Any) -> bytes:
    """A valid message with other fields in its envelope."""
    return json.dumps(json.loads(call(1)) | parts).encode()


class Owned:
    """An object with code that unpickling would run."""

    def __reduce__(self):
        return print, ("OWNED",)


WRONG_ARGUMENTS = [call(*found) for found in ([], [0], [-1], ["1"], [1.0], [True], [None], [[1]], [{"id": 1}], [1, 2])]
WRONG_ARGUMENTS += [call(2**63), call(10**4000), call("x" * 10**6), call(shard_id=1)]
WRONG_BODIES = [envelope(body) for body in (b"[[1], {", b"\xff", b"5", b'"abc"', b"null", b"[5, {}, {}]", b"[[1], {}]")]
WRONG_BODIES += [
    envelope(pickle.dumps([(1,), {}, {}]), kind="application/x-python-serialize"),
    envelope(pickle.dumps(Owned()), kind="application/x-python-serialize"),
    envelope(b"!!python/object/apply:print [OWNED]", kind="application/x-yaml"),
    envelope(b'[[1], {}, {"callbacks": [{"task": "celery.chain", "args": [], "options": {}}]}]'),
]
WRONG_HEADERS: dict[str, Any] = {"task": "os.system", "id": "1\n2", "eta": "never", "expires": [1], "timelimit": "x"}
WRONG_HEADERS_EACH = [envelope(b"[[1], {}, {}]", **{name: value}) for name, value in WRONG_HEADERS.items()]
WRONG_HEADERS_EACH += [envelope(b"[[1], {}, {}]", task=None), envelope(b"[[1], {}, {}]", id=None)]
TAG = {"delivery_tag": "a"}
NO_ENVELOPES = [b"garbage", b"5", b"{}", b"\xff", b"null", b"[" * 10**5]
NO_ENVELOPES += [altered(headers=5), altered(body=5), altered(properties=5), altered(properties=TAG)]
NO_ENVELOPES += [altered(**{"content-type": 5}), altered(properties={"delivery_tag": [1], "delivery_info": {}})]
NO_ENVELOPES += [altered(properties=TAG | {"delivery_info": {"exchange": "", "routing_key": key}}) for key in (5, "no")]
POISON = WRONG_ARGUMENTS + WRONG_BODIES + WRONG_HEADERS_EACH + NO_ENVELOPES


@pytest.mark.smoke
def test_invalid_messages_are_dropped_and_logged(tmp_path, postgres_url, redis_url):
    folder = tmp_path / "shared"
    folder.mkdir()
    command = make_scheduler(folder, CAGEMATCH_DATABASE_URL=postgres_url, CAGEMATCH_BROKER_URL=redis_url)
    broker = redis.Redis.from_url(redis_url)
    try:
        command("db", "upgrade")
        broker.lpush(QUEUE, *POISON)
        worker = command.start("worker", "--pool", QUEUE, "--slots", "1")
        until(lambda: not broker.exists(QUEUE))

        command("submit", "hard", "-s", "scip", "--limit", 1, "--wait")

        assert broker.hlen("unacked") == 0
        assert worker.poll() is None
        worker.send_signal(signal.SIGTERM)
        log = "".join(worker.communicate(timeout=20))
        assert worker.returncode == 0
        assert log.count("message dropped: found ") == len(POISON), log
        assert "Traceback" not in log
        assert "OWNED" not in log
    finally:
        command.close()
