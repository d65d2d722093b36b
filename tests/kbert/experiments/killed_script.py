"""A script that kills itself at a chosen moment: `python -m ...killed_script MOMENT MODULE ARGUMENTS`.

Moments: `step:7`, when the seventh training step is taken, before anything of it is logged or saved;
`saving:6`, when the weights of that step's checkpoint are written, and nothing else of it; and
`writing:page.html`, when half of the text of a file of that name is on disk.
"""

import os
import runpy
import signal
import sys
from pathlib import Path


def die_at_step(number: str):
    from kbert.training.training_state import TrainingState

    advance = TrainingState.advance

    def advance_and_die(self, steps, sums):
        advance(self, steps, sums)
        if self.step >= int(number):
            _die()

    TrainingState.advance = advance_and_die


def die_while_saving(step: str):
    from kbert.runs import checkpoint

    bring_to_disk, name = checkpoint._bring_to_disk, checkpoint.step_folder("", int(step)).name

    def bring_to_disk_or_die(path):
        if name in str(path):
            _die()
        bring_to_disk(path)

    checkpoint._bring_to_disk = bring_to_disk_or_die


def die_while_writing(name: str):
    write_text = Path.write_text

    def write_and_die(self, text, **options):
        if not self.name.startswith(name):  # a file that is not whole yet has a longer name
            return write_text(self, text, **options)
        write_text(self, text[: len(text) // 2], **options)
        _die()

    Path.write_text = write_and_die


def _die():
    os.kill(os.getpid(), signal.SIGKILL)


MOMENTS = {"step": die_at_step, "saving": die_while_saving, "writing": die_while_writing}

if __name__ == "__main__":
    _, moment, module, *arguments = sys.argv
    kind, _, place = moment.partition(":")
    MOMENTS[kind](place)
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
