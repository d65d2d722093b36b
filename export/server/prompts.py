"""Which of a model's prompts comes before a text: by its name, or by what a client says of the text.

Reference: sentence-transformers, `SentenceTransformer.encode_query` and `encode_document`.
"""

from typing import NamedTuple

from kbert.config.vectors_config import TASK_PROMPTS, TEXT_TASKS, VectorsConfig, warn_of_written_prompts

from .json_body import shown
from .request import invalid
from .served_model import ServedModel

# What clients of Cohere, Voyage, NVIDIA and Jina call a text -> the task that it is for.
INPUT_TYPES = {name: task for task, names in TASK_PROMPTS.items() for name in names}


class Prompt(NamedTuple):
    """What comes before a text, and its name; None where it has none."""

    name: str | None
    text: str

    def before(self, texts: list[str]) -> list[str]:
        """The texts as the model reads them; a warning, once, where they begin with the prompt already."""
        warn_of_written_prompts(self.text, texts)
        return [self.text + text for text in texts]


NO_PROMPT = Prompt(None, "")


def prompt_for(model: ServedModel, prompt_name: str | None = None, input_type: str | None = None) -> Prompt:
    """The prompt of a request.

    Args:
      model: has `prompts`, and may say which is the default.
      prompt_name: which prompt; None for the default. "query" and "document" are as an `input_type` where the
        model has no prompt of that name.
      input_type: what the texts are. Where a model has no prompts, all are alike; those of a task may have
        none.

    Raises:
      RequestError: the model has no such prompt; or both are given.
    """
    prompts = model.prompts
    if prompt_name is not None and input_type is not None:
        raise invalid("prompt_name and input_type both choose a prompt; send one of them.")
    if prompt_name in TEXT_TASKS and prompt_name not in prompts:
        prompt_name, input_type = None, prompt_name
    if input_type is not None and any(prompts.values()):
        task = INPUT_TYPES.get(input_type.lower())
        if prompts.get(input_type) or (task is None and input_type in prompts):
            return _answered(model, input_type)
        if task is None:
            raise invalid(f"input_type={shown(input_type)}; the model has {_listed(prompts)}.")
        return _task_prompt(model, task)
    name = model.default_prompt_name if prompt_name is None else prompt_name
    if name is not None and name not in (*prompts, *TEXT_TASKS):
        raise invalid(f"prompt_name={shown(name)}; the model has {_listed(prompts)}.")
    return _answered(model, name)


def prompts_of_ranking(model: ServedModel) -> tuple[Prompt, Prompt]:
    """The prompts of a query and of the texts that it ranks: those made for it, otherwise the default."""
    query, document = (_task_prompt(model, task) for task in TEXT_TASKS)
    return query, document


def warn_of_named_prompts(model: ServedModel) -> None:
    """Warns where no prompt stands before texts of requests that name none; ColBERT's are documents."""
    if not model.gives_token_vectors:
        _known(model).warn_of_named_prompts("send input_type or prompt_name with each request")


def _known(model: ServedModel) -> VectorsConfig:
    return VectorsConfig(prompts=model.prompts, default_prompt_name=model.default_prompt_name)


def _task_prompt(model: ServedModel, task: str) -> Prompt:
    """The prompt that `embed` and `rank` put before texts of a task."""
    name = _known(model).prompt_name(task)
    return _answered(model, model.default_prompt_name if name is None else name)


def _answered(model: ServedModel, name: str | None) -> Prompt:
    """The prompt of a name, if the model answers texts behind it.

    Raises:
      RequestError: its vectors leave out as many tokens as its default prompt has, so that a text without
        one would lose some of its own. An empty prompt by name has its own signature.
    """
    prompt = Prompt(name, model.prompts.get(name or "", ""))
    needs_own = not model.counts_prompts and model.prompts.get(model.default_prompt_name or "")
    if needs_own and not prompt.text and model.signature_behind(name) == model.embedding_signature:
        raise invalid(f"{model.name} answers no text without a prompt; it has {_listed(model.prompts)}.")
    return prompt


def _listed(prompts) -> str:
    return f"the prompts {', '.join(prompts)}" if prompts else "no prompts"
