"""What every way to make vectors of texts says: what stands before a text, and how vectors are compared."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kbert.checks import check_values, require
from kbert.cli.warn_once import warn_once
from kbert.config.changed_settings import changed_settings
from kbert.files.json_values import shown

TEXT_TASKS = ("query", "document")  # what a text is asked about as; for each of them a prompt of that name
# The names of each task's prompts: the first whose prompt is not empty stands before a text.
TASK_PROMPTS = {
    "query": ("query", "search_query", "retrieval.query"),
    "document": ("document", "passage", "corpus", "search_document", "retrieval.passage"),
}
BY_HAND = "put the one that says what a text is before it yourself; kbert.json has them"
_IN_PYTHON = 'ask in Python, by rank or kbert.load(...).embed(texts, task="document") or prompt_name'


@dataclass(frozen=True, kw_only=True)
class VectorsConfig:
    """What all ways to make vectors of texts have.

    `prompts` may stand before a text, by name, so that the model knows what it is, and `default_prompt_name`
    does where none is named. `similarity_fn_name` is how the vectors are meant to be compared.

    Raises:
      ValueError: for prompts that are no texts, and a default that is none of them.
    """

    prompts: Mapping[str, str] = field(default_factory=dict, hash=False)
    default_prompt_name: str | None = None
    similarity_fn_name: str = "cosine"

    def __post_init__(self):
        check_values(self)
        require(
            all(isinstance(prompt, str) for prompt in self.prompts.values()),
            f"prompts={shown(self.prompts)} has prompts that are no texts; expected a text for each name.",
        )
        require(
            self.default_prompt_name in (None, *self.prompts, *TEXT_TASKS),
            f"default_prompt_name={shown(self.default_prompt_name)} is not among the prompts "
            f"({', '.join(self.prompts) or 'there are none'}).",
        )

    @property
    def changes(self) -> dict:
        """What it says, ready for JSON; only what is not the default."""
        return changed_settings(self)

    def with_prompts(self, other: "VectorsConfig | None") -> "VectorsConfig":
        """The same with the prompts of another way to make vectors, where it has none."""
        if self.prompts or other is None:
            return self
        names = ["prompts", "default_prompt_name"]
        if tokens := getattr(other, "prompt_tokens", ()):  # of late interaction alone
            names.append("prompt_tokens")
            if not hasattr(self, "prompt_tokens"):
                warn_once(
                    f"The checkpoint's prompts are tokens ({shown(list(tokens))}), which models of a vector "
                    "do not have: none stands before a text."
                )
                return self
        return dataclasses.replace(self, **{name: getattr(other, name) for name in names})

    def prompt(self, name: str | None = None) -> str:
        """What stands before a text: the prompt of this name, or the default one; "" for none.

        Raises:
          ValueError: for a name that is not among the prompts.
        """
        name = self.default_prompt_name if name is None else name
        if name is None:
            return ""
        if name not in (*self.prompts, *TEXT_TASKS):
            raise ValueError(
                f"prompt_name={shown(name)} is not known; the model has "
                f"{', '.join(map(repr, self.prompts)) or 'no prompts'}."
            )
        return self.prompts.get(name, "")

    def prompt_name(self, task: str | None, name: str | None = None) -> str | None:
        """The name of the prompt before texts of a task; None for the default one.

        Args:
          task: "query", "document" or None. A model that has prompts for neither takes its default for both.
            A warning says so where a text is read without a prompt, or behind the default, and one of another
            name may be meant for it, such as "s2p_query".
          name: of a prompt, if the caller names one. "query" and "document" may be named of every model: they
            are the tasks where it has no prompts of these names.

        Raises:
          ValueError: for another task, and where both are given.

        Source: sentence-transformers, `SentenceTransformer.encode_query` and `encode_document`; it adds an
        empty prompt of both names to every folder. Of the names in `TASK_PROMPTS` it knows "query",
        "document", "passage" and "corpus"; the others are those of Nomic's, Jina's and Cohere's models.
        """
        require(
            task in (None, *TEXT_TASKS),
            f"task={shown(task)} is not known; choose one of {', '.join(TEXT_TASKS)}.",
        )
        require(
            task is None or name is None,
            f"task={shown(task)} and prompt_name={shown(name)} both choose a prompt; give one of them.",
        )
        if task is None:
            if name is None or name not in TEXT_TASKS or name in self.prompts or not self.prompts:
                return name
            task = name
        chosen = self._choose(task)
        if chosen is None or not self.prompt(chosen):
            self._warn_of_other_names(task)
        return chosen

    @property
    def text_prompts(self) -> dict[str, str]:
        """What stands before a text, by each name that it may be asked by: a task without a prompt has an
        empty one where the other has its own."""
        chosen = filter(None, map(self._choose, TEXT_TASKS))
        return {**self.prompts, **{name: "" for name in chosen if name not in self.prompts}}

    def skipped_tokens(self, name: str | None = None) -> int:
        """How many tokens of a text behind this prompt, or the default one, do not count."""
        return 0

    @property
    def prompts_of_tasks(self) -> dict[str, str]:
        """What stands before a query, a document, and any other text ("text")."""
        return {task: self.prompt(self._choose(task)) for task in TEXT_TASKS} | {"text": self.prompt()}

    def _choose(self, task: str) -> str | None:
        """The name of the prompt of a task, as `prompt_name` gives it."""
        known = [own for names in TASK_PROMPTS.values() for own in names if own in self.prompts]
        own_names = [own for own in TASK_PROMPTS[task] if own in known]
        # The first that is not empty, otherwise the first.
        return max(own_names, key=lambda own: bool(self.prompts[own]), default=task if known else None)

    def _warn_of_other_names(self, task: str):
        """Warns once, of prompts that may be meant for a task: by their names, or where all have others and
        none is the default."""
        known = {own for names in TASK_PROMPTS.values() for own in names}
        others = [name for name, prompt in self.prompts.items() if prompt and name not in known]
        alike = [name for name in others if any(own in name.lower() for own in TASK_PROMPTS[task])]
        foreign = known.difference(TASK_PROMPTS[task])
        others = [name for name in others if not any(own in name.lower() for own in foreign)]
        default = self.prompt(self._choose(task)) and self.default_prompt_name
        candidates = alike or (not default and not any(map(self.prompts.get, known)) and others)
        if candidates and default not in alike:
            before = f"behind the default, {shown(default)}" if default else "without a prompt"
            warn_once(
                f"The model has the prompts {shown(candidates)}, but none for a {task}: each {task} is read "
                f"{before}. Name one by prompt_name, or rename them where the model keeps its prompts."
            )

    @property
    def named_prompts(self) -> list[str]:
        """The names of prompts that stand before a text where they are asked for; none beside a default."""
        return [] if self.prompt() else [name for name, prompt in self.prompts.items() if prompt]

    def warn_of_named_prompts(self, way: str = _IN_PYTHON):
        """Warns once, of `named_prompts`, where texts are read and none can be named; `way`: what to do."""
        if self.named_prompts:
            warn_once(
                f"No prompt stands before the texts, but the model has {', '.join(self.named_prompts)}: for "
                f"the vectors that a search compares, and how similar they are, {way}."
            )

    @property
    def prompt_settings(self) -> dict:
        """The prompts and the name of the default one, ready for JSON; nothing where there are none."""
        if not self.prompts:
            return {}
        return {"prompts": dict(self.prompts), "default_prompt_name": self.default_prompt_name}


def warn_of_written_prompts(prompt: str, texts: Sequence[str]):
    """Warns once, of each prompt, where it stands before most texts and most begin with it already."""
    written = prompt.strip()
    if written and 2 * sum(text.startswith(written) for text in texts) > len(texts):
        warn_once(
            f"The model's prompt {shown(prompt)} is put before texts most of which begin with it already: "
            "the model reads it twice. Leave it out of the texts."
        )
