"""The fields of requests about texts, as OpenAI's, Hugging Face's, Cohere's, Jina's and Voyage's clients send
them.

References: https://platform.openai.com/docs/api-reference/embeddings,
https://huggingface.github.io/text-embeddings-inference, https://docs.cohere.com/reference/rerank,
https://docs.cohere.com/v1/reference/rerank, https://api.jina.ai/redoc, https://docs.voyageai.com/reference
"""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, model_validator

from ..json_body import shown
from ..prompts import INPUT_TYPES
from ..request import invalid
from ..request_fields import FirstFault, Flag, RequestFields, TextOrTexts, Texts
from ..served_model import ServedModel
from .messages import check_model

# Cohere's and NVIDIA's words, and those of transformers' tokenizers.
_TRUNCATE = {"END": True, "NONE": False, "longest_first": True, "do_not_truncate": False}
BINARY = ("binary", "ubinary")  # forms of vectors in bits
# Who asks, what only schedulers, proxies (LiteLLM) and logs read.
_CLIENT = ("user", "priority", "request_id", "drop_params")


def _no_ids(value):
    first = value[0] if isinstance(value, list) and value else None
    if isinstance(first[0] if isinstance(first, list) and first else first, int):
        raise ValueError(
            "input: received token ids; expected texts. Clients number tokens by OpenAI's tokenizers, so "
            "here the ids would stand for other words. With LangChain set check_embedding_ctx_length=False."
        )
    return value


def _as_task(name):
    return INPUT_TYPES.get(name.lower(), name) if isinstance(name, str) else name


def _as_bool(truncate):
    return _TRUNCATE.get(truncate, truncate) if isinstance(truncate, str) else truncate


Truncate = Annotated[
    bool,
    BeforeValidator(_as_bool),
    Field(
        description='true, "END" or "longest_first" (texts are cut at their end), false, "NONE" or '
        '"do_not_truncate" (long texts are refused)'
    ),
]
Direction = Annotated[str, Field(description='"right": texts are cut at their end')]
Prompt = Annotated[str | None, Field(description="the name of one of the model's prompts")]
InputType = Annotated[
    str | None, Field(description='what the texts are, such as "query" or "document": chooses a prompt')
]
Model = Annotated[str | None, Field(description="the name of the model")]
TextTask = Annotated[
    Literal["query", "document"] | None,
    BeforeValidator(_as_task),
    Field(description='"query" or "document"'),
]
Count = Annotated[int | None, Field(ge=1, description="a number from 1 on")]


class _TextFields(RequestFields):
    """What may be said of texts that a model reads."""

    synonyms: ClassVar[dict[str, str]] = {
        "truncation": "truncate",
        "truncation_side": "truncation_direction",
    }
    harmless: ClassVar[tuple[str, ...]] = _CLIENT

    model: Model = None
    truncate: Truncate = True
    truncation_direction: Direction = "right"
    max_length: Annotated[
        int | None, Field(ge=-1, description="a number of tokens, or -1 for the model's own")
    ] = None

    def require_answered_by(self, served: ServedModel) -> None:
        """Raises `RequestError` where another model is asked for, or one that cuts texts earlier."""
        check_model(served, self.model)
        if self.max_length not in (None, -1) and self.max_length < served.most_tokens:
            raise invalid(
                f"Texts are to be cut at {self.max_length} tokens, but this server cuts them only where the "
                "model does (GET /info says where); shorten them, or leave the number out."
            )

    @model_validator(mode="after")
    def _check_direction(self):
        harmless = ("right",) if self.truncate else ("right", "left")  # nothing is cut then
        if self.truncation_direction.lower() not in harmless:
            raise ValueError(
                'truncation_direction: this server cuts texts at the "right" only, not '
                f"{self.truncation_direction!r}."
            )
        return self


class _PipelineFields(_TextFields):
    """The same in the form of Hugging Face's pipelines."""

    objects: ClassVar[tuple[str, ...]] = ("parameters",)
    # Of Hugging Face's old API: whether to wait, whether to cache. Of its tokenizers: padding is not read.
    harmless = (*_CLIENT, "options", "padding")


class VectorFields(_TextFields):
    """What may be said of vectors beside the texts."""

    synonyms = _TextFields.synonyms | {
        "normalized": "normalize",
        "output_dimension": "dimensions",
        "task": "input_type",
    }

    dimensions: Annotated[
        int | None, Field(ge=1, description="a number from 1 to the width of the model's vectors")
    ] = None
    normalize: Annotated[bool | None, Field(description="true or false")] = None
    prompt_name: Prompt = None
    input_type: InputType = None
    late_chunking: Annotated[Literal[False], Field(description="false: each text has a vector by itself")] = (
        False
    )
    add_special_tokens: Annotated[Literal[True], Field(description="true: the model reads them")] = True


