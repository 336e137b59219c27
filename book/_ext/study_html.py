"""Base class of directives that show HTML generated from the book's study."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jinja2
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

import aor_lib as aor


class StudyHtml(SphinxDirective, ABC):
    """A directive that inserts the output of :meth:`html`."""

    def run(self) -> list[nodes.Node]:
        """Return the HTML as a raw node."""
        study = aor.open(Path(self.env.srcdir).parent)  # the sources are in the study's folder
        return [nodes.raw("", self.html(study), format="html")]

    @abstractmethod
    def html(self, study: aor.Study) -> str:
        """Generate HTML from a study."""


def render(template: Path, **values: Any) -> str:
    """Render a template; text is escaped, and the filter ``address`` quotes it for a URL."""
    environment = jinja2.Environment(autoescape=True)
    environment.filters["address"] = quote
    return environment.from_string(template.read_text("utf-8")).render(**values)
