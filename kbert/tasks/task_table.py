"""A table of tasks that imports each class only when it is used. Nothing heavy is imported before."""

import importlib
from collections import UserDict
from typing import Any

from kbert.config.plain_values import GONE, to_dict
from kbert.files.near_names import did_you_mean


class TaskTable(UserDict):
    """A mapping from names to task classes. A class is imported when it is first used.

    Listing the names is fast, whereas importing a class imports TensorFlow too. Add your own task as to any
    dict: `TASKS[MyTask.name] = MyTask`.

    Args:
      classes: name -> ".module.Class" (from this package on) or "module.Class", or the class itself.
    """

    def __getitem__(self, name: str) -> Any:
        task_class = self.data[name]
        if isinstance(task_class, str):
            module, _, class_name = task_class.rpartition(".")
            task_class = self.data[name] = getattr(importlib.import_module(module, __package__), class_name)
        return task_class

    def require(self, name: str) -> str:
        """Returns the name if there is a task with this name.

        Raises:
          ValueError: otherwise; the message lists the known names and suggests a similar one.
        """
        if name not in self:
            hint = did_you_mean(name, self, nearness=0.6)
            raise ValueError(f"task={name!r} is not known.{hint} Tasks: {', '.join(self)}.")
        return name

    def to_record(self, task, max_seq_length: int | None = None) -> dict:
        """The entries of run.json, and of an export's kbert.json, from which `recorded` makes a task again.

        Args:
          task: the task.
          max_seq_length: of an export, whose readers know no defaults that follow it, see `settings_at`.
        """
        config = task.get_config()
        if max_seq_length:
            config |= to_dict(task.settings_at(task.settings, max_seq_length))
        return {"task": task.name, "task_config": config}

    def recorded(self, details: dict):
        """The task of a run, made from its run.json.

        Args:
          details: the content of run.json, with `task` and `task_config`.

        Raises:
          ValueError: when the task is not known, or `task_config` does not match its constructor.
        """
        task_class = self[self.require(details["task"])]
        config = {name: value for name, value in details["task_config"].items() if name not in GONE}
        try:
            return task_class(**config)
        except TypeError as error:
            raise ValueError(
                f"task_config={details['task_config']!r} does not match the task {details['task']}: {error}."
            ) from None

    def find_by_parts(self, names: set[str]) -> str:
        """The name of the first task whose model has exactly these parts.

        Raises:
          ValueError: when there is no such task.
        """
        for name in self:
            if names and {part.name for part in self[name].from_labels(("0", "1")).parts} == names:
                return name
        raise ValueError(f"no task has the parts {', '.join(sorted(names))}.")

    def find_by_vectors(self, config_class: type) -> str:
        """The name of the first task that makes vectors of texts by this config, such as `PoolingConfig`.

        Raises:
          ValueError: when there is no such task.
        """
        for name in self:
            if self[name].vectors_class is config_class:
                return name
        raise ValueError(f"no task makes vectors of texts by {config_class.__name__}.")

    def with_problem_type(self, name: str, problem_type: str | None) -> str:
        """The task with the same class in Hugging Face's library as task `name`, and this `problem_type`.

        Raises:
          ValueError: when there is no such task.
        """
        known = self.find_by_architecture(self[name].checkpoint.architecture, problem_type)
        if known is None:
            raise ValueError(f"problem_type={problem_type!r} is not known for {name}.")
        return known

    def find_by_architecture(self, architecture: str | None, problem_type: str | None = None) -> str | None:
        """The name of the first task with this Hugging Face class (and problem type), or None."""
        for name in self:
            kind = self[name].checkpoint
            if (kind.architecture, kind.problem_type) == (architecture, problem_type):
                return name
        return None
