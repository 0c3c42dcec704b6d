"""The command ``scheduler``: thin commands that parse, call one thing, and say what happened.

Exit codes: 0 done; 1 finished, but something is wrong or failed; 2 bad usage, input or service.
Imports that take long happen inside the commands, so that help answers at once.
"""

from __future__ import annotations

import sys

from problems.errors import CagematchError
from scheduler.cli.application import app

__all__ = ["app", "main"]


def main() -> None:
    """Run the command; no traceback reaches a user who did not ask for it with ``--debug``."""
    from scheduler.cli import batches, results, services  # noqa: F401 - each registers its commands

    debug = "--debug" in sys.argv
    try:
        app()
    except CagematchError as error:
        _fail(error, str(error), 2, debug=debug)
    except BrokenPipeError:
        sys.stderr.close()  # whoever read our output has enough
        sys.exit(0)
    except Exception as error:  # noqa: BLE001 - the last resort
        message, code = _explain(error)
        _fail(error, message, code, debug=debug)


def _fail(error: BaseException, message: str, code: int, *, debug: bool) -> None:
    if debug:
        raise error
    print(f"scheduler: {message}", file=sys.stderr)
    sys.exit(code)


def _explain(error: Exception) -> tuple[str, int]:
    """Words for errors of the libraries below: a service that does not answer is no fault of the program."""
    first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    module = type(error).__module__.partition(".")[0]
    if module == "sqlalchemy":
        return f"the database failed: {first}", 2
    if module in ("kombu", "redis", "amqp"):
        return f"the broker failed: {first}", 2
    return f"unexpected {type(error).__name__}: {first} (--debug before the command shows more)", 1
