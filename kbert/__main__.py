"""`python -m kbert`, and what the installed command `kbert` starts with. Nothing else imports this."""

import sys

from kbert import interrupt

interrupt.end_at_interrupt()  # before all other imports

# ruff: noqa: E402

from kbert.commands import main

if __name__ == "__main__":
    sys.exit(main())
