"""The command ``scheduler``: each command parses its options, calls one function and prints the result.

Exit codes are 0 for success, 1 for a run or result that is wrong or failed, 2 for invalid usage or input or an
unreachable service, and 130 for an interrupt. Slow imports happen inside functions, so that ``--help`` stays fast.
"""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress

from cagematch.problems.errors import CagematchError, first_line
from cagematch.scheduler.cli.application import make_application
from cagematch.scheduler.cli.progress import INTERRUPTED

__all__ = ["main", "make_application"]


def main() -> None:
    """Run the command and exit with its code; only ``--debug`` prints tracebacks."""
    debug = "--debug" in sys.argv
    # The parent process may have closed the descriptors.
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: PTH123, SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: PTH123, SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal's encoding, or a file name, may lack a character
            stream.reconfigure(errors="backslashreplace")
    try:
        make_application()()
    except CagematchError as error:
        _fail(error, str(error), 2, debug=debug)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        sys.exit(0)  # the reader of our output has closed the pipe, as `head` does
    except Exception as error:  # noqa: BLE001 - the last resort
        message, code = _explain(error)
        _fail(error, message, code, debug=debug)
    finally:
        _flush()


def _flush() -> None:
    """Write buffered output, so that a closed pipe does not make Python print an error at exit."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            from cagematch.scheduler.cli.consoles import silence

            silence(stream)


def _fail(error: BaseException, message: str, code: int, *, debug: bool) -> None:
    if debug:
        raise error
    from cagematch.scheduler.cli.consoles import sanitized

    with suppress(BrokenPipeError):
        print(f"scheduler: {sanitized(message)}", file=sys.stderr)
    sys.exit(code)


def _explain(error: Exception) -> tuple[str, int]:
    """Message and exit code for an error of a library; a failing service is not an error of the program."""
    first = first_line(error)
    module = type(error).__module__.partition(".")[0]
    if module == "sqlalchemy":
        return f"the database failed: {first}", 2
    if module in ("kombu", "redis", "amqp"):
        return f"the broker failed: {first}", 2
    return f"unexpected {type(error).__name__}: {first}; `scheduler --debug COMMAND` shows the traceback", 1