class EmbeddingsFields(VectorFields):
    """`/v1/embeddings`."""

    synonyms = VectorFields.synonyms | {"embedding_type": "encoding_format", "texts": "input"}

    input: Annotated[TextOrTexts, BeforeValidator(_no_ids)]
    encoding_format: Annotated[
        Literal["float", "base64", "binary", "ubinary"],
        Field(description='"float", "base64", "binary" or "ubinary"'),
    ] = "float"
    output_dtype: Annotated[
        Literal["float", "binary", "ubinary"],
        Field(description='"float", "binary" or "ubinary": int8 and uint8 need the ranges of other vectors'),
    ] = "float"
    truncate_prompt_tokens: Annotated[
        int | None, Field(ge=-1, description="a number of tokens from 2 on, or -1 for the model's own")
    ] = None

    @model_validator(mode="after")
    def _check(self):
        if self.truncate_prompt_tokens in (0, 1):
            raise ValueError(
                f"truncate_prompt_tokens: received {self.truncate_prompt_tokens}; expected a number greater "
                "than or equal to 2: the special tokens count."
            )
        both = {"encoding_format", "output_dtype"} <= self.model_fields_set
        if both and self.encoding_format in BINARY and self.output_dtype != self.encoding_format:
            raise ValueError(
                f"encoding_format={self.encoding_format} and output_dtype={self.output_dtype} both say how "
                "numbers are written; send one of them."
            )
        return self


class EmbedFields(VectorFields):
    """`/embed`."""

    objects = _PipelineFields.objects
    harmless = _PipelineFields.harmless

    inputs: TextOrTexts
    encoding_format: Annotated[
        Literal["float"], Field(description='"float"; /v1/embeddings has other forms')
    ] = "float"


class EmbedAllFields(_PipelineFields):
    """`/embed_all`."""

    synonyms = _TextFields.synonyms | {"input_type": "prompt_name", "task": "prompt_name"}

    inputs: TextOrTexts
    prompt_name: TextTask = None


class EmbedSparseFields(_PipelineFields):
    """`/embed_sparse`."""

    synonyms = _TextFields.synonyms | {"task": "input_type"}

    inputs: TextOrTexts
    prompt_name: Prompt = None
    input_type: InputType = None


class SimilarityFields(_PipelineFields):
    """`/similarity`: `{"inputs": {"source_sentence": ..., "sentences": [...]}}`."""

    objects = ("inputs", "parameters")

    source_sentence: Annotated[str, Field(description="a text")]
    sentences: Annotated[Texts, Field(description="a list of texts")]
    prompt_name: Prompt = None


class RerankFields(_TextFields):
    """`/rerank`, `/v1/rerank`, `/v2/rerank`: `texts` as Hugging Face's clients, `documents` as Cohere's."""

    synonyms = _TextFields.synonyms | {
        "top_k": "top_n",
        "return_documents": "return_text",
        "truncate_prompt_tokens": "max_length",
    }
    harmless = (*_CLIENT, "api_version")  # Cohere's client for SageMaker sends it with each request

    query: Annotated[str, Field(description="a text")]
    texts: Annotated[Texts | None, Field(description="a list of texts")] = None
    documents: Annotated[
        Annotated[list[str | dict[str, Any]], FirstFault()] | None,
        Field(description='a list of texts, or of objects with "text"'),
    ] = None
    top_n: Count = None
    raw_scores: Flag = False
    return_text: Flag = False
    rank_fields: Annotated[
        list[str],
        Field(
            min_length=1,
            max_length=1,
            description="a list of one field of the documents; join several into one text yourself",
        ),
    ] = ["text"]
    max_tokens_per_doc: Count = None
    max_chunks_per_doc: Annotated[
        Literal[1], Field(description="1: a document is ranked as a whole, cut where it is too long")
    ] = 1

    @model_validator(mode="after")
    def _check(self):
        if (self.texts is None) == (self.documents is None):
            raise ValueError("expected either texts or documents.")
        return self


class PredictFields(_PipelineFields):
    """`/predict`."""

    inputs: Annotated[
        Any,
        Field(description="a text, a list of the two texts of a pair, or a list of such lists for several"),
    ]
    raw_scores: Flag = False
    top_k: Count = None
    return_all_scores: Annotated[
        Literal[True], Field(description="true: all labels are answered; top_k gives fewer")
    ] = True
    function_to_apply: Annotated[
        Literal["none", "softmax", "sigmoid"] | None,
        Field(description='"none" for raw scores, or what the model itself applies: "softmax" or "sigmoid"'),
    ] = None

    @model_validator(mode="after")
    def _check(self):
        asks_raw = self.function_to_apply == "none"
        are_both_there = self.function_to_apply and "raw_scores" in self.model_fields_set
        if are_both_there and self.raw_scores != asks_raw:
            raise ValueError(
                f"raw_scores={shown(self.raw_scores)} and function_to_apply={shown(self.function_to_apply)}, "
                f"which {'asks' if asks_raw else 'does not ask'} for raw scores; send one of them."
            )
        return self


class TokenizeFields(RequestFields):
    """`/tokenize`."""

    harmless: ClassVar[tuple[str, ...]] = _CLIENT

    inputs: TextOrTexts
    model: Model = None
    add_special_tokens: Flag = True
    prompt_name: Prompt = None
