"""Edit and launch buttons: on every page if _config.yml names a repository, otherwise on none.

The theme assumes one folder of sources; the book has two, for notebooks and for prose.
"""

from __future__ import annotations

from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config

_BUTTONS = ("use_repository_button", "use_edit_page_button", "launch_buttons")
_ONLY_GITHUB = "colab_url"


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to Sphinx; see https://www.sphinx-doc.org/en/master/extdev/appapi.html."""
    app.connect("config-inited", _drop_what_has_no_repository)
    app.connect("html-page-context", _lead_to_the_source)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _drop_what_has_no_repository(_: Sphinx, config: Config) -> None:
    """Remove the buttons that have no repository to link to, since the theme fails on them."""
    options = config.html_theme_options
    repository = options.get("repository_url")
    if not repository:
        for button in _BUTTONS:
            options.pop(button, None)
    elif "github.com/" not in repository:
        options["launch_buttons"].pop(_ONLY_GITHUB, None)


def _lead_to_the_source(
    _app: Sphinx, _page: str, _template: str, context: dict[str, Any], *_: Any
) -> None:
    is_notebook = context.get("page_source_suffix") == ".ipynb"
    context["doc_path"] = "notebooks" if is_notebook else "book"
