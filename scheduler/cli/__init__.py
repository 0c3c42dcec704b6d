"""The command ``scheduler``: thin commands that parse, call one thing, and say what happened.

Exit codes: 0 done; 1 finished, but something is wrong or failed; 2 bad usage, input or service; 130 interrupted.
Imports that take long happen inside the commands, so that help answers at once.
"""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress

from cagematch.problems.errors import CagematchError, first_line
from cagematch.scheduler.cli.application import INTERRUPTED, app

__all__ = ["app", "main"]


def main() -> None:
    """Run the command; no traceback reaches a user who did not ask for it with ``--debug``."""
    from cagematch.scheduler.cli import batches, checking, results, services, submitting  # noqa: F401 - each registers its commands

    debug = "--debug" in sys.argv
    # Whoever started us may have closed the descriptors.
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: PTH123, SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: PTH123, SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # not every terminal, and no file name, has all of Unicode
            stream.reconfigure(errors="backslashreplace")
    try:
        app()
    except CagematchError as error:
        _fail(error, str(error), 2, debug=debug)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        sys.exit(0)  # whoever read our output has enough
    except Exception as error:  # noqa: BLE001 - the last resort
        message, code = _explain(error)
        _fail(error, message, code, debug=debug)
    finally:
        _flush()


def _flush() -> None:
    """Write out what is buffered; a reader that has gone away is none of Python's business at exit."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            from cagematch.scheduler.cli.consoles import silence

            silence(stream)


def _fail(error: BaseException, message: str, code: int, *, debug: bool) -> None:
    if debug:
        raise error
    from cagematch.scheduler.cli.consoles import harmless

    with suppress(BrokenPipeError):
        print(f"scheduler: {harmless(message)}", file=sys.stderr)
    sys.exit(code)


def _explain(error: Exception) -> tuple[str, int]:
    """Words for errors of the libraries below: a service that does not answer is no fault of the program."""
    first = first_line(error)
    module = type(error).__module__.partition(".")[0]
    if module == "sqlalchemy":
        return f"the database failed: {first}", 2
    if module in ("kombu", "redis", "amqp"):
        return f"the broker failed: {first}", 2
    return f"unexpected {type(error).__name__}: {first} (--debug before the command shows more)", 1
