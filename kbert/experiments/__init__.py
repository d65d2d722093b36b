"""The work of the scripts as functions: pretraining, fine-tuning, evaluation and prediction.

The scripts call these functions with their flags; the functions call kbert.training and kbert.inference. They
check files and settings as far as possible before they load TensorFlow.
"""

import sys

from kbert.late_modules import late_modules

__getattr__ = late_modules(__name__)


def show_lines():
    """Where a person types Python, in a notebook too, shows the lines that the commands show."""
    if hasattr(sys, "ps1"):
        from kbert.cli.script import show_own_lines_in_session

        show_own_lines_in_session()
