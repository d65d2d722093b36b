"""The entry point of `python -m kbert` and of the installed command `kbert`. No other module imports it."""

import os

from kbert.cli.signals import INTERRUPTED, STOPPED_BY_CTRL_C, is_from_interrupt


def main():
    """Runs a command; Ctrl-C while it starts is one line, whatever is being imported just then."""
    try:
        from kbert.cli import commands

        return commands.main()
    except BaseException as error:
        if not is_from_interrupt(error):
            raise
        os.write(2, f"{STOPPED_BY_CTRL_C}\n".encode())
        os._exit(INTERRUPTED)


if __name__ == "__main__":
    raise SystemExit(main())
