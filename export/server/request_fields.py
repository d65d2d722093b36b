"""The fields of a request: each is followed, known to change no answer, or refused by its name."""

from typing import Annotated, Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, FailFast, Field, ValidationError

from kbert.files.near_names import nearest_name

from .json_body import parse_object, shown
from .request import invalid


class FirstFault(FailFast):
    """Of a list, only its first fault is told; and a type with it may stand in a union."""

    __hash__ = object.__hash__


Texts = Annotated[list[str], FirstFault()]
TextOrTexts = Annotated[str | Texts, Field(description="a text or a list of texts")]
Flag = Annotated[bool, Field(description="true or false")]
Object = Annotated[dict[str, Any], Field(description="an object")]
SignatureName = Annotated[str, Field(description="the name of a signature")]
_MAX_FAULTS = 4


class RequestFields(BaseModel):
    """What the body of a path may hold. The description of a field says what is expected of it, in the
    reference of paths and in errors. `null` is as left out, and no value is converted: "5" is no number.

    Attributes:
      synonyms: other servers' names of a field -> the field.
      harmless: names that clients send and that change no answer.
      objects: names of objects whose keys are fields too, such as the `parameters` of Hugging Face's clients.
    """

    model_config = ConfigDict(strict=True)
    synonyms: ClassVar[dict[str, str]] = {}
    harmless: ClassVar[tuple[str, ...]] = ()
    objects: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def read(cls, body: bytes) -> Self:
        """The fields of a body.

        Raises:
          RequestError: it is no JSON object, or as for `of`.
        """
        return cls.of(parse_object(body))

    @classmethod
    def of(cls, document: dict) -> Self:
        """The fields of an object.

        Raises:
          RequestError: a field is unknown, missing, not what it should be, or there under two names.
        """
        named, sent = cls._named(document)
        unknown = [name for name in named if name not in cls.model_fields]
        faults = [cls._unknown(name) for name in unknown[:_MAX_FAULTS]]
        try:
            fields = cls.model_validate(named)
        except ValidationError as error:
            faults += cls._faults(error, sent)
        if faults:
            raise invalid("; ".join(faults[:_MAX_FAULTS]))
        return fields

    @classmethod
    def known(cls) -> list[str]:
        """All names that may be sent."""
        return [*cls.model_fields, *cls.synonyms, *cls.harmless, *cls.objects]

    @classmethod
    def described(cls) -> dict[str, Any]:
        """Arguments of `FastAPI.post` for the reference of paths."""
        content = {"application/json": {"schema": cls.model_json_schema()}}
        return {"openapi_extra": {"requestBody": {"required": True, "content": content}}}

    @classmethod
    def _named(cls, document: dict) -> tuple[dict, dict]:
        """(field -> value, and what is unknown; field -> its name as it was sent), without `null` and what is
        harmless."""
        named: dict[str, Any] = {}
        sent: dict[str, str] = {}
        for name, value in cls._flat(document):
            field = cls.synonyms.get(name, name)
            if value is None or name in cls.harmless:
                continue
            if field in named and named[field] != value:
                raise invalid(f"{name}: {field} is there too, with another value; send one of them.")
            named[field], sent[field] = value, name
        return named, sent

    @classmethod
    def _flat(cls, document: dict):
        for name, value in document.items():
            if name not in cls.objects or value is None:
                yield name, value
            elif isinstance(value, dict):
                yield from value.items()
            else:
                raise invalid(f"{name}: received {shown(value)}; expected an object.")

    @classmethod
    def _faults(cls, error: ValidationError, sent: dict) -> list[str]:
        """A sentence for each field that is wrong."""
        sentences: dict[str, str] = {}
        # Of a text or a list of texts both are told: what goes deeper knows more.
        for fault in sorted(error.errors(include_url=False), key=lambda fault: -len(fault["loc"])):
            name = str(fault["loc"][0]) if fault["loc"] else ""
            sentences.setdefault(name, cls._sentence(name, sent.get(name, name), fault))
        return [*sentences.values()]

    @classmethod
    def _sentence(cls, name: str, sent: str, fault) -> str:
        if fault["type"] == "value_error":
            return str(fault["ctx"]["error"])
        expected = cls.model_fields[name].description
        if fault["type"] == "missing":
            return f"{name} is missing; expected {expected}"
        position = "".join(f"[{part}]" for part in fault["loc"][1:] if isinstance(part, int))
        return f"{sent}{position}: received {shown(fault['input'])}; expected {expected}"

    @classmethod
    def _unknown(cls, name: str) -> str:
        near = nearest_name(name, cls.known(), nearness=0.6)
        hint = f"did you mean {near}?" if near else f"its fields are {', '.join(cls.model_fields)}"
        return f"{shown(name)} is no field of this request; {hint}"
