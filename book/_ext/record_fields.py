"""The API reference's rows and parameters: the fields of each, and the values of enumerations.

Their fields are declared with types and descriptions, not in docstrings.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from sphinx.application import Sphinx

_LIMITS = re.compile(r"Annotated\[(.+?), Field\(.*?\)\]")


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to autodoc; see https://www.sphinx-doc.org/en/master/usage/extensions/autodoc.html."""
    app.setup_extension("sphinx.ext.napoleon")
    app.connect("autodoc-skip-member", _skip)
    app.connect("autodoc-process-signature", _without_signature)
    app.connect("autodoc-process-docstring", _with_fields)
    app.connect("autodoc-process-docstring", _keep_first_line, priority=1)  # before napoleon's
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _skip(_app: Sphinx, _what: str, name: str, *_: Any) -> bool | None:
    return True if name == "model_config" else None


def _without_signature(
    _app: Sphinx, _what: str, _name: str, documented: Any, *_: Any
) -> tuple[str, None] | None:
    """A row's signature would say its fields again, with every pattern and limit."""
    return ("", None) if _is_a(documented, (BaseModel, Enum)) else None


def _with_fields(
    _app: Sphinx, _what: str, _name: str, documented: Any, _options: Any, lines: list[str]
) -> None:
    if _is_a(documented, BaseModel):
        fields = documented.model_fields.items()
        lines += [_field(name, field, _declared(documented, name)) for name, field in fields] + [""]
    elif _is_a(documented, Enum):
        lines += ["Values: " + ", ".join(f"``{member.value}``" for member in documented) + ".", ""]


def _keep_first_line(
    _app: Sphinx, what: str, _name: str, _documented: Any, _options: Any, lines: list[str]
) -> None:
    """Napoleon takes what comes before a colon in an attribute's first line for its type."""
    if what in ("attribute", "data", "property"):
        lines.insert(0, "")


def _field(name: str, field: FieldInfo, declared: str) -> str:
    """An item of a list."""
    if not field.is_required():
        declared += f" = {field.get_default(call_default_factory=True)!r}"
    said = f": {field.description}" if field.description else ""
    return f"- **{name}** ``{declared}``{said}"


def _declared(row: type[BaseModel], name: str) -> str:
    """A field's type as the source says it, without its limits."""
    owner = next(base for base in row.__mro__ if name in vars(base).get("__annotations__", {}))
    return _LIMITS.sub(r"\1", owner.__annotations__[name])


def _is_a(documented: Any, kinds: Any) -> bool:
    return isinstance(documented, type) and issubclass(documented, kinds)
