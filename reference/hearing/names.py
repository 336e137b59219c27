"""Names of sounds, as the ear learns them and a reference model reads them."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from aor_lib.config.params import PARAMS
from aor_lib.config.records import Identifier
from aor_lib.config.typed_yaml import Params, read

Name = Annotated[str, Field(pattern=r"^[a-z][a-z' -]{2,39}$")]


class Names(Params):
    """Names of sounds (reference/material/sounds.yaml).

    ``beds`` by scene; ``events`` by scene and by the name in the manifest; ``read`` by setting: a
    scenario, ``neutral`` or ``threatening``.
    """

    beds: Mapping[Identifier, Name]
    events: Mapping[Identifier, Mapping[str, Name]]
    read: Mapping[Identifier, tuple[Name, ...]]


@functools.cache
def load_names() -> Names:
    """Read the names of sounds; raises ``ParamsError`` if the file is missing or wrong."""
    return read(PARAMS.parent / "reference" / "material" / "sounds.yaml", Names)
