"""The entry point of `python -m kbert` and of the installed command `kbert`. No other module imports it."""

import sys

from kbert import interrupt

interrupt.end_at_interrupt()  # before all other imports

# ruff: noqa: E402

from kbert.commands import main

if __name__ == "__main__":
    sys.exit(main())
