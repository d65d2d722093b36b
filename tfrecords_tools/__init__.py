"""Raw text to vocabulary and TFRecords."""

from kbert import interrupt

# The first of this project that `python -m` imports, long before the script's own flags.
if interrupt.is_script_starting():
    interrupt.end_at_interrupt()
