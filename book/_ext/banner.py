"""A banner on every page: whether the build asked any audio language model, and which."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config

from aor_lib.report import instrument
from aor_lib.stimuli.manifest import MANIFEST


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to Sphinx; see https://www.sphinx-doc.org/en/master/extdev/appapi.html."""
    app.connect("config-inited", _announce)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _announce(app: Sphinx, config: Config) -> None:
    build = Path(app.srcdir).parent  # the book's sources lie in the build that they tell of
    if (build / MANIFEST).is_file():
        config.html_theme_options["announcement"] = instrument.banner(build)
