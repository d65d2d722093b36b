"""A worker that trains nothing: its loss is 10 less the step. Run as a script by the tests."""

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks" / "peers"))

from turns import Turns  # noqa: E402

turns = Turns()
print("what libraries print when they start")  # must not be taken for an answer
step, last = 0, turns.settings.get("last_step")
turns.ready(threads=turns.settings["threads"])
while step != last and turns.next_step():
    if step == turns.settings.get("fails_at"):
        raise RuntimeError("the worker's own complaint")
    time.sleep(0.002)
    turns.report(loss=10.0 - step)
    step += 1
if step == last:
    turns.finish(accuracy=0.5)
