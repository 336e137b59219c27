"""Servers of open models (vLLM, SGLang): what one says that it has, before it is asked anything.

Which model a response names proves little there: SGLang repeats the name that it was asked by.
"""

from collections.abc import Sequence
from typing import Any

from aor_lib.models.api_messages import as_mapping, quote


def describe_served(listed: Any, names: Sequence[str], key: str) -> str:
    """Server, its models of these names, and the length of a conversation, from its list of models.

    ``listed`` is what ``GET /v1/models`` brought: ``id``, ``root`` (the weights), ``owned_by`` (the
    server) and ``max_model_len`` (tokens of a conversation with its answer) of each model;
    ``names`` are the model's, and its adapter's if it has one. ``key`` is never part of the text.
    LookupError, which says what is listed, if a name is not.
    """
    data = as_mapping(listed).get("data")
    rows = [as_mapping(row) for row in data] if isinstance(data, list) else []
    by_name = {quote(row.get("id"), key): row for row in rows}
    for name in names:
        if name not in by_name:
            raise LookupError(f"it has no {name!r}, but {', '.join(by_name) or 'no model at all'}")
    model, *adapters = names
    row = by_name[model]
    server = quote(row.get("owned_by") or "unnamed", key)
    weights = quote(row.get("root") or model, key)
    shown = model if weights == model else f"{model} ({weights})"
    most = row.get("max_model_len")
    length = f", at most {most} tokens" if isinstance(most, int) else ""
    return f"a server ({server}) of {' with '.join([shown, *adapters])}{length}"
