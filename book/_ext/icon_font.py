"""Icons from the theme's font alone: the script that redraws them is half of a page's size."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

_SCRIPT = Path("_static", "scripts", "fontawesome.js")


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to Sphinx; see https://www.sphinx-doc.org/en/master/extdev/appapi.html."""
    app.connect("build-finished", _empty_the_script)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _empty_the_script(app: Sphinx, error: Exception | None) -> None:
    script = Path(app.outdir, _SCRIPT)
    if error is None and script.is_file():  # a template of the theme loads the file, so it stays
        script.write_text("", encoding="ascii")
