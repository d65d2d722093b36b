"""The quickstart: the commands of a recipe from text to exports, then what they made, measured and shown.

The recipes and their text lie in configs/quickstart. Like the scripts, it may use every other package,
including the exporters. Only its script imports it.
"""

from kbert.late_modules import late_modules

__getattr__ = late_modules(__name__)
