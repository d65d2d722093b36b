"""`python -m kbert`: the command `kbert`, also where it is not installed."""

import sys

from kbert.commands import main

if __name__ == "__main__":
    sys.exit(main())
